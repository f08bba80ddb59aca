// Owns: each face of the widget, judged by axe with every rule on, in light, dark, right-to-left, on a phone and
// with forced colours; its languages; keys alone; zoom; and a long history without a hitch.
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowserPage, routeLoaded, type BrowserPage } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import { rounds } from '../helpers/rounds.ts';
import { variants, checkAccessibility, screenshotFolder } from './accessibility.ts';
import {
  acceptConversation,
  sendReply,
  createWidgetFixture,
  htmlPage,
  newestConversation,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

let stage: WidgetFixture;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  stage = await createWidgetFixture();
});

beforeEach(() =>
  stage.configure({
    'appearance.colors.primary': '#4f46e5',
    'behavior.greeting': 'Hello! How can we help you today?',
    'behavior.businessHours': null,
    'behavior.outsideHours': null,
  }),
);

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

async function arrive(
  options: BrowserContextOptions = {},
  attributes = '',
): Promise<BrowserPage & { readonly w: ReturnType<typeof widgetLocators> }> {
  const one = await openBrowserPage(
    stage.browser,
    stage.site.page('/', htmlPage(stage.tag(attributes))),
    options,
  );
  visits.push(one);
  return { ...one, w: widgetLocators(one.page) };
}

/** What has the focus in the widget, by its name; null: it is elsewhere. */
function focusedName(page: Page): Promise<unknown> {
  return page.evaluate(
    `(() => { const at = document.querySelector('deskbell-widget').shadowRoot.activeElement; return at === null ? null : at.getAttribute('aria-label') ?? at.textContent; })()`,
  );
}

/** A talk with something of everything in it; ends with the last answer in sight. */
async function talk(w: ReturnType<typeof widgetLocators>, page: Page): Promise<string> {
  await w.open();
  await w.write('Good morning! My order has not arrived.');
  await w.log.locator('.foot.sent').first().waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await sendReply(stage, id, 'Good morning, let me look that up for you.');
  const text = (value: string, format = 0): object => ({ type: 'text', version: 1, text: value, format });
  const tree = {
    root: {
      type: 'root',
      version: 1,
      children: [
        {
          type: 'paragraph',
          version: 1,
          children: [text('It left our house '), text('on Tuesday', 1), text('. Two things you can do:')],
        },
        {
          type: 'list',
          version: 1,
          listType: 'number',
          children: [
            {
              type: 'listitem',
              version: 1,
              children: [
                text('follow it '),
                {
                  type: 'link',
                  version: 1,
                  url: 'https://example.com/track',
                  children: [text('with this link')],
                },
              ],
            },
            {
              type: 'listitem',
              version: 1,
              children: [text('tell the driver the code '), text('KX-204', 16)],
            },
          ],
        },
      ],
    },
  };
  await sendReply(stage, id, JSON.stringify(tree), 'lexical');
  await w.log.getByText('KX-204').waitFor();
  await page.keyboard.type('Thank you, that helps!');
  await page.keyboard.press('Enter');
  await w.log.getByText('that helps').waitFor();
  return id;
}

describe.each(variants)('%s', (name, options, attributes) => {
  test('axe finds nothing against any state', async () => {
    const { page, w } = await arrive(options, attributes);
    await w.launcher.waitFor();
    expect(await checkAccessibility(page, `${name}-1-launcher`)).toEqual([]);
    await w.open();
    await w.dialog.getByText('How can we help').waitFor();
    expect(await checkAccessibility(page, `${name}-2-open`)).toEqual([]);
    await page.reload();
    if (name === 'phone') return;
    const id = await talk(w, page);
    await w.log.locator('.foot.sent').first().waitFor();
    expect(await checkAccessibility(page, `${name}-3-talk`)).toEqual([]);
    await stage.operator.call('POST', `/conversations/${id}/resolve`);
    await w.dialog.locator('.ended').waitFor();
    expect(await checkAccessibility(page, `${name}-4-closed`)).toEqual([]);
    await w.dialog.locator('.back').click();
    await w.dialog.locator('.conversation').first().waitFor();
    expect(await checkAccessibility(page, `${name}-5-list`)).toEqual([]);
  });
});

