// Walks through the settings in a real browser, signed in by a link: every page draws, says no error, breaks no policy and
// no rule of accessibility; what is written is stored, and what is wrong is said at its field.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { fieldProblem } from '../../src/dashboard/settings/field-problems.ts';
import { axeViolations } from '../helpers/axe.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  launchBrowser,
  openBrowserPage,
  startHostSite,
  type BrowserPage,
  routeLoaded,
} from '../helpers/browser.ts';
import { buildDocx, buildPdf, paragraph, pdfLine } from '../helpers/document-files.ts';
import { request } from '../helpers/client.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createApplication,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

/** Where pictures go; nowhere unless asked for. */
const pictures = process.env['DESKBELL_TEST_PICTURES'];
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });

let browser: Browser;
let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true, flags: { crawlPrivate: 'allow' } });
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  await createMember(app, 'acme', 'operator', 'Bob');
  await createConversation(createVisitor(app, acme.application), 'A question');
  await app.local('knowledge.add', {
    applicationId: acme.application.id,
    source: 'returns.md',
    content: '# Returns\n\nSend it back within 30 days.',
  });
  await ann.call('POST', '/canned-replies', { shortcut: 'hi', content: 'Hello!' });
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

/** Signs in by a link and opens a page of the settings. */
async function visit(section: string, options: BrowserContextOptions = {}): Promise<BrowserPage> {
  const opened = await openDashboard(browser, app, ann, `#/settings/${section}`, options);
  visits.push(opened);
  return opened;
}

async function openSignedOut(url: string): Promise<BrowserPage> {
  const opened = await openBrowserPage(browser, url);
  visits.push(opened);
  return opened;
}

/** Waits until everything that a page asked for is there. */
async function settled(page: Page): Promise<void> {
  await page.locator('.settings-page').waitFor();
  await eventually(async () => {
    expect(await page.locator('.settings .loading').count()).toBe(0);
  });
}

/** Not into the frame of the preview: the widget has such tests of its own. */
const violations = (page: Page): Promise<string[]> => axeViolations(page, { frames: false });

const sections = [
  'account',
  'notifications',
  'device',
  'canned',
  'people',
  'statistics',
  'applications',
  'knowledge',
  'members',
  'webhooks',
  'organization',
  'audit',
];

/** How far the page goes beyond the window to the side; it scrolls by itself. */
const beyondTheSide = (page: Page): Promise<number> =>
  page.evaluate<number>(`(() => {
    const inner = document.querySelector('.settings-page');
    return document.documentElement.scrollWidth - innerWidth + inner.scrollWidth - inner.clientWidth;
  })()`);

async function walk(name: string, options: BrowserContextOptions): Promise<string[]> {
  const { page, problems } = await visit('account', options);
  for (const section of [...sections, `applications/${acme.application.id}`]) {
    await page.evaluate(`location.hash = '#/settings/${section}'`);
    await page.locator('.settings-section, .settings-page .form').first().waitFor();
    await settled(page);
    expect(await beyondTheSide(page), `${section} is wider than the window`).toBeLessThanOrEqual(0);
    if (pictures !== undefined)
      await page.screenshot({
        path: join(pictures, `settings-${name}-${section.replace(/\/.*/, '-one')}.png`),
        fullPage: false,
      });
    expect(await violations(page), section).toEqual([]);
    expect(await page.locator('h1:visible').count(), `titles of ${section}`).toBe(1);
    expect(await page.locator('.callout.bad').count(), section).toBe(0);
  }
  return problems;
}

