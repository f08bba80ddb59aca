// Owns: what a visitor notices when the server's process is killed with -9 while they write, and another takes its
// place: that it takes a moment, and nothing else. The built program, as it is published.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHostSite, launchBrowser, openBrowserPage, type HostSite } from '../helpers/browser.ts';
import { cleanEnvironment, repository, run, Running } from '../helpers/command.ts';
import { eventually } from '../helpers/eventually.ts';
import { htmlPage, widgetLocators } from './fixture.ts';

const program = join(repository, 'bin/deskbell.js');
let data: string;
let site: HostSite;
let browser: Browser;
let server: Running | null = null;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'deskbell-killed-'));
  site = await startHostSite();
  browser = await launchBrowser();
});

afterAll(async () => {
  await server?.stop('SIGKILL');
  await browser.close();
  await site.close();
  await rm(data, { recursive: true, force: true });
});

async function command<T>(...args: string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [program, ...args, '--data', data, '--json'], {
    env: cleanEnvironment(),
  });
  return JSON.parse(stdout) as T;
}

async function serve(port: number): Promise<{ readonly url: string; readonly port: number }> {
  server = new Running(
    process.execPath,
    [program, 'serve', '--json', '--port', String(port), '--data', data],
    { env: cleanEnvironment() },
  );
  return JSON.parse((await server.line(/^\{"url".*\}$/))[0]) as { url: string; port: number };
}

test('killed with -9 while the visitor writes: nothing lost, nothing doubled', async () => {
  await command('org', 'create', 'Acme', '--slug', 'acme');
  const { appId } = await command<{ appId: string }>(
    'app',
    'create',
    'Shop',
    '--org',
    'acme',
    '--domain',
    site.domain,
  );
  const { url, port } = await serve(0);
  const { page } = await openBrowserPage(
    browser,
    site.page('/', htmlPage(`<script async src="${url}/widget.js" data-app-id="${appId}"></script>`)),
  );
  const w = widgetLocators(page);
  const mine = (): Promise<string[]> => w.log.locator('.mine .bubble').allTextContents();
  await w.open();
  await w.write('one');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await w.write('two');
  await server?.stop('SIGKILL');
  await page.keyboard.type('three, written to no server');
  await page.keyboard.press('Enter');
  await w.log.getByText('Sending…').first().waitFor();
  // Until then another test's server may have been given the port, which it gives back when it ends.
  await eventually(() => serve(port));
  await w.log.getByText('Sending…').first().waitFor({ state: 'hidden' });
  expect(await w.log.getByText('Not sent.').count()).toBe(0);
  expect(await mine()).toEqual(['one', 'two', 'three, written to no server']);
  // What the server kept, not what the page remembers.
  await page.reload();
  await w.open();
  await w.log.getByText('three, written to no server').waitFor();
  expect(await mine()).toEqual(['one', 'two', 'three, written to no server']);
  await page.context().close();
});
