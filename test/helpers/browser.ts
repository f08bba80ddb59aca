// Owns the real browser of the tests: one that came with npm install, or the machine's own Chromium; and the
// customer's web site, which is another origin than the server. Never downloads, never skips.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import type { HeaderMap } from './client.ts';
import { repository } from './command.ts';
import { eventually } from './eventually.ts';

const installed = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

interface Unpacked {
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Starts a headless Chromium. */
export async function launchBrowser(): Promise<Browser> {
  const own = installed.find((path) => existsSync(path));
  const { path, environment } = own === undefined ? await unpackChromium() : { path: own, environment: {} };
  return chromium.launch({
    executablePath: path,
    args: flags,
    timeout: 120_000,
    env: { ...(process.env as Record<string, string>), ...environment },
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
}

/** The Chromium inside a package, unpacked once for each version; with libraries and fonts where the machine has none. */
async function unpackChromium(): Promise<Unpacked> {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const bin = join(dirname(dirname(entry)), 'bin');
  const { version } = createRequire(import.meta.url)(join(dirname(bin), 'package.json')) as {
    version: string;
  };
  const caches = join(repository, 'node_modules/.cache');
  const folder = join(caches, `chromium-${version}`);
  if (!existsSync(folder)) {
    await mkdir(caches, { recursive: true });
    await unpackInto(folder, bin);
  }
  const path = join(folder, 'chromium');
  const environment: Record<string, string> = {};
  if (spawnSync('ldd', [path], { encoding: 'utf8' }).stdout?.includes('not found') !== false) {
    environment['LD_LIBRARY_PATH'] = join(folder, 'al2023/lib');
  }
  if (!existsSync('/usr/share/fonts') || readdirSync('/usr/share/fonts').length === 0) {
    environment['FONTCONFIG_FILE'] = join(folder, 'fonts.conf');
  }
  return { path, environment };
}

/** Unpacks beside the place and moves it there in one step: two test files may do this at the same time. */
async function unpackInto(folder: string, bin: string): Promise<void> {
  const fresh = await mkdtemp(`${folder}-`);
  const { inflate } = await import('@sparticuz/chromium');
  const before = process.env['TMPDIR'];
  // The package knows no other way to be told where to.
  process.env['TMPDIR'] = fresh;
  try {
    for (const name of ['chromium.br', 'al2023.tar.br', 'fonts.tar.br']) await inflate(join(bin, name));
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  const conf = `<?xml version="1.0"?><fontconfig><dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'font-cache')}</cachedir></fontconfig>`;
  await writeFile(join(fresh, 'fonts.conf'), conf);
  await mkdir(join(fresh, 'font-cache'));
  await rename(fresh, folder).catch(async (error: unknown) => {
    // Another test file was first.
    if (!existsSync(folder)) throw error;
    await rm(fresh, { recursive: true, force: true });
  });
}

export interface HostSite {
  /** Such as http://localhost:41234. */
  readonly origin: string;
  /** As it is registered: localhost:41234. */
  readonly domain: string;
  /** Puts a page there; its address. */
  page(path: string, html: string, headers?: HeaderMap): string;
  close(): Promise<void>;
}

/** A customer's web site on its own origin. */
export async function startHostSite(): Promise<HostSite> {
  const pages = new Map<string, { readonly html: string; readonly headers: HeaderMap }>();
  const server = createServer((request, response) => {
    // A browser asks every site for its icon: without one here, its 404 would be taken for the widget's.
    if (request.url === '/favicon.ico') {
      response.writeHead(204).end();
      return;
    }
    const found = pages.get((request.url ?? '').split('?')[0] ?? '');
    response.writeHead(found === undefined ? 404 : 200, {
      'Content-Type': 'text/html; charset=utf-8',
      ...found?.headers,
    });
    response.end(found?.html ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const domain = `localhost:${(server.address() as AddressInfo).port}`;
  const origin = `http://${domain}`;
  return {
    origin,
    domain,
    page: (path, html, headers = {}) => {
      pages.set(path, { html, headers });
      return origin + path;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export interface BrowserPage {
  readonly page: Page;
  /** Scripts' errors, warnings and failed loads, as they came. */
  readonly problems: string[];
  close(): Promise<void>;
}

/** A visitor with a fresh browser profile, on a page. */
export async function openBrowserPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<BrowserPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  // Below the test's own limit, so that what was waited for is what is said to have failed.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.goto(url);
  return { page, problems: complaints, close: () => context.close() };
}

/** How often a page is asked before it is told anew. */
const probes = 20;

/**
 * Routes requests of a page that is loaded already, as `page.route` does. Chromium tells such a page only some time after
 * that has returned that its requests are to be held, and was once seen not to tell it in two minutes: one that comes
 * before is not routed. It asks the page's own address until that is answered by a route, and begins anew where that does
 * not come, so the page's policy must allow it; where it does not, set routes and load the page anew.
 */
export async function routeLoaded(page: Page, ...[url, handler]: Parameters<Page['route']>): Promise<void> {
  const isProbe = ({ searchParams }: URL): boolean => searchParams.has('routed');
  const isRouted = async (): Promise<boolean> => {
    for (let asked = 0; asked < probes; asked += 1) {
      const answer: unknown = await page
        .evaluate(`fetch('?routed').then((answer) => answer.text())`)
        .catch(() => null);
      if (answer === 'routed') return true;
      await page.waitForTimeout(50);
    }
    return false;
  };
  await eventually(async () => {
    await page.route(url, handler);
    await page.route(isProbe, (route) => route.fulfill({ body: 'routed' }));
    const routed = await isRouted();
    await page.unroute(isProbe);
    if (routed) return;
    await page.unroute(url, handler);
    throw new Error('The page does not know yet that its requests are held.');
  });
}
