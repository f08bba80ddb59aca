// Owns: what a blocked visitor sees of the widget in a real browser: nothing, until the block is lifted.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import {
  createWidgetFixture,
  htmlPage,
  newestConversation,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

let stage: WidgetFixture;
let url: string;
let visit: BrowserPage | null = null;

beforeAll(async () => {
  stage = await createWidgetFixture();
  url = stage.site.page('/', htmlPage(stage.tag()));
});
afterEach(async () => {
  await visit?.close();
  for (const { id } of (await stage.operator.call('GET', '/blocks')).body.blocks as { id: string }[])
    await stage.operator.call('DELETE', `/blocks/${id}`);
});
afterAll(() => stage.close());

const host = 'deskbell-widget';

test('the widget hides at once, stays away on the next page, and is back after the block', async () => {
  visit = await openBrowserPage(stage.browser, url);
  const { page } = visit;
  const w = widgetLocators(page);
  await w.open();
  await w.write('Rude words');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const conversation = await stage.operator.call('GET', `/conversations/${await newestConversation(stage)}`);
  const visitorId = conversation.body.conversation.visitor.id as string;

  expect((await stage.operator.call('PUT', `/visitors/${visitorId}/block`, {})).status).toBe(200);
  await page.locator(`${host}[hidden]`).waitFor({ state: 'attached' });
  await page.reload();
  await page.locator(`${host}[hidden]`).waitFor({ state: 'attached' });

  await stage.operator.call('DELETE', `/visitors/${visitorId}/block`);
  await page.reload();
  await w.open();
  await w.log.getByText('Rude words').waitFor();
});

test('at a blocked address there is no launcher, and the console of the page says why', async () => {
  const blocked = await stage.operator.call('POST', '/blocks', { address: '127.0.0.1' });
  expect(blocked.status).toBe(201);
  visit = await openBrowserPage(stage.browser, url);
  const said = visit.page.waitForEvent('console', (message) => message.text().includes('has been blocked'));
  await visit.page.reload();
  await said;
  expect(await visit.page.locator(host).count()).toBe(0);
});
