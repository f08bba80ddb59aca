// What becomes of what a member writes when their session or their rights end under way: the page says so, and nothing that was
// written is lost. The real server with cookies, in a real browser.
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { request } from '../helpers/client.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestMember,
} from '../helpers/fixtures.ts';

let browser: Browser;
let app: TestApp;
let owner: TestMember;
let conversation: string;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true });
  const { application } = await createOrganization(app, 'acme');
  owner = await createMember(app, 'acme', 'admin', 'Owner');
  const visitor = createVisitor(app, application);
  conversation = await createConversation(visitor, 'Late');
  await createMessage(visitor, conversation, 'Where is my parcel?');
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

const composer = (page: Page) => page.locator('[data-field=composer]');
const over = (page: Page) =>
  page.getByText('Your session has ended. Sign in again; your drafts are kept.').first();

/** A page of a member who is signed in by a link. */
async function visit(member: TestMember, hash: string, options: BrowserContextOptions = {}): Promise<Page> {
  const opened = await openDashboard(browser, app, member, hash, options);
  visits.push(opened);
  return opened.page;
}

async function openConversation(member: TestMember): Promise<Page> {
  const page = await visit(member, `#/c/${conversation}`);
  await page.getByRole('log').getByText('Where is my parcel?').waitFor();
  return page;
}

/** Ends the sessions of a member in all browsers, and leaves the one of the test's own calls. */
async function endSessions(member: TestMember): Promise<void> {
  const { body } = await member.call('GET', '/sessions');
  for (const { id, current } of body.sessions as { id: string; current: boolean }[])
    if (!current) expect((await member.call('DELETE', `/sessions/${id}`)).status).toBe(200);
}