describe('states of trouble', () => {
  test('axe finds nothing against them', async () => {
    const { page, w } = await arrive();
    await talk(w, page);
    await w.log.locator('.mine').last().hover();
    await w.log.locator('.mine').last().getByRole('button', { name: 'Edit' }).click();
    expect(await checkAccessibility(page, 'trouble-1-editing')).toEqual([]);
    await page.keyboard.press('Escape');
    await routeLoaded(page, '**/api/v1/**', (route) => route.abort());
    await page.context().setOffline(true);
    await w.write('Is anybody there?');
    await w.dialog.getByText('Sending…').waitFor();
    await w.dialog.getByText('No connection.').waitFor();
    expect(await checkAccessibility(page, 'trouble-2-offline')).toEqual([]);
  });

  test('a message that was refused says so and can be tried again', async () => {
    const { page, w } = await arrive();
    await w.open();
    await routeLoaded(page, '**/messages', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 403,
            headers: { 'access-control-allow-origin': stage.site.origin },
            json: { error: 'forbidden', message: 'no' },
          })
        : route.continue(),
    );
    await w.write('refused');
    await w.log.getByText('Not sent.').waitFor();
    expect(await checkAccessibility(page, 'trouble-3-failed')).toEqual([]);
    await page.unroute('**/messages');
    await w.button('Try again').press('Enter');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    expect(await w.log.locator('.mine').count()).toBe(1);
    // The button is gone, and the focus not with it.
    expect(await focusedName(page)).toBe('Messages');
  });

  test('outside business hours: the notice, and when it opens, in the time zone of the visitor', async () => {
    // Open for one minute a week in UTC, so that it is closed now; the visitor sits nine hours ahead.
    const opens = new Date(Date.now() + 3 * 86_400_000);
    const weekday = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'][
      opens.getUTCDay()
    ]!;
    await stage.configure({
      'behavior.timezone': 'UTC',
      'behavior.businessHours': { week: { [weekday]: [{ open: '09:30', close: '09:31' }] } },
      'behavior.outsideHours': 'We are asleep. Leave us a line and we will write back.',
    });
    const { page, w } = await arrive({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' }, 'data-locale="en-GB"');
    await w.open();
    await w.dialog.getByText('We are asleep').waitFor();
    await w.dialog.getByText(/We are back .*18:30/).waitFor();
    expect(await checkAccessibility(page, 'trouble-4-closed-hours')).toEqual([]);
  });
});

test("the site's colours are corrected until they can be read", async () => {
  for (const [primary, background, text] of [
    ['#ffff00', '#ffffff', '#eeeeee'],
    ['#808080', '#808080', '#808080'],
    ['#000000', '#000000', '#111111'],
    ['#ff6600', '#fff8f0', '#ffccaa'],
  ]) {
    await stage.configure({
      'appearance.colors.primary': primary,
      'appearance.colors.background': background,
      'appearance.colors.text': text,
    });
    const { page, w } = await arrive();
    await talk(w, page);
    expect(await checkAccessibility(page, `colours-${primary!.slice(1)}`)).toEqual([]);
  }
  await stage.configure({ 'appearance.colors.background': '#ffffff', 'appearance.colors.text': '#111827' });
});

describe('languages', () => {
  test.each([
    ['de', 'Nachricht schreiben …', 'ltr'],
    ['es', 'Escriba un mensaje…', 'ltr'],
    ['fr-CA', 'Écrivez un message…', 'ltr'],
    ['it', 'Scriva un messaggio…', 'ltr'],
    ['nl', 'Schrijf een bericht…', 'ltr'],
    ['pl', 'Napisz wiadomość…', 'ltr'],
    ['pt-BR', 'Escreva uma mensagem…', 'ltr'],
    ['ar', 'اكتب رسالة…', 'rtl'],
    ['xx', 'Write a message…', 'ltr'],
  ])('%s: one language file at most, and the right direction', async (locale, hint, direction) => {
    const { page, w } = await arrive({}, `data-locale="${locale}"`);
    const files: string[] = [];
    page.on('request', (request) => {
      if (/\/[a-z]{2}-\w{8}\.js$/.test(request.url())) files.push(request.url());
    });
    await w.open();
    expect(await w.field.getAttribute('data-hint')).toBe(hint);
    expect(await page.locator('deskbell-widget').getAttribute('dir')).toBe(direction);
    expect(files.length).toBe(locale === 'xx' ? 0 : 1);
  });

  test('plural forms follow the language: Polish has three', async () => {
    const { page, w } = await arrive({}, 'data-locale="pl"');
    await w.open();
    await w.write('dzień dobry');
    await w.log.locator('.foot.sent').waitFor();
    const id = await newestConversation(stage);
    await acceptConversation(stage, id);
    await page.keyboard.press('Escape');
    for (const [count, label] of [
      [1, 'Czat, 1 nieprzeczytana wiadomość'],
      [2, 'Czat, 2 nieprzeczytane wiadomości'],
      [5, 'Czat, 5 nieprzeczytanych wiadomości'],
    ] as const) {
      const have = Number((await w.launcher.textContent()) ?? 0);
      for (let index = have; index < count; index++) await sendReply(stage, id, `${index}`);
      await eventually(async () => expect(await w.launcher.getAttribute('aria-label')).toBe(label));
    }
  });

  test('changing the language keeps what is being written', async () => {
    const { page, w } = await arrive();
    await w.open();
    await page.keyboard.type('half a sentence');
    await page.evaluate(`deskbell('setLocale', 'ar')`);
    await page.locator('deskbell-widget[dir=rtl]').waitFor();
    expect(await w.field.textContent()).toBe('half a sentence');
  });
});