describe('a member who has forgotten the password', () => {
  it('is given another by an admin, with which they sign in, and is signed out until then', async () => {
    const tom = await createMember(app, 'acme', 'operator', 'Tom');
    const { page } = await visit('members');
    const row = page.getByRole('row').filter({ hasText: tom.email });
    await row.getByRole('button', { name: 'New password' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('Give Tom a new password?').waitFor();
    await question.getByRole('button', { name: 'New password' }).click();
    const shown = page.locator('.callout', { hasText: 'The new password of Tom.' }).locator('.shown');
    const password = (await shown.textContent()) ?? '';
    expect(password).toMatch(/^(?:[0-9a-z]{5}-){3}[0-9a-z]{5}$/);
    expect((await tom.call('GET', '/me')).status).toBe(401);
    const signIn = (given: string): ReturnType<typeof request> =>
      request(
        app.url,
        'POST',
        '/api/v1/staff/session',
        {},
        { organization: 'acme', email: tom.email, password: given },
      );
    expect((await signIn(memberPassword)).status).toBe(401);
    expect((await signIn(password)).status).toBe(201);
    // Asked for once more it is another one.
    await row.getByRole('button', { name: 'New password' }).click();
    await question.getByRole('button', { name: 'New password' }).click();
    await eventually(async () => expect(await shown.textContent()).not.toBe(password));
  });
});

describe('an invitation', () => {
  it('is a page on which the invited member chooses a password and signs in, also beside another member', async () => {
    const invited = await request(
      app.url,
      'POST',
      '/api/v1/admin/members/invitations',
      { authorization: `Bearer ${ann.token}` },
      { email: 'carla@acme.example', name: 'Carla', role: 'operator' },
    );
    const { page, problems } = await visit('account');
    await page.goto(String(invited.body.url));
    const password = page.locator('input[autocomplete=new-password]');
    await password.fill('password1');
    // Neither in the address nor in the history.
    expect(await page.evaluate('location.href')).toBe(`${app.url}/invitation`);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.locator('.sign-in [role=alert]', { hasText: /tried first/ }).waitFor();
    await password.fill('seven llamas of carla');
    await page.keyboard.press('Enter');
    await page.locator('.sign-in .callout').waitFor();
    await page.locator('input[autocomplete=current-password]').fill('seven llamas of carla');
    await page.keyboard.press('Enter');
    await page.locator('.app').waitFor();
    await page.evaluate("location.hash = '#/settings/account'");
    await eventually(async () => {
      expect(await page.locator('input[name=name]').first().inputValue()).toBe('Carla');
    });
    // The refused password is a 422, which the browser notes.
    expect(problems.filter((problem) => !/the server responded with a status of 4/.test(problem))).toEqual(
      [],
    );
  });
  it('that is used up says so', async () => {
    const { page } = await openSignedOut(`${app.url}/invitation#used`);
    await page.locator('input[autocomplete=new-password]').fill('seven llamas of carla');
    await page.keyboard.press('Enter');
    const refusal = page.locator('.sign-in [role=alert]', { hasText: 'Ask an admin for a new one' });
    await refusal.waitFor();
    expect(await refusal.count()).toBe(1);
  });
});

describe('every page', () => {
  it('draws in light colours, within the policy and the rules of accessibility', async () => {
    expect(await walk('light', {})).toEqual([]);
  });
  it('draws in dark colours', async () => {
    expect(await walk('dark', { colorScheme: 'dark' })).toEqual([]);
  });
  it('has what belongs to a value beside it on a phone, and not under its title', async () => {
    const { page } = await visit('members', { viewport: { width: 390, height: 844 } });
    const name = await page.getByRole('row').getByText('Bob', { exact: true }).boundingBox();
    const address = await page.getByRole('row').filter({ hasText: 'Bob' }).locator('.hint').boundingBox();
    expect(address?.x).toBe(name?.x);
  });
  it('takes no short word apart where there is room', async () => {
    const { page } = await visit('statistics', { locale: 'de-DE', viewport: { width: 1440, height: 900 } });
    await page.getByRole('cell', { name: 'Gesamt' }).waitFor();
    const lines = await page.evaluate<number>(`(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('.table td'));
      return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    })()`);
    expect(lines).toBe(1);
  });
  it.each(['pt-PT', 'de-DE', 'ar'])('scrolls to no side on a phone of 320 pixels in %s', async (locale) => {
    const { page } = await visit('account', { locale, viewport: { width: 320, height: 640 } });
    for (const section of [...sections, `applications/${acme.application.id}`]) {
      await page.evaluate(`location.hash = '#/settings/${section}'`);
      await page.locator('.settings-section, .settings-page .form').first().waitFor();
      await settled(page);
      expect(await beyondTheSide(page), section).toBeLessThanOrEqual(0);
    }
  });
  it.each([820, 1_024])('scrolls to no side in a window of %i pixels', async (width) => {
    const { page } = await visit('account', { locale: 'de-DE', viewport: { width, height: 800 } });
    for (const section of sections) {
      await page.evaluate(`location.hash = '#/settings/${section}'`);
      await page.locator('.settings-section, .settings-page .form').first().waitFor();
      await settled(page);
      expect(await beyondTheSide(page), `${section} is wider than the window`).toBeLessThanOrEqual(0);
    }
  });

  it('draws on a phone, from right to left', async () => {
    expect(await walk('rtl', { locale: 'ar', viewport: { width: 360, height: 640 } })).toEqual([]);
  });
});

describe('what is written', () => {
  it('is stored', async () => {
    const { page } = await visit(`applications/${acme.application.id}`);
    await page.getByLabel('Greeting').fill('Good day');
    expect(await page.getByText('Not saved yet.').count()).toBe(1);
    const section = page.locator('.settings-section', { hasText: 'Texts and visitors' });
    await section.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => {
      const { settings } = await app.local('applications.get', { applicationId: acme.application.id });
      expect(settings.behavior.greeting).toBe('Good day');
    });
    await page.getByLabel('Always open').uncheck();
    const opens = page.getByLabel('Opens').first();
    await opens.fill('08:30');
    // A text that was lost on its way into the field is told from one that was not stored.
    expect(await opens.inputValue()).toBe('08:30');
    await page.locator('.hours').getByRole('button', { name: 'Save' }).click();
    await eventually(async () => {
      const { settings } = await app.local('applications.get', { applicationId: acme.application.id });
      expect(settings.behavior.businessHours?.week.monday).toEqual([{ open: '08:30', close: '17:00' }]);
    });
  });

  it('stays where it is wrong, with what is wrong at its field', async () => {
    const { page } = await visit('account');
    await page.getByLabel('Time zone').fill('Moon/Base');
    await page.getByRole('button', { name: 'Save' }).first().click();
    const field = page.getByLabel('Time zone');
    await eventually(async () => {
      expect(await field.getAttribute('aria-invalid')).toBe('true');
    });
    expect(await field.inputValue()).toBe('Moon/Base');
    await page.getByLabel('Present password').fill('wrong');
    await page.getByLabel('New password').fill('a new pass phrase');
    await page.getByRole('button', { name: 'Save' }).nth(1).click();
    await eventually(async () => {
      expect(await page.getByLabel('Present password').getAttribute('aria-invalid')).toBe('true');
    });
    expect(await page.getByLabel('New password').inputValue()).toBe('a new pass phrase');
  });

  it('is called wrong in the reader’s language', async () => {
    const { page } = await visit('members', { locale: 'de-DE' });
    const form = page.locator('form').filter({ has: page.getByLabel('Passwort') });
    await form.getByLabel('E-Mail-Adresse').fill('no address');
    await form.getByLabel('Passwort').fill('short');
    await form.getByRole('button').click();
    await form.locator('[aria-invalid=true]').first().waitFor();
    expect(await form.locator('.field .problem').allInnerTexts()).toEqual([
      'Bitte ausfüllen.',
      'Schreiben Sie eine E-Mail-Adresse, etwa name@example.com.',
      'Mindestens 8 Zeichen.',
    ]);
  });

  it('is called wrong at its field, where the server knows it by another name', async () => {
    const { page } = await visit('account', { locale: 'de-DE' });
    const problemAt = async (label: string, text: string): Promise<unknown> => {
      const field = page.getByLabel(label, { exact: true });
      const form = page.locator('form').filter({ has: field });
      await field.fill(text);
      await form.getByRole('button').click();
      await form.locator('.problem:not(:empty)').first().waitFor();
      return {
        fields: await form.locator('.field .problem').allInnerTexts(),
        form: await form.locator('> .problem').textContent(),
      };
    };
    await page.getByLabel('Name', { exact: true }).last().fill('Script');
    expect(await problemAt('Gültig für Tage, höchstens 366', '9000000000')).toEqual({
      fields: ['Von 1 bis 366 Tagen.'],
      form: '',
    });
    await page.getByLabel('Neues Passwort').fill('a new pass phrase');
    expect(await problemAt('Bisheriges Passwort', 'not mine')).toEqual({
      fields: ['Das ist nicht Ihr bisheriges Passwort.'],
      form: '',
    });
  });

  it('is called wrong at its field, where an item of it is wrong', async () => {
    const { page } = await visit('knowledge');
    const field = page.getByLabel('Words that mean the same', { exact: true });
    const form = page.locator('form').filter({ has: field });
    await field.fill('parcel\nreturn, refund');
    await form.getByRole('button').click();
    await form.locator('.problem:not(:empty)').first().waitFor();
    expect(await form.locator('.field .problem').allInnerTexts()).toEqual([
      'At least 2 words in each line, with commas between them.',
    ]);
  });

  it('is called wrong in no words of the server’s, where it is often wrong', async () => {
    const admin = (method: string, path: string, body: object): ReturnType<typeof request> =>
      request(app.url, method, `/api/v1/admin${path}`, { authorization: `Bearer ${ann.token}` }, body);
    const answers = [
      await admin('POST', '/members', { name: '', email: 'x', role: 'operator' }),
      await admin('POST', '/members', {
        name: 'A'.repeat(101),
        email: 'x',
        password: 'short',
        role: 'admin',
      }),
      await admin('POST', '/members', {
        name: 'A',
        email: 'a@b.example',
        password: 'password',
        role: 'admin',
      }),
      await admin('PATCH', `/applications/${acme.application.id}`, {
        appearance: { colors: { primary: 'red' }, logo: 'http://shop.example/logo.png' },
        behavior: { timezone: 'Mars' },
        email: { afterMinutes: 1441 },
        locale: 'no tag',
      }),
      await admin('POST', '/webhooks', { url: 'http://shop.example' }),
      await admin('POST', '/webhooks', { url: 'https://127.0.0.1' }),
      await admin('POST', '/webhooks', { url: 'https://shop.example', events: ['x'] }),
      await admin('PUT', `/applications/${acme.application.id}/synonyms`, { synonyms: [['a']] }),
      await ann.call('POST', '/tokens', { name: 'A', scopes: [], expiresAt: '2001-01-01T00:00:00.000Z' }),
      await ann.call('PATCH', '/me', { currentPassword: 'not mine', password: 'a new pass phrase' }),
      await ann.call('POST', '/blocks', { address: '999' }),
      await ann.call('POST', '/canned-replies', { shortcut: 'a b', content: '' }),
    ];
    const said = answers.flatMap(({ body }) =>
      (body.details as { message: string }[]).map(({ message }) => message),
    );
    expect(said.length).toBeGreaterThanOrEqual(15);
    expect(said.filter((one) => fieldProblem(one) === null)).toEqual([]);
  });

  it('of one’s language is spoken at once, and after the next sign-in on another device', async () => {
    const dora = await createMember(app, 'acme', 'operator', 'Dora');
    const { ticket } = await app.local('session.createLink', { memberId: dora.id });
    const { page: first } = await openSignedOut(`${app.url}/#sign-in=${ticket}`);
    await first.locator('.app').waitFor();
    await first.evaluate(`location.hash = '#/settings/account'`);
    const asked: string[] = [];
    first.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    await first.getByLabel('Language').selectOption('Français');
    await first.getByLabel('Signature').fill('Dora, la boutique');
    await first.getByRole('button', { name: 'Save' }).first().click();
    await first.getByRole('heading', { name: 'Mot de passe' }).waitFor();
    // The page is loaded anew with what is saved.
    expect(asked).toEqual([]);
    expect((await dora.call('GET', '/me')).body.member).toMatchObject({
      locale: 'fr',
      signature: 'Dora, la boutique',
    });
    // By its name: a browser takes no passkey for an address, so the page of security leads there.
    const named = app.url.replace('127.0.0.1', 'localhost');
    const { page: other } = await openSignedOut(named);
    await other.getByLabel('Organization').fill('acme');
    await other.getByLabel('E-mail address').fill(dora.email);
    await other.getByLabel('Password').fill(memberPassword);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('listbox', { name: 'File d’attente' }).waitFor();
    expect(await other.evaluate('document.documentElement.lang')).toBe('fr');
    await other.goto(`${named}/security`);
    await other.locator('html[lang=fr]').waitFor({ state: 'attached' });
    await other.goto(named);
    // What was chosen for the device comes first.
    await other.evaluate(`localStorage.setItem('deskbell.language', 'de')`);
    await other.reload();
    await other.getByRole('listbox', { name: 'Warteschlange' }).waitFor();
  });

  it('of a key is shown once and revealed with a row of the audit log', async () => {
    const { page } = await visit(`applications/${acme.application.id}`);
    await settled(page);
    const section = page.locator('.settings-section', { hasText: 'API keys' });
    await section.getByRole('button', { name: 'Show again' }).first().click();
    await section.locator('.shown').waitFor();
    expect(await section.locator('.shown').textContent()).toMatch(/^dbk_/);
    const { entries } = await app.local('audit.list', { organization: 'acme' });
    expect(entries[0]?.action).toBe('keys.reveal');
  });
});

describe('what a page asks for again', () => {
  it('shows the newest answer, whichever comes last, and what went wrong above the one before', async () => {
    const { page } = await visit('statistics');
    await settled(page);
    const release = Promise.withResolvers<void>();
    let asked = 0;
    await routeLoaded(page, '**/staff/stats*', async (route) => {
      const mine = (asked += 1);
      if (mine === 3) return route.abort();
      if (mine === 1) await release.promise;
      return route.fulfill({ json: { stats: { ...stats, opened: mine * 1_111 } } });
    });
    const opened = page.getByRole('cell', { name: /^\d,\d{3}$/ });
    const { stats } = (await ann.call('GET', '/stats')).body;
    await page.getByRole('combobox').selectOption('90');
    await eventually(() => expect(asked).toBe(1));
    await page.getByRole('combobox').selectOption('7');
    await page.getByRole('cell', { name: '2,222' }).waitFor();
    const late = page.waitForResponse((response) => response.url().includes('/staff/stats'));
    release.resolve();
    await late;
    await page.getByRole('combobox').selectOption('30');
    await page.getByRole('alert').getByRole('button').waitFor();
    expect(await opened.allTextContents()).toEqual(['2,222']);
  });
});

describe('a form of what is stored', () => {
  it('changes what was changed in it alone, and not what another admin has changed beside it', async () => {
    const { page } = await visit('organization');
    const form = page.locator('.settings-page form').first();
    await form.getByLabel('Name').waitFor();
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'admins' } });
    await form.getByLabel('Name').fill('Acme & Daughters');
    await form.getByRole('button', { name: 'Save' }).click();
    const stored = () => app.local('organizations.get', { organization: 'acme' });
    await eventually(async () => expect((await stored()).name).toBe('Acme & Daughters'));
    expect((await stored()).signIn.secondFactor).toBe('admins');
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'off' } });
  });

  it('of a webhook leaves its events and its switch as another admin has set them since', async () => {
    const { id } = await app.local('webhooks.create', {
      organization: 'acme',
      url: 'https://hooks.example/told',
      events: ['message:new'],
    });
    const { page } = await visit(`webhooks/${id}`);
    await page.getByLabel('Address').waitFor();
    await app.local('webhooks.update', { webhookId: id, events: ['conversation:new'], enabled: false });
    await page.getByLabel('Address').fill('https://hooks.example/moved');
    await page.getByRole('button', { name: 'Save' }).click();
    const stored = () => app.local('webhooks.get', { webhookId: id });
    await eventually(async () => expect((await stored()).url).toBe('https://hooks.example/moved'));
    expect(await stored()).toMatchObject({ events: ['conversation:new'], enabled: false });
    // Emptied, it still asks for every event.
    await page.locator('[name=events]').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => expect((await stored()).events).toBe(null));
    expect((await stored()).enabled).toBe(false);
    await app.local('webhooks.delete', { webhookId: id });
  });

  it('of the own account leaves what was changed on another device', async () => {
    const eve = await createMember(app, 'acme', 'operator', 'Eve');
    const { ticket } = await app.local('session.createLink', { memberId: eve.id });
    const { page } = await openSignedOut(`${app.url}/#sign-in=${ticket}`);
    await page.locator('.app').waitFor();
    await page.evaluate(`location.hash = '#/settings/account'`);
    await page.getByLabel('Signature').waitFor();
    await eve.call('PATCH', '/me', { name: 'Eve Adler', timezone: 'Europe/Vienna' });
    await page.getByLabel('Signature').fill('Eve, by phone');
    await page.getByRole('button', { name: 'Save' }).first().click();
    const stored = async () => (await eve.call('GET', '/me')).body.member;
    await eventually(async () => expect(await stored()).toMatchObject({ signature: 'Eve, by phone' }));
    expect(await stored()).toMatchObject({ name: 'Eve Adler', timezone: 'Europe/Vienna', locale: null });
  });

  it('takes an empty number for none, and not for zero', async () => {
    const { page } = await visit(`applications/${acme.application.id}`);
    await settled(page);
    const minutes = page.locator('[name="email.afterMinutes"]');
    const form = page.locator('.settings-page form', { has: minutes });
    await minutes.fill('');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.locator('[aria-invalid="true"]').waitFor();
    const { settings } = await app.local('applications.get', { applicationId: acme.application.id });
    expect(settings.email.afterMinutes).toBe(2);
  });
});

