// Owns: a visitor's whole way through the widget in a real browser, on a page of another origin than the server,
// with an operator on the other side. What is seen here is what people see; nothing is looked up inside.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowserPage, type BrowserPage } from '../helpers/browser.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createConversation, createMember, createVisitor } from '../helpers/fixtures.ts';
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
let url: string;
const visits: BrowserPage[] = [];

beforeAll(async () => {
  stage = await createWidgetFixture();
  await stage.configure({ 'behavior.greeting': 'Hello! How can we help?' });
  url = stage.site.page('/', htmlPage(stage.tag()));
});

afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
});

afterAll(() => stage.close());

async function arrive(): Promise<{
  readonly page: Page;
  readonly complaints: string[];
  readonly w: ReturnType<typeof widgetLocators>;
}> {
  const one = await openBrowserPage(stage.browser, url);
  visits.push(one);
  return { page: one.page, complaints: one.problems, w: widgetLocators(one.page) };
}

async function stored(id: string): Promise<{ content: string; contentFormat: string; id: string }[]> {
  return (await stage.operator.call('GET', `/conversations/${id}/messages?limit=100`)).body.messages;
}

test('a question, an answer, a correction, the end, and another question', async () => {
  const { page, complaints, w } = await arrive();
  await w.open();
  await w.dialog.getByText('Hello! How can we help?').waitFor();
  await w.write('Where is my order?');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  expect((await stored(id)).map(({ content }) => content)).toEqual(['Where is my order?']);

  await acceptConversation(stage, id);
  const socket = await stage.operator.connect();
  socket.send('room:join', { conversationId: id });
  await socket.receives('room:joined');
  socket.send('typing:start', { conversationId: id });
  await w.dialog.getByText('Olivia is typing…').waitFor();
  const colleague = await createMember(stage.app, 'acme', 'operator', 'Max');
  const other = await colleague.connect();
  other.send('room:join', { conversationId: id });
  await other.receives('room:joined');
  socket.send('typing:start', { conversationId: id });
  other.send('typing:start', { conversationId: id });
  await w.dialog.getByText('Olivia, Max are typing…').waitFor();
  await other.close();
  await sendReply(stage, id, 'Let me look.');
  await w.log.getByText('Let me look.').waitFor();
  await w.dialog.getByText('Olivia is typing…').waitFor({ state: 'hidden' });
  await w.log.getByText('Read', { exact: true }).waitFor();
  // The operator sees that it was read, and that the visitor types.
  await socket.receives('conversation:read', ({ userId }) => userId !== stage.operator.id);
  await w.field.click();
  await page.keyboard.type('Thanks');
  await socket.receives('typing:start', ({ senderRole }) => senderRole === 'visitor');
  await page.keyboard.press('Enter');
  await w.log.getByText('Thanks').waitFor();
  await socket.receives('message:new', ({ content }) => content === 'Thanks');

  await w.log.getByText('Thanks').hover();
  await w.log.locator('li', { hasText: 'Thanks' }).getByRole('button', { name: 'Edit' }).click();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('Thank you');
  await page.keyboard.press('Enter');
  await w.log.getByText('Thank you').waitFor();
  await w.log.getByText('edited').waitFor();
  await socket.receives('message:edited', ({ content }) => content === 'Thank you');

  await w.log.getByText('Thank you').hover();
  const line = w.log.locator('li', { hasText: 'Thank you' });
  await line.getByRole('button', { name: 'Delete', exact: true }).click();
  await line.getByRole('button', { name: 'Delete for everyone?' }).click();
  await line.waitFor({ state: 'detached' });
  await socket.receives('message:deleted');
  expect((await stored(id)).map(({ content }) => content)).toEqual(['Where is my order?', 'Let me look.']);

  await stage.operator.call('POST', `/conversations/${id}/resolve`);
  await w.dialog.getByText('This conversation is closed.').waitFor();
  await w.field.waitFor({ state: 'hidden' });
  await w.button('Start a new conversation').click();
  await w.write('One more thing');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const second = await newestConversation(stage);
  expect(second).not.toBe(id);
  expect((await stored(second)).map(({ content }) => content)).toEqual(['One more thing']);

  await w.button('All conversations').click();
  await w.button(/Closed/).click();
  await w.log.getByText('Let me look.').waitFor();
  await socket.close();
  expect(complaints).toEqual([]);
});