describe('people who use no mouse', () => {
  test('the whole way by keys, and the focus is given back', async () => {
    const { page, w } = await arrive();
    await w.launcher.waitFor();
    await page.keyboard.press('Tab');
    const focused = (): Promise<unknown> => focusedName(page);
    expect(await focused()).toBe('Chat');
    await page.keyboard.press('Enter');
    await w.field.waitFor();
    expect(await focused()).toBe('Message');
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Attach files');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Bold');
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toBe('Italic');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    expect(await focused()).toBe('Link');
    await page.keyboard.press('Escape');
    expect(await focused()).toBe('Chat');
    await w.dialog.waitFor({ state: 'hidden' });
  });

  test('what has the focus keeps it when it is drawn anew, and leaves it to what is around it', async () => {
    const { page, w } = await arrive();
    await w.open();
    await w.write('Where is it?');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    const id = await newestConversation(stage);
    await acceptConversation(stage, id);
    await w.button('Edit').focus();
    await sendReply(stage, id, 'On its way.');
    await w.log.getByText('Read', { exact: true }).waitFor();
    expect(await focusedName(page)).toBe('Edit');
    await w.button('Delete').press('Enter');
    expect(await focusedName(page)).toBe('Delete for everyone?');
    await page.keyboard.press('Enter');
    await w.log.getByText('Where is it?').waitFor({ state: 'detached' });
    expect(await focusedName(page)).toBe('Messages');

    await w.button('All conversations').press('Enter');
    const row = w.dialog.locator('.conversation');
    await row.focus();
    await sendReply(stage, id, 'It is there.');
    await row.locator('.count').waitFor();
    expect(await focusedName(page)).toBe(await row.textContent());
  });

  test('what becomes of asking for a mail stands where the button was, with the focus', async () => {
    const { page, w } = await arrive();
    await w.open();
    await w.write('Please mail it.');
    await w.log.locator('.foot.sent').first().waitFor();
    const id = await newestConversation(stage);
    await acceptConversation(stage, id);
    await stage.operator.call('POST', `/conversations/${id}/resolve`);
    let asked = 0;
    await routeLoaded(page, '**/transcript', async (route) => {
      if (route.request().method() === 'POST') asked += 1;
      await route.continue();
    });
    await w.button('Mail me this conversation').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await w.dialog.getByText('It can’t be mailed').waitFor();
    expect(await focusedName(page)).toContain('It can’t be mailed');
    expect(asked).toBe(1);
  });

  test('keys of an input method send nothing and close nothing, also where only their code tells', async () => {
    const { page, w } = await arrive();
    await w.open();
    await page.keyboard.type('half a');
    const press = (init: object): Promise<unknown> =>
      page.evaluate(
        `document.querySelector('deskbell-widget').shadowRoot.querySelector('.field')
          .dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...${JSON.stringify(init)} }))`,
      );
    // Safari: the composition is over before the key that ended it comes.
    await press({ key: 'Enter', keyCode: 229 });
    await press({ key: 'Escape', keyCode: 229 });
    await press({ key: 'Escape', keyCode: 27, isComposing: true });
    expect(await w.dialog.isVisible()).toBe(true);
    expect(await w.field.textContent()).toBe('half a');
    await page.keyboard.type(' word');
    await page.keyboard.press('Enter');
    await w.log.getByText('Sent', { exact: true }).waitFor();
    expect(await w.log.locator('.mine .bubble').allTextContents()).toEqual(['half a word']);
  });

  test('a screen reader is told of each message once, and the region empties itself', async () => {
    const { page, w } = await arrive();
    const id = await talk(w, page);
    await page.evaluate(`(() => {
      window.told = [];
      const region = document.querySelector('deskbell-widget').shadowRoot.querySelector('[aria-live=polite]');
      new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(({ textContent }) => told.push(textContent)))).observe(region, { childList: true });
    })()`);
    const socket = await stage.operator.connect();
    socket.send('room:join', { conversationId: id });
    await socket.receives('room:joined');
    socket.send('typing:start', { conversationId: id });
    await w.dialog.getByText('Olivia is typing…').waitFor();
    await sendReply(stage, id, 'It is on its way.');
    await eventually(async () =>
      expect(await page.evaluate('told')).toEqual(['Olivia said: It is on its way.']),
    );
    const region = page.locator('deskbell-widget [aria-live=polite]');
    await eventually(async () => expect(await region.textContent()).toBe(''));
    expect(await w.log.getAttribute('aria-live')).toBe('off');
    await socket.close();
  });

  test('those who want less motion get none', async () => {
    const { page, w } = await arrive({ reducedMotion: 'reduce' });
    await w.open();
    expect(
      await page.evaluate(`document.querySelector('deskbell-widget').shadowRoot.getAnimations().length`),
    ).toBe(0);
  });
});

