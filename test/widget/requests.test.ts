// Counts what the widget asks the server's API for, journey by journey, in a real browser and under the limits
// that a server has unless told otherwise.
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../helpers/eventually.ts';
import {
  acceptConversation,
  createWidgetFixture,
  htmlPage,
  newestConversation,
  sendReply,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

/** The shortest window of the visitor's limit below. */
const limitWindowMs = 1_000;

let fixture: WidgetFixture;

beforeAll(async () => {
  fixture = await createWidgetFixture({ flags: { limitVisitor: '10/s,120/m,2000/h' } });
});

afterAll(() => fixture.close());

/** The requests to the API since the last time, and those of them that were refused. */
function watchRequests(page: Page): { take(): string[]; readonly refused: string[] } {
  let requests: string[] = [];
  const refused: string[] = [];
  const pathOf = (url: string): string => new URL(url).pathname.replace(/[0-9a-f-]{36}/, ':id');
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/'))
      requests.push(`${request.method()} ${pathOf(request.url()).replace('/api/v1', '')}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${pathOf(response.url())}`);
  });
  return {
    take: () => {
      const taken = requests.toSorted();
      requests = [];
      return taken;
    },
    refused,
  };
}

test('first message, live messages, and the way back into the conversation', async () => {
  const context = await fixture.browser.newContext();
  const page = await context.newPage();
  const { take, refused } = watchRequests(page);
  const address = fixture.site.page('/requests', htmlPage(fixture.tag()));
  await page.goto(address);
  const w = widgetLocators(page);
  const connected = (): Promise<unknown> =>
    eventually(async () =>
      expect(await page.evaluate(`deskbell('getState').then(({ connection }) => connection)`)).toBe('online'),
    );
  await w.open();
  await page.waitForLoadState('networkidle');
  expect(take()).toEqual(['GET /widget/config']);

  await w.write('first');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await connected();
  await page.waitForLoadState('networkidle');
  expect(take()).toEqual([
    'GET /widget/config',
    'POST /conversations',
    'POST /conversations/:id/messages',
    'POST /widget/ws-token',
  ]);

  await w.write('second');
  await w.log.locator('.mine').nth(1).getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(fixture);
  await acceptConversation(fixture, id);
  expect(take()).toEqual([]);
  await sendReply(fixture, id, 'an answer');
  await w.log.getByText('an answer').waitFor();
  // The message came by itself. That it was seen is told, once.
  await eventually(() => expect(take()).toEqual(['POST /conversations/:id/read']));
  await w.button('Close chat').click();
  await sendReply(fixture, id, 'unseen');
  await eventually(async () => expect(await w.launcher.getAttribute('aria-label')).toContain('1'));
  expect(take()).toEqual([]);

  expect(refused).toEqual([]);
  // A visitor does not come back within the second for which the limit counts: this test would.
  await setTimeout(limitWindowMs);
  await page.goto(address);
  await w.launcher.waitFor();
  await eventually(async () => expect(await w.launcher.getAttribute('aria-label')).toContain('1'));
  await page.waitForLoadState('networkidle');
  take();
  await w.launcher.click();
  await w.log.getByText('unseen').waitFor();
  await eventually(async () => expect(await w.launcher.getAttribute('aria-label')).not.toContain('1'));
  await page.waitForLoadState('networkidle');
  expect(take()).toEqual(['GET /conversations/:id', 'POST /conversations/:id/read']);
  expect(refused).toEqual([]);
  await context.close();
});