describe('leaving with something that is not saved', () => {
  const signature = (page: Page) => page.getByLabel('Signature');
  const question = (page: Page) => page.getByRole('dialog', { name: 'Leave without saving?' });
  const press = (page: Page, name: string) => question(page).getByRole('button', { name }).click();
  /** From the inbox over another page to the account, with something written there. */
  async function write(options: BrowserContextOptions = {}): Promise<BrowserPage> {
    const opened = await visit('canned', options);
    await opened.page.evaluate(`location.hash = '#/settings/account'`);
    await signature(opened.page).fill('Written, not saved');
    return opened;
  }
  async function stays(page: Page): Promise<void> {
    expect(await page.evaluate('location.hash')).toBe('#/settings/account');
    expect(await signature(page).inputValue()).toBe('Written, not saved');
  }

  it('is asked about at a link, by keyboard too: Enter and Escape stay, with the text', async () => {
    const { page, problems } = await write();
    for (const key of ['Enter', 'Escape']) {
      await page.getByRole('link', { name: 'Webhooks' }).press('Enter');
      await question(page).waitFor();
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Keep editing');
      expect(await violations(page)).toEqual([]);
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'settings-leave.png') });
      await page.keyboard.press(key);
      await question(page).waitFor({ state: 'detached' });
      await stays(page);
    }
    await page.getByRole('link', { name: 'Inbox' }).click();
    await press(page, 'Leave without saving');
    await page.getByRole('listbox', { name: 'Queue' }).waitFor();
    // What was given up is asked about no more.
    await page.goBack();
    await page.getByRole('heading', { name: 'Password' }).waitFor();
    expect(await signature(page).inputValue()).toBe('');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'Add a webhook' }).waitFor();
    expect(problems).toEqual([]);
  });

  it.each(['that names its steps', 'that does not'])(
    'is asked about at the way back of a browser %s, which leads there once it is left',
    async (browserKind) => {
      const { page } = await write();
      if (browserKind === 'that does not')
        await page.evaluate(`Object.defineProperty(globalThis, 'navigation', { value: undefined })`);
      for (let times = 0; times < 2; times += 1) {
        await page.evaluate('history.back()');
        await question(page).waitFor();
        await press(page, 'Keep editing');
        await eventually(() => stays(page));
      }
      await page.evaluate('history.back()');
      await press(page, 'Leave without saving');
      await page.getByRole('heading', { name: 'Canned replies', exact: true }).waitFor();
      expect(await page.evaluate('location.hash')).toBe('#/settings/canned');
      // The steps are those that there were.
      if (browserKind === 'that names its steps') {
        await page.goForward();
        await page.getByRole('heading', { name: 'Password' }).waitFor();
      }
      expect(await question(page).count()).toBe(0);
    },
  );

  it('is asked about on a phone at the page’s own way back, and when signing out', async () => {
    const { page } = await write({ viewport: { width: 390, height: 844 } });
    await page.getByRole('button', { name: 'Back' }).click();
    await question(page).waitFor();
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'settings-leave-phone.png') });
    await press(page, 'Keep editing');
    await stays(page);
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.type());
      void dialog.accept();
    });
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await press(page, 'Keep editing');
    await stays(page);
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await press(page, 'Leave without saving');
    await page.getByLabel('E-mail address').waitFor();
    expect(dialogs).toEqual([]);
  });

  it('is asked about by the browser when the page is closed or loaded anew, and by none once it is saved', async () => {
    const { page } = await write();
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.type());
      void dialog.dismiss();
    });
    await page.evaluate('setTimeout(() => location.reload())');
    await eventually(() => expect(dialogs).toEqual(['beforeunload']));
    await stays(page);
    // Saved while the question stands: it needs no answer.
    const release = Promise.withResolvers<void>();
    await routeLoaded(page, '**/staff/me', async (route) => {
      await release.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await question(page).waitFor();
    release.resolve();
    await page.getByRole('heading', { name: 'Add a webhook' }).waitFor();
    expect(await question(page).count()).toBe(0);
    await page.unroute('**/staff/me');
    await page.reload();
    await page.getByRole('heading', { name: 'Add a webhook' }).waitFor();
    expect(dialogs).toEqual(['beforeunload']);
    expect((await ann.call('PATCH', '/me', { signature: '' })).status).toBe(200);
  });

  it('is asked about before another row takes its place, and leaves the other forms of the page alone', async () => {
    const shortcuts = ['first', 'second'];
    for (const shortcut of shortcuts)
      expect((await ann.call('POST', '/canned-replies', { shortcut, content: 'Hi' })).status).toBe(201);
    const { page, problems } = await visit('canned');
    const edit = (name: string) =>
      page.getByRole('row', { name }).getByRole('button', { name: 'Edit' }).click();
    const text = page.locator('[name=content]');
    await edit('/first');
    await page.getByRole('heading', { name: 'Change the reply' }).waitFor();
    await text.fill('Written, not saved');
    await page.locator('[name=name]').fill('Tag, not saved');
    // Its own row is open already.
    await edit('/first');
    await edit('/second');
    await press(page, 'Keep editing');
    expect(await text.inputValue()).toBe('Written, not saved');
    await edit('/second');
    await press(page, 'Leave without saving');
    await eventually(async () => expect(await text.inputValue()).toBe('Hi'));
    // Nothing was written there: nothing is asked. What waits in the other form still is.
    await edit('/first');
    await eventually(async () => expect(await page.locator('[name=shortcut]').inputValue()).toBe('first'));
    expect(await page.locator('[name=name]').inputValue()).toBe('Tag, not saved');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await press(page, 'Keep editing');
    // A row that is removed is not changed any more.
    await page.getByRole('row', { name: '/first' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Add a reply' }).waitFor();
    expect(problems).toEqual([]);
  });

  it('is asked about before the page turns to another application, whose list stays where it is', async () => {
    const { id: other } = await createApplication(app, 'acme', 'second.example');
    const { page } = await visit('knowledge');
    const list = page.getByLabel('Application', { exact: true });
    const before = await list.inputValue();
    await page.locator('[name=lines]').fill('parcel, package');
    await list.selectOption(other);
    await press(page, 'Keep editing');
    expect(await list.inputValue()).toBe(before);
    expect(await page.locator('[name=lines]').inputValue()).toBe('parcel, package');
    await list.selectOption(other);
    await press(page, 'Leave without saving');
    await eventually(async () => expect(await list.inputValue()).toBe(other));
    await eventually(async () => expect(await page.locator('[name=lines]').inputValue()).toBe(''));
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'Add a webhook' }).waitFor();
    await app.local('applications.delete', { applicationId: other });
  });

  it('is asked about in long words too, with all that can be answered within the window', async () => {
    const { page } = await visit('account', { locale: 'nl', viewport: { width: 320, height: 640 } });
    await page.locator('[name=signature]').fill('Written, not saved');
    await page.evaluate(`location.hash = '#/'`);
    for (const name of ['Verder bewerken', 'Weggaan zonder op te slaan']) {
      const box = await page.getByRole('dialog').getByRole('button', { name }).boundingBox();
      expect(box?.x).toBeGreaterThan(16);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan(304);
    }
  });

  it('waits behind the sign-in, and the question with it', async () => {
    const { page } = await write();
    await page.evaluate(`fetch('api/v1/staff/session', { method: 'DELETE' })`);
    const password = page.locator('input[autocomplete=current-password]').last();
    await page.locator('.sign-in').waitFor();
    await page.evaluate('history.back()');
    await eventually(() => stays(page));
    expect(await question(page).count()).toBe(0);
    await page.getByLabel('Organization').fill('acme');
    await page.getByLabel('E-mail address').fill(ann.email);
    await password.fill(memberPassword);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await press(page, 'Keep editing');
    await stays(page);
  });

  it('is not asked about where its subject was removed', async () => {
    const { id } = await app.local('webhooks.create', {
      organization: 'acme',
      url: 'https://hooks.example/gone',
    });
    const { page } = await visit(`webhooks/${id}`);
    await page.getByLabel('Address').fill('https://hooks.example/never');
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Add a webhook' }).waitFor();
    expect(await question(page).count()).toBe(0);
  });
});

