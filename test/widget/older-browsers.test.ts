// Owns: that the widget works in the oldest browsers that docs/widget.md names. This one forgets what they do not know.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowserPage } from '../helpers/browser.ts';
import { pngPicture, uploadFile } from '../helpers/files.ts';
import {
  acceptConversation,
  createWidgetFixture,
  htmlPage,
  newestConversation,
  widgetLocators,
  type WidgetFixture,
} from './fixture.ts';

/** What came to Chrome after 105, to Firefox after 111 or to Safari after 16.4. */
const unknown = [
  'AbortSignal.any',
  'Array.fromAsync',
  'Array.prototype.toReversed',
  'Array.prototype.toSorted',
  'Array.prototype.toSpliced',
  'Array.prototype.with',
  'Element.prototype.checkVisibility',
  'HTMLElement.prototype.hidePopover',
  'HTMLElement.prototype.showPopover',
  'Intl.Segmenter',
  'Map.groupBy',
  'Object.groupBy',
  'Promise.try',
  'Promise.withResolvers',
  'Set.prototype.difference',
  'Set.prototype.intersection',
  'Set.prototype.union',
  'String.prototype.isWellFormed',
  'String.prototype.toWellFormed',
  'URL.canParse',
  'URL.parse',
  'requestIdleCallback',
  'startViewTransition',
];

let stage: WidgetFixture;

beforeAll(async () => {
  stage = await createWidgetFixture();
});
afterAll(() => stage.close());

test('a chat with an answer and files on both sides, by keyboard', async () => {
  const forget = `<script>for (const path of ${JSON.stringify(unknown)}) {
    const names = path.split('.');
    const last = names.pop();
    const holder = names.reduce((from, name) => from?.[name], window);
    if (holder) delete holder[last];
  }</script>`;
  const url = stage.site.page('/older', htmlPage(stage.tag(), forget));
  const { page, problems, close } = await openBrowserPage(stage.browser, url);
  expect(await page.evaluate(`['canParse' in URL, 'checkVisibility' in document.body]`)).toEqual([
    false,
    false,
  ]);
  const w = widgetLocators(page);
  await w.open();
  await page.locator('deskbell-widget .field:focus').waitFor();
  await w.write('Is it still there?');
  await w.log.getByText('Sent', { exact: true }).waitFor();

  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  const { app, operator } = stage;
  const { body } = await uploadFile(app, operator, pngPicture(40, 30), {
    name: 'here.png',
    type: 'image/png',
  });
  const attachments = [body.file.id];
  await operator.call('POST', `/conversations/${id}/messages`, { content: 'Yes', attachments });
  await w.log.locator('.message:not(.mine) .picture img').waitFor();
  await page
    .locator('deskbell-widget input[type=file]')
    .setInputFiles([{ name: 'mine.png', mimeType: 'image/png', buffer: pngPicture(40, 30) }]);
  await page.locator('deskbell-widget .tray').getByText('mine.png').waitFor();
  await w.field.press('Enter');
  await w.log.locator('.message.mine .picture img').waitFor();
  // Around the panel, which covers a phone's page.
  await page.setViewportSize({ width: 360, height: 640 });
  for (let stop = 0; stop < 20; stop++) await page.keyboard.press('Tab');
  expect(await page.locator('deskbell-widget [role=dialog]:focus-within').count()).toBe(1);
  expect(problems).toEqual([]);
  await close();
});