test('on a phone: the whole screen, the keyboard left out, Tab kept inside, the page back as it was', async () => {
  const { page, w } = await arrive({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await w.launcher.tap();
  await w.dialog.waitFor();
  await eventually(async () =>
    expect(await w.dialog.boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 }),
  );
  expect(await w.dialog.getAttribute('aria-modal')).toBe('true');
  expect(await page.evaluate(`getComputedStyle(document.documentElement).overflow`)).toBe('hidden');
  await w.field.tap();
  await page.keyboard.type('line one');
  await page.keyboard.press('Enter');
  await page.keyboard.type('line two');
  await w.send.tap();
  await w.log.getByText('Sent', { exact: true }).waitFor();
  expect(await w.log.locator('.mine .bubble').textContent()).toBe('line one\nline two');
  if (screenshotFolder !== undefined)
    await page.screenshot({ path: join(screenshotFolder, 'phone-3-talk.png') });
  // A keyboard takes the lower part of the screen: the composer must stay above it.
  await page.evaluate(`(() => {
    Object.defineProperty(visualViewport, 'height', { value: 480, configurable: true });
    visualViewport.dispatchEvent(new Event('resize'));
  })()`);
  const box = (await w.field.boundingBox())!;
  expect(box.y + box.height).toBeLessThanOrEqual(480);
  expect((await w.dialog.boundingBox())!.height).toBe(480);
  if (screenshotFolder !== undefined)
    await page.screenshot({ path: join(screenshotFolder, 'phone-4-keyboard.png') });
  for (let step = 0; step < 25; step++) {
    await page.keyboard.press('Tab');
    expect(await page.evaluate(`document.activeElement.localName`)).toBe('deskbell-widget');
  }
  await page.keyboard.press('Escape');
  expect(await page.evaluate(`document.documentElement.style.overflow`)).toBe('');
});

test('on a phone whose keyboard shrinks the window the newest message stays in sight', async () => {
  const { page, w } = await arrive({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
  const fromEnd = (): Promise<unknown> =>
    page.evaluate(`(() => {
      const log = document.querySelector('deskbell-widget').shadowRoot.querySelector('.log');
      return log.scrollHeight - log.scrollTop - log.clientHeight;
    })()`);
  await w.open();
  await w.field.tap();
  await page.keyboard.type('long '.repeat(120));
  await w.send.tap();
  await w.log.getByText('Sent', { exact: true }).waitFor();
  for (const height of [320, 640, 280]) {
    await page.setViewportSize({ width: 360, height });
    await eventually(async () => {
      expect((await w.dialog.boundingBox())?.height).toBe(height);
      expect(await fromEnd()).toBeLessThan(2);
    });
  }
});

test('on a phone: hidden while it is open, it leaves the page to scroll, and reads nothing', async () => {
  const { page, w } = await arrive({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const overflow = (): Promise<unknown> => page.evaluate(`document.documentElement.style.overflow`);
  await w.launcher.tap();
  await w.field.tap();
  await page.keyboard.type('Are you there?');
  await w.send.tap();
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await page.evaluate(`deskbell('hide')`);
  await eventually(async () => expect(await overflow()).toBe(''));
  await sendReply(stage, id, 'Yes');
  await sendReply(stage, id, 'I am');
  await eventually(async () =>
    expect(await w.launcher.getAttribute('aria-label')).toBe('Chat, 2 unread messages'),
  );
  await page.evaluate(`deskbell('show')`);
  await w.log.getByText('I am').waitFor();
  expect(await overflow()).toBe('hidden');
  await eventually(async () => expect(await w.launcher.getAttribute('aria-label')).toBe('Chat'));
});

test('hidden before it was ever loaded, it is not opened over the page', async () => {
  const { page, w } = await arrive({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await w.launcher.waitFor();
  await page.evaluate(`Promise.all([deskbell('hide'), deskbell('open')])`);
  expect(await page.evaluate(`document.documentElement.style.overflow`)).toBe('');
  await page.evaluate(`deskbell('show')`);
  await w.dialog.waitFor();
  expect(await page.evaluate(`document.documentElement.style.overflow`)).toBe('hidden');
});

test('at 400 % zoom everything can still be reached', async () => {
  const { page, w } = await arrive({ viewport: { width: 320, height: 256 } });
  await w.open();
  await w.write('zoomed');
  await w.log.getByText('zoomed').waitFor();
  for (const name of ['Close chat', 'Send']) {
    const { x, y, width, height } = (await w.button(name).boundingBox())!;
    expect(x).toBeGreaterThanOrEqual(0);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(320);
    expect(y + height).toBeLessThanOrEqual(256);
  }
  expect(await page.evaluate(`document.documentElement.scrollWidth`)).toBe(320);
});

test.each([320, 360])(
  'on a phone of %i pixels the formats are one row that fingers can hit',
  async (width) => {
    const { page, w } = await arrive({ viewport: { width, height: 640 } });
    await w.open();
    // While the panel opens it moves: boxes that are asked for one after another are of different moments.
    await eventually(async () => {
      const formats = await page.locator('[role=toolbar] button').all();
      const boxes = await Promise.all(formats.map(async (one) => (await one.boundingBox())!));
      expect(boxes.length).toBeGreaterThan(4);
      expect(new Set(boxes.map(({ y }) => y)).size).toBe(1);
      for (const box of boxes) expect(Math.min(box.width, box.height)).toBeGreaterThanOrEqual(24);
      const last = boxes.at(-1)!;
      expect(last.x + last.width).toBeLessThanOrEqual((await w.button('Send').boundingBox())!.x);
    });
  },
);

test.each([
  ['wide', { width: 1280, height: 800 }],
  ['a phone', { width: 360, height: 640 }],
  ['zoomed', { width: 320, height: 256 }],
] as const)('what is wrong with a message stands on no button: %s', async (_name, viewport) => {
  const { page, w } = await arrive({ viewport });
  await w.open();
  await w.field.click();
  await page.keyboard.insertText('x'.repeat(5_200));
  const said = page.locator('deskbell-widget').getByText('200 characters too many');
  await said.waitFor();
  const covered = `(() => {
    const bar = document.querySelector('deskbell-widget').shadowRoot.querySelector('.bar');
    const text = new Range();
    text.selectNodeContents(bar.querySelector('[role=status]'));
    const a = text.getBoundingClientRect();
    return [...bar.querySelectorAll('button')].filter((button) => {
      const b = button.getBoundingClientRect();
      return b.width > 0 && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    }).map((button) => button.title);
  })()`;
  await eventually(async () => expect(await page.evaluate(covered)).toEqual([]));
  const send = (await w.send.boundingBox())!;
  expect(send.y + send.height).toBeLessThanOrEqual(viewport.height);
});

test('a long history: a window of it is drawn, and all can be reached', async () => {
  const count = rounds(250, 1_000);
  const { page, w } = await arrive();
  await w.open();
  await w.write('the very first');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  // Over one socket, which keeps their order without waiting for each.
  const socket = await stage.operator.connect();
  for (let index = 1; index < count; index += 1)
    socket.send('message:send', {
      conversationId: id,
      content: `message number ${index}`,
      clientMessageId: `long-${index}`,
    });
  const last = `message number ${count - 1}`;
  await w.log.getByText(last).waitFor();
  const bubbles = w.log.locator('.bubble');
  // All are in memory, as they came in live; sixty of them are on the page.
  expect(await bubbles.count()).toBe(60);
  await page.reload();
  await w.open();
  await w.log.getByText(last).waitFor();
  expect(await bubbles.count()).toBeLessThanOrEqual(120);
  await w.log.focus();
  await eventually(async () => {
    await page.evaluate(
      `document.querySelector('deskbell-widget').shadowRoot.querySelector('.log').scrollTop = 0`,
    );
    expect(await w.log.getByText('the very first').count()).toBe(1);
  });
  const texts = await bubbles.allTextContents();
  expect(texts.slice(-count)).toEqual([
    'the very first',
    ...Array.from({ length: count - 1 }, (_, index) => `message number ${index + 1}`),
  ]);
});
