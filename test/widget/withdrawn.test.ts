// Owns: what an open page says in a real browser once its application, its domain, its visitor or its conversation is gone: the
// truth, in every tab, and not that messages are kept and go out by themselves.
import type { Page, WebSocketRoute } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { createApplication } from '../helpers/fixtures.ts';
import { createWidgetFixture, htmlPage, widgetLocators, type WidgetFixture } from './fixture.ts';

let stage: WidgetFixture;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  stage = await createWidgetFixture();
});

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

const withdrawn = 'This chat is not available here any more. Messages can’t be sent.';
const lost = /No connection/;

async function connected(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(`deskbell('getState').then(({ connection }) => connection)`))
    .toBe('online');
}

/** A visitor with a conversation, open in two tabs. */
async function openTwice(path: string, html: string): Promise<readonly Page[]> {
  const address = stage.site.page(path, html);
  const one = await openBrowserPage(stage.browser, address);
  visits.push(one);
  const w = widgetLocators(one.page);
  await w.open();
  await w.write('Hello');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await connected(one.page);
  const other = await one.page.context().newPage();
  await other.goto(address);
  await widgetLocators(other).open();
  await connected(other);
  return [one.page, other];
}

test('a domain that is removed, and added again', async () => {
  const pages = await openTwice('/removed', htmlPage(stage.tag()));
  const domain = { applicationId: stage.application.id, domain: stage.site.domain };
  // What is read out is gone from the page in a moment.
  for (const page of pages)
    await page.evaluate(`(() => {
      window.heard = [];
      const region = document.querySelector('deskbell-widget').shadowRoot.querySelector('[aria-live="polite"]');
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes) for (const node of addedNodes) heard.push(node.textContent);
      }).observe(region, { childList: true });
    })()`);
  await stage.app.local('domains.remove', domain);
  for (const page of pages) {
    const { dialog } = widgetLocators(page);
    await dialog.getByText(withdrawn).waitFor();
    // Who is online, or replies soon, would hear of nothing.
    expect(await dialog.getByText(/We (are online|reply)/).isVisible()).toBe(false);
    // Who can't see it hears it.
    await expect.poll(() => page.evaluate('heard')).toContain(withdrawn);
    expect(await dialog.getByText(lost).count()).toBe(0);
  }
  const [page] = pages as [Page];
  // Trying again changes nothing about it.
  await page.evaluate(`dispatchEvent(new Event('online'))`);
  await widgetLocators(page).write('Is anybody there?');
  await widgetLocators(page).log.getByText('Sending…').waitFor();
  expect(await widgetLocators(page).dialog.getByText(withdrawn).isVisible()).toBe(true);
  await page.evaluate(`deskbell('setLocale', 'de')`);
  await widgetLocators(page).dialog.getByText('Diesen Chat gibt es hier nicht mehr.').waitFor();

  await stage.app.local('domains.add', domain);
  await page.evaluate(`deskbell('setLocale', 'en'); dispatchEvent(new Event('online'))`);
  await connected(page);
  for (const one of pages) await widgetLocators(one).dialog.getByText(withdrawn).waitFor({ state: 'hidden' });
  await widgetLocators(page).log.locator('.mine').last().getByText('Sent', { exact: true }).waitFor();
  await widgetLocators(page)
    .dialog.getByText(/We (are online|reply)/)
    .waitFor();
});

test('an application that is deleted', async () => {
  const { id } = await createApplication(stage.app, 'acme', stage.site.domain);
  const pages = await openTwice(
    '/deleted',
    htmlPage(`<script async src="${stage.app.url}/widget.js" data-app-id="${id}"></script>`),
  );
  await stage.app.local('applications.delete', { applicationId: id });
  for (const page of pages) {
    const { dialog } = widgetLocators(page);
    await dialog.getByText(withdrawn).waitFor();
    expect(await dialog.getByText(lost).count()).toBe(0);
  }
});

test('a visitor who is erased is a new one, in every tab', async () => {
  const pages = await openTwice('/erased', htmlPage(stage.tag()));
  const [page] = pages as [Page];
  const w = widgetLocators(page);
  const visitorId = (await page.evaluate(`deskbell('getState').then((state) => state.visitorId)`)) as string;
  await w.field.click();
  await page.keyboard.type('My number is');
  await stage.app.local('visitors.erase', { visitorId });
  for (const one of pages) {
    const { dialog, log, field } = widgetLocators(one);
    await log.getByText('Hello').waitFor({ state: 'detached' });
    expect(await field.textContent()).toBe('');
    expect(await dialog.getByText(lost).count()).toBe(0);
    expect(await one.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(visitorId);
  }
  await w.write('Good day');
  await w.log.getByText('Sent', { exact: true }).waitFor();
});

test('a conversation that is not there any more is left, and another one can be begun', async () => {
  const one = await openBrowserPage(stage.browser, stage.site.page('/gone', htmlPage('')));
  visits.push(one);
  const { page } = one;
  const sockets: WebSocketRoute[] = [];
  await page.routeWebSocket(/api\/v1\/ws/, (socket) => {
    socket.connectToServer();
    sockets.push(socket);
  });
  await page.goto(stage.site.page('/here', htmlPage(stage.tag())));
  const w = widgetLocators(page);
  await w.open();
  await w.write('Hello');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await connected(page);
  const id = await page.evaluate(`deskbell('getState').then((state) => state.conversationId)`);
  // As the service answers who joins a conversation that its time took away.
  sockets[0]?.send(
    JSON.stringify({ type: 'error', payload: { code: 'FORBIDDEN', message: 'No.', conversationId: id } }),
  );
  await w.log.getByText('Hello').waitFor({ state: 'detached' });
  await w.write('Good day');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  expect(await page.evaluate(`deskbell('getState').then((state) => state.conversationId)`)).not.toBe(id);
});
