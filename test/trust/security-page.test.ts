// Owns: the page /security in a real browser with an authenticator of the browser's own: a passkey is made and shown,
// and refused where it does not belong; codes are shown once; the session ends with the page.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, CDPSession, Locator, Page } from 'playwright-core';
import { axeViolations } from '../helpers/axe.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createMember, createOrganization, memberPassword, type TestMember } from '../helpers/fixtures.ts';

/** Where pictures go; nowhere unless asked for. */
const pictures = process.env['DESKBELL_TEST_PICTURES'];
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });

let browser: Browser;
let app: TestApp;
let ann: TestMember;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  app = await startApp();
  await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'operator', 'Ann');
});
afterEach(async () => {
  for (const visit of visits.splice(0)) await visit.close();
  await app.stop();
});

interface Visit extends BrowserPage {
  readonly devices: CDPSession;
  /** The id of the browser's own authenticator. */
  readonly authenticatorId: string;
}

async function visit(host = 'localhost', options: BrowserContextOptions = {}): Promise<Visit> {
  const opened = await openBrowserPage(browser, 'about:blank', options);
  visits.push(opened);
  const devices = await opened.page.context().newCDPSession(opened.page);
  await devices.send('WebAuthn.enable');
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  await opened.page.goto(`http://${host}:${new URL(app.url).port}/security?organization=acme`);
  return { ...opened, devices, authenticatorId };
}

