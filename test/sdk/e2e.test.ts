// Owns the SDK's two sides in one story, held after every step against what the service
// itself answers: the state after the events equals a fresh snapshot.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createStaffClient } from '../../src/sdk/staff.ts';
import type { StaffClient } from '../../src/sdk/staff-types.ts';
import type { SdkApi, SdkMessage, SocketLike } from '../../src/sdk/types.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { fastTimers } from '../helpers/fast-timers.ts';
import { openPage, type Page } from '../helpers/sdk-page.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let member: TestMember;
let visitor: TestClient;
let page: Page;
let sdk: SdkApi;
let staff: StaffClient;
let id: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  member = await createMember(app, 'acme', 'operator', 'Olivia');
  page = openPage({ url: app.url, appId: acme.application.id, origin: acme.application.origin });
  sdk = page.sdk;
  await page.ready;
  staff = createStaffClient({
    baseUrl: app.url,
    environment: {
      openSocket: (url) => new WebSocket(url) as unknown as SocketLike,
      after: fastTimers(50),
    },
  });
  await staff.signIn({ organization: 'acme', email: member.email, password: memberPassword });
  await staff.listConversations({ status: 'pending' });
});

afterAll(async () => {
  sdk.destroy();
  staff.stop();
  await app.stop();
});

type Told = Pick<SdkMessage, 'id' | 'senderId' | 'senderName' | 'content' | 'contentHtml' | 'editedAt'>;

/** Both sides against what the service answers to a client that has just arrived. */
async function stateLaw(): Promise<void> {
  await eventually(async () => {
    const state = sdk.getState();
    const { body: shown } = await visitor.call('GET', `/conversations/${id}`);
    const { body: unread } = await visitor.call('GET', `/conversations/${id}/unread`);
    const { body: history } = await visitor.call('GET', `/conversations/${id}/messages?limit=100`);
    const mine = state.conversations.find((one) => one.id === id)!;
    expect({ status: mine.status, assignedTo: mine.assignedTo, unread: mine.unread }).toEqual({
      status: shown.conversation.status,
      assignedTo: shown.conversation.assignedTo,
      unread: unread.unreadCount,
    });
    expect(state.unread).toBe(unread.unreadCount);
    const fields = ({ id: messageId, senderId, senderName, content, contentHtml, editedAt }: Told) => ({
      messageId,
      senderId,
      senderName,
      content,
      contentHtml,
      editedAt,
    });
    expect(state.messages.map(fields)).toEqual((history.messages as Told[]).map(fields));
    expect(state.messages.every((one) => one.state === 'sent')).toBe(true);

    const queue = await member.call('GET', `/conversations/${id}`);
    const { participants: _p, resolvedBy: _b, resolvedAt: _a, ...item } = queue.body.conversation;
    expect(staff.getState().conversations.find((one) => one.id === id)).toEqual(item);
    if (staff.getState().rooms[id] === undefined) return;
    const { body: whole } = await member.call('GET', `/conversations/${id}/messages?limit=100`);
    expect(staff.getState().rooms[id]?.messages.map(fields)).toEqual((whole.messages as Told[]).map(fields));
  });
}

