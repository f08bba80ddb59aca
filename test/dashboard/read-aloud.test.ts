// What a screen reader is told while a conversation is open in a real browser: each message that comes, once; and nothing of
// those that were there before and are drawn because one scrolls.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser } from '../helpers/browser.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
} from '../helpers/fixtures.ts';

let browser: Browser;
let app: TestApp;

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({
    realTime: true,
    environment: { DESKBELL_LIMIT_VISITOR: 'off', DESKBELL_LIMIT_APPLICATION: 'off' },
  });
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});

/** Keeps every text that is put where a screen reader reads by itself: the nearest mark above it says whether it does. */
const listen = `(() => {
  window.read = [];
  const speaks = (node) => {
    const marked = (node instanceof Element ? node : node.parentElement)?.closest(
      '[aria-live], [role=log], [role=status], [role=alert]',
    );
    return marked != null && marked.getAttribute('aria-live') !== 'off';
  };
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes)
      if (speaks(target)) for (const node of addedNodes) window.read.push(node.textContent);
  }).observe(document.body, { subtree: true, childList: true });
})()`;

it('a message that comes is read out once, and none that was there before', async () => {
  const acme = await createOrganization(app, 'acme');
  const ann = await createMember(app, 'acme', 'admin', 'Ann');
  const visitor = createVisitor(app, acme.application);
  const id = await createConversation(visitor, 'Long');
  await visitor.call('PUT', '/visitor', { name: 'Vera' });
  for (let index = 0; index < 120; index += 1) await createMessage(visitor, id, `Before ${index}.`);
  const { page, close } = await openDashboard(browser, app, ann, `#/c/${id}`);
  const log = page.getByRole('log');
  await log.getByText('Before 119.').waitFor();
  await page.evaluate(listen);
  const read = (): Promise<string[]> => page.evaluate<string[]>('window.read');
  await log.hover();
  await eventually(async () => {
    await page.mouse.wheel(0, -5_000);
    expect(await log.getByText('Before 0.', { exact: true }).count()).toBe(1);
  });
  await createMessage(visitor, id, 'Are you there?');
  await eventually(async () => expect((await read()).join()).toContain('Are you there?'));
  await page.mouse.wheel(0, 100_000);
  await log.getByText('Are you there?').waitFor();
  await ann.call('POST', `/conversations/${id}/accept`, {});
  await createMessage(visitor, id, 'Good.');
  await eventually(async () => expect((await read()).join()).toContain('Good.'));
  expect((await read()).filter((text) => /Before|there\?|Good/.test(text))).toEqual([
    'Vera: Are you there?',
    'Vera: Good.',
  ]);
  await close();
});
