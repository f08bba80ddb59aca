// What the settings say and do in a real browser when something is refused, and where the focus is after an act: in the
// reader's language, at its field, and never nowhere.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fieldProblem, refusal } from '../../src/dashboard/settings/field-problems.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, type BrowserPage, routeLoaded } from '../helpers/browser.ts';
import { request } from '../helpers/client.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let browser: Browser;
let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true });
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

/** Signs in by a link and opens a page of the settings. */
async function visit(section: string, options: BrowserContextOptions = {}): Promise<Page> {
  const opened = await openDashboard(browser, app, ann, `#/settings/${section}`, options);
  visits.push(opened);
  return opened.page;
}

/** What has the focus, by its text or its name. */
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(`(({ tagName, name, textContent }) =>
    tagName === 'BODY' ? 'nothing' : name || textContent)(document.activeElement)`);

const admin = (method: string, path: string, body: object): ReturnType<typeof request> =>
  request(app.url, method, `/api/v1/admin${path}`, { authorization: `Bearer ${ann.token}` }, body);

describe('what is refused', () => {
  it('is of no field, and has words of the reader’s', async () => {
    const { domain } = acme.application;
    const application = `/applications/${acme.application.id}`;
    await ann.call('POST', '/tags', { name: 'late' });
    await ann.call('POST', '/tags', { name: 'early' });
    const { body: other } = await ann.call('POST', '/tags', { name: 'soon' });
    await ann.call('POST', '/canned-replies', { shortcut: 'hi', content: 'Hello' });
    const { body: hook } = await admin('POST', '/webhooks', { url: 'https://shop.example' });
    await admin('PATCH', `/webhooks/${hook.webhook.id}`, { enabled: false });
    await admin('POST', `/webhooks/${hook.webhook.id}/rotate`, {});
    const { body: made } = await admin('POST', `${application}/keys`, {});
    await request(app.url, 'DELETE', `/api/v1/admin${application}/keys/${made.key.id}`, {
      authorization: `Bearer ${ann.token}`,
    });
    const answers = [
      await admin('POST', '/members', {
        name: 'A',
        email: ann.email,
        password: 'a new pass phrase',
        role: 'admin',
      }),
      await ann.call('PATCH', `/tags/${other.tag.id}`, { name: 'late' }),
      await ann.call('POST', '/canned-replies', { shortcut: 'hi', content: 'Hello' }),
      await admin('POST', `${application}/domains`, { domain }),
      await admin('PATCH', `/members/${ann.id}`, { role: 'operator' }),
      await admin('PATCH', '/organization', { signIn: { secondFactor: 'all' } }),
      await admin('POST', '/email/test', { to: 'a@b.example' }),
      await admin('POST', `/webhooks/${hook.webhook.id}/test`, {}),
      await admin('POST', `/webhooks/${hook.webhook.id}/rotate`, {}),
      await admin('POST', `${application}/keys/${made.key.id}/rotate`, {}),
    ];
    const said = answers.map(({ status, body }) => [status, refusal(String(body.message))?.word]);
    expect(said).toEqual([
      [409, 'refusedTaken'],
      [409, 'refusedTaken'],
      [409, 'refusedTaken'],
      [409, 'refusedTaken'],
      [409, 'refusedLastAdmin'],
      [409, 'refusedOwnFactor'],
      [409, 'mailNone'],
      [409, 'refusedWebhook'],
      [409, 'refusedSecret'],
      [409, 'refusedKey'],
    ]);
    // As the limits say it that are too far away to be reached here.
    for (const [sentence, n] of [
      ['An application has at most 50 domains. Remove some first.', 50],
      ['A member has at most 20 tokens. Revoke one first.', 20],
      ['Pushes go to at most 10 browsers of a member: remove one first.', 10],
      ['At most 50 questions are kept with a heading: remove one first.', 50],
    ] as const)
      expect(refusal(sentence)).toMatchObject({ word: 'refusedMost', n });
  });

  it('is beyond the plan, and names what changes it', async () => {
    const { application } = await createOrganization(app, 'small', 'free');
    const { token } = await createMember(app, 'small', 'admin', 'Sam');
    const ask = async (method: string, path: string, body: object): Promise<unknown> =>
      refusal(
        (await request(app.url, method, `/api/v1/admin${path}`, { authorization: `Bearer ${token}` }, body))
          .body.message,
      );
    const premium = { word: 'refusedPlan', list: 'deskbell org plan small premium' };
    expect(await ask('POST', '/applications', { name: 'Second' })).toMatchObject(premium);
    expect(await ask('PATCH', `/applications/${application.id}`, { ai: { mode: 'auto' } })).toMatchObject(
      premium,
    );
    expect(await ask('PATCH', '/organization', { limits: { retentionDays: 4_000 } })).toMatchObject({
      word: 'fieldDays',
      n: 30,
    });
  });

  it('is said in the reader’s language', async () => {
    const page = await visit('members', { locale: 'de-DE' });
    await page.getByLabel('Rolle von Ann').selectOption('operator');
    await page
      .locator('.toast')
      .getByText('Das ist der letzte Admin. Machen Sie zuerst ein anderes Mitglied zum Admin.')
      .waitFor();
    await expect.poll(() => page.getByLabel('Rolle von Ann').inputValue()).toBe('admin');
  });

  it('of a field has no name of the server’s in it, where no field of the page is that one', async () => {
    const page = await visit('notifications', { locale: 'de-DE' });
    await page.getByLabel('Jeden Tag Ruhe halten').check();
    await page.getByLabel('Zeitzone').fill('Moon/Base');
    await page.getByRole('button', { name: 'Speichern' }).click();
    await page
      .locator('.toast')
      .getByText('Schreiben Sie eine Zeitzone wie Europe/Berlin oder UTC.')
      .waitFor();
    expect(await page.locator('.toast').allInnerTexts()).not.toContain('quietHours');
  });
});