async function givePassword(page: Page, who = ann): Promise<void> {
  await page.getByLabel('E-mail address').fill(who.email);
  await page.getByLabel('Password').fill(memberPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const account = (page: Page): Locator => page.getByRole('heading', { name: 'Passkeys' });

async function signIn(page: Page, who = ann): Promise<void> {
  await givePassword(page, who);
  await account(page).waitFor();
}

async function answer(page: Page, fields: Readonly<Record<string, string>>, button: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole('button', { name: button }).click();
}

async function addPasskey(page: Page, name = 'Laptop'): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await answer(page, { Name: name, 'Your password': memberPassword }, 'Add');
}

const signOut = (page: Page): Promise<void> => page.getByRole('button', { name: 'Sign out' }).click();
const code = (secret: string): string => totpCode(secret, totpStep(app.clock.now()));
const sessions = async (): Promise<number> => (await rowsOf(app, 'select id from staff_sessions')).length;

describe('a passkey', () => {
  it('is made, shown, renamed and removed, and its recovery codes are shown once', async () => {
    const { page, problems } = await visit();
    await signIn(page);
    expect(await page.getByText('There is none yet.').count()).toBe(1);
    await addPasskey(page);
    const codes = page.getByRole('region', { name: 'Your recovery codes' }).getByRole('listitem');
    await codes.first().waitFor();
    expect(await codes.allTextContents()).toHaveLength(10);
    // Every other session has ended with the first second factor.
    expect((await ann.call('GET', '/session')).status).toBe(401);
    await page.getByRole('button', { name: 'I have kept them' }).click();
    expect(await codes.count()).toBe(0);

    await signOut(page);
    await page.getByText('You are signed out.').waitFor();
    const shown = page.waitForRequest((one) => one.postData()?.includes('assertion') === true);
    await givePassword(page);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await account(page).waitFor();
    // What was sent is of no use a second time.
    const replayed = await request(
      app.url,
      'POST',
      '/api/v1/staff/session/second-factor',
      {},
      (await shown).postData(),
    );
    expect([replayed.status, replayed.body.error]).toEqual([401, 'unauthorized']);

    await page.getByRole('button', { name: 'Rename Laptop' }).click();
    await answer(page, { Name: 'Work laptop' }, 'Rename');
    await page.getByRole('button', { name: 'Remove Work laptop' }).click();
    await answer(page, { 'Your password': 'wrong' }, 'Remove');
    await page.getByRole('alert').getByText('is not the present one').waitFor();
    await answer(page, { 'Your password': memberPassword }, 'Remove');
    await page.getByText('There is none yet.').waitFor();
    await signOut(page);
    await signIn(page);
    // The refusals are what the browser complains about, and all of it.
    expect(problems.filter((one) => !/status of 40[01]/.test(one))).toEqual([]);
  });

  it('of a clone is refused in words, and a recovery code still lets in', async () => {
    const { page, devices, authenticatorId } = await visit();
    await signIn(page);
    await addPasskey(page);
    const recovery = await page.getByRole('region').getByRole('listitem').first().textContent();
    for (let time = 0; time < 2; time += 1) {
      await signOut(page);
      await givePassword(page);
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      await account(page).waitFor();
    }
    const { credentials } = await devices.send('WebAuthn.getCredentials', { authenticatorId });
    const { credentialId } = credentials[0]!;
    await devices.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
    await devices.send('WebAuthn.addCredential', {
      authenticatorId,
      credential: { ...credentials[0]!, signCount: 1 },
    });
    await signOut(page);
    await givePassword(page);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('That passkey is not right, or was used before. Tries left: 4.').waitFor();
    const refusals = await rowsOf(app, "select detail from audit where action = 'session.refused'");
    expect(refusals.map(({ detail }) => JSON.parse(String(detail)))).toEqual([
      expect.objectContaining({ cloned: true, name: 'Laptop' }),
    ]);
    await page.getByLabel('A recovery code').fill(recovery ?? '');
    await page.getByRole('button', { name: 'Go on' }).click();
    await account(page).waitFor();
  });

  it('is refused under another name of the server', async () => {
    const { page } = await visit('other.localhost');
    await signIn(page);
    await addPasskey(page);
    await page.getByRole('dialog').getByRole('alert').getByText(/./).waitFor();
    expect(await rowsOf(app, 'select id from member_passkeys')).toEqual([]);
  });

  it('is refused by a device that does not verify its user', async () => {
    const { page, devices, authenticatorId } = await visit();
    await devices.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await signIn(page);
    await addPasskey(page);
    await page
      .getByRole('alert')
      .getByText('No passkey was shown, or it took too long. Try again.')
      .waitFor();
    expect(await rowsOf(app, 'select id from member_passkeys')).toEqual([]);
  });
});

describe('the page', () => {
  it('sets an authenticator up, asks for its code, and switches it off', async () => {
    const { page } = await visit();
    await signIn(page);
    await page.getByRole('button', { name: 'Set up an authenticator' }).click();
    await answer(page, { 'Your password': memberPassword }, 'Go on');
    await page.getByRole('img', { name: /QR code/ }).waitFor();
    const secret = ((await page.getByRole('dialog').locator('code').textContent()) ?? '').replaceAll(' ', '');
    await answer(page, { 'The code that it shows': code(secret) }, 'Switch on');
    await page.getByText('On since').waitFor();
    expect(await page.getByRole('region', { name: 'Your recovery codes' }).count()).toBe(1);
    await signOut(page);
    await givePassword(page);
    app.clock.step(30_000);
    await page.getByLabel('Code of your authenticator').fill(code(secret));
    await page.getByRole('button', { name: 'Go on' }).click();
    await account(page).waitFor();
    app.clock.step(30_000);
    await page.getByRole('button', { name: 'Switch off' }).click();
    await answer(page, { Code: code(secret) }, 'Switch off');
    await page.getByRole('button', { name: 'Set up an authenticator' }).waitFor();
    expect(await rowsOf(app, 'select id from member_totp')).toEqual([]);
  });

  it('sets one up in the sign-in where the organization demands it', async () => {
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
    const { page } = await visit();
    await givePassword(page);
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor();
    const secret = ((await page.locator('code').textContent()) ?? '').replaceAll(' ', '');
    await page.getByLabel('The code that it shows').fill(code(secret));
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('region', { name: 'Your recovery codes' }).waitFor();
    expect(await rowsOf(app, 'select second_factor from staff_sessions order by created_at')).toContainEqual({
      second_factor: 1,
    });
  });

  it('lists sessions and ends them, its own with itself', async () => {
    const { page } = await visit();
    await signIn(page);
    expect(await sessions()).toBe(2);
    await page.getByRole('button', { name: /^End the session/ }).click();
    await answer(page, {}, 'End');
    await eventually(async () => expect(await sessions()).toBe(1));
    expect((await ann.call('GET', '/session')).status).toBe(401);
    await page.goto('about:blank');
    await eventually(async () => expect(await sessions()).toBe(0));
  });

  it('says why a sign-in is refused, and keeps what was typed', async () => {
    const { page } = await visit();
    await page.getByLabel('E-mail address').fill(ann.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('is not right').waitFor();
    expect(await page.getByLabel('Organization').inputValue()).toBe('acme');
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(ann.email);
  });

  it('leads from the bare address to the name that passkeys are made for', async () => {
    const { page } = await visit('127.0.0.1');
    await page.waitForURL(/^http:\/\/localhost:/);
    await signIn(page);
    expect(new URL(page.url()).pathname).toBe('/security');
  });

  it('takes scripts and styles from its own files alone, and is framed by no page', async () => {
    const reply: Reply['headers'] = (await fetch(`${app.url}/security`)).headers;
    expect(reply.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(reply.get('cache-control')).toBe('no-store');
  });

  it.each<[string, BrowserContextOptions]>([
    ['light', {}],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ])('can be read and used by everyone: %s', async (name, options) => {
    const { page } = await visit('localhost', options);
    const judge = async (state: string): Promise<void> => {
      if (pictures !== undefined)
        await page.screenshot({ path: join(pictures, `security-${name}-${state}.png`), fullPage: true });
      expect(await axeViolations(page), state).toEqual([]);
      expect(
        await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
        state,
      ).toBe(0);
    };
    await page.getByLabel('Password').waitFor();
    await judge('sign-in');
    await signIn(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('dialog').getByLabel('Your password').waitFor();
    await judge('dialog');
    await answer(page, { Name: 'Work laptop', 'Your password': memberPassword }, 'Add');
    await page.getByRole('region', { name: 'Your recovery codes' }).waitFor();
    await judge('codes');
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await page.getByRole('button', { name: 'Set up an authenticator' }).click();
    await answer(page, { 'Your password': memberPassword }, 'Go on');
    await page.getByRole('img', { name: /QR code/ }).waitFor();
    await judge('authenticator');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await judge('account');
    await signOut(page);
    await givePassword(page);
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
    await judge('second-factor');
  });

  it.each([
    ['de', 'ltr', 'Sicherheit der Anmeldung', 'stimmen nicht'],
    ['ar', 'rtl', 'أمان تسجيل الدخول', 'غير صحيح'],
  ])('speaks the language of the browser: %s', async (locale, direction, title, refused) => {
    const { page } = await visit('localhost', { locale });
    await page.getByRole('heading', { name: title }).waitFor();
    expect(await page.title()).toBe(title);
    expect(await page.evaluate('document.documentElement.dir')).toBe(direction === 'rtl' ? 'rtl' : 'ltr');
    expect(await axeViolations(page)).toEqual([]);
    await page.locator('input[name=email]').fill(ann.email);
    await page.locator('input[name=password]').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText(refused).waitFor();
    await page.locator('input[name=password]').fill(memberPassword);
    await page.keyboard.press('Enter');
    await page.locator('section').nth(3).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    if (pictures !== undefined)
      await page.screenshot({ path: join(pictures, `security-${locale}.png`), fullPage: true });
    // Nothing of it is left in English, but for what is named alike.
    const english = (await import('../../widget/security/languages/en.ts')).words;
    const shown = (await page.locator('main').innerText()).split('\n');
    expect(
      shown.filter((line) => line !== '' && Object.values(english).some((text) => text === line)),
    ).toEqual(locale === 'de' ? ['Passkeys', 'Authenticator'] : []);
  });

  it('says in another language, too, that a code was wrong', async () => {
    const language = 'de';
    const { words } = (await import(`../../widget/security/languages/${language}.ts`)) as {
      words: Readonly<Record<'codeOrRecovery' | 'factorAsked' | 'factorWrong', string>>;
    };
    const begun = await ann.call('POST', '/me/totp', { password: memberPassword });
    await ann.call('POST', '/me/totp/confirm', { code: code(begun.body.totp.secret) });
    const { page } = await visit('localhost', { locale: language });
    await page.locator('input[name=email]').fill(ann.email);
    await page.locator('input[name=password]').fill(memberPassword);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(words.factorAsked).waitFor();
    await page.getByLabel(words.codeOrRecovery).fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(words.factorWrong).waitFor();
    expect(await page.getByText(words.factorAsked).count()).toBe(0);
  });

  it.each(['ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt'])(
    'has every text in %s, with the same places',
    async (language) => {
      const read = async (name: string) =>
        (
          (await import(`../../widget/security/languages/${name}.ts`)) as {
            words: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
          }
        ).words;
      const [english, own] = [await read('en'), await read(language)];
      expect(Object.keys(own)).toEqual(Object.keys(english));
      const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      for (const [key, text] of Object.entries(own)) {
        const given = english[key];
        const forms = typeof text === 'string' ? [text] : Object.values(text);
        const first = typeof given === 'string' ? given : given?.['other'];
        for (const form of forms) {
          expect(form.trim(), key).not.toBe('');
          expect(form.match(/\{\w+\}/g) ?? [], key).toEqual(first?.match(/\{\w+\}/g) ?? []);
        }
        if (typeof text !== 'string')
          for (const category of categories.filter(
            (one) => one !== 'many' || ['pl', 'ar'].includes(language),
          ))
            expect(text, key).toHaveProperty(category);
      }
    },
  );
});
