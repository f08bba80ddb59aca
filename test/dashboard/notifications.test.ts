// The dashboard's notifications in a real browser: choosing, subscribing after a click alone, a push that reaches the
// service worker and opens its conversation, signing out, and the way from a forgotten password to a new one.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { MailHost } from '../helpers/mail-host.ts';
import { PushBrowser, PushService } from '../helpers/push-browser.ts';

const pictures = process.env['DESKBELL_TEST_PICTURES'];
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });

let browser: Browser;
let service: PushService;
let host: MailHost;
let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  service = await new PushService().start();
  host = await new MailHost().start();
  app = await startApp({
    realTime: true,
    flags: { pushHosts: service.origin, mailAddress: 'reply@chat.example.com' },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
});
afterAll(async () => {
  await browser.close();
  await app.stop();
  await service.stop();
  await host.stop();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

async function visit(hash: string, options: BrowserContextOptions = {}): Promise<Page> {
  const opened = await openDashboard(browser, app, ann, hash, options);
  visits.push(opened);
  return opened.page;
}

async function picture(page: Page, name: string): Promise<void> {
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

/** A headless browser has no push service and no permission: what it would hand over is put in its place. */
const fakePush = (subscription: PushBrowser['subscription']): string => `{
  const given = ${JSON.stringify(subscription)};
  let known = null;
  globalThis.asked = [];
  const permission = (value) => Object.defineProperty(Notification, 'permission', { value, configurable: true });
  const made = {
    options: { applicationServerKey: null },
    toJSON: () => given,
    unsubscribe: async () => { known = null; return true; },
  };
  PushManager.prototype.getSubscription = async () => known;
  PushManager.prototype.subscribe = async ({ userVisibleOnly }) => {
    asked.push('subscribe ' + userVisibleOnly);
    return known = made;
  };
  Notification.requestPermission = async () => { asked.push('permission'); permission('granted'); return 'granted'; };
  permission('default');
}`;

describe('the page of notifications', () => {
  it('saves each choice, fits a phone, and names what is broken', async () => {
    const page = await visit('#/settings/notifications', { viewport: { width: 360, height: 740 } });
    await page.getByLabel('A visitor is waiting: E-mail').check();
    await eventually(async () =>
      expect((await ann.call('GET', '/notifications')).body.notifications.events.new.email).toBe(true),
    );
    await page.getByLabel('What is shown').selectOption('text');
    await page.getByLabel('Keep quiet every day').check();
    await page.getByLabel('From').fill('23:00');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually(async () =>
      expect((await ann.call('GET', '/notifications')).body.notifications).toMatchObject({
        preview: 'text',
        quietHours: { from: '23:00', to: '07:00', timezone: 'Europe/Berlin' },
      }),
    );
    const toast = page.locator('.toast button').first();
    await toast.waitFor();
    // One that goes by itself need not be closed.
    while ((await toast.count()) > 0) await toast.click({ timeout: 500 }).catch(() => undefined);
    await page.getByRole('button', { name: 'Test' }).click();
    const results = page.locator('ul[role=status]');
    await results.locator('li', { hasText: 'no browser of yours' }).waitFor();
    // Nothing above them says that all is well, and they are seen without scrolling.
    expect(await page.locator('.toast').count()).toBe(0);
    await eventually(async () => {
      const [list, bar] = [await results.boundingBox(), await page.locator('nav.sidebar').boundingBox()];
      expect((list?.y ?? 0) + (list?.height ?? 9_999)).toBeLessThanOrEqual(bar?.y ?? 0);
    });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await picture(page, 'notifications-360');
    await ann.call('PUT', '/notifications', {
      quietHours: null,
      preview: 'name',
      events: { new: { email: false } },
    });
  });

  it('keeps quiet in the time zone of the account, where no other was chosen', async () => {
    await ann.call('PATCH', '/me', { timezone: 'Asia/Kolkata' });
    const page = await visit('#/settings/notifications');
    await page.getByLabel('Keep quiet every day').check();
    await eventually(async () =>
      expect((await ann.call('GET', '/notifications')).body.notifications).toMatchObject({
        quietHours: { timezone: 'Asia/Kolkata' },
      }),
    );
    await ann.call('PATCH', '/me', { timezone: null });
    await ann.call('PUT', '/notifications', { quietHours: null });
  });

  it('asks for the permission after a click alone, and a sign-out ends the pushes', async () => {
    const page = await visit('#/', { viewport: { width: 1280, height: 900 } });
    const pushes = new PushBrowser(service);
    await page.evaluate(fakePush(pushes.subscription));
    await page.evaluate("location.hash = '#/settings/notifications'");
    await page.getByRole('button', { name: 'Push in this browser' }).waitFor();
    expect(await page.evaluate('asked')).toEqual([]);
    await page.getByRole('button', { name: 'Push in this browser' }).click();
    await page.getByText('This one').waitFor();
    expect(await page.evaluate('asked')).toEqual(['permission', 'subscribe true']);
    const id = await createConversation(createVisitor(app, acme.application), 'Push me');
    await eventually(() => expect(pushes.told.at(-1)).toMatchObject({ conversationId: id }));
    await page.getByRole('button', { name: 'Test' }).click();
    await page.locator('[role=status] li', { hasText: '✓ Push' }).waitFor();
    await picture(page, 'notifications-1280');
    await page.locator('.account-menu').click();
    await page.getByText('Sign out', { exact: true }).click();
    await page.locator('.sign-in').waitFor();
    const before = pushes.received.length;
    const marker = new PushBrowser(service);
    await ann.call('POST', '/push', { ...marker.subscription, label: 'marker' });
    await createConversation(createVisitor(app, acme.application), 'Not any more');
    await eventually(() => expect(marker.received).toHaveLength(1));
    expect(pushes.received).toHaveLength(before);
  });
});

/** A headless browser has nothing to show notifications with, and ends with the attempt: they are kept in a list. */
const fakeNotifications = `{
  globalThis.shown = [];
  registration.showNotification = async (title, options) => {
    shown = [...shown.filter(({ tag }) => tag !== options.tag), { title, body: options.body, tag: options.tag, data: options.data }];
  };
  navigator.setAppBadge = async () => undefined;
  globalThis.clicked = (tag) => {
    const notification = { ...shown.find((one) => one.tag === tag), close: () => { shown = shown.filter((one) => one.tag !== tag); } };
    const event = Object.assign(new ExtendableEvent('notificationclick'), { notification });
    return new Promise((resolve) => { event.waitUntil = resolve; dispatchEvent(event); });
  };
}`;

describe('a push', () => {
  it('is shown by the service worker, one for each conversation, and opens it', async () => {
    const visitor = createVisitor(app, acme.application);
    const id = await createConversation(visitor, 'Open me');
    await createMessage(visitor, id, 'I am waiting');
    const page = await visit('#/');
    await page.evaluate('navigator.serviceWorker.ready.then(() => true)');
    const worker = await eventually(() => {
      const [found] = page.context().serviceWorkers();
      if (found === undefined) throw new Error('no service worker');
      return found;
    });
    await worker.evaluate(fakeNotifications);
    const cdp = await page.context().newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [first] }) => {
        if (first !== undefined) resolve(first.registrationId);
      });
    });
    await cdp.send('ServiceWorker.enable');
    const registrationId = await registered;
    const deliver = (data: string) =>
      cdp.send('ServiceWorker.deliverPushMessage', { origin: app.url, registrationId, data });
    const shown = () => worker.evaluate<{ title: string; body: string; tag: string }[]>('shown');
    for (const body of ['first', 'second'])
      await deliver(JSON.stringify({ title: 'Rosa', body, conversationId: id, organization: 'acme' }));
    await eventually(async () =>
      expect(await shown()).toMatchObject([{ title: 'Rosa', body: 'second', tag: id }]),
    );
    await deliver('no json');
    await eventually(async () => expect((await shown()).map(({ tag }) => tag)).toEqual([id, 'deskbell']));
    // Focusing a window needs a real click.
    await worker.evaluate(`clicked('${id}').catch(() => undefined)`);
    await eventually(async () => expect(await page.evaluate('location.hash')).toBe(`#/c/${id}`));
    await page.locator('.log', { hasText: 'I am waiting' }).first().waitFor();
    expect((await shown()).map(({ tag }) => tag)).toEqual(['deskbell']);
  });
});