describe('a form that is refused', () => {
  it('has the focus in the first field that is wrong', async () => {
    const page = await visit('members');
    const form = page.locator('form').filter({ has: page.getByLabel('Password') });
    await form.getByLabel('Name').fill('Bea');
    await form.getByLabel('Password').fill('a new pass phrase');
    await form.getByRole('button').click();
    await form.locator('[aria-invalid=true]').waitFor();
    expect(await focused(page)).toBe('email');
  });

  it('of business hours says what is wrong at the time that is', async () => {
    const page = await visit(`applications/${acme.application.id}`, { locale: 'de-DE' });
    await page.getByLabel('Immer geöffnet').uncheck();
    const hours = page.locator('.hours');
    const tuesday = hours.getByRole('group', { name: 'Dienstag' });
    await tuesday.getByLabel('Schließt').fill('5 pm');
    await hours.getByRole('button', { name: 'Speichern' }).click();
    await tuesday.getByText('Schreiben Sie eine Uhrzeit wie 09:30.').waitFor();
    expect(await tuesday.getByLabel('Schließt').getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => page.evaluate('document.activeElement.value')).toBe('5 pm');
    expect(await hours.locator('> .problem').textContent()).toBe('');
    await hours.getByLabel('Tag').fill('2026-12-24');
    await hours.getByRole('button', { name: 'Tag hinzufügen' }).click();
    await hours.getByRole('group', { name: 'Donnerstag, 24. Dezember 2026' }).waitFor();
  });

  it('of steps says what is wrong at the step that is', async () => {
    const page = await visit('organization');
    const section = page.locator('.settings-section', { hasText: 'When no member accepts' });
    await section.getByRole('button', { name: 'Add a step' }).click();
    await section.getByLabel('After minutes').fill('0');
    for (const way of ['Push', 'E-mail']) await section.getByLabel(way, { exact: true }).uncheck();
    await section.getByRole('button', { name: 'Save' }).click();
    const step = section.getByRole('group', { name: 'Step 1' });
    await step.getByText('At least 1.').waitFor();
    await step.getByText('Fill this in.').waitFor();
    expect(await section.getByText('escalation.0').count()).toBe(0);
  });

  it('knows what the server says of hours, mail servers, files and replies', async () => {
    const application = `/applications/${acme.application.id}`;
    const monday = (open: string, close: string): object => ({
      behavior: { businessHours: { week: { monday: [{ open, close }] } } },
    });
    const quietHours = { from: '22:00', to: '22:00', timezone: 'UTC' };
    const answers = [
      await admin('PATCH', application, monday('9', '17:00')),
      await admin('PATCH', application, monday('09:00', '')),
      await admin('PATCH', application, monday('09:00', '09:00')),
      await ann.call('PUT', '/notifications', { quietHours }),
      await admin('POST', `${application}/domains`, { domain: '' }),
      await admin('PATCH', '/email', { server: { url: 'mail.example', address: 'a@b.example' } }),
      await admin('POST', `${application}/replies`, {
        question: 'Who?',
        reply: 'Call +49 170 1234567.',
        settles: [],
      }),
    ];
    const said = answers.flatMap(({ body }) =>
      (body.details as { message: string }[]).map(({ message }) => fieldProblem(message)?.word),
    );
    expect(said).toEqual([
      'fieldTime',
      'fieldTime',
      'fieldSameTime',
      'fieldOtherTime',
      'fieldEmpty',
      'fieldMailServer',
      'fieldPerson',
    ]);
  });
});

