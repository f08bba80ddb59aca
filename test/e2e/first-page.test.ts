// The README's first page as one story: a visitor writes over REST and WebSocket, an
// operator accepts and answers, both see it live; and no one else hears anything.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let colleague: TestMember;
let stranger: TestMember;
let visitorSocket: TestSocket;
let operatorSocket: TestSocket;
let colleagueSocket: TestSocket;
let strangerSocket: TestSocket;
let otherSocket: TestSocket;
let conversationId: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  const other = await createOrganization(app, 'other');
  operator = await createMember(app, 'acme', 'operator', 'Olivia');
  colleague = await createMember(app, 'acme', 'admin', 'Carl');
  stranger = await createMember(app, 'other', 'admin', 'Stan');
  visitor = createVisitor(app, acme.application);
  visitorSocket = await visitor.connect();
  operatorSocket = await operator.connect();
  colleagueSocket = await colleague.connect();
  strangerSocket = await stranger.connect();
  // The same UUID under another organization's application is another person.
  otherSocket = await createVisitor(app, other.application, visitor.id).connect();
});

afterAll(async () => {
  await app.stop();
});

/** What each has heard since the last look, everything that was under way included. */
async function heard(): Promise<Record<string, string[]>> {
  const sockets = {
    visitor: visitorSocket,
    operator: operatorSocket,
    colleague: colleagueSocket,
    stranger: strangerSocket,
    other: otherSocket,
  };
  const result: Record<string, string[]> = {};
  for (const [name, socket] of Object.entries(sockets)) {
    await socket.drain();
    result[name] = socket.takeTypes();
  }
  return result;
}

const silence = { visitor: [], operator: [], colleague: [], stranger: [], other: [] };

