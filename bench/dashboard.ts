// Owns: what the dashboard costs in a real browser: its first queue on a slow line and a slow processor, what it loads, the
// time from a key to the picture, its heap over a day of events. Must not judge: it prints, beside the aims.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { launchBrowser, openBrowserPage, type BrowserPage } from '../test/helpers/browser.ts';
import { eventually } from '../test/helpers/eventually.ts';
import type { ConsoleQuestion, Seeded } from './console-server.ts';
import { median } from './program.ts';
import { Child } from './protocol.ts';
import { line, slowdown } from './widget.ts';

export interface DashboardLine {
  readonly what: string;
  readonly dashboard: string;
  /** What it should be at most. */
  readonly aim: string;
}

export interface DashboardBenchOptions {
  /** First visits; the median counts. */
  readonly runs: number;
  readonly conversations: number;
  /** Of the open conversation. */
  readonly messages: number;
  readonly keys: number;
  readonly events: number;
}

/** Notes when the first row of the queue has been drawn, and how long each key took. Runs before anything of the page. */
const observer = `(() => {
  const bench = window.bench = { queue: 0, keys: [] };
  const drawn = (run) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => run(performance.now()); c.port2.postMessage(0); });
  const look = new MutationObserver(() => {
    if (document.querySelector('.queue-list .row') === null) return;
    look.disconnect();
    drawn((at) => (bench.queue = at));
  });
  look.observe(document, { childList: true, subtree: true });
  addEventListener('keydown', ({ timeStamp }) => drawn((at) => bench.keys.push(at - timeStamp)), true);
})()`;

/**
 * The dashboard's figures as lines of a table.
 * @throws Error when the program is not built, or the dashboard does not show what it should
 */
export async function dashboardCost(options: DashboardBenchOptions): Promise<readonly DashboardLine[]> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-dashboard-'));
  const server = new Child('./console-server.ts', [join(folder, 'data')]);
  const browser = await launchBrowser();
  try {
    const { conversations, messages } = options;
    const ask = <T>(question: ConsoleQuestion): Promise<T> => server.request<T>(question);
    const seeded = await ask<Seeded>({ kind: 'seed', conversations, messages });
    const signIn = async (): Promise<string> =>
      `${seeded.url}/#sign-in=${await ask<string>({ kind: 'link' })}`;
    return [
      ...(await firstQueues(browser, signIn, options.runs)),
      ...(await day(browser, signIn, ask, seeded, options)),
    ];
  } finally {
    await browser.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns a page of a member who is signed in */
async function signedIn(browser: Browser, signIn: () => Promise<string>): Promise<BrowserPage> {
  const opened = await openBrowserPage(browser, 'about:blank', { viewport: { width: 1440, height: 900 } });
  await opened.page.addInitScript(observer);
  await opened.page.goto(await signIn());
  await opened.page.locator('.queue-list .row').first().waitFor();
  return opened;
}

/** Of a member whose browser has the session's cookie: with nothing of the page at hand, and with its files in the cache. */
async function firstQueues(
  browser: Browser,
  signIn: () => Promise<string>,
  runs: number,
): Promise<DashboardLine[]> {
  const first: number[] = [];
  const again: number[] = [];
  const bytes: number[] = [];
  const requests: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const { page, close } = await signedIn(browser, signIn);
    // Without the worker that keeps the shell: it would answer the first visit, too.
    await page.evaluate(
      'navigator.serviceWorker.getRegistrations().then((all) => Promise.all(all.map((one) => one.unregister())))',
    );
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.clearBrowserCache');
    await session.send('Network.emulateNetworkConditions', line);
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    let loaded = 0;
    let asked = 0;
    session.on('Network.requestWillBeSent', () => (asked += 1));
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (loaded += encodedDataLength));
    first.push(await queueAfterReload(page));
    bytes.push(loaded / 1000);
    requests.push(asked);
    again.push(await queueAfterReload(page));
    await close();
  }
  return [
    { what: 'first queue, slow 4G, a quarter of the processor, nothing cached, s', ...timed(first, '1.00') },
    { what: 'the same with the files in the cache, s', ...timed(again, '1.00') },
    {
      what: 'loaded until then, everything with headers, kB',
      dashboard: median(bytes).toFixed(1),
      aim: '',
    },
    { what: 'requests until then, everything', dashboard: String(median(requests)), aim: '' },
  ];
}