describe('a webhook that fails', () => {
  it('says why, and when it is tried again; a sample once it was tried', async () => {
    const { id } = await app.local('webhooks.create', {
      organization: 'acme',
      url: 'https://receiver.example/hook',
    });
    const { page } = await visit('account', { locale: 'de-DE' });
    const delivery = { id: 'sample', type: 'webhook:test', createdAt: new Date().toISOString(), error: null };
    const failing = { ...delivery, id: 'failing', status: 'waiting', error: 'the name is unknown' };
    let looks = 0;
    await routeLoaded(page, /\/webhooks\/[^/]+\/deliveries/, (route) => {
      const sample = { ...delivery, status: 'waiting', nextAttemptAt: null };
      const tried = { ...sample, status: 'failed', error: 'answered 500' };
      looks += 1;
      const deliveries = [
        looks < 4 ? sample : tried,
        { ...failing, nextAttemptAt: '2030-01-02T03:04:05.000Z' },
      ];
      return route.fulfill({ json: { deliveries, total: 2 } });
    });
    await routeLoaded(page, /\/webhooks\/[^/]+\/test/, (route) => route.fulfill({ json: { delivery } }));
    await page.evaluate(`location.hash = '#/settings/webhooks/${id}'`);
    const row = page.getByRole('row', { name: 'webhook:test' });
    await row.getByText('Wartet: der Name des Rechners ist unbekannt').waitFor();
    await row.getByText(/^Nächster Versuch: .*2030/).waitFor();
    await page.getByRole('button', { name: 'Beispiel senden' }).click();
    await row.getByText('Gescheitert: Antwort 500').waitFor();
    expect(looks).toBeGreaterThan(3);
    await app.local('webhooks.delete', { webhookId: id });
  });
});