describe('a conversation, seen by both sides', () => {
  it('does nothing but ask for the configuration before the visitor acts', () => {
    expect(page.requests).toEqual(['GET /api/v1/widget/config']);
    expect(page.sockets).toEqual([]);
    expect(sdk.getState()).toMatchObject({
      ready: true,
      visitorId: null,
      connection: 'idle',
      config: { name: 'acme site' },
      messages: [],
    });
  });

  it('begins with a message, shown at once and stored', async () => {
    const sending = sdk.sendMessage('  Hello?  ');
    expect(sdk.getState().messages).toMatchObject([{ content: 'Hello?', state: 'sending', own: true }]);
    const key = sdk.getState().messages[0]?.key;
    const stored = await sending;
    id = stored.conversationId;
    expect(stored).toMatchObject({ key, content: 'Hello?', state: 'sent' });
    expect(stored.id).not.toBe(key);
    expect(sdk.getState().conversationId).toBe(id);
    visitor = createVisitor(app, acme.application, sdk.getState().visitorId!);
    await stateLaw();
    expect(sdk.getState().messages[0]?.key).toBe(key);
    expect(page.received('message')).toEqual([]);
    expect(page.received('message:sent')).toHaveLength(1);
  });

  it('is accepted, and answered with a note beside it', async () => {
    await staff.accept(id);
    await staff.join(id);
    await stateLaw();
    const note = await staff.sendMessage(id, 'a good customer', { internal: true });
    await staff.sendMessage(id, 'Good day');
    await stateLaw();
    expect(staff.getState().rooms[id]?.messages.find((one) => one.id === note.id)).toMatchObject({
      internal: true,
      own: true,
    });
    expect(sdk.getState().messages.map(({ content }) => content)).toEqual(['Hello?', 'Good day']);
    expect(sdk.getState().unread).toBe(1);
    expect(page.received('message')).toMatchObject([
      { content: 'Good day', senderName: 'Olivia', own: false },
    ]);
    await sdk.markRead();
    await stateLaw();
    await eventually(() =>
      expect(staff.getState().rooms[id]?.reads).toEqual({ [visitor.id]: expect.any(String) }),
    );
  });

  it('shows who types, both ways', async () => {
    staff.setTyping(id);
    await eventually(() => expect(sdk.getState().typing).toMatchObject([{ userName: 'Olivia' }]));
    staff.setTyping(id, false);
    await eventually(() => expect(sdk.getState().typing).toEqual([]));
    sdk.setTyping();
    await eventually(() => expect(staff.getState().rooms[id]?.typing).toHaveLength(1));
    await sdk.sendMessage('I typed this');
    await eventually(() => expect(staff.getState().rooms[id]?.typing).toEqual([]));
    await stateLaw();
  });

  it('follows edits and deletions', async () => {
    const [first, second] = sdk.getState().messages;
    app.clock.advance(1000);
    await sdk.editMessage(first!.id, 'Hello!');
    await stateLaw();
    await staff.deleteMessage(id, second!.id);
    await stateLaw();
    expect(page.received('message:deleted')).toEqual([{ conversationId: id, messageId: second!.id }]);
    await expect(sdk.editMessage(second!.id, 'not mine')).rejects.toMatchObject({
      name: 'SdkError',
      code: 'not_found',
      status: 404,
    });
  });

  it('catches up after the connection was gone: new, edited, deleted, read, renamed', async () => {
    const kept = await staff.sendMessage(id, 'to be edited');
    const gone = await staff.sendMessage(id, 'to be deleted');
    await stateLaw();
    // Both listeners lose their sockets, and things happen before they are back.
    const before = page.sockets.length;
    page.sockets.at(-1)!.terminate();
    app.clock.advance(1000);
    await member.call('PATCH', `/conversations/${id}/messages/${kept.id}`, { content: 'edited in between' });
    await member.call('DELETE', `/conversations/${id}/messages/${gone.id}`);
    await member.call('POST', `/conversations/${id}/messages`, { content: 'missed' });
    await eventually(() => expect(page.sockets.length).toBeGreaterThan(before));
    await stateLaw();
    expect(page.received('message').map(({ content }) => content)).toContain('missed');
  });

  it('pages upwards', async () => {
    for (let n = 0; n < 40; n += 1)
      await member.call('POST', `/conversations/${id}/messages`, { content: `line ${n}` });
    const other = openPage({
      url: app.url,
      appId: acme.application.id,
      origin: acme.application.origin,
      visitorId: visitor.id,
    });
    try {
      await other.sdk.openConversation(id);
      expect(other.sdk.getState()).toMatchObject({ loaded: true, hasMore: true });
      expect(other.sdk.getState().messages).toHaveLength(30);
      while (other.sdk.getState().hasMore) await other.sdk.loadHistory({ limit: 7 });
      const { body } = await visitor.call('GET', `/conversations/${id}/messages?limit=100`);
      expect(other.sdk.getState().messages.map((one) => one.id)).toEqual(
        (body.messages as Told[]).map((one) => one.id),
      );
    } finally {
      other.sdk.destroy();
    }
  });

  it('is released, taken again and resolved', async () => {
    await staff.release(id);
    await stateLaw();
    expect(sdk.getState().conversations[0]).not.toHaveProperty('assignedTo');
    await staff.accept(id);
    await stateLaw();
    await staff.resolve(id);
    await stateLaw();
    const refused = sdk.sendMessage('too late');
    await expect(refused).rejects.toMatchObject({ code: 'conversation_not_active', status: 422 });
    expect(sdk.getState().messages.at(-1)).toMatchObject({
      state: 'failed',
      content: 'too late',
      error: { code: 'conversation_not_active' },
    });
    expect(page.received('message:failed')).toHaveLength(1);
    await sdk.deleteMessage(sdk.getState().messages.at(-1)!.key);
    await stateLaw();
  });

  it('tells whether anybody is there', async () => {
    await eventually(() => expect(sdk.getState().online).toBe(true));
    staff.stop();
    await eventually(() => expect(sdk.getState().online).toBe(false));
    expect(page.received('presence').at(-1)).toEqual({ online: false });
  });
});
