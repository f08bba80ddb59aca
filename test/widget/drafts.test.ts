// Owns: a half-written message in a real browser. It is there on the visitor's next page, in the conversation that it was
// written in, and nowhere else: not for another visitor, not where the site forbids storage, not once it is sent or over.
// And what was written and not taken: it is not lost either.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage, routeLoaded } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  acceptConversation,
  createWidgetFixture,
  htmlPage,
  newestConversation,
  sendReply,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

let stage: WidgetFixture;
const visits: BrowserPage[] = [];
let pages = 0;

beforeAll(async () => {
  stage = await createWidgetFixture();
});

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

/** A page whose own script starts the widget. @param options as JavaScript, beside the appId */
function pageWith(options = ''): string {
  const script = `window.deskbell = window.deskbell || function () { (deskbell.q = deskbell.q || []).push(arguments); };
deskbell('init', { appId: '${stage.application.id}'${options} });`;
  return stage.site.page(
    `/${pages++}`,
    htmlPage(`<script>${script}</script><script async src="${stage.app.url}/widget.js"></script>`),
  );
}

interface Visit {
  readonly page: Page;
  readonly w: ReturnType<typeof widgetLocators>;
  readonly problems: readonly string[];
}

async function arrive(address = pageWith()): Promise<Visit> {
  const one = await openBrowserPage(stage.browser, address);
  visits.push(one);
  return { page: one.page, w: widgetLocators(one.page), problems: one.problems };
}

/** The next page of the same site, in the same tab, with the panel open and the engine there. */
async function goOn({ page, w }: Visit, address = page.url()): Promise<void> {
  await page.goto(address);
  await w.open();
  await page.evaluate(`deskbell('getState')`);
}

const drafts = (page: Page): Promise<string | null> =>
  page.evaluate(`Object.keys(sessionStorage).map((name) => sessionStorage.getItem(name)).join() || null`);

async function type({ page, w }: Visit, text: string): Promise<void> {
  await w.field.click();
  await page.keyboard.type(text);
}

async function send(visit: Visit, text: string): Promise<void> {
  await visit.w.write(text);
  await visit.w.log.locator('.mine').filter({ hasText: text }).getByText('Sent', { exact: true }).waitFor();
}

test('the next page of the site has it, as it was written, until it is sent', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await page.evaluate(`deskbell('getState')`);
  await type(visit, 'My order ');
  await page.keyboard.press('ControlOrMeta+b');
  await page.keyboard.type('4711');
  expect(await page.evaluate('localStorage.length')).toBe(0);

  await goOn(visit, pageWith());
  await expect.poll(() => w.field.textContent()).toBe('My order 4711');
  expect(await w.field.locator('strong, b').textContent()).toBe('4711');
  // Who goes on does so at its end.
  await page.keyboard.press('ControlOrMeta+b');
  await page.keyboard.type(' is late');
  expect(await w.field.textContent()).toBe('My order 4711 is late');
  await page.keyboard.press('Enter');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  expect(await drafts(page)).toBeNull();
  await goOn(visit);
  await w.log.getByText('is late').waitFor();
  expect(await w.field.textContent()).toBe('');
});

test('each conversation has its own, and the one that was written in is shown', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await send(visit, 'The first matter');
  const first = await newestConversation(stage);
  await type(visit, 'about the first');
  await w.button('All conversations').click();
  await w.button('New conversation').click();
  expect(await w.field.textContent()).toBe('');
  await send(visit, 'The second matter');
  await type(visit, 'about the second');
  await w.button('All conversations').click();
  await page.locator(`deskbell-widget .conversation[id="${first}"]`).click();
  await w.log.getByText('The first matter').waitFor();
  expect(await w.field.textContent()).toBe('about the first');
  await page.keyboard.type(', again');

  await goOn(visit);
  await w.log.getByText('The first matter').waitFor();
  await expect.poll(() => w.field.textContent()).toBe('about the first, again');
  await w.button('All conversations').click();
  await page.locator('deskbell-widget .conversation').first().click();
  await w.log.getByText('The second matter').waitFor();
  expect(await w.field.textContent()).toBe('about the second');
  await w.button('All conversations').click();
  await w.button('New conversation').click();
  expect(await w.field.textContent()).toBe('');
});