describe('knowledge', () => {
  it('takes PDF and DOCX that are dropped on the page', async () => {
    const { page, problems } = await visit('knowledge');
    const files = [
      { name: 'prices.pdf', bytes: buildPdf([pdfLine('A pot of tea costs four euros.', 12, 700)]) },
      { name: 'opening.docx', bytes: buildDocx(paragraph('We open at nine.')) },
    ].map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString('base64') }));
    const dataTransfer = await page.evaluateHandle(`(() => {
      const dropped = new DataTransfer();
      for (const { name, base64 } of ${JSON.stringify(files)})
        dropped.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
      return dropped;
    })()`);
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer });
    for (const { name } of files) await page.getByRole('cell', { name, exact: true }).first().waitFor();
    const { passages } = await app.local('knowledge.search', {
      applicationId: acme.application.id,
      query: 'What does a pot of tea cost?',
    });
    expect(JSON.stringify(passages)).toContain('four euros');
    expect(problems).toEqual([]);
  });

  it('reads a website, tells how far it is, and what could not be read', async () => {
    const site = await startHostSite();
    const start = site.page(
      '/',
      '<!doctype html><title>Help</title><main><h1>Help</h1><p>We ship on Mondays.</p><a href="/returns">Returns</a> <a href="/gone">Gone</a></main>',
    );
    site.page(
      '/returns',
      '<!doctype html><title>Returns of cups</title><main><h1>Cups</h1><p>Cups may come back.</p></main>',
    );
    const { page } = await visit('knowledge');
    await page.getByLabel('Address of the first page').fill(start);
    await page.getByRole('button', { name: 'Read it' }).click();
    const outcome = page.getByRole('row').filter({ hasText: start });
    await outcome.getByText('2 new, 0 changed, 0 removed.').waitFor();
    await outcome.getByText('What could not be read').click();
    await outcome.getByText('/gone').waitFor();
    await page.getByRole('link', { name: 'Returns of cups' }).waitFor();
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'settings-crawl.png') });
    // An address that is refused is told of at its field.
    await page.getByLabel('Address of the first page').fill('ftp://x.example/');
    await page.getByRole('button', { name: 'Read it' }).click();
    await eventually(async () =>
      expect(await page.getByLabel('Address of the first page').getAttribute('aria-invalid')).toBe('true'),
    );
    await site.close();
  });
});