describe('a forgotten password', () => {
  it('is replaced by the mailed link, which stays in no address', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const opened = await openBrowserPage(browser, `${app.url}/inbox?organization=acme`, {
      viewport: { width: 360, height: 740 },
    });
    visits.push(opened);
    const { page } = opened;
    await page.getByRole('button', { name: 'Forgot your password?' }).click();
    await page.getByLabel('E-mail address').fill(bob.email);
    await picture(page, 'forgot-360');
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('is on its way').waitFor();
    const mail = await eventually(() => {
      const found = host.taken.find(({ to }) => to[0] === bob.email);
      if (found === undefined) throw new Error('no mail came');
      return found;
    });
    const [link = ''] = /https?:\/\/\S+#reset=\S+/.exec(mail.mail.text ?? '') ?? [];
    await page.goto(link);
    await page.locator('input[autocomplete=new-password]').fill('seven llamas of bob');
    expect(await page.evaluate('location.href')).toBe(`${app.url}/inbox?organization=acme`);
    await picture(page, 'reset-360');
    await page.keyboard.press('Enter');
    await page.locator('.sign-in .callout').waitFor();
    await page.locator('input[autocomplete=current-password]').fill('seven llamas of bob');
    await page.keyboard.press('Enter');
    await page.locator('.app').waitFor();
  });
});

describe('what is done when no member accepts', () => {
  it('is set with the organization', async () => {
    const page = await visit('#/settings/organization', { viewport: { width: 360, height: 740 } });
    const section = page.locator('.settings-section', { hasText: 'When no member accepts' });
    await section.getByRole('button', { name: 'Add a step' }).click();
    await section.getByLabel('After minutes').fill('3');
    await section.getByLabel('Who is told').selectOption('available');
    await section.getByRole('button', { name: 'Save' }).click();
    await eventually(async () =>
      expect((await app.local('organizations.get', { organization: 'acme' })).escalation).toEqual([
        { afterMinutes: 3, to: 'available', ways: ['push', 'email'] },
      ]),
    );
    await section.scrollIntoViewIfNeeded();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await picture(page, 'escalation-360');
  });
});
