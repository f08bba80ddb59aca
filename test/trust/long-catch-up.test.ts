// Catching up on long messages: a frame takes as many as half a million characters, be they new ones or edits. Two hundred
// of 10,000 characters, or any number of edits, held all others up while they were one frame.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const count = 150;
const length = 10_000;
/** Half a million, and what is read at once. */
const mostOfFrame = 512 * 1_024 + 20 * length;

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestClient;
let conversationId: string;
let ids: string[];

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  operator = await createMember(app, 'acme');
  visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor);
  const first = await createMessage(visitor, conversationId, 'first');
  ids = await append(acme.id, first, count, length);
});
afterAll(() => app.stop());

/** Messages like another, behind it. @returns the ids, that of the other first */
function append(organization: string, like: string, many: number, units: number): Promise<string[]> {
  return app.service.engine.store.write({ organization }, async ({ repositories }) => {
    const stored = await repositories.messages.byId(like);
    if (stored === undefined) throw new Error('the first message is missing');
    const { visitor_name: _visitor, member_name: _member, ...row } = stored;
    const made = [like];
    for (let at = 0; at < many; at += 1) {
      const id = app.clock.newId();
      made.push(id);
      const content = String(at % 10).repeat(units);
      await repositories.messages.append({ ...row, id, content, client_message_id: null }, 'visitor');
    }
    return made;
  });
}

interface Sync {
  readonly messages: readonly { id: string; content: string }[];
  readonly hasMore: boolean;
  readonly edited?: readonly { id: string; content: string }[];
  readonly deleted?: readonly string[];
}

/** What catching up from a message brings, frame by frame. */
async function catchUp(
  socket: TestSocket,
  lastMessageId: string,
  conversation = conversationId,
): Promise<Sync[]> {
  socket.send('room:join', { conversationId: conversation, lastMessageId });
  await socket.receives('room:joined');
  const frames = socket.all('messages:sync').map(({ payload }): Sync => payload);
  expect(frames.map(({ hasMore }) => hasMore)).toEqual(frames.map((_, at) => at < frames.length - 1));
  for (const { messages, edited = [] } of frames) {
    const units = [messages, edited].map((list) => list.reduce((sum, one) => sum + one.content.length, 0));
    expect(Math.max(...units)).toBeLessThanOrEqual(mostOfFrame);
  }
  socket.socket.close();
  return frames;
}

const idsOf = (list: readonly { id: string }[] = []): string[] => list.map(({ id }) => id);

it('brings long messages in frames that are not too long, each once and in order', async () => {
  for (const who of [visitor, operator]) {
    const frames = await catchUp(await who.connect(), ids[0] ?? '');
    expect(frames.length).toBeGreaterThan(2);
    expect(frames.flatMap(({ messages }) => idsOf(messages))).toEqual(ids.slice(1));
    expect(frames.map(({ edited }) => edited)).toEqual([
      ...Array.from({ length: frames.length - 1 }, () => undefined),
      [],
    ]);
  }
});

it('brings long edits in several frames as well, and new messages before them', async () => {
  await rowsOf(app, 'update messages set changed_seq = seq + 1000 where conversation_id = ?', conversationId);
  await rowsOf(app, 'update messages set deleted_at = 1 where id in (?, ?)', ids[3] ?? '', ids[140] ?? '');
  for (const who of [visitor, operator]) {
    const frames = await catchUp(await who.connect(), ids[count - 2] ?? '');
    expect(frames.length).toBeGreaterThan(2);
    expect(frames.map(({ messages }) => idsOf(messages))).toEqual([
      ids.slice(-2),
      ...Array.from({ length: frames.length - 1 }, () => []),
    ]);
    expect(frames.flatMap(({ deleted = [] }) => deleted)).toEqual([ids[3], ids[140]]);
    expect(frames.flatMap(({ edited }) => idsOf(edited))).toEqual(
      ids.slice(0, count - 1).filter((_, at) => at !== 3 && at !== 140),
    );
  }
});

it('brings short edits in the last frame, however many there are', async () => {
  const other = await createConversation(visitor);
  const short = await append(acme.id, await createMessage(visitor, other, 'first'), 300, 10);
  await rowsOf(app, 'update messages set changed_seq = seq + 1000 where conversation_id = ?', other);
  await rowsOf(app, 'update messages set deleted_at = 1 where id = ?', short[7] ?? '');
  const frames = await catchUp(await visitor.connect(), short.at(-1) ?? '', other);
  expect(frames.map(({ edited, deleted }) => [idsOf(edited), deleted])).toEqual([
    [short.filter((_, at) => at !== 7), [short[7]]],
  ]);
});