describe('what is said', () => {
  it('after an act is what was done; what is seen anyhow is not called saved', async () => {
    await createMember(app, 'acme', 'operator', 'Gone');
    const { page } = await visit('members');
    const row = page.getByRole('row').filter({ hasText: 'Gone' });
    await row.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByText('Signed out.').waitFor();
    await row.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Removed.').waitFor();
    await page.evaluate(`location.hash = '#/settings/knowledge'`);
    await settled(page);
    const section = page.locator('.settings-section', { hasText: 'Try a question' });
    await section.getByLabel('Question').last().fill('Can I send it back?');
    await section.getByRole('button', { name: 'Find passages only' }).click();
    await section.getByText('Send it back within 30 days.').waitFor();
    expect(await page.locator('.toast').filter({ hasText: 'Saved.' }).count()).toBe(0);
  });

  it('of a new identity secret is what becomes of the old one', async () => {
    const { page } = await visit(`applications/${acme.application.id}`);
    await settled(page);
    const section = page.locator('.settings-section', { hasText: 'Identity secret' });
    await section.getByRole('button', { name: 'Make a new one' }).click();
    const question = page.getByRole('dialog').getByText('are refused at once');
    await question.waitFor();
    expect(await question.count()).toBe(1);
  });

  it('of a list that goes on is how far, and of what became of a question a word', async () => {
    const { page } = await visit('account');
    const entry = {
      id: 'one',
      question: 'When?',
      answer: null,
      outcome: 'dropped',
      createdAt: new Date().toISOString(),
    };
    await routeLoaded(page, /\/admin\/ai-log/, (route) =>
      route.fulfill({ json: { entries: [entry], total: 1_060 } }),
    );
    await page.evaluate(`location.hash = '#/settings/knowledge'`);
    const section = page.locator('.settings-section', { hasText: 'What the assistant was asked' });
    await section.getByText('The newest 1 of 1,060 are shown.').waitFor();
    expect(await section.getByText('A person was there first').count()).toBe(1);
  });

  it('of a key for mails asks where one is ended by it', async () => {
    const { page } = await visit('mail');
    const section = page.locator('.settings-section', { hasText: 'Mails that are handed in' });
    await section.getByRole('button', { name: 'Make a key' }).click();
    await section.locator('.shown').waitFor();
    const first = await section.locator('.shown').textContent();
    expect(first).toContain(`${app.url}/api/`);
    await section.getByRole('button', { name: 'Make a key' }).click();
    await page
      .getByRole('dialog')
      .getByText('The address of the one before stops working at once.')
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Make a key' }).click();
    await eventually(async () => expect(await section.locator('.shown').textContent()).not.toBe(first));
  });
});