describe('a conversation from its first word to its end', () => {
  it('begins with the visitor, and the queue hears of it', async () => {
    // Staff came online after the visitor connected.
    expect((await heard())['visitor']).toEqual(['presence']);
    const reply = await visitor.call('POST', '/conversations', { subject: 'My order' });
    expect(reply.status).toBe(201);
    expect(reply.body.conversation).toEqual({
      id: expect.any(String),
      status: 'pending',
      subject: 'My order',
      participants: [{ userId: visitor.id, role: 'visitor', joinedAt: '2026-11-21T12:00:00.000Z' }],
      createdAt: '2026-11-21T12:00:00.000Z',
      updatedAt: '2026-11-21T12:00:00.000Z',
    });
    conversationId = reply.body.conversation.id;
    const announced = await operatorSocket.receives('conversation:new');
    expect(announced).toEqual({
      id: conversationId,
      organizationId: acme.id,
      applicationId: acme.application.id,
      status: 'pending',
      subject: 'My order',
      createdAt: '2026-11-21T12:00:00.000Z',
    });
    expect(await heard()).toEqual({
      ...silence,
      operator: ['conversation:new'],
      colleague: ['conversation:new'],
    });
  });

  it('takes messages over REST and over the socket, and tells staff that something came', async () => {
    visitorSocket.send('room:join', { conversationId });
    expect(await visitorSocket.receives('room:joined')).toEqual({
      conversationId,
      status: 'pending',
      lastMessageId: null,
    });
    await heard();
    const sent = await visitor.call('POST', `/conversations/${conversationId}/messages`, {
      content: '  Where is it?  ',
    });
    expect(sent.status).toBe(201);
    expect(sent.body.message).toMatchObject({
      conversationId,
      senderId: visitor.id,
      content: 'Where is it?',
      contentFormat: 'plain',
      contentHtml: null,
    });
    expect(sent.body.message).not.toHaveProperty('editedAt');
    const activity = await operatorSocket.receives('conversation:activity');
    expect(activity).toEqual({
      conversationId,
      lastMessageId: sent.body.message.id,
      createdAt: sent.body.message.createdAt,
      updatedAt: sent.body.message.createdAt,
      senderId: visitor.id,
      senderName: 'Visitor',
      senderRole: 'visitor',
      preview: 'Where is it?',
      waiting: true,
    });
    visitorSocket.send('message:send', { conversationId, content: 'Number 12', clientMessageId: 'c1' });
    const ack = await visitorSocket.receives('message:ack');
    expect(ack).toEqual({
      clientMessageId: 'c1',
      serverMessageId: expect.any(String),
      createdAt: expect.any(String),
    });
    expect(await heard()).toEqual({
      ...silence,
      visitor: ['message:ack'],
      operator: ['conversation:activity', 'conversation:activity'],
      colleague: ['conversation:activity', 'conversation:activity'],
    });
  });

  it('is accepted by one operator', async () => {
    const accepted = await operator.call('POST', `/conversations/${conversationId}/accept`);
    expect(accepted.status).toBe(200);
    expect(accepted.body.conversation).toMatchObject({
      id: conversationId,
      status: 'active',
      assignedTo: operator.id,
    });
    const told = await visitorSocket.receives('conversation:accepted');
    expect(told).toEqual({ conversationId, assignedTo: operator.id, assignedToName: 'Olivia' });
    const late = await colleague.call('POST', `/conversations/${conversationId}/accept`);
    expect(late.status).toBe(409);
    expect(late.body).toMatchObject({ error: 'conflict', status: 'active', assignedTo: operator.id });
    expect(await heard()).toEqual({
      ...silence,
      visitor: ['conversation:accepted'],
      operator: ['conversation:accepted'],
      colleague: ['conversation:accepted'],
    });
    const seen = await visitor.call('GET', `/conversations/${conversationId}`);
    expect(seen.body.conversation.assignedTo).toBe(operator.id);
    expect(seen.body.conversation.participants.map((one: { userId: string }) => one.userId)).toEqual([
      visitor.id,
      operator.id,
    ]);
  });

  it('carries words and typing both ways, live', async () => {
    operatorSocket.send('room:join', { conversationId });
    await operatorSocket.receives('room:joined');
    await heard();
    operatorSocket.send('typing:start', { conversationId });
    expect(await visitorSocket.receives('typing:start')).toEqual({
      conversationId,
      userId: operator.id,
      userName: 'Olivia',
      senderRole: 'operator',
    });
    const rich = JSON.stringify({
      root: {
        type: 'root',
        version: 1,
        children: [
          {
            type: 'paragraph',
            version: 1,
            children: [{ type: 'text', version: 1, text: 'On its way', format: 1 }],
          },
        ],
      },
    });
    operatorSocket.send('message:send', {
      conversationId,
      content: rich,
      contentFormat: 'lexical',
      clientMessageId: 'o1',
    });
    const told = await visitorSocket.receives('message:new');
    expect(told).toEqual({
      id: expect.any(String),
      conversationId,
      senderId: operator.id,
      senderName: 'Olivia',
      senderRole: 'operator',
      type: 'text',
      content: rich,
      contentFormat: 'lexical',
      contentHtml: '<p><strong>On its way</strong></p>',
      createdAt: expect.any(String),
    });
    const all = Object.entries(await heard()).map(([name, types]) => [name, types.toSorted()]);
    // Neither a signal nor an acknowledgement has a place in the order of the log.
    expect(Object.fromEntries(all)).toEqual({
      ...silence,
      visitor: ['message:new', 'typing:start', 'typing:stop'],
      operator: ['conversation:activity', 'message:ack'],
      colleague: ['conversation:activity'],
    });
    const unread = await visitor.call('GET', `/conversations/${conversationId}/unread`);
    expect(unread.body).toEqual({ unreadCount: 1 });
    await visitor.call('POST', `/conversations/${conversationId}/read`, { messageId: told.id });
    expect((await visitor.call('GET', `/conversations/${conversationId}/unread`)).body).toEqual({
      unreadCount: 0,
    });
    expect(await operatorSocket.receives('conversation:read')).toEqual({
      conversationId,
      userId: visitor.id,
      messageId: told.id,
    });
  });

  it('keeps notes among staff', async () => {
    await heard();
    const note = await colleague.call('POST', `/conversations/${conversationId}/messages`, {
      content: 'lost parcel, third time',
      internal: true,
    });
    expect(note.status).toBe(201);
    expect(await heard()).toEqual({
      ...silence,
      operator: ['message:new', 'conversation:activity'],
      colleague: ['conversation:activity'],
    });
    const seen = await visitor.call('GET', `/conversations/${conversationId}/messages`);
    expect(seen.text).not.toContain('lost parcel');
    const staff = await operator.call('GET', `/conversations/${conversationId}/messages`);
    expect(staff.body.messages.at(-1)).toMatchObject({ content: 'lost parcel, third time', internal: true });
  });

  it('lets a message be edited and deleted by its sender, and everyone in the room sees it', async () => {
    const history = await visitor.call('GET', `/conversations/${conversationId}/messages`);
    const [first, second] = history.body.messages as { id: string }[];
    const edited = await visitor.call('PATCH', `/conversations/${conversationId}/messages/${first?.id}`, {
      content: 'Where is my order?',
    });
    expect(edited.status).toBe(200);
    expect(edited.body.message).toMatchObject({
      content: 'Where is my order?',
      editedAt: expect.any(String),
    });
    visitorSocket.send('message:delete', { conversationId, messageId: second?.id });
    expect(await operatorSocket.receives('message:deleted')).toEqual({
      conversationId,
      messageId: second?.id,
      senderId: visitor.id,
    });
    expect(await heard()).toEqual({
      ...silence,
      visitor: ['message:edited', 'message:deleted'],
      operator: ['message:edited', 'message:deleted'],
    });
  });

  it('fills the gap of a visitor who was away', async () => {
    const before = await visitor.call('GET', `/conversations/${conversationId}/messages?order=desc&limit=1`);
    const lastMessageId = before.body.messages[0].id as string;
    await visitorSocket.close();
    for (const content of ['one', 'two', 'three'])
      await operator.call('POST', `/conversations/${conversationId}/messages`, { content });
    visitorSocket = await visitor.connect();
    visitorSocket.send('room:join', { conversationId, lastMessageId });
    const sync = await visitorSocket.receives('messages:sync');
    expect(sync.messages.map((message: { content: string }) => message.content)).toEqual([
      'one',
      'two',
      'three',
    ]);
    // The edit and the deletion came after the visitor's last message was written: told again, as they may have been missed.
    expect(sync).toMatchObject({
      hasMore: false,
      edited: [{ content: 'Where is my order?' }],
      deleted: [expect.any(String)],
    });
    await visitorSocket.receives('room:joined');
    expect(visitorSocket.takeTypes()).toEqual(['messages:sync', 'room:joined']);
  });

  it('ends when the operator resolves it', async () => {
    await heard();
    const resolved = await operator.call('POST', `/conversations/${conversationId}/resolve`);
    expect(resolved.body.conversation).toMatchObject({ status: 'closed', resolvedBy: operator.id });
    expect(await visitorSocket.receives('conversation:resolved')).toEqual({
      conversationId,
      resolvedBy: operator.id,
    });
    const late = await visitor.call('POST', `/conversations/${conversationId}/messages`, {
      content: 'one more thing',
    });
    expect(late.status).toBe(422);
    expect(late.body.error).toBe('conversation_not_active');
    visitorSocket.send('message:send', {
      conversationId,
      content: 'one more thing',
      clientMessageId: 'late',
    });
    expect(await visitorSocket.receives('error')).toMatchObject({
      code: 'FORBIDDEN',
      conversationId,
      clientMessageId: 'late',
    });
    expect(await heard()).toEqual({
      ...silence,
      visitor: ['conversation:resolved', 'error'],
      operator: ['conversation:resolved'],
      colleague: ['conversation:resolved'],
    });
  });

  it('is still there when the visitor returns, and by the backend of the site as well', async () => {
    const list = await visitor.call('GET', '/conversations');
    expect(list.body).toMatchObject({ total: 1, limit: 20, offset: 0 });
    expect(list.body.conversations[0]).not.toHaveProperty('participants');
    const backend = createVisitorByKey(app, acme.application, 'live', visitor.id);
    expect((await backend.call('GET', `/conversations/${conversationId}`)).status).toBe(200);
  });
});