function timed(ms: readonly number[], aim: string): Pick<DashboardLine, 'dashboard' | 'aim'> {
  return { dashboard: (median(ms) / 1000).toFixed(2), aim };
}

async function queueAfterReload(page: Page): Promise<number> {
  await page.reload({ waitUntil: 'commit' });
  // The page's policy forbids what Playwright would wait with.
  const shown = await eventually(async () => {
    const at = await page.evaluate<number>('window.bench?.queue ?? 0');
    if (at === 0) throw new Error('the queue is not there yet');
    return at;
  });
  await page.waitForLoadState('networkidle');
  return shown;
}

/** A long day: everything of a long conversation is loaded, keys are timed, and then the events come. */
async function day(
  browser: Browser,
  signIn: () => Promise<string>,
  ask: <T>(question: ConsoleQuestion) => Promise<T>,
  { newest }: Seeded,
  { keys, events, messages }: DashboardBenchOptions,
): Promise<DashboardLine[]> {
  const { page, close } = await signedIn(browser, signIn);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const before = await heap(session);
  await page.locator('.views .view').nth(1).click();
  await page.locator('.queue-list .row').first().click();
  await page.locator('.log').getByText(newest).first().waitFor();
  await loadAll(page);
  const open = await heap(session);
  await page.locator('.views .view').nth(2).click();
  // At the end, where one answers.
  await page.locator('.to-end').click();
  await page.locator('[data-field=composer]').focus();
  await page.evaluate('window.bench.keys.length = 0');
  for (let key = 0; key < keys; key += 1) {
    await page.keyboard.press('abcdefgh '.charAt(key % 9));
    await page.waitForTimeout(20);
  }
  const typed = (await page.evaluate<number[]>('window.bench.keys')).toSorted((one, other) => one - other);
  await page.locator('.queue-list').focus();
  await page.evaluate('window.bench.keys.length = 0');
  for (let key = 0; key < keys; key += 1) {
    await page.keyboard.press(key % 20 < 10 ? 'j' : 'k');
    await page.waitForTimeout(20);
  }
  const walked = (await page.evaluate<number[]>('window.bench.keys')).toSorted((one, other) => one - other);
  await ask({ kind: 'events', count: events });
  // The questions that they set off are paced, and go on for long: the heap is what it is by then.
  await page.waitForTimeout(10_000);
  const after = await heap(session);
  await close();
  const p95 = (times: readonly number[]): string =>
    (times[Math.floor(times.length * 0.95)] ?? Number.NaN).toFixed(1);
  const megabytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1);
  return [
    {
      what: `key to paint while writing, ${messages} messages open, 95 %, ms`,
      dashboard: p95(typed),
      aim: '50',
    },
    { what: 'key to paint while walking the queue, 95 %, ms', dashboard: p95(walked), aim: '50' },
    { what: 'heap after signing in, MB', dashboard: megabytes(before), aim: '' },
    { what: `heap with ${messages} messages open, MB`, dashboard: megabytes(open), aim: '' },
    { what: `heap after ${events} events, MB`, dashboard: megabytes(after), aim: '60' },
  ];
}

async function loadAll(page: Page): Promise<void> {
  const beginning = 'The conversation begins here.';
  while ((await page.locator('.log-begin').innerText()) !== beginning) {
    await page.evaluate("document.querySelector('.log').scrollTop = 0");
    await page.waitForTimeout(30);
  }
}

async function heap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
}