test('a long list of conversations is shown in parts, and the button says so', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('The first of many');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  const { body } = await stage.operator.call('GET', `/conversations/${id}`);
  const visitor = createVisitor(stage.app, stage.application, body.conversation.visitor.id as string);
  for (let at = 0; at < 20; at += 1) await createConversation(visitor, `Number ${at}`);
  await page.reload();
  await w.open();
  await w.button('All conversations').click();
  await w.button('Show more').click();
  await w
    .button(/Waiting for an answer/)
    .nth(20)
    .waitFor();
  await w.button('Show more').waitFor({ state: 'hidden' });
  expect(await w.button(/Waiting for an answer/).count()).toBe(21);
});

test('what is written rich arrives rich, and plain text stays plain', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.field.click();
  await page.keyboard.press('ControlOrMeta+b');
  await page.keyboard.type('bold');
  await page.keyboard.press('ControlOrMeta+b');
  await page.keyboard.type(' and ');
  await page.keyboard.press('ControlOrMeta+i');
  await page.keyboard.type('slanted');
  await page.keyboard.press('ControlOrMeta+i');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('then ');
  await w.button('Code').click();
  await page.keyboard.type('npm ci');
  await w.button('Code').click();
  await page.keyboard.type(' and see ');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('example.com/help');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  const [message] = (await stage.operator.call('GET', `/conversations/${id}/messages`)).body.messages;
  expect(message.contentFormat).toBe('lexical');
  expect(message.contentHtml).toContain(
    '<strong>bold</strong> and <em>slanted</em><br>then <code>npm ci</code> and see <a href="https://example.com/help"',
  );
  expect(await w.log.locator('.mine strong').textContent()).toBe('bold');
  expect(await w.log.locator('.mine a').getAttribute('rel')).toContain('noopener');

  // Changing it keeps what was not changed.
  await w.log.locator('.mine').hover();
  await w.button('Edit').click();
  await page.keyboard.type('!');
  await page.keyboard.press('Enter');
  await w.log.getByText('edited').waitFor();
  const [edited] = (await stage.operator.call('GET', `/conversations/${id}/messages`)).body.messages;
  expect(edited.contentHtml).toBe((message.contentHtml as string).replace('</p>', '!</p>'));

  await w.field.click();
  await w.button('Bulleted list').click();
  await page.keyboard.type('tea');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('cups');
  await page.keyboard.press('Enter');
  await w.log.locator('.mine ul li').nth(1).waitFor();
  await eventually(async () => {
    const { messages } = (await stage.operator.call('GET', `/conversations/${id}/messages`)).body;
    expect(messages[1]?.contentHtml).toBe('<ul><li>tea</li><li>cups</li></ul>');
  });

  await w.write('only words');
  await w.log.getByText('only words').waitFor();
  await eventually(async () =>
    expect((await stored(id)).at(-1)).toMatchObject({ content: 'only words', contentFormat: 'plain' }),
  );
});

test('the address of a link can be changed', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.field.click();
  await page.keyboard.type('look here');
  for (let letter = 0; letter < 4; letter++) await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('example.com/a');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ControlOrMeta+k');
  const address = w.dialog.getByLabel('Address of the link');
  expect(await address.inputValue()).toBe('https://example.com/a');
  // In every language it is read from the left.
  expect(await address.getAttribute('dir')).toBe('ltr');
  await address.fill('https://example.com/b');
  await page.keyboard.press('Enter');
  expect(await w.field.textContent()).toMatch(/^look here\u200b?$/);
  await page.keyboard.press('Enter');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const links = w.log.locator('.mine a');
  expect(await links.count()).toBe(1);
  expect(await links.getAttribute('href')).toBe('https://example.com/b');
  expect(await links.textContent()).toBe('here');
});

