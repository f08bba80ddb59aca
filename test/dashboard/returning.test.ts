// What becomes of an open conversation while a member looks elsewhere and comes back: the settings, another tab, the list,
// the search, another member in the same browser. The real server with cookies, in a real browser.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage, type BrowserPage, routeLoaded } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestApplication,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';

let browser: Browser;
let app: TestApp;
let application: TestApplication;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true });
  ({ application } = await createOrganization(app, 'acme'));
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

interface Shift {
  readonly member: TestMember;
  readonly visitor: TestClient;
  readonly id: string;
  readonly page: Page;
}

const signInAddress = async (member: TestMember): Promise<string> => {
  const { ticket } = await app.local('session.createLink', { memberId: member.id });
  return `${app.url}/#sign-in=${ticket}`;
};
const titleIs = (page: Page, title: string): Promise<void> =>
  eventually(async () => expect(await page.title()).toBe(title));
const log = (page: Page) => page.getByRole('log');
const list = (page: Page) => page.getByRole('listbox', { name: 'Queue' });
const sideLink = (page: Page, name: 'Inbox' | 'Settings') =>
  page.locator('.sidebar a').filter({ hasText: name });
const accountOf = (page: Page): Promise<unknown> =>
  page.evaluate(`document.querySelector('.account-menu [aria-label]')?.getAttribute('aria-label')`);
const hash = (page: Page): Promise<unknown> => page.evaluate('location.hash');

/** A member with one conversation, which is open and read. */
async function atWork(name: string, options: BrowserContextOptions = {}): Promise<Shift> {
  const member = await createMember(app, 'acme', 'operator', name);
  const visitor = createVisitor(app, application);
  const id = await createConversation(visitor, `For ${name}`);
  await createMessage(visitor, id, 'Where is my parcel?');
  expect((await member.call('POST', `/conversations/${id}/accept`)).status).toBe(200);
  const opened = await openBrowserPage(browser, await signInAddress(member), options);
  visits.push(opened);
  const { page } = opened;
  await page.locator('.app').waitFor();
  await page.evaluate(`location.hash = '#/c/${id}'`);
  await log(page).getByText('Where is my parcel?').waitFor();
  await eventually(async () => {
    const { body } = await member.call('GET', `/conversations/${id}`);
    expect((body.conversation ?? body).unreadCount).toBe(0);
  });
  await titleIs(page, 'Deskbell');
  return { member, visitor, id, page };
}

describe('what is open is not read', () => {
  test('while the settings are shown; the page says that it waits, and its title is its own again', async () => {
    const { page, visitor, id } = await atWork('Ann');
    await page.evaluate(`location.hash = '#/settings/account'`);
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    await createMessage(visitor, id, 'Hello?');
    await eventually(async () => expect(await page.title()).toMatch(/^\(1\) .+ · Deskbell$/));
    await sideLink(page, 'Inbox').click();
    await log(page).getByText('Hello?').waitFor();
    await titleIs(page, 'Deskbell');
  });

  test('in a tab that was not looked at yet', async () => {
    const { page, visitor, id } = await atWork('Ben');
    await sideLink(page, 'Settings').click();
    const hidden = await page.context().newPage();
    await hidden.addInitScript('Document.prototype.hasFocus = () => window.isLookedAt === true');
    await hidden.goto(`${app.url}/#/c/${id}`);
    await log(hidden).getByText('Where is my parcel?').waitFor();
    await createMessage(visitor, id, 'Hello?');
    await eventually(async () => expect(await hidden.title()).toBe('(1) Deskbell'));
    await hidden.evaluate('window.isLookedAt = true; dispatchEvent(new Event("focus"))');
    await titleIs(hidden, 'Deskbell');
  });
});

describe('the address', () => {
  test('names a conversation no more that was marked as unread, so that a reload does not read it', async () => {
    const { page, id } = await atWork('Cem');
    await page.keyboard.press('u');
    await log(page).waitFor({ state: 'detached' });
    await eventually(async () => expect(await hash(page)).toBe('#/'));
    await titleIs(page, '(1) Deskbell');
    await page.reload();
    await titleIs(page, '(1) Deskbell');
    expect(await log(page).count()).toBe(0);
    // A link to it opens it.
    await page.evaluate(`location.hash = '#/c/${id}'`);
    await log(page).getByText('Where is my parcel?').waitFor();
  });

  test('leads back from the settings to what was open, which is not opened anew', async () => {
    const { page, id } = await atWork('Dan');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await sideLink(page, 'Settings').click();
    await page.locator('.settings-page').waitFor();
    await sideLink(page, 'Inbox').click();
    await log(page).getByText('Where is my parcel?').waitFor();
    expect(await hash(page)).toBe(`#/c/${id}`);
    expect(asked.filter((url) => url.includes(`/conversations/${id}/messages`))).toEqual([]);
  });

  test('leads back to the list where there is no room for both', async () => {
    const { page } = await atWork('Eva', { viewport: { width: 400, height: 800 } });
    await page.evaluate(`location.hash = '#/settings'`);
    await page.locator('.settings').waitFor();
    await sideLink(page, 'Inbox').click();
    await list(page).waitFor();
    expect([await log(page).count(), await hash(page)]).toEqual([0, '#/']);
  });
});