describe('canned replies', () => {
  it('are all there, also beyond a page', async () => {
    const { page } = await visit('account');
    await routeLoaded(page, /\/staff\/canned-replies/, (route) => {
      const offset = Number(new URL(route.request().url()).searchParams.get('offset'));
      const cannedReplies = Array.from({ length: Math.min(100, 101 - offset) }, (_, index) => ({
        id: String(offset + index),
        shortcut: `reply${offset + index}`,
        content: 'Hello!',
        contentFormat: 'plain',
      }));
      return route.fulfill({ json: { cannedReplies, total: 101 } });
    });
    await page.evaluate(`location.hash = '#/settings/canned'`);
    await page.getByText('/reply100').waitFor();
    expect(await page.getByRole('row', { name: '/reply' }).count()).toBe(101);
  });

  it('have what can be done with them side by side, and their slash before them from right to left', async () => {
    await ann.call('POST', '/canned-replies', {
      shortcut: 'long',
      content: 'Many words in a row. '.repeat(8),
    });
    const { page } = await visit('canned', { viewport: { width: 1440, height: 900 }, locale: 'ar' });
    const row = page.getByRole('row', { name: 'long' });
    await row.waitFor();
    const tops = await row
      .locator('.button')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    expect(tops).toHaveLength(2);
    expect(tops[0]).toBe(tops[1]);
    const lefts = await row.locator('code').evaluate((code) =>
      [...code.childNodes].map((text) => {
        const range = document.createRange();
        range.selectNode(text);
        return range.getBoundingClientRect().left;
      }),
    );
    expect(lefts).toHaveLength(2);
    expect(lefts[0]).toBeLessThan(lefts[1] ?? 0);
  });
});