test('pasted pages come in as their text', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.field.click();
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    data.setData('text/html', '<h1 onclick="alert(1)">Big</h1><img src=x onerror="window.ran=1"><b>bold</b>');
    data.setData('text/plain', 'Big bold');
    document.querySelector('deskbell-widget').shadowRoot.querySelector('.field')
      .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  })()`);
  await page.keyboard.press('Enter');
  await w.log.getByText('Big bold').waitFor();
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  expect(await stored(id)).toMatchObject([{ content: 'Big bold', contentFormat: 'plain' }]);
  expect(await page.evaluate('window.ran')).toBeUndefined();
});

test('a long log that is pasted does not hold the page, and stays as it is', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.field.click();
  await page.keyboard.type('See: ');
  const lines = Array.from({ length: 3_000 }, (_, index) => `line ${index}`);
  const looks = await page.evaluate(`(() => {
    const field = document.querySelector('deskbell-widget').shadowRoot.querySelector('.field');
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(lines.join('\r\n'))});
    let edits = 0;
    field.addEventListener('input', () => edits++);
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    return edits;
  })()`);
  // The browser's own editing would have told of two edits for each line, and its work grows with their square.
  expect(looks).toBe(0);
  await page.keyboard.type('!');
  expect(await w.field.innerText()).toBe(`See: ${lines.join('\n')}!`);
  await w.dialog.getByText(/characters too many/).waitFor();
});

test('closed, the launcher counts what comes in; open again, it is read', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('Are you there?');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await page.keyboard.press('Escape');
  await w.dialog.waitFor({ state: 'hidden' });
  expect(await w.launcher.getAttribute('aria-expanded')).toBe('false');
  expect(
    await page.evaluate(`document.querySelector('deskbell-widget').shadowRoot.activeElement.className`),
  ).toBe('launcher');
  await sendReply(stage, id, 'Yes');
  await sendReply(stage, id, 'I am');
  await eventually(async () =>
    expect(await w.launcher.getAttribute('aria-label')).toBe('Chat, 2 unread messages'),
  );
  await page.keyboard.press('Enter');
  await w.log.getByText('I am').waitFor();
  await eventually(async () => expect(await w.launcher.getAttribute('aria-label')).toBe('Chat'));
  expect(
    await page.evaluate(`document.querySelector('deskbell-widget').shadowRoot.activeElement.className`),
  ).toBe('field');
});

test('a visitor who comes back finds the conversation, and learns of news without opening', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('I will be back');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await page.goto('about:blank');
  await sendReply(stage, id, 'Welcome back');
  await page.goto(url);
  await eventually(async () =>
    expect(await w.launcher.getAttribute('aria-label')).toBe('Chat, 1 unread message'),
  );
  await w.open();
  await w.log.getByText('I will be back').waitFor();
  await w.log.getByText('Welcome back').waitFor();
});

test('offline in the middle: said so, kept, sent once, and what was missed is there', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('before');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  await page.context().setOffline(true);
  await w.dialog.getByText('No connection.').waitFor();
  await w.write('while away 1');
  await w.write('while away 2');
  await w.log.getByText('Sending…').first().waitFor();
  await sendReply(stage, id, 'in between');
  expect((await stored(id)).map(({ content }) => content)).toEqual(['before', 'in between']);
  await page.context().setOffline(false);
  await w.dialog.getByText('No connection.').waitFor({ state: 'hidden' });
  await w.log.getByText('in between').waitFor();
  await w.log.getByText('Sending…').first().waitFor({ state: 'hidden' });
  await eventually(async () =>
    expect((await stored(id)).map(({ content }) => content)).toEqual([
      'before',
      'in between',
      'while away 1',
      'while away 2',
    ]),
  );
  const shown = await w.log.locator('.bubble').allTextContents();
  expect(shown).toEqual(['Hello! How can we help?', 'before', 'in between', 'while away 1', 'while away 2']);
});

test('the server restarts while the visitor writes: nothing is lost, nothing doubled', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('one');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await w.field.click();
  await page.keyboard.type('two, begun bef');
  const { port } = new URL(stage.app.url);
  stage.app = await stage.app.restart({ port });
  await page.keyboard.type('ore');
  await page.keyboard.press('Enter');
  await w.write('three');
  await eventually(
    async () =>
      expect((await stored(id)).map(({ content }) => content)).toEqual(['one', 'two, begun before', 'three']),
    40_000,
  );
  await w.log.getByText('Sending…').first().waitFor({ state: 'hidden' });
  expect(await w.log.locator('.mine .bubble').allTextContents()).toEqual([
    'one',
    'two, begun before',
    'three',
  ]);
  await acceptConversation(stage, id);
  await sendReply(stage, id, 'I can still hear you');
  await w.log.getByText('I can still hear you').waitFor();
});

test('that there is no connection stays in sight while it is tried again, and is read out once', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('Hello');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  await eventually(async () =>
    expect(await page.evaluate(`deskbell('getState').then(({ connection }) => connection)`)).toBe('online'),
  );
  await page.evaluate(`(() => {
    window.seen = { heard: [], hidden: 0, tries: 0 };
    const root = document.querySelector('deskbell-widget').shadowRoot;
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) seen.heard.push(node.textContent);
    }).observe(root.querySelector('[aria-live="polite"]'), { childList: true });
    const notice = root.querySelector('.notice');
    document.addEventListener('deskbell:connection', ({ detail: { status } }) => {
      if (status === 'connecting') seen.tries++;
      if (status === 'connecting') queueMicrotask(() => { if (notice.hidden) seen.hidden++; });
    });
  })()`);
  const { port } = new URL(stage.app.url);
  stage.app = await stage.app.restart({ port }, () =>
    eventually(async () => expect(await page.evaluate('seen.tries')).toBeGreaterThan(1), 40_000),
  );
  await w.dialog.getByText('No connection.').waitFor({ state: 'hidden' });
  const seen = (await page.evaluate('seen')) as { heard: string[]; hidden: number };
  expect(seen.hidden).toBe(0);
  expect(seen.heard.filter((text) => text.includes('No connection'))).toHaveLength(1);
});

test('two tabs are one visitor: both show everything, once, over one connection', async () => {
  const { page, w } = await arrive();
  await w.open();
  await w.write('from the first');
  await w.log.getByText('Sent', { exact: true }).waitFor();
  const id = await newestConversation(stage);
  await acceptConversation(stage, id);
  const other = await page.context().newPage();
  let sockets = 0;
  other.on('websocket', () => sockets++);
  await other.goto(url);
  const second = widgetLocators(other);
  await second.open();
  await second.log.getByText('from the first').waitFor();
  await second.write('from the second');
  await w.log.getByText('from the second').waitFor();
  // A tab shows what another one writes before it is stored, and the answer would come first.
  await eventually(async () =>
    expect(await rowsOf(stage.app, "select 1 from messages where content = 'from the second'")).toHaveLength(
      1,
    ),
  );
  await sendReply(stage, id, 'hello both');
  await w.log.getByText('hello both').waitFor();
  await second.log.getByText('hello both').waitFor();
  for (const tab of [w, second]) {
    expect(await tab.log.locator('.bubble').allTextContents()).toEqual([
      'Hello! How can we help?',
      'from the first',
      'from the second',
      'hello both',
    ]);
  }
  expect(sockets).toBe(0);
  // The tab with the connection goes: the other takes over.
  await page.close();
  await sendReply(stage, id, 'still here?');
  await second.log.getByText('still here?').waitFor();
});

test('titles that the assistant offers are buttons, chosen by keyboard, and leave with the answer', async () => {
  await stage.app.local('organizations.update', { organization: 'acme', plan: 'premium' });
  await stage.app.local('knowledge.add', {
    applicationId: stage.application.id,
    source: 'warehouse.md',
    content: '# Warehouse\n\nPallets leave our warehouse in Lisbon every weekday at noon.',
  });
  await stage.configure({ 'ai.mode': 'auto', 'ai.name': 'Robin' });
  const { w, page } = await arrive();
  await w.open();
  await w.write('Which warehousing insurance covers broken mirrors?');
  const choice = w.log.getByRole('group').getByRole('button', { name: 'Warehouse', exact: true });
  await choice.waitFor();
  await w.button('None of these').waitFor();
  await choice.focus();
  await page.keyboard.press('Enter');
  await w.log.getByText('Lisbon').waitFor();
  expect(await w.button('None of these').count()).toBe(0);
  await stage.configure({ 'ai.mode': 'off' });
});

test("the assistant's answers are marked, count as no one's reading, and end when a person is asked for", async () => {
  await stage.app.local('organizations.update', { organization: 'acme', plan: 'premium' });
  await stage.app.local('knowledge.add', {
    applicationId: stage.application.id,
    source: 'delivery.md',
    content: '# Delivery\n\nA parcel takes three days to every place on the mainland.',
  });
  await stage.configure({ 'ai.mode': 'auto', 'ai.name': 'Robin' });
  const { w } = await arrive();
  await w.open();
  await w.write('How long does delivery of a parcel take?');
  const line = w.log.locator('li', { hasText: 'three days' });
  await line.getByText('Assistant', { exact: true }).waitFor();
  await line.getByText('Robin').waitFor();
  // Its own reading of the answer must not look like a person's reading of the question.
  const id = await newestConversation(stage);
  const readHere = async (): Promise<unknown> =>
    (await rowsOf(stage.app, 'select last_read_seq from participants where conversation_id = ?', id)).map(
      (row) => row['last_read_seq'],
    );
  await eventually(async () => expect(await readHere()).toEqual([2]));
  expect(await w.log.getByText('Sent', { exact: true }).count()).toBe(1);
  expect(await w.log.getByText('Read', { exact: true }).count()).toBe(0);
  await w.button('Talk to a person').click();
  await w.log.getByText('A person will answer you here.').waitFor();
  expect((await stored(id)).map(({ content }) => content)).toContain('I would like to talk to a person.');
  expect(await w.button('Talk to a person').count()).toBe(0);
  await stage.configure({ 'ai.mode': 'off' });
});

test('the sound can be turned off, and stays off', async () => {
  const { page, w } = await arrive();
  await w.open();
  expect(await page.evaluate('localStorage.length')).toBe(0);
  await w.button('Sound on').click();
  await w.button('Sound off').waitFor();
  await page.reload();
  await w.open();
  await w.button('Sound off').click();
  await w.button('Sound on').waitFor();
  expect(await page.evaluate('localStorage.length')).toBe(0);
});

describe('what goes wrong is said', () => {
  test('too many messages: how long to wait, and then they go out', async () => {
    const { port } = new URL(stage.app.url);
    stage.app = await stage.app.restart({ port, limitVisitor: '4/s,12/m,2000/h' });
    const { w } = await arrive();
    await w.open();
    for (let index = 0; index < 14; index++) await w.write(`message ${index}`);
    await w.dialog.getByText(/Sending goes on in \d+ seconds?\./).waitFor();
    // Nothing waits longer than it must: with the limit gone, all of them arrive, in order.
    stage.app = await stage.app.restart({ port, limitVisitor: 'off' });
    const id = await newestConversation(stage);
    const written = Array.from({ length: 14 }, (_, index) => `message ${index}`);
    await eventually(async () => expect((await stored(id)).map(({ content }) => content)).toEqual(written));
    await w.dialog.getByText(/Sending goes on/).waitFor({ state: 'hidden' });
  });
});
