// Attacks rich text on its whole way: random trees, and broken ones, go in by both transports and come back as HTML,
// which a browser's parser judges. Must not look into the renderer: test/services does.
import fc from 'fast-check';
import { parseFragment, serialize } from 'parse5';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { bare, tree, walk, written } from '../helpers/lexical-trees.ts';
import { ask } from '../helpers/rest-checks.ts';
import { repeatable, rounds, seed } from '../helpers/rounds.ts';
import { sanitize } from '../../src/services/content/html.ts';
import { batchOf, mutated, mutateText, seldom, textMutation } from './values.ts';

const treesAtOnce = 40;
const trees = rounds(800, 200_000);

/** A message's content: mostly a tree, sometimes one that was changed, seldom one whose text was broken. */
const content: fc.Arbitrary<string> = fc
  .tuple(
    mutated(
      fc
        .array(tree, { minLength: 1, maxLength: 4 })
        .map((children) => ({ root: { type: 'root', version: 1, children } })),
    ),
    seldom(textMutation, 10),
  )
  .map(([value, change]) => {
    const json = JSON.stringify(value) ?? '';
    // Longer ones would not fit into a frame, which test/fuzz/frames looks at.
    return (change === null ? json : mutateText(json, change)).slice(0, 12_000);
  });

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let member: TestClient;
let socket: TestSocket;
let batches = 0;
let stored = 0;

/** A server of its own for so many trees: a history that only grows makes each look slower than the last. */
async function start(): Promise<void> {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1e9 } });
  visitor = createVisitor(app, acme.application);
  member = await createMember(app, 'acme', 'admin');
  socket = await visitor.connect();
}

beforeAll(start);
afterAll(() => app.stop());

interface Row {
  readonly id: string;
  readonly content: string;
  readonly content_html: string;
  readonly content_text: string;
}

/** What is wrong with how a tree was kept and rendered. */
function judge({ content: source, content_html: html, content_text: text }: Row): string[] {
  const parsed = parseFragment(html);
  const { texts, faults } = walk(parsed);
  const once = serialize(parsed);
  const { root } = JSON.parse(source) as { root: { children: unknown[] } };
  const all = bare(root.children.map(written).join(''));
  // What a browser builds is what was written: a repair of bad nesting would change the tags.
  if (once.replaceAll('&nbsp;', '\u00a0') !== html) faults.push(`a browser repairs it: ${once}`);
  if (serialize(parseFragment(once)) !== once) faults.push('parsing it again changes it');
  if (sanitize(html) !== html) faults.push(`sanitising it changes it: ${sanitize(html)}`);
  if (bare(texts.join('')) !== all) faults.push(`shows ${texts.join('')}`);
  if (bare(text) !== all) faults.push(`is searched as ${text}`);
  return faults;
}

/** Sends by the socket; a ping after each keeps refusals from being twenty in a row. */
async function sendBySocket(conversationId: string, contents: readonly string[]): Promise<string[]> {
  socket.frames.length = 0;
  for (const [index, one] of contents.entries()) {
    const clientMessageId = `t${index}`;
    socket.send('message:send', { conversationId, content: one, contentFormat: 'lexical', clientMessageId });
    socket.send('ping');
  }
  await eventually(() => {
    if (socket.closed === null && socket.all('pong').length < contents.length)
      throw new Error('not answered');
  });
  expect(socket.closed).toBeNull();
  const answers = socket.frames.filter(({ type }) => type !== 'pong');
  expect(answers.map(({ payload }) => payload.clientMessageId)).toEqual(
    contents.map((_, index) => `t${index}`),
  );
  return answers.flatMap(({ type, payload }) => {
    if (type === 'message:ack') return [payload.serverMessageId as string];
    expect({ type, code: payload.code }).toEqual({ type: 'error', code: 'VALIDATION_ERROR' });
    return [];
  });
}

async function sendByRest(conversationId: string, contents: readonly string[]): Promise<string[]> {
  const sent: string[] = [];
  for (const one of contents) {
    const path = `/conversations/${conversationId}/messages`;
    const { status, body } = await ask(app, visitor, 'POST', path, {
      content: one,
      contentFormat: 'lexical',
    });
    if (status === 201) sent.push(body.message.id as string);
    else expect(status).toBe(400);
  }
  return sent;
}

async function takeBatch(contents: readonly string[]): Promise<void> {
  batches += 1;
  if (batches % 250 === 0) {
    await app.stop();
    await start();
  }
  // Beyond the second that frames are counted in.
  app.clock.advance(2_000);
  const conversationId = await createConversation(visitor);
  const send = batches % 8 === 0 ? sendByRest : sendBySocket;
  const sent = await send(conversationId, contents);
  const rows = (await rowsOf(
    app,
    'select id, content, content_html, content_text from messages where conversation_id = ? order by seq',
    conversationId,
  )) as unknown as Row[];
  expect(rows.map(({ id }) => id)).toEqual(sent);
  for (const row of rows)
    expect({ source: row.content, faults: judge(row) }).toEqual({ source: row.content, faults: [] });
  stored += rows.length;
  // A visitor has only so many conversations waiting.
  await ask(app, member, 'POST', `/staff/conversations/${conversationId}/resolve`);
  // Everybody reads the HTML that is stored.
  const { body } = await ask(app, member, 'GET', `/staff/conversations/${conversationId}/messages?limit=100`);
  expect((body.messages as { contentHtml: string }[]).map(({ contentHtml }) => contentHtml)).toEqual(
    rows.map(({ content_html }) => content_html),
  );
}

it(`makes only allowed, stable HTML of ${trees} trees, and loses no text`, () =>
  repeatable('test/fuzz/lexical.test.ts', trees, async () => {
    await fc.assert(fc.asyncProperty(batchOf(content, treesAtOnce), takeBatch), {
      numRuns: Math.ceil(trees / treesAtOnce),
      seed,
      // A smaller batch says no more, and to look for one takes longer than a test may.
      endOnFailure: true,
    });
    // The attack would be none if most were refused.
    expect(stored).toBeGreaterThan(trees / 5);
  }));
