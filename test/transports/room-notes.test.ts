// Notes of members on live connections: those who catch up are given them like every message, and a visitor nothing of
// them, whatever they name. And what a member is called by: a new name counts at once.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';

let app: TestApp;
let visitor: TestClient;
let ann: TestMember;
let otto: TestMember;
let conversationId: string;

beforeAll(async () => {
  app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  visitor = createVisitor(app, application);
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  otto = await createMember(app, 'acme', 'operator', 'Otto');
  conversationId = await createConversation(visitor);
  await ann.call('POST', `/conversations/${conversationId}/accept`);
});

afterAll(async () => {
  await app.stop();
});

const note = async (content: string): Promise<string> =>
  (await ann.call('POST', `/conversations/${conversationId}/messages`, { content, internal: true })).body
    .message.id;

interface Synced {
  readonly messages: readonly { readonly id: string }[];
  readonly edited: readonly { readonly id: string; readonly content: string }[];
  readonly deleted: readonly string[];
}

/** What one who comes back is given of what was missed. */
async function catchUp(who: TestClient, lastMessageId: string): Promise<Synced> {
  const socket = await who.connect();
  socket.send('room:join', { conversationId, lastMessageId });
  await socket.receives('room:joined');
  const { messages, edited, deleted } = await socket.receives('messages:sync');
  await socket.close();
  return { messages, edited, deleted };
}

const idsOf = (of: readonly { readonly id: string }[]): string[] => of.map(({ id }) => id);

it('who catches up as a member is given the notes, and a visitor none, nor what became of them', async () => {
  const first = await createMessage(visitor, conversationId, 'Where is it?');
  const [kept, changed, gone] = [
    await note('CANARY one'),
    await note('CANARY two'),
    await note('CANARY three'),
  ];
  const last = await createMessage(ann, conversationId, 'On its way.');
  expect(idsOf((await catchUp(otto, first)).messages)).toEqual([kept, changed, gone, last]);
  expect(idsOf((await catchUp(visitor, first)).messages)).toEqual([last]);
  const at = `/conversations/${conversationId}/messages`;
  expect((await ann.call('PATCH', `${at}/${changed}`, { content: 'CANARY four' })).status).toBe(200);
  expect((await ann.call('DELETE', `${at}/${gone}`)).status).toBe(200);
  const missed = await catchUp(otto, last);
  expect(missed.edited).toMatchObject([{ id: changed, content: 'CANARY four' }]);
  expect([missed.messages, missed.deleted]).toEqual([[], [gone]]);
  expect(await catchUp(visitor, last)).toEqual({ messages: [], edited: [], deleted: [] });
  // A note is no message of theirs: as with any unknown one, all is given.
  const whole = await catchUp(visitor, kept);
  expect(idsOf(whole.messages)).toEqual([first, last]);
  expect(JSON.stringify(whole)).not.toContain('CANARY');
});

it('a member who is called otherwise now is so in what comes next, on connections that are open too', async () => {
  const [room, own]: TestSocket[] = [await visitor.connect(), await ann.connect()];
  for (const socket of [room, own]) {
    socket?.send('room:join', { conversationId });
    await socket?.receives('room:joined');
  }
  own?.send('typing:start', { conversationId });
  expect(await room?.receives('typing:start')).toMatchObject({ userName: 'Ann' });
  own?.send('typing:stop', { conversationId });
  await room?.receives('typing:stop');
  expect((await ann.call('PATCH', '/me', { name: 'Annabel' })).status).toBe(200);
  own?.send('message:send', { conversationId, content: 'It is I.', clientMessageId: 'renamed' });
  expect(await room?.receives('message:new')).toMatchObject({ senderName: 'Annabel', content: 'It is I.' });
  own?.send('typing:start', { conversationId });
  await room?.receives('typing:start', ({ userName }) => userName === 'Annabel');
  expect((await ann.call('GET', '/session')).body.member.name).toBe('Annabel');
  await room?.close();
  await own?.close();
});
