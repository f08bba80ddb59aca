// The dashboard beside a server that is killed while a member writes, and without a network: no draft is lost, and what
// was sent arrives once and in order. The real program as a process of its own, in a real browser.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { request } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestMember,
} from '../helpers/fixtures.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';
import { repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

const kills = rounds(6, 200);
const random = seededRandom();
const environment = Object.fromEntries(
  ['ADDRESS', 'ADDRESS_FAILED', 'VISITOR', 'APPLICATION'].map((name) => [`DESKBELL_LIMIT_${name}`, 'off']),
);

let browser: Browser;
let parent: string;
let server: ServerProcess;
let port: string;
let ann: TestMember;
let conversation: string;
let desk: BrowserPage;

/** While one is down another test's server may be given its port, which it gives back when it ends. */
const start = (): Promise<ServerProcess> =>
  eventually(() => serve(join(parent, 'data'), { environment, flags: port === '' ? [] : ['--port', port] }));

beforeAll(async () => {
  browser = await launchBrowser();
  parent = await mkdtemp(join(tmpdir(), 'deskbell-interruptions-'));
  const app = await startApp({ realTime: true });
  const acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  const visitor = createVisitor(app, acme.application);
  conversation = await createConversation(visitor, 'Interrupted');
  await createMessage(visitor, conversation, 'Is anybody there?');
  await ann.call('POST', `/conversations/${conversation}/accept`, {});
  const { ticket } = await app.local('session.createLink', { memberId: ann.id });
  // As a power cut would leave it; the first start of the other process makes it whole.
  await cp(app.folder, join(parent, 'data'), { recursive: true });
  await app.stop();
  port = '';
  server = await start();
  ({ port } = new URL(server.url));
  desk = await openBrowserPage(browser, `${server.url}/#sign-in=${ticket}`);
  await desk.page.locator('.app').waitFor();
});
afterAll(async () => {
  await browser.close();
  await server.stop();
  await rm(parent, { recursive: true, force: true });
});

const composer = (page: Page) => page.locator('[data-field=composer]');

async function open(page: Page): Promise<void> {
  await page.evaluate(`location.hash = '#/c/${conversation}'`);
  await composer(page).waitFor();
}

/** The member's messages of the conversation, as the service has them. */
async function stored(): Promise<string[]> {
  const { body } = await request(
    server.url,
    'GET',
    `/api/v1/staff/conversations/${conversation}/messages?limit=100`,
    { authorization: `Bearer ${ann.token}` },
  );
  return (body.messages as { senderRole: string; content: string }[])
    .filter(({ senderRole }) => senderRole === 'operator')
    .map(({ content }) => content);
}

describe('a server that is killed while a member writes', () => {
  it(`loses no draft, and no message, in ${kills} lives`, async () => {
    const { page } = desk;
    const sent: string[] = [];
    let draft = '';
    await open(page);
    await repeatable('test/dashboard/interruptions.test.ts', kills, async () => {
      for (let life = 0; life < kills; life += 1) {
        await composer(page).focus();
        const more = `${draft === '' ? '' : ' '}word${life}`;
        const typing = page.keyboard.type(more, { delay: 4 });
        await setTimeout(Math.floor(random() * 60));
        const killed = server.kill();
        await typing;
        draft += more;
        if (life % 3 === 2) {
          await page.keyboard.press('Enter');
          // Until the page knows who holds the conversation nothing is sent, and the draft stays.
          if ((await composer(page).inputValue()) === '') {
            sent.push(draft);
            draft = '';
          }
        }
        await killed;
        expect(await composer(page).inputValue()).toBe(draft);
        server = await start();
        if (life % 2 === 1) {
          await page.reload();
          await open(page);
        }
        // Every third life is long enough for all to come back, so that something is sent.
        if (life % 3 === 1)
          await page
            .locator('.log')
            .getByText(sent.at(-1) ?? 'Is anybody there?')
            .first()
            .waitFor();
        await eventually(async () => expect(await composer(page).inputValue()).toBe(draft));
      }
    });
    expect(sent.length).toBeGreaterThan(0);
    await eventually(async () => expect(await stored()).toEqual(sent));
    await composer(page).fill('');
  });
});

describe('no network', () => {
  it('what was sent and written without it is there once, and the draft as it was edited', async () => {
    const { page } = desk;
    await open(page);
    const before = await stored();
    await page.context().setOffline(true);
    await composer(page).fill('first without a network');
    await page.keyboard.press('Enter');
    await composer(page).fill('second without a network');
    await page.keyboard.press('Enter');
    await composer(page).fill('a draft');
    await page.keyboard.press('End');
    await page.keyboard.type(' that goes on');
    expect(await stored()).toEqual(before);
    await page.context().setOffline(false);
    await eventually(async () =>
      expect(await stored()).toEqual([...before, 'first without a network', 'second without a network']),
    );
    expect(await composer(page).inputValue()).toBe('a draft that goes on');
    // Long enough for a second attempt, were there one.
    await page.reload();
    await open(page);
    await eventually(async () => expect(await composer(page).inputValue()).toBe('a draft that goes on'));
    await page.getByRole('log').getByText('second without a network').waitFor();
    expect(await stored()).toEqual([...before, 'first without a network', 'second without a network']);
  });

  it('a page that was opened without it is there once the network is', async () => {
    const { page } = desk;
    await page.evaluate(
      `new Promise((resolve) => {
        const { serviceWorker } = navigator;
        if (serviceWorker.controller !== null) return resolve();
        serviceWorker.addEventListener('controllerchange', () => resolve());
      })`,
    );
    await page.context().setOffline(true);
    const asked = page.waitForRequest(/\/assets\/settings-/);
    await page.evaluate(`location.hash = '#/settings/members'`);
    await asked;
    // Long enough for it to fail, most of the time.
    await page.evaluate(`fetch('/api/v1/staff/me').catch(() => null)`);
    await page.context().setOffline(false);
    const members = page.getByRole('heading', { name: 'Members' }).first();
    await eventually(async () => expect(await members.isVisible()).toBe(true));
    await page.evaluate(`location.hash = '#/'`);
  });
});
