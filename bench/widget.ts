// Owns: what the widget costs a customer's page: times on a slow line and a slow processor, main-thread work, heap.
// Must not judge: it prints, against a page without the widget that was measured in the same browser in turn.
import type { CDPSession, Page } from 'playwright-core';
import { openBrowserPage } from '../test/helpers/browser.ts';
import { createWidgetFixture, htmlPage, type WidgetFixture } from '../test/widget/fixture.ts';
import { median } from './program.ts';

/** Slow 4G as Lighthouse has it: 1638 kbit/s both ways, 150 ms there and back; and a quarter of the processor. */
export const line = {
  offline: false,
  downloadThroughput: (1638 * 1000) / 8,
  uploadThroughput: (1638 * 1000) / 8,
  latency: 150,
};
export const slowdown = 4;

export interface WidgetLine {
  readonly what: string;
  readonly widget: string;
  readonly blank: string;
  readonly ratio: string;
}

interface Figures {
  /** From the start of the navigation, ms; of the page without the widget, its first contentful paint. */
  readonly launcherMs: number;
  /** From the click on the launcher of a page at rest, without the prefetch that a pointer on its way sets off, ms. */
  readonly composerMs: number;
  /** Main-thread work (tasks of every kind) until all is quiet, launcher only, ms of the slowed processor. */
  readonly taskMs: number;
  readonly scriptMs: number;
  /** JavaScript heap after a collection, bytes: with the launcher, and with the panel open. */
  readonly launcherHeap: number;
  readonly openHeap: number;
}

/**
 * Notes, in the page, when the launcher and the composer are on the screen: two frames after they were put there,
 * when the first of the two has been drawn. Runs before anything of the page.
 */
const observer = `(() => {
  const seen = window.seen = {};
  const drawn = (name) => requestAnimationFrame(() => requestAnimationFrame(() => (seen[name] = performance.now())));
  const watch = (root, found, name) => {
    const look = new MutationObserver(() => {
      if (!found()) return;
      look.disconnect();
      drawn(name);
    });
    look.observe(root, { childList: true, subtree: true, attributes: true });
  };
  const widget = () => document.querySelector('deskbell-widget')?.shadowRoot ?? null;
  document.addEventListener('readystatechange', () => watch(document.documentElement, () => widget()?.querySelector('.launcher') != null, 'launcher'), { once: true });
  window.openPanel = () => {
    watch(widget(), () => widget().querySelector('.panel:not([hidden]) .field') !== null, 'composer');
    seen.click = performance.now();
    widget().querySelector('.launcher').click();
  };
})()`;

/**
 * The widget's figures and those of the same page without it, as lines of a table.
 * @param runs visits of each page, in turn, each with a browser profile of its own; the median counts
 * @throws Error when the widget is not built, or does not appear
 */
export async function widgetCost(runs: number): Promise<WidgetLine[]> {
  const fixture = await createWidgetFixture();
  try {
    const withWidget = fixture.site.page('/with', htmlPage(fixture.tag()));
    const without = fixture.site.page('/without', htmlPage(''));
    // The first visit pays for the browser's own start.
    await measure(fixture, without, false);
    const own: Figures[] = [];
    const blank: Figures[] = [];
    for (let run = 0; run < runs; run += 1) {
      blank.push(await measure(fixture, without, false));
      own.push(await measure(fixture, withWidget, true));
    }
    return table(own, blank);
  } finally {
    await fixture.close();
  }
}

async function measure({ browser }: WidgetFixture, url: string, widget: boolean): Promise<Figures> {
  const { page, close } = await openBrowserPage(browser, 'about:blank');
  try {
    const session = await page.context().newCDPSession(page);
    await page.addInitScript(observer);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', line);
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    await session.send('Performance.enable');
    await page.goto(url);
    const launcherMs = widget ? await seen(page, 'launcher') : await firstPaint(page);
    await page.waitForLoadState('networkidle');
    const { TaskDuration: task = Number.NaN, ScriptDuration: script = Number.NaN } = await metrics(session);
    const launcherHeap = await heap(session);
    if (!widget)
      return {
        launcherMs,
        composerMs: Number.NaN,
        taskMs: task * 1000,
        scriptMs: script * 1000,
        launcherHeap,
        openHeap: launcherHeap,
      };
    await page.evaluate('openPanel()');
    const composerMs = (await seen(page, 'composer')) - (await seen(page, 'click'));
    await page.locator('deskbell-widget .log').waitFor();
    return {
      launcherMs,
      composerMs,
      taskMs: task * 1000,
      scriptMs: script * 1000,
      launcherHeap,
      openHeap: await heap(session),
    };
  } finally {
    await close();
  }
}

async function seen(page: Page, name: string): Promise<number> {
  return (await (await page.waitForFunction(`window.seen.${name}`)).jsonValue()) as number;
}

async function firstPaint(page: Page): Promise<number> {
  return (await (
    await page.waitForFunction(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime`)
  ).jsonValue()) as number;
}

async function metrics(session: CDPSession): Promise<Readonly<Partial<Record<string, number>>>> {
  const { metrics: list } = await session.send('Performance.getMetrics');
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

async function heap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await metrics(session))['JSHeapUsedSize'] ?? Number.NaN;
}

function table(own: readonly Figures[], blank: readonly Figures[]): WidgetLine[] {
  const row = (what: string, key: keyof Figures, unit: number, compared = true): WidgetLine => {
    const mine = median(own.map((figures) => figures[key]));
    const theirs = median(blank.map((figures) => figures[key]));
    const text = (value: number): string => (value / unit).toFixed(unit === 1 ? 0 : 2);
    return {
      what,
      widget: text(mine),
      blank: compared ? text(theirs) : '',
      ratio: compared ? (mine / theirs).toFixed(2) : '',
    };
  };
  const megabyte = 1024 * 1024;
  return [
    row('launcher drawn / first paint, ms', 'launcherMs', 1),
    row('click on the launcher to a usable composer, ms', 'composerMs', 1, false),
    row('main thread until the launcher rests, ms', 'taskMs', 1),
    row('  of it script, ms', 'scriptMs', 1),
    row('heap with the launcher, MB', 'launcherHeap', megabyte),
    row('heap with the panel open, MB', 'openHeap', megabyte),
  ];
}