it('a domain that can’t be registered has words of the reader’s, whatever is wrong with it', async () => {
  const wrong: readonly (readonly [domain: string, word: string, list: string])[] = [
    ['https://shop.example/page', 'fieldDomain', ''],
    ['shop.example/page', 'fieldDomain', ''],
    ['shop example', 'fieldDomain', ''],
    ['null', 'fieldDomain', ''],
    ['ftp://shop.example', 'fieldDomain', ''],
    ['"quoted"', 'fieldDomain', ''],
    ['*.127.0.0.1', 'fieldDomain', ''],
    ['intranet', 'fieldInside', 'http://intranet'],
    ['shop.example:99999', 'fieldPort', ''],
    ['https://shop.example:0', 'fieldPort', ''],
    ['https://*.shop.example', 'fieldWildcard', ''],
    ['shop.*.example', 'fieldWildcard', ''],
    ['*.shop.example:80', 'fieldWildcard', ''],
    ['*.co.uk', 'fieldSuffix', '*.co.uk'],
  ];
  for (const [domain, word, list] of wrong) {
    const { body } = await admin('POST', `/applications/${acme.application.id}/domains`, { domain });
    expect(fieldProblem(body.details[0].message), domain).toMatchObject({ word, list });
  }
  const page = await visit(`applications/${acme.application.id}`, { locale: 'de-DE' });
  const form = page.locator('form').filter({ has: page.getByLabel('Domain', { exact: true }) });
  await form.getByLabel('Domain').fill('*.co.uk');
  await form.getByRole('button').click();
  await form.getByText('*.co.uk ließe jeden herein, der einen Namen darunter hat.').waitFor();
});

it('who blocks an address that many may share is told so', async () => {
  const page = await visit('people', { locale: 'de-DE' });
  const section = page.locator('.settings-section', { hasText: 'Geltende Sperren' });
  await section.getByLabel('Adresse').fill('192.0.2.7');
  await section.getByRole('button', { name: 'Adresse sperren' }).click();
  await section.getByRole('row').getByText('Eine Adresse').waitFor();
  expect(await section.getByRole('status').innerText()).toBe('');
  await section.getByLabel('Adresse').fill('127.0.0.1');
  await section.getByRole('button', { name: 'Adresse sperren' }).click();
  await section.getByRole('status').getByText('Das ist Ihre eigene Adresse oder die des Servers.').waitFor();
  // Both were made in the same moment of the clock, so either may come first; the other tests come from this address.
  const lift = section.getByRole('button', { name: 'Aufheben' });
  for (const left of [1, 0]) {
    await lift.first().click();
    await eventually(async () => expect(await lift.count()).toBe(left));
  }
  expect(await section.getByRole('status').innerText()).toBe('');
});