test('the staff is not told of typing when it comes back', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await send(visit, 'Hello');
  await type(visit, 'half of it');
  const frames: string[] = [];
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => void frames.push(String(payload))),
  );
  await goOn(visit);
  await expect.poll(() => w.field.textContent()).toBe('half of it');
  await expect.poll(() => frames.some((frame) => frame.includes('room:join'))).toBe(true);
  await page.keyboard.type('!');
  await expect.poll(() => frames.filter((frame) => frame.includes('typing:start')).length).toBe(1);
  expect(await w.field.textContent()).toBe('half of it!');
});

test('it is gone with the visitor: by reset, in another tab too, and for who signs in later', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await page.evaluate(`deskbell('getState')`);
  await type(visit, 'My secret');
  expect(await drafts(page)).toContain('My secret');
  // There is no visitor yet, and nothing but this to forget.
  await page.evaluate(`deskbell('reset')`);
  expect([await drafts(page), await w.field.textContent()]).toEqual([null, '']);

  await send(visit, 'Hello');
  await type(visit, 'My other secret');
  const other = await page.context().newPage();
  await other.goto(pageWith());
  await other.evaluate(`deskbell('reset')`);
  await expect.poll(() => w.field.textContent()).toBe('');
  expect(await drafts(page)).toBeNull();
  await other.close();

  await type(visit, 'Written by a guest');
  await goOn(visit, pageWith(`, visitorId: '${crypto.randomUUID()}'`));
  expect(await drafts(page)).toBeNull();
  await page.keyboard.type('x');
  expect(await w.field.textContent()).toBe('x');
  // And the guest who comes after the customer.
  await goOn(visit, pageWith());
  await page.keyboard.type('y');
  expect(await w.field.textContent()).toBe('y');
});

test('a message that was being changed ends with the visitor', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await send(visit, 'My number is 12345');
  await w.button('Edit').click();
  await page.evaluate(`deskbell('reset')`);
  await expect.poll(() => w.field.textContent()).toBe('');
  await w.button('Send').waitFor();
});

test('it is gone with its conversation', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await send(visit, 'Hello');
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await sendReply(stage, id, 'Hello yourself');
  await w.log.getByText('Hello yourself').waitFor();
  await type(visit, 'And another thing');
  expect(await drafts(page)).toContain('another thing');
  await stage.operator.call('POST', `/conversations/${id}/resolve`);
  await w.button('Start a new conversation').waitFor();
  expect(await drafts(page)).toBeNull();
  // Who was in the middle of a sentence goes on with it.
  await w.button('Start a new conversation').click();
  expect(await w.field.textContent()).toBe('And another thing');
});

test.each([
  ['where the site forbids storage', `, storage: 'none'`],
  [
    'where there is no room',
    `, storage: { length: 0, key: () => null, getItem: () => null, setItem: () => { throw new DOMException('full', 'QuotaExceededError'); }, removeItem: () => {} }`,
  ],
])('%s nothing is kept, and everything else works', async (_name, options) => {
  const visit = await arrive(pageWith(options));
  const { page, w } = visit;
  await w.open();
  await send(visit, 'Hello');
  await type(visit, 'half of it');
  await w.button('All conversations').click();
  await w.button('New conversation').click();
  expect(await w.field.textContent()).toBe('');
  await w.button('All conversations').click();
  await page.locator('deskbell-widget .conversation').first().click();
  // As long as the page is there.
  await expect.poll(() => w.field.textContent()).toBe('half of it');
  expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([0, 0]);
  await goOn(visit);
  expect(await w.field.textContent()).toBe('');
  expect(visit.problems).toEqual([]);
});

test('a storage that the site gives has it', async () => {
  const visit = await arrive(pageWith(', storage: localStorage'));
  const { page, w } = visit;
  await w.open();
  await page.evaluate(`deskbell('getState')`);
  await type(visit, 'half of it');
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
  await goOn(visit);
  await expect.poll(() => w.field.textContent()).toBe('half of it');
});

test('where a visitor has first to say who they are, nothing is kept before they have', async () => {
  await stage.configure({ 'behavior.contactForm': 'optional' });
  const visit = await arrive();
  const { page, w } = visit;
  await w.launcher.click();
  await w.button('Skip').click();
  await type(visit, 'half of it');
  expect(await drafts(page)).toContain('half of it');
  await page.evaluate('sessionStorage.clear()');
  await page.reload();
  // Written before it is known whether to ask: then the form comes when it is to be sent.
  await routeLoaded(page, '**/conversation-*.js', async (route) => {
    await w.field.click();
    await page.keyboard.type('quick');
    await route.continue();
  });
  await w.launcher.click();
  await page.evaluate(`deskbell('getState')`);
  await w.field.click();
  await page.keyboard.type(' words');
  expect(await w.field.textContent()).toBe('quick words');
  expect(await drafts(page)).toBeNull();
  await stage.configure({ 'behavior.contactForm': 'off' });
});