async function signIn(page: Page, member: TestMember): Promise<void> {
  await page.getByLabel('Organization').fill('acme');
  await page.getByLabel('E-mail address').fill(member.email);
  await page.locator('input[type=password]:visible').fill(memberPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** A call of the owner's. */
const admin = (method: string, path: string, body?: object) =>
  request(app.url, method, `/api/v1/admin${path}`, owner.headers, body);

/** The members' messages of the conversation. */
async function stored(): Promise<readonly string[]> {
  const { body } = await owner.call('GET', `/conversations/${conversation}/messages?limit=100`);
  return (body.messages as { senderRole: string; content: string }[])
    .filter(({ senderRole }) => senderRole === 'operator')
    .map(({ content }) => content);
}

describe('a session that ends while an answer is written', () => {
  test('leads to the sign-in; behind it are the conversation and the whole draft', async () => {
    const ann = await createMember(app, 'acme', 'operator', 'Ann');
    const page = await openConversation(ann);
    await composer(page).fill('It is on its way');
    await endSessions(ann);
    await over(page).waitFor();
    await page.getByLabel('Organization').waitFor();
    // Once, and read aloud.
    expect(await page.getByText('Your session has ended.').count()).toBe(1);
    expect(await page.getByRole('alert').allInnerTexts()).toEqual([
      'Your session has ended. Sign in again; your drafts are kept.',
    ]);
    expect(await composer(page).count()).toBe(0);
    // A crash in between changes nothing of it.
    await page.reload();
    await signIn(page, ann);
    await page.getByRole('log').getByText('Where is my parcel?').waitFor();
    expect(await composer(page).inputValue()).toBe('It is on its way');
  });

  test('what was sent and written over the end is there: sent once, and as a note', async () => {
    const ben = await createMember(app, 'acme', 'operator', 'Ben');
    const page = await openConversation(ben);
    // So that the page learns of the end by what it sends.
    await page.context().setOffline(true);
    await endSessions(ben);
    await composer(page).focus();
    await page.keyboard.press('Alt+n');
    await page.keyboard.type('First, for colleagues');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Alt+n');
    await page.keyboard.type('Second, still a draft');
    await page.context().setOffline(false);
    await over(page).waitFor();
    await signIn(page, ben);
    await composer(page).waitFor();
    expect(await composer(page).inputValue()).toBe('Second, still a draft');
    expect(await page.locator('.composer.note').count()).toBe(1);
    await eventually(async () => expect(await stored()).toEqual(['First, for colleagues']));
    await page.getByRole('log').getByText('First, for colleagues').waitFor();
    await page.reload();
    await composer(page).waitFor();
    expect(await composer(page).inputValue()).toBe('Second, still a draft');
    expect(await stored()).toEqual(['First, for colleagues']);
  });

  test('another member who signs in there sees nothing of it, and the first one finds it again', async () => {
    const cem = await createMember(app, 'acme', 'operator', 'Cem');
    const dan = await createMember(app, 'acme', 'operator', 'Dan');
    const page = await openConversation(cem);
    await composer(page).fill('Only Cem knows');
    await endSessions(cem);
    await over(page).waitFor();
    await signIn(page, dan);
    await page.getByRole('log').getByText('Where is my parcel?').waitFor();
    expect(await composer(page).inputValue()).toBe('');
    await endSessions(dan);
    await over(page).waitFor();
    await signIn(page, cem);
    await page.getByRole('log').getByText('Where is my parcel?').waitFor();
    await eventually(async () => expect(await composer(page).inputValue()).toBe('Only Cem knows'));
  });
});

describe('rights that change under way', () => {
  test('a removed member is led out, and told so at the sign-in', async () => {
    const eva = await createMember(app, 'acme', 'operator', 'Eva');
    const page = await openConversation(eva);
    await composer(page).fill('Never mind');
    expect((await admin('DELETE', `/members/${eva.id}`)).status).toBe(200);
    await over(page).waitFor();
    await signIn(page, eva);
    await page.getByText('The organization, the e-mail address or the password is wrong.').waitFor();
  });

  test('an admin whose session ends in the settings goes on with what was written there', async () => {
    const fay = await createMember(app, 'acme', 'admin', 'Fay');
    const page = await visit(fay, '#/settings/account');
    const name = page.getByLabel('Name').first();
    // Until the account is there, the first is a token's.
    await eventually(async () => expect(await name.inputValue()).toBe('Fay'));
    await name.fill('Fay of the night');
    await endSessions(fay);
    await over(page).waitFor();
    expect(await name.isVisible()).toBe(false);
    await signIn(page, fay);
    await name.waitFor();
    expect(await name.inputValue()).toBe('Fay of the night');
    await page.locator('.settings-section form').first().getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').first().waitFor();
    expect((await fay.call('GET', '/me')).body).toMatchObject({ member: { name: 'Fay of the night' } });
  });

  test('an admin who is one no more is told, keeps what was written, and has the other pages', async () => {
    const gus = await createMember(app, 'acme', 'admin', 'Gus');
    const page = await visit(gus, '#/settings/organization');
    const name = page.getByLabel('Name').first();
    await name.fill('A name of mine');
    expect((await admin('PATCH', `/members/${gus.id}`, { role: 'operator' })).status).toBe(200);
    await page.locator('.settings-page form').first().getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your rights have changed.').waitFor();
    await page.getByText('What you have written can be copied, but not saved.').waitFor();
    expect(await name.inputValue()).toBe('A name of mine');
    const pages = page.getByRole('navigation', { name: 'Settings' });
    expect(await pages.getByRole('link', { name: 'Members' }).count()).toBe(0);
    await pages.getByRole('link', { name: 'My account' }).click();
    await page.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('heading', { name: 'Tokens' }).waitFor();
    // No way back to it.
    await page.evaluate("location.hash = '#/settings/organization'");
    await page.getByText('Choose what to set.').waitFor();
    await page.evaluate(`location.hash = '#/c/${conversation}'`);
    await page.getByRole('log').getByText('Where is my parcel?').waitFor();
  });

  test('an operator who becomes an admin has the admins’ pages when they are back at the window', async () => {
    const hal = await createMember(app, 'acme', 'operator', 'Hal');
    const page = await visit(hal, '#/settings/account');
    const pages = page.getByRole('navigation', { name: 'Settings' });
    await pages.getByRole('link', { name: 'My account' }).waitFor();
    expect(await pages.getByRole('link', { name: 'Members' }).count()).toBe(0);
    await page.evaluate('Date.now = ((now) => () => now() + 60_000)(Date.now)');
    expect((await admin('PATCH', `/members/${hal.id}`, { role: 'admin' })).status).toBe(200);
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.getByText('Your rights have changed.').waitFor();
    await pages.getByRole('link', { name: 'Members' }).click();
    await page.getByText(hal.email).waitFor();
  });

  test('an admin who is one no more is refused in their language, and what they may not do is gone', async () => {
    const ida = await createMember(app, 'acme', 'admin', 'Ida');
    expect((await owner.call('POST', `/conversations/${conversation}/accept`)).status).toBe(200);
    const page = await visit(ida, `#/c/${conversation}`, { locale: 'de' });
    await page.getByRole('log').getByText('Where is my parcel?').waitFor();
    const resolve = page.getByRole('button', { name: 'Abschließen' });
    await resolve.waitFor();
    expect((await admin('PATCH', `/members/${ida.id}`, { role: 'operator' })).status).toBe(200);
    await resolve.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Abschließen' }).click();
    await page.getByText('Dazu haben Sie kein Recht.').waitFor();
    await page.getByText('Ihre Rechte haben sich geändert.').waitFor();
    await eventually(async () => expect(await resolve.count()).toBe(0));
  });
});

describe('a sign-in that is refused', () => {
  /** A page in German whose server answers a step of the sign-in as it is told to. */
  async function openRefused(
    hash: string,
    answers: Readonly<Record<string, readonly object[]>>,
  ): Promise<Page> {
    const opened = await openBrowserPage(browser, 'about:blank', { locale: 'de' });
    visits.push(opened);
    for (const [path, bodies] of Object.entries(answers)) {
      const left = [...bodies];
      await opened.page.route(`${app.url}/api/v1/staff/${path}`, (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 401, json: { message: 'In English.', ...left.shift() } })
          : route.continue(),
      );
    }
    await opened.page.goto(`${app.url}/${hash}`);
    return opened.page;
  }

  /** Waits until a text is there. @returns how often it is */
  async function timesSaid(text: Locator): Promise<number> {
    await text.first().waitFor();
    return text.count();
  }

  const pending = { error: 'second_factor', ticket: 'one', methods: ['totp'] };

  test('at the second factor says so by what is wrong, and not that the password is', async () => {
    const page = await openRefused('', {
      session: [pending],
      'session/second-factor': [pending, { error: 'unauthorized' }],
    });
    await page.getByLabel('Organisation').fill('acme');
    await page.getByLabel('E-Mail-Adresse').fill(owner.email);
    await page.getByLabel('Passwort').fill(memberPassword);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await page.getByLabel(/Code/).fill('123456');
    await page.getByRole('button', { name: 'Weiter' }).click();
    expect(
      await timesSaid(page.getByText('Der Code oder Passkey ist falsch oder wurde schon benutzt.')),
    ).toBe(1);
    await page.getByRole('button', { name: 'Weiter' }).click();
    expect(await timesSaid(page.getByText('Diese Anmeldung hat zu lange gedauert'))).toBe(1);
  });

  test('without a mail server says who gives a new password', async () => {
    const page = await openRefused('', { 'password/forgot': [{ error: 'conflict' }] });
    await page.getByRole('button', { name: 'Passwort vergessen?' }).click();
    await page.getByLabel('Organisation').fill('acme');
    await page.getByLabel('E-Mail-Adresse').fill(owner.email);
    await page.getByRole('button', { name: 'Link per E-Mail schicken' }).click();
    expect(await timesSaid(page.getByText('Dieser Server sendet keine E-Mails.'))).toBe(1);
  });

  test('by a link says that it is spent only where it is', async () => {
    const away = await openRefused('#sign-in=one', { 'session/link': [{ error: 'unavailable' }] });
    expect(await timesSaid(away.getByText('Der Dienst kann das gerade nicht tun.'))).toBe(1);
    expect(await away.getByText('Dieser Link wurde schon benutzt').count()).toBe(0);
    const spent = await openRefused('#sign-in=one', {});
    expect(await timesSaid(spent.getByText('Dieser Link wurde schon benutzt'))).toBe(1);
  });

  test('for a new password says in the reader’s language what is wrong with it, or with the link', async () => {
    const page = await openRefused('#reset=one', {});
    const password = page.locator('input[autocomplete=new-password]');
    await password.fill('short');
    await page.keyboard.press('Enter');
    expect(await timesSaid(page.getByRole('alert').getByText('Mindestens 8 Zeichen.'))).toBe(1);
    await password.fill('password1');
    await page.keyboard.press('Enter');
    expect(
      await timesSaid(page.getByText('Dieses Passwort gehört zu denen, die zuerst ausprobiert werden.')),
    ).toBe(1);
    await password.fill('seven llamas of the owner');
    await page.keyboard.press('Enter');
    expect(await timesSaid(page.getByText('Dieser Link wurde schon benutzt oder ist abgelaufen.'))).toBe(1);
  });
});
