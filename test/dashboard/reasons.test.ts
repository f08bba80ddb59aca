// What the server says of what it sent stands in the reader's language: each of its sentences is known, and the pages show them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { knownReason } from '../../src/dashboard/settings/reasons.tsx';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, type BrowserPage } from '../helpers/browser.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import {
  createMember,
  createOrganization,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const source = (file: string): string => readFileSync(join(import.meta.dirname, '../../src', file), 'utf8');

/** Where a sentence arises that says why something was not sent. */
const files = [
  'net/network-errors.ts',
  'net/push-client.ts',
  'net/smtp-client.ts',
  'net/webhook-client.ts',
  'services/mail/mail-addresses.ts',
  'services/mail/mail-effects.ts',
  'services/mail/mail-facts.ts',
  'services/mail/mail-limits.ts',
  'services/mail/mail-server.ts',
  'services/mail/reply-mail.ts',
  'services/mail/transcript.ts',
  'services/notifications/member-mails.ts',
  'services/notifications/notice-limits.ts',
  'services/notifications/push-handler.ts',
  'services/notifications/test.ts',
  'services/outbox/outbox.ts',
  'services/webhooks/attempts.ts',
];

/** What reads like a reason and is shown on none of these pages. */
const others = [
  // Of a website that is read, which asks for encodings.
  'its encoding is broken',
  'it speaks another protocol than was asked for',
  // Of a mail server that the command line tries.
  'it did not answer in time',
  // Said to who asks for a transcript.
  'there is nothing in it that may go to this address',
  // What stands before a reason, and for a limit without a name: there is none.
  'the mail server did not take the mail: 7',
  'a limit of mails',
  'a limit of notices',
];

/** The sentences of a file: texts of several words that begin in lower case, with a number for what is filled in. */
const sentencesOf = (file: string): string[] =>
  [
    ...source(file)
      .replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
      .matchAll(/'([^'\n]*)'|`([^`\n]*)`/g),
  ]
    .map(([, plain, filled]) => (plain ?? filled ?? '').replaceAll(/\$\{[^}]*\}/g, '7'))
    .filter((text) => /^(?:[a-z]+ ){2}/.test(text) && !others.includes(text));

test('every reason that the server gives is known', () => {
  const said = files.flatMap(sentencesOf);
  expect(said.length).toBeGreaterThan(50);
  expect(said.filter((one) => knownReason(one) === null)).toEqual([]);
});

describe('in German', () => {
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

  async function visit(section: string, viewport = { width: 1280, height: 720 }): Promise<Page> {
    const opened = await openDashboard(browser, app, ann, `#/settings/${section}`, {
      locale: 'de-DE',
      viewport,
    });
    visits.push(opened);
    return opened.page;
  }

  test('a mail that failed says why, and a sentence that is not known stays', async () => {
    const page = await visit('account');
    const mail = (id: string, error: string) => ({
      id,
      about: 'reply',
      recipient: 'v@example.com',
      status: 'failed',
      error,
      createdAt: new Date().toISOString(),
    });
    await page.route(/\/admin\/email\/deliveries/, (route) =>
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

  test('a test of the notifications says what to do, in sight on a phone', async () => {
    const page = await visit('notifications', { width: 360, height: 740 });
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

  test('a domain that others may have names under is added with a warning', async () => {
    const page = await visit(`applications/${acme.application.id}`);
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
