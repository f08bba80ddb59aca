// A long conversation is read as one scrolls: the end is left by the wheel, by a finger and by keys, what comes in between moves
// nothing, and at the end the newest message stays in sight.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, type BrowserPage } from '../helpers/browser.ts';
import { openDashboard } from '../helpers/dashboard.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestMember,
} from '../helpers/fixtures.ts';

let browser: Browser;
let app: TestApp;
let ann: TestMember;
let visitor: ReturnType<typeof createVisitor>;
let id: string;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true });
  const { application } = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  visitor = createVisitor(app, application);
  id = await createConversation(visitor, 'Long');
  for (let index = 0; index < 60; index += 1) await createMessage(visitor, id, `Before ${index}.`);
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

const logOf = (page: Page) => page.getByRole('log');
/** How far the end is below what is in sight, px. */
const belowSight = (page: Page): Promise<number> =>
  logOf(page).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
/** Twice drawn: what was to be done about it is done. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

async function atEnd(): Promise<Page> {
  const opened = await openDashboard(browser, app, ann, `#/c/${id}`);
  visits.push(opened);
  await logOf(opened.page).getByText('Before 59.').waitFor();
  await eventually(async () => expect(await belowSight(opened.page)).toBeLessThan(2));
  return opened.page;
}

describe('the end is left', () => {
  const ways: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
    'by the wheel': async (page) => {
      await logOf(page).hover();
      await page.mouse.wheel(0, -120);
    },
    // As a finger does, or a wheel whose way the browser smooths.
    'in small steps': async (page) => {
      for (let step = 0; step < 20; step += 1) {
        await logOf(page).evaluate((log) => void (log.scrollTop -= 10));
        await drawn(page);
      }
    },
    'by Page Up': async (page) => {
      await logOf(page).focus();
      await page.keyboard.press('PageUp');
    },
  };

  test.each(Object.entries(ways))('%s, and the place holds whatever comes', async (_name, leave) => {
    const page = await atEnd();
    await leave(page);
    await eventually(async () => expect(await belowSight(page)).toBeGreaterThan(100));
    await drawn(page);
    const first = (): Promise<string> =>
      logOf(page).evaluate((log) => {
        const edge = log.getBoundingClientRect().top;
        const texts = [...log.querySelectorAll('[data-key]')];
        return texts.find((one) => one.getBoundingClientRect().bottom > edge)?.textContent ?? '';
      });
    const reading = await first();
    await createMessage(visitor, id, 'While one reads.');
    const button = page.getByRole('button', { name: /new message/ });
    await button.waitFor();
    expect(await first()).toBe(reading);
    await button.click();
    await eventually(async () => expect(await belowSight(page)).toBeLessThan(2));
    await createMessage(visitor, id, 'At the end.');
    await eventually(async () => {
      expect(await logOf(page).getByText('At the end.').count()).toBeGreaterThan(0);
      expect(await belowSight(page)).toBeLessThan(2);
    });
  });
});

test('many tags leave a phone room for the messages', async () => {
  for (let index = 0; index < 20; index += 1)
    await ann.call('PUT', `/conversations/${id}/tags/${`a-tag-of-many-words-${index}`}`);
  const opened = await openDashboard(browser, app, ann, `#/c/${id}`, {
    viewport: { width: 320, height: 640 },
  });
  visits.push(opened);
  const { page } = opened;
  await page.locator('.order-marks').getByText('a-tag-of-many-words-19').waitFor();
  const heights = await page.evaluate<number[]>(
    `['.log', '.order-marks'].map((one) => document.querySelector(one).clientHeight)`,
  );
  expect(heights[0]).toBeGreaterThan(300);
  // All can be reached.
  expect(
    await page.evaluate<number>(
      `(() => { const all = document.querySelector('.order-marks'); all.scrollTop = 9999; return all.scrollHeight - all.scrollTop - all.clientHeight; })()`,
    ),
  ).toBeLessThan(1);
});