describe('the focus', () => {
  it('is at the heading of its section when the row that had it is gone', async () => {
    await ann.call('POST', '/tags', { name: 'Gone soon' });
    const page = await visit('canned');
    const row = page.getByRole('row').filter({ hasText: 'Gone soon' });
    await row.getByRole('button', { name: 'Remove' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    await eventually(async () => expect(await focused(page)).toBe('Tags'));
  });

  it('stays where it is when something else is gone', async () => {
    await ann.call('POST', '/tags', { name: 'Gone too' });
    const page = await visit('canned');
    const row = page.getByRole('row').filter({ hasText: 'Gone too' });
    const elsewhere = Promise.withResolvers<void>();
    await routeLoaded(page, '**/staff/tags/*', async (route) => {
      await elsewhere.promise;
      await route.continue();
    });
    await row.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The question gives it back, a moment behind its going.
    await eventually(async () => expect(await focused(page)).toBe('Remove'));
    await page.getByLabel('Name').focus();
    elsewhere.resolve();
    await row.waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('name');
  });
});

it('a file that was refused can be chosen again', async () => {
  const page = await visit('knowledge');
  const field = page.locator('input[type=file]');
  await field.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a\0b') });
  await page
    .locator('.toast')
    .getByText('a.txt: It can’t be read. Save it anew as PDF, DOCX or text in UTF-8.')
    .waitFor();
  // A browser tells of no change where the same file is chosen.
  expect(await field.inputValue()).toBe('');
});

it('a message that is not sent says why in the reader’s language', async () => {
  const id = await createConversation(createVisitor(app, acme.application), 'Soon closed');
  await ann.call('POST', `/conversations/${id}/accept`, {});
  const page = await visit('account', { locale: 'de-DE' });
  await page.evaluate(`location.hash = '#/c/${id}'`);
  const field = page.locator('[data-field=composer]');
  await field.fill('Too late');
  await page.locator('.standing.active').waitFor();
  await page.context().setOffline(true);
  await field.press('Enter');
  await page.locator('.log .marks').getByText('Wird gesendet').waitFor();
  await ann.call('POST', `/conversations/${id}/resolve`, {});
  await page.context().setOffline(false);
  const marks = page.locator('.log .marks');
  await eventually(async () => expect(await marks.innerText()).toContain('Das Gespräch ist nicht aktiv.'));
});

it('an act says at once that the server can’t be reached, and goes on when it can', async () => {
  const id = await createConversation(createVisitor(app, acme.application), 'Unreached');
  // Without the worker, which waits for files as long as it takes.
  const page = await visit('account', { serviceWorkers: 'block' });
  await page.evaluate(`location.hash = '#/c/${id}'`);
  const accept = page.getByRole('button', { name: 'Accept' });
  await accept.waitFor();
  const gone: readonly string[] = ['**/api/v1/**', '**/assets/**'];
  for (const path of gone) await routeLoaded(page, path, (route) => route.abort());
  await accept.click();
  await page.locator('.toast').getByText('The server can’t be reached just now.').waitFor();
  for (const path of gone) await page.unroute(path);
  await accept.click();
  await page.locator('.standing').getByText('You have this conversation.').waitFor();
  expect(await accept.count()).toBe(0);
});

it('what needs an application first leads to where one is added', async () => {
  const page = await visit('account');
  await routeLoaded(page, '**/admin/applications', (route) => route.fulfill({ json: { applications: [] } }));
  await page.evaluate("location.hash = '#/settings/knowledge'");
  await page.getByRole('link', { name: 'Add an application first.' }).click();
  await page.getByRole('button', { name: 'Add an application' }).waitFor();
  expect(await page.evaluate('location.hash')).toBe('#/settings/applications');
});

describe('why something was not sent, and what the server warns of', () => {
  const german = { locale: 'de-DE' };

  it('a mail that failed says why, and a sentence that is not known stays', async () => {
    const page = await visit('account', german);
    const mail = (id: string, error: string) => ({
      id,
      about: 'reply',
      recipient: 'v@example.com',
      status: 'failed',
      error,
      createdAt: new Date().toISOString(),
    });
    await routeLoaded(page, /\/admin\/email\/deliveries/, (route) =>
      route.fulfill({
        json: {
          deliveries: [
            mail('1', 'the mail server answered 550 5.1.1 No such user'),
            mail('2', 'its certificate is over'),
            mail('3', 'the moon is in the way'),
          ],
          total: 3,
        },
      }),
    );
    await page.evaluate(`location.hash = '#/settings/mail'`);
    const table = page.getByRole('table', { name: 'Mails' });
    await table.getByText('Gescheitert: Antwort 550 5.1.1 No such user').waitFor();
    await table.getByText('Gescheitert: das Zertifikat ist abgelaufen').waitFor();
    await table.locator('[lang=en]').getByText('the moon is in the way').waitFor();
    expect(await table.locator('[lang=en]').count()).toBe(1);
  });

  it('a test of the notifications says what to do, in sight on a phone', async () => {
    const page = await visit('notifications', { ...german, viewport: { width: 360, height: 740 } });
    await page.getByRole('button', { name: 'Testen' }).click();
    const results = page.locator('.plain-list[role=status]');
    await results.getByText('kein Mailserver ist eingerichtet').waitFor();
    await results.getByText('keiner Ihrer Browser bekommt Push: drücken Sie dort').waitFor();
    expect(await results.locator('[lang=en]').count()).toBe(0);
    await expect
      .poll(async () => {
        const [list, bar] = [await results.boundingBox(), await page.locator('nav.sidebar').boundingBox()];
        return (list?.y ?? 0) + (list?.height ?? 9_999) - (bar?.y ?? 0);
      })
      .toBeLessThan(1);
  });

  it('a domain that others may have names under is added with a warning', async () => {
    const page = await visit(`applications/${acme.application.id}`, german);
    const section = page.locator('.settings-section', { hasText: 'Domains' });
    const add = async (domain: string): Promise<void> => {
      await section.getByLabel('Domain', { exact: true }).fill(domain);
      await section.getByRole('button', { name: 'Domain hinzufügen' }).click();
    };
    await add('github.io');
    await section
      .getByRole('status')
      .getByText('Unter github.io kann jeder einen Namen haben: Eingetragen ist nur github.io selbst.')
      .waitFor();
    await add('bücher.example');
    await section.getByRole('status').getByText('Gespeichert ist es als xn--bcher-kva.example').waitFor();
    await add('plain.example');
    await section.getByRole('cell', { name: 'plain.example' }).waitFor();
    await expect.poll(() => section.getByText('Gespeichert ist es').count()).toBe(0);
  });
});