test('a search field that was clicked leaves the list as it is, and its keys', async () => {
  const { page } = await atWork('Fay');
  await page.getByRole('button', { name: 'Mine' }).click();
  const row = list(page).getByRole('option');
  await eventually(async () => expect(await row.count()).toBe(1));
  await page.getByRole('searchbox').click();
  await page.evaluate('new Promise(requestAnimationFrame)');
  expect(await row.count()).toBe(1);
  await list(page).focus();
  // The letter is a command again.
  await page.keyboard.press('u');
  await titleIs(page, '(1) Deskbell');
});

test('another member who signs in beside an open desk has it: nothing goes on under the session before', async () => {
  const { page } = await atWork('Gus');
  const other = await createMember(app, 'acme', 'operator', 'Hal');
  // The session of before is still good: the open desk alone knows of it.
  await page.context().clearCookies();
  const beside = await page.context().newPage();
  await beside.goto(await signInAddress(other));
  for (const one of [beside, page])
    await eventually(async () => expect(await accountOf(one)).toBe('Account: Hal'));
});

test('another member who signs in beside a desk that reaches nothing has it all the same', async () => {
  const { page } = await atWork('Una');
  const other = await createMember(app, 'acme', 'operator', 'Val');
  await page.evaluate('globalThis.isBefore = true');
  await routeLoaded(page, '**/api/v1/**', (route) => route.abort());
  const beside = await page.context().newPage();
  await beside.goto(await signInAddress(other));
  await eventually(async () => expect(await accountOf(beside)).toBe('Account: Val'));
  await eventually(async () => expect(await page.evaluate('globalThis.isBefore')).toBeUndefined());
  await page.unroute('**/api/v1/**');
  await page.reload();
  await eventually(async () => expect(await accountOf(page)).toBe('Account: Val'));
});

test('a link that signs another member in shows nothing of the one before', async () => {
  const { page } = await atWork('Wes');
  const beta = await createOrganization(app, 'beta');
  const other = await createMember(app, beta.slug, 'operator', 'Xan');
  await page.goto('about:blank');
  await page.goto(await signInAddress(other));
  await eventually(async () => expect(await accountOf(page)).toBe('Account: Xan'));
  await page.locator('.queue-pane .empty').waitFor();
  expect(await list(page).getByRole('option').count()).toBe(0);
});

test('signing out that the service does not hear of is not taken for done, and keeps the draft', async () => {
  const { page } = await atWork('Yan');
  const field = page.locator('[data-field=composer]');
  await field.fill('half an answer');
  const signOut = async (): Promise<void> => {
    await page.locator('.account-menu > button').click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
  };
  await routeLoaded(page, '**/api/v1/staff/session', (route) => route.abort());
  await signOut();
  await page.locator('.toast').getByText('The server can’t be reached just now.').waitFor();
  expect([await accountOf(page), await field.inputValue()]).toEqual(['Account: Yan', 'half an answer']);
  await page.unroute('**/api/v1/staff/session');
  await signOut();
  await page.getByLabel('Password').waitFor();
});

describe('by keyboard', () => {
  const focused = (page: Page): Promise<unknown> =>
    page.evaluate('document.activeElement?.textContent?.trim()');

  test('Enter says yes to a question, but not where it can’t be taken back', async () => {
    const { page, member, id } = await atWork('Ida');
    await page.keyboard.press('B');
    await page.getByRole('dialog').waitFor();
    await eventually(async () => expect(await focused(page)).toBe('Cancel'));
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('x');
    await page.getByRole('dialog').waitFor();
    await eventually(async () => expect(await focused(page)).toBe('Resolve'));
    await page.keyboard.press('Enter');
    await eventually(async () => {
      const { body } = await member.call('GET', `/conversations/${id}`);
      expect((body.conversation ?? body).status).toBe('closed');
    });
  });

  test('a button that is under way keeps the focus, and is not pressed again', async () => {
    const { page } = await atWork('Jon');
    await page.evaluate(`location.hash = '#/settings/account'`);
    const save = page.getByRole('button', { name: 'Save' }).first();
    await save.waitFor();
    const release = Promise.withResolvers<void>();
    let sent = 0;
    await routeLoaded(page, '**/api/v1/staff/**', async (route) => {
      if (route.request().method() !== 'GET') {
        sent += 1;
        await release.promise;
      }
      await route.continue();
    });
    await page.getByLabel('Signature').fill('Jon, by phone');
    await save.focus();
    await page.keyboard.press('Enter');
    await eventually(async () => expect(await save.getAttribute('aria-disabled')).toBe('true'));
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('Save');
    release.resolve();
    await eventually(async () => expect(await save.getAttribute('aria-disabled')).toBeNull());
    expect([await focused(page), sent]).toEqual(['Save', 1]);
  });
});