describe('beside the form', () => {
  it('the real widget shows what is written, before it is saved', async () => {
    const { page, problems } = await visit(`applications/${acme.application.id}`, {
      viewport: { width: 1440, height: 900 },
    });
    const frame = page.frameLocator('iframe');
    await frame.locator('deskbell-widget').waitFor();
    await page.getByLabel('Greeting').fill('Written, not saved');
    await frame.getByText('Written, not saved').waitFor();
    await page.getByLabel('With the panel open').uncheck();
    await eventually(async () => expect(await frame.getByText('Written, not saved').isVisible()).toBe(false));
    // What can't be is said, and the last that could be stays.
    await page.getByLabel('Time zone').fill('Moon/Base');
    await page.locator('.preview-pane .problem').getByText(/zone/i).waitFor();
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'settings-preview.png') });
    const { settings } = await app.local('applications.get', { applicationId: acme.application.id });
    expect(settings.behavior.greeting).not.toBe('Written, not saved');
    expect(problems).toEqual([expect.stringContaining('400')]);
  });

  it('the widget leaves the focus where one writes, whenever it opens', async () => {
    const { page } = await visit(`applications/${acme.application.id}`);
    const field = page.getByLabel('Greeting');
    const preview = page.frameLocator('iframe');
    await preview.locator('deskbell-widget [role=textbox]').waitFor();
    for (const [typed, greeting] of [
      ['Wel', 'Wel'],
      ['come', 'Welcome'],
    ] as const) {
      await field.press('End');
      await page.keyboard.type(typed);
      await preview.getByText(greeting, { exact: false }).waitFor();
      await preview.locator('[role=textbox]').waitFor();
      expect(await page.evaluate('document.activeElement.name')).toBe('behavior.greeting');
    }
    await preview.locator('[role=textbox]').click();
    await page.keyboard.type('Inside');
    await preview.locator('[role=textbox]').getByText('Inside').waitFor();
  });
});

describe('the preview of the widget', () => {
  it('is the real widget with settings that are not saved: it looks so, answers, and asks the service nothing', async () => {
    const { page, problems } = await visit('account');
    const counted = async (): Promise<unknown> =>
      (await ann.call('GET', '/conversations?mode=all&snoozed=all')).body.total;
    const before = await counted();
    const requests: string[] = [];
    page.on('request', (request) => {
      if (request.frame() !== page.mainFrame()) requests.push(new URL(request.url()).pathname);
    });
    const preview = async (body: object): Promise<object> =>
      (
        await page.evaluate<{ application: object }>(
          `fetch('api/v1/admin/applications/${acme.application.id}/preview', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(body))} }).then((answer) => answer.json())`,
        )
      ).application;
    const config = await preview({
      appearance: { colors: { primary: '#aa0011' } },
      behavior: { greeting: 'Not saved yet' },
    });
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.setAttribute('sandbox', 'allow-scripts');
      frame.src = 'widget-preview';
      frame.style.cssText = 'position: fixed; inset: 0; width: 100%; height: 100%; z-index: 99; background: white';
      addEventListener('message', ({ data, source }) => {
        if (source === frame.contentWindow && data?.type === 'deskbell:preview-ready') resolve();
      });
      document.body.append(frame);
    })`);
    const send = (message: object): Promise<unknown> =>
      page.evaluate(
        `document.querySelector('iframe').contentWindow.postMessage(${JSON.stringify({ type: 'deskbell:preview', ...message })}, '*')`,
      );
    await send({ config, theme: 'light', locale: 'en', open: true });
    const frame = page.frameLocator('iframe');
    await frame.getByText('Not saved yet').waitFor();
    const inside = page.frames().find((one) => one !== page.mainFrame())!;
    const colour = (): Promise<string> =>
      inside.evaluate(
        "getComputedStyle(document.querySelector('deskbell-widget').shadowRoot.querySelector('.launcher')).backgroundColor",
      );
    expect(await colour()).toBe('rgb(170, 0, 17)');
    await frame.locator('[role=textbox]').fill('Does this go anywhere?');
    await frame.locator('[role=textbox]').press('Enter');
    await frame.locator('[role=log]').getByText('Does this go anywhere?').waitFor();
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'widget-preview.png') });
    await send({ config: await preview({ appearance: { colors: { primary: '#005500' } } }), open: false });
    await eventually(async () => expect(await colour()).toBe('rgb(0, 85, 0)'));
    expect(requests).toContain('/widget.js');
    expect(requests.filter((path) => path.startsWith('/api/'))).toEqual([]);
    expect(
      await inside.evaluate('[origin, (() => { try { return document.cookie } catch { return null } })()]'),
    ).toEqual(['null', null]);
    // Nothing was saved, and no one wrote.
    expect(await counted()).toBe(before);
    const { settings } = await app.local('applications.get', { applicationId: acme.application.id });
    expect(settings.behavior.greeting).not.toBe('Not saved yet');
    expect(problems).toEqual([]);
  });
});
