// Owns: files from a visitor's screen to an operator's and back, in a real browser: a pasted picture, a dropped file, a
// photo made smaller, refusals in words, an answer with a picture from a phone; and that no file runs.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { axeViolations } from '../helpers/axe.ts';
import { openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { eventually } from '../helpers/eventually.ts';
import { pngPicture, uploadFile } from '../helpers/files.ts';
import { createVisitor, memberPassword } from '../helpers/fixtures.ts';
import { checkAccessibility, screenshotFolder, variants } from './accessibility.ts';
import {
  acceptConversation,
  createWidgetFixture,
  htmlPage,
  newestConversation,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

interface Stored {
  readonly content: string;
  readonly attachments?: readonly {
    readonly name: string;
    readonly type: string;
    readonly size: number;
    readonly width: number | null;
    readonly height: number | null;
  }[];
}

let stage: WidgetFixture;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  stage = await createWidgetFixture();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});
afterAll(() => stage.close());

async function arrive(
  path: string,
  options: Parameters<typeof openBrowserPage>[2] = {},
  attributes = '',
): Promise<{
  readonly page: Page;
  readonly problems: string[];
  readonly w: ReturnType<typeof widgetLocators>;
}> {
  const { origin } = new URL(stage.app.url);
  // What docs/widget.md asks of a strict site, and nothing more.
  const policy = `default-src 'none'; script-src ${origin}; connect-src ${origin} ${origin.replace('http', 'ws')}; img-src ${origin}`;
  const url = stage.site.page(path, htmlPage(stage.tag(attributes)), { 'content-security-policy': policy });
  const visit = await openBrowserPage(stage.browser, url, options);
  visits.push(visit);
  const w = widgetLocators(visit.page);
  await w.open();
  return { page: visit.page, problems: visit.problems, w };
}

/** A page that is loaded after its routes were set: its policy does not let it ask whether they hold. */
async function arriveAgain(page: Page, w: ReturnType<typeof widgetLocators>): Promise<void> {
  await page.reload();
  await w.open();
}

/** Files that a page makes itself, pasted into the widget's field or dropped on it. */
async function give(page: Page, how: 'paste' | 'drop', files: readonly string[]): Promise<void> {
  await page.evaluate(`(async () => {
    const data = new DataTransfer();
    for (const file of [${files.join(',')}]) data.items.add(await file);
    const field = document.querySelector('deskbell-widget').shadowRoot.querySelector('.field');
    const options = { bubbles: true, composed: true, cancelable: true };
    const event = ${
      how === 'paste'
        ? `new ClipboardEvent('paste', { ...options, clipboardData: data })`
        : `new DragEvent('drop', { ...options, dataTransfer: data })`
    };
    field.dispatchEvent(event);
  })()`);
}

/** Script of a picture: colours that differ everywhere, as a photo's do. */
const picture = (name: string, type: string, width: number, height: number): string => `(async () => {
  const canvas = new OffscreenCanvas(${width}, ${height});
  const pen = canvas.getContext('2d');
  const noise = new ImageData(500, 500);
  for (let at = 0; at < noise.data.length; at += 1) noise.data[at] = at % 4 === 3 ? 255 : (at * 2654435761 >>> 24) & 127;
  for (let x = 0; x < ${width}; x += 500) for (let y = 0; y < ${height}; y += 500) pen.putImageData(noise, x, y);
  return new File([await canvas.convertToBlob({ type: '${type}', quality: 0.95 })], '${name}', { type: '${type}' });
})()`;
const pdfFile = (name: string, bytes: number): string =>
  `new File(['%PDF-1.4 ' + 'x'.repeat(${bytes})], '${name}', { type: 'application/pdf' })`;

/** How wide a picture is that has come; 0 before. */
const naturalWidth = (image: object): unknown => Reflect.get(image, 'naturalWidth');

async function messagesOf(id: string): Promise<readonly Stored[]> {
  const { body } = await stage.operator.call('GET', `/conversations/${id}/messages`);
  return body.messages as Stored[];
}

/** The dashboard, signed in and with a conversation open. */
async function openDesk(
  id: string,
  options: Parameters<typeof openBrowserPage>[2] = {},
): Promise<{ readonly page: Page; readonly problems: string[] }> {
  const visit = await openBrowserPage(stage.browser, `${stage.app.url}/#/c/${id}`, options);
  visits.push(visit);
  const { page } = visit;
  // In whatever language the page is.
  const fields = page.locator('form input');
  await fields.nth(0).fill('acme');
  await fields.nth(1).fill(stage.operator.email);
  await fields.nth(2).fill(memberPassword);
  await page.locator('form button[type=submit]').click();
  await page.locator('.conversation-pane').waitFor();
  return { page, problems: visit.problems };
}

