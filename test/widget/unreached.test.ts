// Owns: what a visitor sees in a real browser who writes first while the service can't be reached, or is out of order; and that
// a conversation that is not there is not left open.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage, routeLoaded } from '../helpers/browser.ts';
import { createWidgetFixture, htmlPage, widgetLocators, type WidgetFixture } from './fixture.ts';

let stage: WidgetFixture;
let visit: BrowserPage;
let page: Page;

beforeAll(async () => {
  stage = await createWidgetFixture();
  stage.site.page('/', htmlPage(stage.tag()));
});

afterEach(() => visit.close());

afterAll(() => stage.close());

const kept = 'No connection. Your messages are kept and go out by themselves.';
const conversations = '**/api/v1/conversations';

/** A new visitor with the panel open. What is read out is gone from the page in a moment: it stays in `heard`. */
async function open(): Promise<ReturnType<typeof widgetLocators>> {
  visit = await openBrowserPage(stage.browser, `${stage.site.origin}/`);
  ({ page } = visit);
  const w = widgetLocators(page);
  await w.open();
  // It comes with the conversation, which is loaded once the panel is open.
  await page.locator('deskbell-widget [aria-live="polite"]').waitFor({ state: 'attached' });
  await page.evaluate(`(() => {
    window.heard = [];
    const region = document.querySelector('deskbell-widget').shadowRoot.querySelector('[aria-live="polite"]');
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) heard.push(node.textContent);
    }).observe(region, { childList: true });
  })()`);
  return w;
}

const heard = (): Promise<unknown> => page.evaluate('heard');

test('a first message that can’t be brought to the service is kept, and the visitor hears so', async () => {
  const w = await open();
  await routeLoaded(page, conversations, (route) => route.abort());
  await w.write('Is anybody there?');
  await w.dialog.getByText(kept).waitFor();
  expect(await heard()).toEqual([kept]);
  await page.unroute(conversations);
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await w.dialog.getByText(kept).waitFor({ state: 'hidden' });
});

test('a service that is out of order is not the visitor’s doing, one that is too much asked is', async () => {
  const w = await open();
  const answer = (status: number, error: string): Promise<unknown> =>
    routeLoaded(page, conversations, (route) =>
      route.fulfill({
        status,
        headers: { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' },
        contentType: 'application/json',
        body:
          route.request().method() === 'OPTIONS'
            ? ''
            : JSON.stringify({ error, message: 'No.', retryAfter: 1 }),
      }),
    );
  await answer(503, 'unavailable');
  await w.write('Is anybody there?');
  await w.dialog.getByText(kept).waitFor();
  expect(await heard()).toEqual([kept]);
  await page.unroute(conversations);
  await answer(429, 'rate_limit_exceeded');
  await w.dialog.getByText('That was a lot at once.').waitFor();
  await page.unroute(conversations);
  await w.log.getByText('Sent', { exact: true }).waitFor();
});

test('a conversation that is not there is refused, and another one can be begun', async () => {
  const w = await open();
  const refused = await page.evaluate(
    `deskbell('openConversation', crypto.randomUUID()).catch(({ code }) => code)`,
  );
  expect(refused).toBe('not_found');
  expect(await page.evaluate(`deskbell('getState').then((state) => state.conversationId)`)).toBe(null);
  await w.write('Good day');
  await w.log.getByText('Sent', { exact: true }).waitFor();
});
