// Whether what can be reached can be seen and hit, in a real browser: what has the focus shows it, in forced colours too, and
// nothing is smaller than a finger or a shaking hand needs (WCAG 2.2: 24 px).
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser } from '../helpers/browser.ts';
import { openDashboard } from '../helpers/dashboard.ts';
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
let conversation = '';

beforeAll(async () => {
  browser = await launchBrowser();
  app = await startApp({ realTime: true });
  const acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  const visitor = createVisitor(app, acme.application);
  conversation = await createConversation(visitor, 'Reached');
  await createMessage(visitor, conversation, 'Is anybody there?');
  await ann.call('POST', `/conversations/${conversation}/accept`, {});
});
afterAll(async () => {
  await browser.close();
  await app.stop();
});

/** What has the focus, where neither it nor what it stands in has an outline; null: it has one; undefined: nothing has it. */
const unseen = `(() => {
  const one = document.activeElement;
  if (one === document.body) return undefined;
  const drawn = (element) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
  };
  const around = one.closest('.composer');
  return drawn(one) || (around !== null && drawn(around)) ? null : one.outerHTML.slice(0, 120);
})()`;

/** Goes through everything with Tab. */
async function unseenStops(page: Page): Promise<string[]> {
  await page.evaluate('document.activeElement.blur()');
  const found: string[] = [];
  for (let step = 0; step < 100; step += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<string | null | undefined>(unseen);
    if (stop === undefined && step > 0) break;
    if (typeof stop === 'string') found.push(stop);
  }
  return found;
}

it.each(['none', 'active'] as const)(
  'what has the focus shows it, with forced colours: %s',
  async (forcedColors) => {
    const { page, close } = await openDashboard(browser, app, ann, `#/c/${conversation}`, {
      forcedColors,
      viewport: { width: 1440, height: 900 },
    });
    await page.getByRole('log').getByText('Is anybody there?').waitFor();
    await page.locator('.standing.active').waitFor();
    await page.locator('.visitor-pane').waitFor();
    expect(await unseenStops(page)).toEqual([]);
    await close();
  },
);

/** How far an element is beyond the window, px. A driver's own look would scroll to it, which a person can't. */
const beyondWindow = (page: Page, selector: string): Promise<number> =>
  page.evaluate<number>(`(() => {
    const { left, top, right, bottom } = document.querySelector('${selector}').getBoundingClientRect();
    return Math.max(-left, -top, right - innerWidth, bottom - innerHeight);
  })()`);

it.each([
  ['a phone with its keyboard', { width: 360, height: 380 }],
  ['a phone on its side', { width: 740, height: 360 }],
] as const)('Send and what is offered are in sight in a low window: %s', async (_, viewport) => {
  for (let index = 0; index < 8; index += 1)
    await ann.call('POST', '/canned-replies', { shortcut: `low${index}`, content: 'Hello!' });
  const { page, close } = await openDashboard(browser, app, ann, `#/c/${conversation}`, {
    viewport,
    hasTouch: true,
    isMobile: true,
  });
  const field = page.locator('[data-field=composer]');
  await field.fill('/');
  await page.getByRole('option', { name: '/low0' }).waitFor();
  expect(await beyondWindow(page, '.canned')).toBeLessThanOrEqual(0);
  await field.fill('One line\n'.repeat(40));
  const files = Array.from({ length: 8 }, (__, index) => ({
    name: `plan-${index}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from('A plan'),
  }));
  await page.locator('input[type=file]').setInputFiles(files);
  await page.locator('.files li').nth(7).waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator('.preview').waitFor();
  expect(await beyondWindow(page, '.composer .send')).toBeLessThanOrEqual(0);
  await field.fill('');
  await close();
});

it.each([
  ['wide', { viewport: { width: 1440, height: 900 } }],
  ['on a phone', { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }],
  ['from right to left', { viewport: { width: 360, height: 740 }, locale: 'ar' }],
  ['enlarged four times', { viewport: { width: 320, height: 256 } }],
] as const)('a menu is in sight when it opens: %s', async (_, options) => {
  const { page, close } = await openDashboard(browser, app, ann, `#/c/${conversation}`, options);
  await page.locator('[data-field=composer]').fill('Yes, I am here.');
  const buttons = page.locator('main [aria-haspopup=menu], .composer [aria-haspopup=menu]');
  await buttons.nth(1).waitFor();
  for (const button of await buttons.all()) {
    await button.click();
    const label = (await button.getAttribute('aria-label')) ?? '';
    expect(await beyondWindow(page, '.menu-list'), label).toBeLessThanOrEqual(0);
    await page.keyboard.press('Escape');
  }
  await close();
});

/** Controls of fewer than 24 px to which another one is so near that both are hit; links in a text are as high as it is. */
const small = `(() => {
  const controls = [...document.querySelectorAll('button, input, select, textarea, a:not(p a)')].filter((one) => one.checkVisibility());
  const gap = (one, other) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    const { left, right, top, bottom } = other.getBoundingClientRect();
    const [middle, centre] = [x + width / 2, y + height / 2];
    return Math.hypot(Math.max(left - middle, 0, middle - right), Math.max(top - centre, 0, centre - bottom));
  };
  return controls
    .filter((one) => one.offsetWidth < 24 || one.offsetHeight < 24)
    .filter((one) => controls.some((other) => other !== one && gap(one, other) < 12))
    .map((one) => one.outerHTML.slice(0, 120));
})()`;

it('nothing is too small to be hit', async () => {
  const { page, close } = await openDashboard(browser, app, ann, `#/c/${conversation}`, {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  });
  await page.locator('.modes').waitFor();
  expect(await page.evaluate(small)).toEqual([]);
  await page.evaluate(`location.hash = '#/settings/notifications'`);
  await page.locator('.table').first().waitFor();
  expect(await page.evaluate(small)).toEqual([]);
  await close();
});