test('a page that comes back from the cache of pages has what a later page did', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await page.evaluate(`deskbell('getState')`);
  await type(visit, 'half of it');
  // This browser keeps no pages: it is told what one that does tells a page, and the later page is played by hand.
  const come = (change: string): Promise<unknown> =>
    page.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
      ${change};
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));`);
  const [name] = (await page.evaluate('Object.keys(sessionStorage)')) as string[];
  await come(`sessionStorage.setItem('${name}', sessionStorage.getItem('${name}').replace('half', 'all'))`);
  expect(await w.field.textContent()).toBe('all of it');
  await come(`sessionStorage.removeItem('${name}')`);
  expect(await w.field.textContent()).toBe('');
});

test('what was typed before the engine came stands behind what was kept', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await page.evaluate(`deskbell('getState')`);
  await type(visit, 'first');
  await routeLoaded(page, '**/conversation-*.js', async (route) => {
    await w.field.click();
    await page.keyboard.type('second');
    await route.continue();
  });
  await page.reload();
  await w.open();
  await eventually(async () => expect(await w.field.innerText()).toBe('first\nsecond'));
});

test('many long ones leave the site room for its own', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await page.evaluate(`deskbell('getState')`);
  const paste = (length: number): Promise<unknown> =>
    page.evaluate(`(() => {
      const field = document.querySelector('deskbell-widget').shadowRoot.querySelector('.field');
      field.textContent = 'x'.repeat(${length});
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    })()`);
  await paste(50_000);
  expect((await drafts(page))?.length).toBeGreaterThan(50_000);
  await paste(200_000);
  expect(await drafts(page)).toBeNull();
});

test('a correction that was not taken is still there to be saved again', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await send(visit, 'My number is 12345');
  await type(visit, 'By the way');
  let refused = 0;
  await routeLoaded(page, '**/messages/*', (route) =>
    route.request().method() === 'PATCH' && refused++ === 0 ? route.abort() : route.continue(),
  );
  await w.button('Edit').click();
  await page.keyboard.type(', and not 12346');
  await page.keyboard.press('Enter');
  // It does not go out by itself, as messages do.
  await w.dialog.getByText('That did not work.').waitFor();
  expect(await w.field.textContent()).toBe('My number is 12345, and not 12346');
  await w.button('Save').click();
  await w.log.getByText('My number is 12345, and not 12346').waitFor();
  await expect.poll(() => w.field.textContent()).toBe('By the way');
});

test('what was sent when the conversation had just been closed can go into a new one', async () => {
  const visit = await arrive();
  const { page, w } = visit;
  await w.open();
  await send(visit, 'Hello');
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  const held = Promise.withResolvers<void>();
  await routeLoaded(page, '**/api/v1/files', async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['%PDF-1.4'], 'plan.pdf', { type: 'application/pdf' }));
    document.querySelector('deskbell-widget').shadowRoot.querySelector('.field')
      .dispatchEvent(new DragEvent('drop', { bubbles: true, composed: true, cancelable: true, dataTransfer: transfer }));
  })()`);
  await page.locator('deskbell-widget .tray').getByText('plan.pdf').waitFor();
  await w.write('One more thing');
  await stage.operator.call('POST', `/conversations/${id}/resolve`);
  await w.dialog.getByText('This conversation is closed.').waitFor();
  held.resolve();
  await w.log.getByText('Not sent.').waitFor();
  await w.button('Try again').click();
  await w.log.locator('.mine').getByText('Sent', { exact: true }).waitFor();
  expect(await w.log.getByText('Hello').count()).toBe(0);
  await w.log.getByRole('link', { name: /plan\.pdf/ }).waitFor();
  expect(await newestConversation(stage)).not.toBe(id);
  await w.button('All conversations').click();
  await page.locator('deskbell-widget .conversation').filter({ hasText: 'Closed' }).click();
  await w.log.getByText('Hello').waitFor();
  expect(await w.log.getByText('One more thing').count()).toBe(0);
});
