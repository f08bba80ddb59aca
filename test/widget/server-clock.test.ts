// Owns: that a visitor's wrong clock neither hides what the service allows nor offers what it refuses, in a real browser.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage, routeLoaded } from '../helpers/browser.ts';
import { createWidgetFixture, htmlPage, widgetLocators, type WidgetFixture } from './fixture.ts';

const minuteMs = 60_000;

let stage: WidgetFixture;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  stage = await createWidgetFixture();
});

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

/** A page whose clock goes wrong, with one message of the visitor's. */
async function arrive(path: string, skewMs: number): Promise<BrowserPage> {
  const skew = `<script>{ const now = Date.now; Date.now = () => now() + ${skewMs}; }</script>`;
  const visit = await openBrowserPage(stage.browser, stage.site.page(path, htmlPage(stage.tag(), skew)));
  visits.push(visit);
  const w = widgetLocators(visit.page);
  await w.open();
  await w.write('Hello');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  return visit;
}

test('a clock that is ahead hides nothing that may be done', async () => {
  const { page } = await arrive('/ahead', 60 * minuteMs);
  const w = widgetLocators(page);
  await w.button('Edit').click();
  await w.write(' and good day');
  await w.log.getByText('edited').waitFor();
  await page.reload();
  await w.open();
  await w.log.getByText('Hello').waitFor();
  expect(await w.button('Edit').count()).toBe(1);
});

test('a clock that is behind offers nothing that is over', async () => {
  const { page } = await arrive('/behind', -60 * minuteMs);
  const w = widgetLocators(page);
  await routeLoaded(page, '**/messages?*', async (route) => {
    const response = await route.fetch();
    const answer = (await response.json()) as { messages: { createdAt: string }[] };
    for (const message of answer.messages)
      message.createdAt = new Date(Date.parse(message.createdAt) - 16 * minuteMs).toISOString();
    await route.fulfill({ response, json: answer });
  });
  await page.reload();
  await w.open();
  await w.log.getByText('Hello').waitFor();
  expect(await w.button('Edit').count()).toBe(0);
});

test('what may be done with a message is not offered any more once it is over', async () => {
  const address = stage.site.page('/over', htmlPage(stage.tag()));
  const visit = await openBrowserPage(stage.browser, stage.site.page('/before', htmlPage('')));
  visits.push(visit);
  const { page } = visit;
  await page.clock.install();
  await page.goto(address);
  const w = widgetLocators(page);
  await w.open();
  await w.write('Hello');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await w.button('Edit').waitFor();
  // From here on no answer says that it is still the same minute.
  await routeLoaded(page, '**/api/**', (route) => route.abort());
  await page.clock.fastForward(15 * minuteMs);
  await w.button('Edit').waitFor({ state: 'detached' });
  expect(await w.log.getByText('Hello').isVisible()).toBe(true);
});
