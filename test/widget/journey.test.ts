// The journey that all of mail, files and notifications are for: a visitor sends a screenshot at night and leaves, a phone
// buzzes, the operator answers from it, the visitor reads it by mail, answers by mail, and comes back.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import { MailHost } from '../helpers/mail-host.ts';
import { PushBrowser, PushService } from '../helpers/push-browser.ts';
import { plainMail, sendMail } from '../helpers/send-mail.ts';
import { createWidgetFixture, htmlPage, widgetLocators, type WidgetFixture } from './fixture.ts';

const pictures = process.env['DESKBELL_TEST_PICTURES'];
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });
const phone: BrowserContextOptions = {
  viewport: { width: 360, height: 640 },
  hasTouch: true,
  isMobile: true,
};
const address = 'rosa@example.net';

let stage: WidgetFixture;
let pushes: PushService;
let host: MailHost;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  pushes = await new PushService().start();
  host = await new MailHost().start();
  stage = await createWidgetFixture({
    flags: {
      pushHosts: pushes.origin,
      mailAddress: 'reply@chat.example.com',
      mailListen: '127.0.0.1:0',
    },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  await stage.configure({ 'email.afterMinutes': 0 });
});
afterAll(async () => {
  for (const one of visits) await one.close();
  await stage.close();
  await pushes.stop();
  await host.stop();
});

async function visit(url: string, options: BrowserContextOptions): Promise<Page> {
  const opened = await openBrowserPage(stage.browser, url, options);
  visits.push(opened);
  return opened.page;
}

let shots = 0;
async function look(page: Page, name: string): Promise<void> {
  shots += 1;
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `journey-${shots}-${name}.png`) });
}

/** A screenshot that is pasted into the widget's field. */
const paste = `(async () => {
  const canvas = new OffscreenCanvas(600, 400);
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#f4d7d7';
  pen.fillRect(0, 0, 600, 400);
  pen.fillStyle = '#902020';
  pen.font = '48px sans-serif';
  pen.fillText('Payment failed', 120, 210);
  const data = new DataTransfer();
  data.items.add(new File([await canvas.convertToBlob({ type: 'image/png' })], 'screenshot.png', { type: 'image/png' }));
  document.querySelector('deskbell-widget').shadowRoot.querySelector('.field')
    .dispatchEvent(new ClipboardEvent('paste', { bubbles: true, composed: true, cancelable: true, clipboardData: data }));
})()`;

test('a screenshot at night, a push, an answer from the phone, a mail, and a reply to it live in the room', async () => {
  const device = new PushBrowser(pushes);
  await stage.operator.call('POST', '/push', { ...device.subscription, label: 'Phone' });

  // The visitor writes, pastes what they see, and leaves.
  const url = stage.site.page(
    '/journey',
    htmlPage(
      stage.tag(),
      `<script>window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
      deskbell('identify', { name: 'Rosa', email: '${address}' });</script>`,
    ),
  );
  const shop = await visit(url, phone);
  const w = widgetLocators(shop);
  await w.open();
  await shop.evaluate(paste);
  const tray = shop.locator('deskbell-widget .tray');
  await tray.getByText('screenshot.png').waitFor();
  await eventually(async () => expect(await tray.locator('progress:not([hidden])').count()).toBe(0));
  await w.field.tap();
  await shop.keyboard.type('My payment does not go through.');
  await w.send.tap();
  await w.log.locator('.picture img').waitFor();
  await w.log.locator('.foot.sent').first().waitFor();
  await look(shop, 'widget');
  const state = await shop.context().storageState();
  await visits.pop()?.close();

  // A phone buzzes.
  await eventually(() => expect(device.told.length).toBeGreaterThan(0));
  const { conversationId } = device.told[0] ?? {};
  expect(device.told[0]).toMatchObject({ conversationId: expect.stringMatching(/^[0-9a-f-]{36}$/) });

  // Its owner answers from it.
  const { ticket } = await stage.app.local('session.createLink', { memberId: stage.operator.id });
  const desk = await visit(`${stage.app.url}/#sign-in=${ticket}`, phone);
  await desk.locator('.app').waitFor();
  await desk.evaluate(`location.hash = '#/c/${conversationId ?? ''}'`);
  const log = desk.getByRole('log');
  await log.getByText('My payment does not go through.').waitFor();
  await log.locator('.picture img').waitFor();
  await desk.locator('[data-field=composer]').fill('Try another card, please.');
  await desk.getByRole('button', { name: 'Send', exact: true }).tap();
  await log.locator('article.own', { hasText: 'another card' }).waitFor();

  // The visitor reads it by mail: what the operator wrote, and nothing that they had written themselves.
  const [mail] = await host.has(1);
  expect(mail?.to).toEqual([address]);
  expect(mail?.mail.text).toContain('Try another card, please.');
  expect(mail?.raw.toString()).not.toContain('does not go through');
  await log.locator('article.own', { hasText: 'mailed' }).waitFor();
  await look(desk, 'dashboard');
  const reader = await visit('about:blank', phone);
  await reader.setContent(mail?.mail.html ?? '');
  expect(await reader.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  await look(reader, 'mail');

  // Their answer to the mail is in the room.
  const to = mail?.mail.replyTo?.[0]?.address ?? '';
  const text = `That worked, thank you!\n\nOn Monday Olivia wrote:\n> Try another card, please.`;
  const raw = plainMail({ from: `Rosa <${address}>`, to, text });
  expect(await sendMail(stage.app.mailPort ?? 0, { from: address, to, raw })).toBe(250);
  const came = log.locator('article.visitor', { hasText: 'That worked, thank you!' });
  await came.getByText('by e-mail').waitFor();
  expect(await came.textContent()).not.toContain('another card');
  await look(desk, 'dashboard-answered');
  expect(await desk.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);

  // They come back, find it all there, and take it home.
  await stage.operator.call('POST', `/conversations/${conversationId ?? ''}/resolve`);
  const again = await visit(url, { ...phone, storageState: state });
  const back = widgetLocators(again);
  await back.launcher.click();
  // It was closed in between: the list comes first.
  await back.dialog.locator('.conversation').first().tap();
  await back.log.getByText('That worked, thank you!').waitFor();
  await back.log.getByText('by e-mail').waitFor();
  await back.button('Mail me this conversation').click();
  await back.dialog.getByText('It is on its way to your e-mail address.').waitFor();
  await look(again, 'widget-back');
  const mails = await host.has(2);
  expect(mails.at(-1)?.mail.text).toContain('Try another card, please.');
});