test('a pasted screenshot and a dropped file arrive as one message; the answer brings a picture from a phone', async () => {
  const { page, problems, w } = await arrive('/journey');
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
  expect(requests.filter((one) => one.includes('tray'))).toEqual([]);

  await give(page, 'paste', [picture('image.png', 'image/png', 640, 400)]);
  await give(page, 'drop', [pdfFile('plan.pdf', 2_000)]);
  const tray = page.locator('deskbell-widget .tray');
  await tray.getByText('plan.pdf').waitFor();
  await expect.poll(() => tray.locator('progress:not([hidden])').count()).toBe(0);
  if (screenshotFolder !== undefined) await page.screenshot({ path: `${screenshotFolder}/tray.png` });
  // No text: the names are the message.
  await w.field.press('Enter');
  const shown = w.log.locator('.picture img');
  await shown.waitFor();
  await expect.poll(() => shown.evaluate(naturalWidth)).toBe(640);
  await expect.poll(() => tray.isHidden()).toBe(true);
  expect(await w.log.getByRole('link', { name: /^plan\.pdf PDF · 2 KiB$/ }).count()).toBe(1);
  // The picture's place is kept before it comes.
  expect(await shown.getAttribute('width')).toBe('260');

  const id = await newestConversation(stage);
  const [message, ...others] = await messagesOf(id);
  expect(others).toEqual([]);
  expect(message?.content).toBe('image.png, plan.pdf');
  expect(message?.attachments).toMatchObject([
    { name: 'image.png', type: 'image/png', width: 640, height: 400 },
    { name: 'plan.pdf', type: 'application/pdf', width: null },
  ]);
  expect(requests.filter((one) => one.startsWith('POST') && one.endsWith('/files'))).toHaveLength(2);
  expect(requests.filter((one) => one.includes('tray'))).toHaveLength(1);

  await acceptConversation(stage, id);
  const desk = await openDesk(id, { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
  const received = desk.page.locator('.message.visitor .picture img');
  await received.waitFor();
  await expect.poll(() => received.evaluate(naturalWidth)).toBe(640);
  await desk.page
    .locator('input[type=file]')
    .setInputFiles([{ name: 'how.png', mimeType: 'image/png', buffer: pngPicture(40, 30) }]);
  await desk.page.locator('.files').getByText('how.png').waitFor();
  await expect.poll(() => desk.page.locator('.files progress').count()).toBe(0);
  expect(await desk.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  expect(await axeViolations(desk.page, { frames: false })).toEqual([]);
  if (screenshotFolder !== undefined)
    await desk.page.screenshot({ path: `${screenshotFolder}/desk-phone.png` });
  await desk.page.getByRole('button', { name: 'Send', exact: true }).click();
  await desk.page.locator('.message.own .picture img').waitFor();
  await w.log.locator('.message:not(.mine) .picture img').waitFor();
  expect((await messagesOf(id)).at(-1)?.attachments).toMatchObject([{ name: 'how.png' }]);
  expect([...problems, ...desk.problems.filter((one) => !/status of 401/.test(one))]).toEqual([]);
});

test('a photo of 12 megapixels leaves at most 400 kB heavy and 2,048 pixels wide', async () => {
  const { page, w } = await arrive('/photo');
  await give(page, 'paste', [picture('IMG_0001.jpeg', 'image/jpeg', 4_000, 3_000)]);
  await page.locator('deskbell-widget .tray').getByText('IMG_0001').waitFor();
  await w.write('See the photo');
  await w.log.locator('.picture img').waitFor();
  const [message] = await messagesOf(await newestConversation(stage));
  const [file] = message?.attachments ?? [];
  expect(file).toMatchObject({ name: 'IMG_0001.webp', type: 'image/webp' });
  expect(file?.size).toBeLessThanOrEqual(400_000);
  expect(Math.max(file?.width ?? 0, file?.height ?? 0)).toBeLessThanOrEqual(2_048);
  expect((file?.width ?? 0) / (file?.height ?? 1)).toBeCloseTo(4 / 3, 2);
});

test('what can’t be sent is said in words, and what failed can be taken out or tried again', async () => {
  const { page, w } = await arrive('/refused');
  let fails = true;
  await page.route('**/api/v1/files', (route) =>
    fails
      ? route.fulfill({
          status: 422,
          headers: { 'access-control-allow-origin': '*' },
          json: { error: 'file_rejected', message: 'no' },
        })
      : route.continue(),
  );
  await arriveAgain(page, w);
  const tray = page.locator('deskbell-widget .tray');
  await give(page, 'drop', [`new File(['MZ'], 'setup.exe')`, `new File([], 'nothing.txt')`]);
  await tray.locator('.trouble').getByText('Files of this kind can’t be sent: setup.exe').waitFor();
  expect(await tray.textContent()).toContain('nothing.txt is empty.');
  await give(page, 'drop', [pdfFile('large.pdf', 11_000_000)]);
  await tray.locator('.trouble').getByText('large.pdf is too large: at most 10 MiB.').waitFor();
  await give(page, 'drop', [pdfFile('virus.pdf', 10)]);
  await tray
    .locator('li')
    .getByText(/This file was refused/)
    .waitFor();
  await w.field.press('Enter');
  expect(await w.log.getByText('virus.pdf').count()).toBe(0);
  expect(await checkAccessibility(page, 'tray-refused')).toEqual([]);
  await tray.getByRole('button', { name: 'Remove virus.pdf' }).click();
  fails = false;
  await give(page, 'drop', [pdfFile('fine.pdf', 10)]);
  await expect.poll(() => tray.locator('progress:not([hidden])').count()).toBe(0);
  await w.write('Here');
  await w.log.getByText('fine.pdf').waitFor();
});

test('sent while a file is on its way: it leaves once, when the file is there', async () => {
  const { page, w } = await arrive('/slow');
  const held = Promise.withResolvers<void>();
  await page.route('**/api/v1/files', async (route) => {
    await held.promise;
    await route.continue();
  });
  await arriveAgain(page, w);
  await give(page, 'drop', [pdfFile('slow.pdf', 1_000)]);
  await page.locator('deskbell-widget .tray').getByText('slow.pdf').waitFor();
  await w.write('With the plan');
  await page.locator('deskbell-widget').getByText('Goes out as soon as the files are uploaded.').waitFor();
  expect(await w.log.getByText('With the plan').count()).toBe(0);
  held.resolve();
  await w.log.getByRole('link', { name: /slow\.pdf/ }).waitFor();
  const messages = await messagesOf(await newestConversation(stage));
  expect(messages.map(({ content }) => content)).toEqual(['With the plan']);
});

test('a file that was chosen without a network can be chosen again once it is back', async () => {
  const { page } = await arrive('/offline');
  await page.context().setOffline(true);
  await give(page, 'drop', [pdfFile('plan.pdf', 1_000)]);
  const failed = page.locator('deskbell-widget').getByText('That did not work. Please try again.');
  await failed.waitFor();
  await page.context().setOffline(false);
  await give(page, 'drop', [pdfFile('plan.pdf', 1_000)]);
  const chosen = page.locator('deskbell-widget .tray').getByText('plan.pdf', { exact: true });
  await expect.poll(() => chosen.isVisible()).toBe(true);
});

test('what waits for its files stays where it is when another conversation is chosen', async () => {
  const { page, w } = await arrive('/left');
  await w.write('The first matter');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  const held = Promise.withResolvers<void>();
  await page.route('**/api/v1/files', async (route) => {
    await held.promise;
    await route.continue();
  });
  await arriveAgain(page, w);
  await w.log.getByText('The first matter').waitFor();
  await give(page, 'drop', [pdfFile('late.pdf', 1_000)]);
  const tray = page.locator('deskbell-widget .tray');
  await tray.getByText('late.pdf').waitFor();
  await w.write('With the plan');
  const waits = page.locator('deskbell-widget').getByText('Goes out as soon as the files are uploaded.');
  await waits.waitFor();
  await w.button('All conversations').click();
  await w.button('New conversation').click();
  await waits.waitFor({ state: 'hidden' });
  held.resolve();
  await expect.poll(() => tray.locator('progress:not([hidden])').count()).toBe(0);
  expect(await w.field.textContent()).toBe('With the plan');
  expect(await w.log.getByText('With the plan').count()).toBe(0);
  await w.send.click();
  await w.log.getByRole('link', { name: /late\.pdf/ }).waitFor();
  expect((await messagesOf(id)).map(({ content }) => content)).toEqual(['The first matter']);
});

describe.each(variants.filter(([name]) => ['light', 'dark', 'rtl'].includes(name)))(
  'in %s',
  (name, options, attributes) => {
    test('the tray and the conversation can be read by all', async () => {
      const { page, w } = await arrive(`/faces-${name}`, options, attributes);
      await give(page, 'drop', [picture('تصميم cup.png', 'image/png', 500, 300), pdfFile('plan.pdf', 3_000)]);
      await expect.poll(() => page.locator('deskbell-widget .tray li').count()).toBe(2);
      await expect.poll(() => page.locator('deskbell-widget .tray progress:not([hidden])').count()).toBe(0);
      expect(await checkAccessibility(page, `files-tray-${name}`)).toEqual([]);
      await w.write('Two files');
      await w.log.locator('.picture img').waitFor();
      await expect.poll(() => w.log.locator('.picture img').evaluate(naturalWidth)).toBe(500);
      expect(await checkAccessibility(page, `files-${name}`)).toEqual([]);
      const id = await newestConversation(stage);
      const desk = await openDesk(id, options);
      await desk.page.locator('.picture img').waitFor();
      expect(await axeViolations(desk.page, { frames: false })).toEqual([]);
      if (screenshotFolder !== undefined)
        await desk.page.screenshot({ path: `${screenshotFolder}/files-desk-${name}.png` });
    });
  },
);

test('no file runs, whatever it is called, when it is opened', async () => {
  const evil = '<script>globalThis.ran=1;opener&&(opener.ran=1)</script>';
  const strangers: readonly (readonly [string, string, string])[] = [
    ['picture.svg', 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" onload="ran=1">${evil}</svg>`],
    ['page.html', 'text/html', `<!doctype html>${evil}`],
    ['page.png', 'image/png', `<!doctype html>${evil}`],
    ['page.gif', 'image/gif', `GIF89a/*${evil}*/=1;`],
    ['page.xhtml', 'application/xhtml+xml', `<html xmlns="http://www.w3.org/1999/xhtml">${evil}</html>`],
    ['"onerror=ran=1 x=".png', 'image/png', pngPicture(40, 30).toString('latin1') + evil],
    ['<img src=x onerror=ran=1>.pdf', 'application/pdf', `%PDF-1.4 ${evil}`],
    ['photo\u202egnp.html', 'text/html', evil],
  ];
  const visitor = createVisitor(stage.app, stage.application);
  const { body } = await visitor.call('POST', '/conversations', {});
  const { id } = (body.conversation ?? body) as { id: string };
  let taken = 0;
  for (const [name, type, text] of strangers) {
    const { status, body: answer } = await uploadFile(stage.app, visitor, Buffer.from(text, 'latin1'), {
      name,
      type,
    });
    if (status !== 201) continue;
    taken += 1;
    const { file } = answer as { file: { id: string } };
    const sent = await visitor.call('POST', `/conversations/${id}/messages`, {
      content: name,
      attachments: [file.id],
    });
    expect(sent.status).toBe(201);
  }
  expect(taken).toBeGreaterThan(4);
  const { page } = await openDesk(id);
  await expect.poll(() => page.locator('.attachments').count()).toBe(taken);
  const addresses = await page
    .locator('.attachments a')
    .evaluateAll((links) => links.map((link) => String(Reflect.get(link, 'href'))));
  expect(addresses).toHaveLength(taken);
  for (const address of addresses) {
    // A link that downloads goes nowhere; one that shows must run nothing.
    const opened = await page.context().newPage();
    await opened.goto(address).catch(() => undefined);
    expect(await opened.evaluate('globalThis.ran')).toBeUndefined();
    await opened.close();
  }
  for (const link of await page.locator('.attachments a.file').all()) await link.click();
  await eventually(async () => {
    expect(await page.evaluate('globalThis.ran')).toBeUndefined();
  });
  expect(await page.locator('[onerror], [onload]').count()).toBe(0);
});

test.each([
  ['of a small computer', { width: 1280, height: 500 }],
  ['that is enlarged four times', { width: 320, height: 256 }],
] as const)('Send is in sight beside many files and a long text, in a window %s', async (_, viewport) => {
  const { page, w } = await arrive(`/low-${viewport.width}`, { viewport });
  await give(
    page,
    'drop',
    Array.from({ length: 8 }, (__, index) => pdfFile(`plan-${index}.pdf`, 100)),
  );
  await page.locator('deskbell-widget .tray li').nth(7).waitFor({ state: 'attached' });
  await w.field.focus();
  await page.keyboard.insertText('One line\n'.repeat(30));
  // By what is painted at its place: the panel cuts off what it has no room for.
  const painted = await page.evaluate<boolean[]>(`(() => {
    const root = document.querySelector('deskbell-widget').shadowRoot;
    const send = root.querySelector('.send');
    const { left, top, width, height } = send.getBoundingClientRect();
    return [0.2, 0.8].map((part) => send.contains(root.elementFromPoint(left + width / 2, top + height * part)));
  })()`);
  expect(painted).toEqual([true, true]);
});
