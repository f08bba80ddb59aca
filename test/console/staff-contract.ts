// What the console relies on in a staff client, as one table of tests: it runs against the real client on a real server,
// and against the fake one that stands for it in the console's tests.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { StaffClient, StaffEvents, StaffMessage, StaffRoom } from '../../src/sdk/staff-types.ts';
import { eventually } from '../helpers/eventually.ts';

/** One side of the contract: a client that is not signed in yet, and what happens at the service around it. */
export interface StaffSide {
  readonly client: StaffClient;
  readonly token: string;
  readonly memberId: string;
  readonly colleagueId: string;
  /** A visitor opens a conversation with these messages. @returns its id */
  ask(...texts: readonly string[]): Promise<string>;
  /** A visitor writes into a conversation. */
  write(id: string, text: string): Promise<void>;
  /** A colleague accepts a conversation. */
  colleagueAccepts(id: string): Promise<void>;
  close(): void;
}

/** Where sides come from. */
export interface StaffSource {
  open(): Promise<StaffSide>;
  close(): Promise<void>;
}

const unknownId = '99999999-0000-4000-8000-000000000000';

/** Events of a kind as they come. */
function heard<K extends keyof StaffEvents>(client: StaffClient, type: K): StaffEvents[K][] {
  const events: StaffEvents[K][] = [];
  client.on(type, (event) => events.push(event));
  return events;
}

const roomOf = ({ client }: StaffSide, id: string): StaffRoom | undefined => client.getState().rooms[id];
const textsOf = (messages: readonly StaffMessage[] = []): string[] => messages.map(({ content }) => content);
const known = ({ client }: StaffSide, id: string) =>
  client.getState().conversations.find((one) => one.id === id);

/** Declares the contract. @param start starts what is behind the sides, once */
export function declareStaffContract(name: string, start: () => Promise<StaffSource>): void {
  describe(`${name}`, () => {
    let source: StaffSource;
    const sides: StaffSide[] = [];
    beforeAll(async () => {
      source = await start();
    });
    afterEach(() => {
      for (const side of sides.splice(0)) side.close();
    });
    afterAll(() => source.close());

    const signedOut = async (): Promise<StaffSide> => {
      const side = await source.open();
      sides.push(side);
      return side;
    };
    const signedIn = async (): Promise<StaffSide> => {
      const side = await signedOut();
      await side.client.resume(side.token);
      await eventually(() => expect(side.client.getState().connection).toBe('online'));
      return side;
    };

    declareSession(signedOut, signedIn);
    declareQueue(signedIn);
    declareCommands(signedIn);
    declareOrder(signedIn);
    declareRooms(signedIn);
    declareMessages(signedIn);
  });
}

type Open = () => Promise<StaffSide>;

function declareSession(signedOut: Open, signedIn: Open): void {
  describe('the session', () => {
    test('is none before signing in', async () => {
      const { client } = await signedOut();
      expect(client.getState()).toEqual({
        session: null,
        connection: 'idle',
        reconnectAt: null,
        conversations: [],
        rooms: {},
        retryAt: null,
      });
    });

    test('is refused without a valid token', async () => {
      const { client } = await signedOut();
      await expect(client.resume('')).rejects.toMatchObject({ name: 'SdkError', status: 401 });
      expect(client.getState().session).toBeNull();
    });

    test('goes on with a token, and connects', async () => {
      const { client, token, memberId } = await signedOut();
      const connections = heard(client, 'connection');
      const session = await client.resume(token);
      expect(session.member.id).toBe(memberId);
      expect(client.getState().session).toEqual(session);
      await eventually(() => expect(connections.at(-1)).toEqual({ status: 'online' }));
      expect(client.getState()).toMatchObject({ connection: 'online', reconnectAt: null });
    });

    test('ends everywhere by signing out: nothing of it stays', async () => {
      const side = await signedIn();
      const { client } = side;
      await client.join(await side.ask('hello'));
      const ends = heard(client, 'signed-out');
      await client.signOut();
      expect(ends).toEqual([{}]);
      expect(client.getState()).toMatchObject({ session: null, conversations: [], rooms: {} });
      await expect(client.listConversations()).rejects.toMatchObject({ status: 401 });
    });

    test('tells each change of the state, until it is ended', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      const states: unknown[] = [];
      const end = side.client.subscribe((state) => states.push(state));
      await side.client.getConversation(id);
      expect(states.at(-1)).toBe(side.client.getState());
      end();
      const count = states.length;
      await side.client.listConversations();
      expect(states).toHaveLength(count);
    });
  });
}

function declareQueue(signedIn: Open): void {
  describe('the queue', () => {
    test('lists who waits longest first, by pages, with the count of all', async () => {
      const side = await signedIn();
      const ids = [await side.ask('first'), await side.ask('second'), await side.ask('third')];
      const { conversations, total } = await side.client.listConversations({ status: 'pending', limit: 100 });
      expect(conversations.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids);
      expect(total).toBe(conversations.length);
      const page = await side.client.listConversations({ status: 'pending', limit: 2, offset: 1 });
      expect(page.conversations.map(({ id }) => id)).toEqual(conversations.slice(1, 3).map(({ id }) => id));
      expect(page.total).toBe(total);
    });

    test('knows what was listed, most recently updated first, and tells each one', async () => {
      const side = await signedIn();
      const [first, second] = [await side.ask('first'), await side.ask('second')];
      const told = heard(side.client, 'conversation');
      await side.client.listConversations({ limit: 100 });
      const dates = side.client.getState().conversations.map(({ updatedAt }) => updatedAt);
      expect(dates).toEqual(dates.toSorted().toReversed());
      expect(told.map(({ id }) => id)).toEqual(expect.arrayContaining([first, second]));
    });

    test('filters by status, operator, words and visitor', async () => {
      const side = await signedIn();
      const word = `unicorn${Date.now()}`;
      const [waiting, accepted] = [await side.ask(word), await side.ask('other')];
      await side.client.accept(accepted);
      const list = async (filter: Parameters<StaffClient['listConversations']>[0]): Promise<string[]> =>
        (await side.client.listConversations({ ...filter, limit: 100 })).conversations.map(({ id }) => id);
      expect(await list({ status: 'active', assignedTo: 'me' })).toContain(accepted);
      expect(await list({ status: 'pending' })).not.toContain(accepted);
      await eventually(async () => expect(await list({ q: word })).toEqual([waiting]));
      expect(await list({ visitorOf: waiting })).toContain(waiting);
      expect(await list({ visitorOf: waiting })).not.toContain(accepted);
    });

    test('forgets what is not kept; keeping all changes nothing', async () => {
      const side = await signedIn();
      const [kept, forgotten] = [await side.ask('kept'), await side.ask('forgotten')];
      await side.client.listConversations({ limit: 100 });
      side.client.keepConversations(new Set([kept]));
      expect(known(side, forgotten)).toBeUndefined();
      const { conversations } = side.client.getState();
      side.client.keepConversations(new Set([kept]));
      expect(side.client.getState().conversations).toBe(conversations);
    });

    test('answers a conversation with its details, and keeps it as a row of the list', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      const detail = await side.client.getConversation(id);
      expect(detail).toMatchObject({ id, status: 'pending', resolvedBy: null, resolvedAt: null });
      expect(detail.participants).toBeInstanceOf(Array);
      expect(known(side, id)).not.toHaveProperty('participants');
      await expect(side.client.getConversation(unknownId)).rejects.toMatchObject({
        code: 'not_found',
        status: 404,
      });
    });

    test('tells a new conversation, and that a visitor wrote', async () => {
      const side = await signedIn();
      const fresh = heard(side.client, 'conversation:new');
      const activity = heard(side.client, 'conversation:activity');
      const id = await side.ask('hello');
      await eventually(() => expect(fresh.map((event) => event.id)).toContain(id));
      await side.write(id, 'are you there?');
      await eventually(() => {
        expect(activity.at(-1)).toMatchObject({
          conversationId: id,
          preview: 'are you there?',
          waiting: true,
        });
        expect(known(side, id)).toMatchObject({
          unreadCount: 2,
          lastMessage: { preview: 'are you there?', senderRole: 'visitor' },
        });
      });
    });

    test('does not know other paths', async () => {
      const { client } = await signedIn();
      await expect(client.call('GET', '/nothing')).rejects.toMatchObject({ code: 'not_found', status: 404 });
    });
  });
}

function declareCommands(signedIn: Open): void {
  describe('commands on a conversation', () => {
    test('accept makes it the member’s, once', async () => {
      const side = await signedIn();
      const accepted = heard(side.client, 'conversation:accepted');
      const id = await side.ask('hello');
      const answer = await side.client.accept(id);
      expect(answer).toMatchObject({
        status: 'active',
        assignedTo: side.memberId,
        waitingSince: expect.anything(),
      });
      expect(known(side, id)).toMatchObject({ status: 'active', assignedTo: side.memberId });
      await eventually(() =>
        expect(accepted.at(-1)).toMatchObject({ conversationId: id, assignedTo: side.memberId }),
      );
    });

    test('a conversation that a colleague has can’t be accepted', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      await side.client.getConversation(id);
      await side.colleagueAccepts(id);
      await expect(side.client.accept(id)).rejects.toMatchObject({ code: 'conflict', status: 409 });
      await eventually(() =>
        expect(known(side, id)).toMatchObject({ status: 'active', assignedTo: side.colleagueId }),
      );
    });

    test('release gives it back to the queue', async () => {
      const side = await signedIn();
      const released = heard(side.client, 'conversation:released');
      const id = await side.ask('hello');
      await side.client.accept(id);
      expect(await side.client.release(id)).toMatchObject({
        status: 'pending',
        assignedTo: null,
        assignedToName: null,
      });
      await eventually(() => expect(released.at(-1)).toEqual({ conversationId: id }));
      await expect(side.client.release(id)).rejects.toMatchObject({ code: 'conflict', status: 409 });
    });

    test('resolve closes it, and says who did', async () => {
      const side = await signedIn();
      const resolved = heard(side.client, 'conversation:resolved');
      const id = await side.ask('hello');
      await side.client.accept(id);
      expect(await side.client.resolve(id)).toMatchObject({
        status: 'closed',
        resolvedBy: side.memberId,
        waitingSince: null,
      });
      await eventually(() => expect(resolved.at(-1)).toMatchObject({ conversationId: id }));
      await expect(side.client.accept(id)).rejects.toMatchObject({ code: 'conflict', status: 409 });
    });

    test('transfer makes it a colleague’s', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      await side.client.accept(id);
      expect(await side.client.transfer(id, side.colleagueId)).toMatchObject({
        status: 'active',
        assignedTo: side.colleagueId,
      });
    });

    test('only its operator may give a conversation away', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      await side.colleagueAccepts(id);
      const commands = [
        side.client.release(id),
        side.client.resolve(id),
        side.client.transfer(id, side.memberId),
      ];
      // Expected at once: they are refused in any order, and a refusal that is not waited for yet ends the run.
      await Promise.all(
        commands.map((command) => expect(command).rejects.toMatchObject({ code: 'forbidden', status: 403 })),
      );
    });

    test('unknown conversations are not found', async () => {
      const { client } = await signedIn();
      await expect(client.accept(unknownId)).rejects.toMatchObject({ code: 'not_found', status: 404 });
    });
  });
}

function declareOrder(signedIn: Open): void {
  describe('order in the queue', () => {
    const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString();

    test('tags are added and taken off one by one; others stay', async () => {
      const side = await signedIn();
      const changed = heard(side.client, 'conversation:changed');
      const id = await side.ask('hello');
      await side.client.tag(id, 'refund');
      expect(await side.client.tag(id, 'late')).toMatchObject({ tags: ['late', 'refund'] });
      expect(known(side, id)?.tags).toEqual(['late', 'refund']);
      expect(await side.client.untag(id, 'refund')).toMatchObject({ tags: ['late'] });
      await eventually(() => expect(changed.at(-1)).toMatchObject({ conversationId: id, tags: ['late'] }));
      const { conversations } = await side.client.listConversations({ tag: ['late'], limit: 100 });
      expect(conversations.map((one) => one.id)).toContain(id);
    });

    test('a priority stays until it is set anew', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      expect(await side.client.update(id, { priority: 'urgent' })).toMatchObject({ priority: 'urgent' });
      expect(await side.client.getConversation(id)).toMatchObject({ priority: 'urgent' });
    });

    test('a snoozed conversation is out of the queue, but not of a view of snoozed ones, until it is woken', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      const until = tomorrow();
      expect(await side.client.snooze(id, until)).toMatchObject({ status: 'pending', snoozedUntil: until });
      const listed = async (filter: object): Promise<boolean> =>
        (await side.client.listConversations({ limit: 100, ...filter })).conversations.some(
          (one) => one.id === id,
        );
      expect([await listed({ status: 'pending' }), await listed({ snoozed: true })]).toEqual([false, true]);
      expect(await side.client.wake(id)).toMatchObject({ snoozedUntil: null });
      expect([await listed({ status: 'pending' }), await listed({ snoozed: true })]).toEqual([true, false]);
    });

    test('a colleague’s conversation can’t be snoozed, and none that is closed', async () => {
      const side = await signedIn();
      const [theirs, closed] = [await side.ask('hello'), await side.ask('bye')];
      await side.colleagueAccepts(theirs);
      await expect(side.client.snooze(theirs, tomorrow())).rejects.toMatchObject({ code: 'forbidden' });
      await side.client.accept(closed);
      await side.client.resolve(closed);
      await expect(side.client.snooze(closed, tomorrow())).rejects.toMatchObject({ code: 'conflict' });
    });

    test('reopen makes a closed conversation the member’s; an open one stays as it is', async () => {
      const side = await signedIn();
      const reopened = heard(side.client, 'conversation:reopened');
      const id = await side.ask('hello');
      await expect(side.client.reopen(id)).rejects.toMatchObject({ code: 'conflict', status: 409 });
      await side.client.accept(id);
      await side.client.resolve(id);
      expect(await side.client.reopen(id)).toMatchObject({ status: 'active', assignedTo: side.memberId });
      await eventually(() => expect(reopened.at(-1)).toMatchObject({ conversationId: id }));
    });

    test('what was read is unread again', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      await side.client.join(id);
      await side.client.markRead(id);
      await eventually(() => expect(known(side, id)?.unreadCount).toBe(0));
      expect(await side.client.markUnread(id)).toMatchObject({ unread: true, unreadCount: 1 });
    });

    test('an act on many answers for each, in their order', async () => {
      const side = await signedIn();
      const [first, second] = [await side.ask('one'), await side.ask('two')];
      await side.client.accept(first);
      const results = await side.client.bulk([first, second, unknownId], { act: 'accept' });
      expect(results.map(({ id, ok }) => [id, ok])).toEqual([
        [first, false],
        [second, true],
        [unknownId, false],
      ]);
      expect(results.map((result) => (result.ok ? '' : result.error))).toEqual(['conflict', '', 'not_found']);
      expect(known(side, second)).toMatchObject({ assignedTo: side.memberId });
    });
  });
}

function declareRooms(signedIn: Open): void {
  describe('a room', () => {
    test('has the newest fifty messages, and the older ones by pages', async () => {
      const side = await signedIn();
      const texts = Array.from({ length: 62 }, (_, index) => `message ${index}`);
      const id = await side.ask(...texts);
      const room = await side.client.join(id);
      expect(textsOf(room.messages)).toEqual(texts.slice(-50));
      expect(room).toMatchObject({ conversationId: id, loaded: true, hasMore: true, typing: [], reads: {} });
      expect(roomOf(side, id)).toMatchObject({ loaded: true, hasMore: true });
      const older = await side.client.loadHistory(id, 10);
      expect([textsOf(older.messages), older.hasMore]).toEqual([texts.slice(2, 12), true]);
      expect(await side.client.loadHistory(id, 10)).toMatchObject({ hasMore: false });
      expect(textsOf(roomOf(side, id)?.messages)).toEqual(texts);
      expect(await side.client.loadHistory(id)).toEqual({ messages: [], hasMore: false });
    });

    test('of a conversation that is not there is not found', async () => {
      const side = await signedIn();
      await expect(side.client.join(unknownId)).rejects.toMatchObject({ code: 'not_found' });
      expect(roomOf(side, unknownId)).toBeUndefined();
      expect(await side.client.loadHistory(unknownId)).toEqual({ messages: [], hasMore: false });
    });

    test('hears what the visitor writes, until it is left', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      await side.client.join(id);
      const messages = heard(side.client, 'message');
      await side.write(id, 'one more');
      await eventually(() => expect(textsOf(roomOf(side, id)?.messages)).toEqual(['hello', 'one more']));
      expect(messages).toMatchObject([
        { content: 'one more', own: false, state: 'sent', senderRole: 'visitor' },
      ]);
      side.client.leave(id);
      expect(roomOf(side, id)).toBeUndefined();
    });

    test('without a message hears the first one', async () => {
      const side = await signedIn();
      const id = await side.ask();
      expect(await side.client.join(id)).toMatchObject({ messages: [], hasMore: false });
      await side.write(id, 'hello');
      await eventually(() => expect(textsOf(roomOf(side, id)?.messages)).toEqual(['hello']), 5_000);
    });

    test('read marks empty the count of unread messages', async () => {
      const side = await signedIn();
      const id = await side.ask('hello', 'again');
      await side.client.join(id);
      await side.client.getConversation(id);
      expect(known(side, id)?.unreadCount).toBe(2);
      await side.client.markRead(id);
      await eventually(() => expect(known(side, id)?.unreadCount).toBe(0));
    });
  });
}

function declareMessages(signedIn: Open): void {
  /** A conversation of the member's, with its room joined. */
  const joined = async (): Promise<StaffSide & { readonly id: string }> => {
    const side = await signedIn();
    const id = await side.ask('hello');
    await side.client.accept(id);
    await side.client.join(id);
    return { ...side, id };
  };

  describe('a message', () => {
    test('is shown at once as being sent, and keeps its key when it is stored', async () => {
      const side = await joined();
      const { client, id } = side;
      const stored = heard(client, 'message:sent');
      const fromOthers = heard(client, 'message');
      const sending = client.sendMessage(id, 'answer');
      const [, shown] = roomOf(side, id)?.messages ?? [];
      expect(shown).toMatchObject({
        content: 'answer',
        own: true,
        state: 'sending',
        senderRole: 'operator',
        senderId: side.memberId,
      });
      const message = await sending;
      expect(message).toMatchObject({ key: shown?.key, content: 'answer', own: true, state: 'sent' });
      expect(message.id).not.toBe(message.key);
      await eventually(() => {
        expect(stored.map(({ key }) => key)).toEqual([message.key]);
        expect(roomOf(side, id)?.messages).toMatchObject([
          { content: 'hello' },
          { key: message.key, id: message.id, state: 'sent' },
        ]);
      });
      expect(fromOthers).toEqual([]);
    });

    test('that is internal is marked so, from the beginning', async () => {
      const side = await joined();
      const sending = side.client.sendMessage(side.id, 'for us', { internal: true });
      expect(roomOf(side, side.id)?.messages.at(-1)).toMatchObject({ internal: true, state: 'sending' });
      await sending;
      await eventually(() =>
        expect(roomOf(side, side.id)?.messages.at(-1)).toMatchObject({ internal: true, state: 'sent' }),
      );
    });

    test('that is refused stays as failed, with the reason, until it is discarded', async () => {
      const side = await joined();
      const { client, id } = side;
      await client.resolve(id);
      const failures = heard(client, 'message:failed');
      await expect(client.sendMessage(id, 'too late')).rejects.toMatchObject({
        code: 'conversation_not_active',
      });
      const failed = roomOf(side, id)?.messages.at(-1);
      expect(failed).toMatchObject({
        content: 'too late',
        state: 'failed',
        error: { code: 'conversation_not_active' },
      });
      expect(failures.map(({ key }) => key)).toEqual([failed?.key]);
      await expect(client.retry(failed?.key ?? '')).rejects.toMatchObject({
        code: 'conversation_not_active',
      });
      expect(client.discard(failed?.key ?? '')).toBe(true);
      expect(textsOf(roomOf(side, id)?.messages)).toEqual(['hello']);
      expect(client.discard(failed?.key ?? '')).toBe(false);
      await expect(client.retry(failed?.key ?? '')).rejects.toMatchObject({ code: 'unknown' });
    });

    test('can’t be an answer in a colleague’s conversation, but a note', async () => {
      const side = await signedIn();
      const id = await side.ask('hello');
      await side.colleagueAccepts(id);
      await side.client.join(id);
      await expect(side.client.sendMessage(id, 'answer')).rejects.toMatchObject({ code: 'forbidden' });
      expect(await side.client.sendMessage(id, 'note', { internal: true })).toMatchObject({ state: 'sent' });
    });

    test('may be changed by its author', async () => {
      const side = await joined();
      const { client, id } = side;
      const { id: messageId } = await client.sendMessage(id, 'answer');
      const updated = heard(client, 'message:updated');
      const changed = await client.editMessage(id, messageId, 'better answer');
      expect(changed).toMatchObject({ id: messageId, content: 'better answer' });
      expect(changed.editedAt).not.toBeNull();
      expect(textsOf(roomOf(side, id)?.messages)).toEqual(['hello', 'better answer']);
      expect(updated.at(-1)).toMatchObject({ id: messageId, content: 'better answer' });
      await expect(client.editMessage(id, unknownId, 'x')).rejects.toMatchObject({ code: 'not_found' });
    });

    test('may be deleted by its author', async () => {
      const side = await joined();
      const { client, id } = side;
      const { id: messageId } = await client.sendMessage(id, 'answer');
      const deleted = heard(client, 'message:deleted');
      await client.deleteMessage(id, messageId);
      expect(textsOf(roomOf(side, id)?.messages)).toEqual(['hello']);
      expect(deleted).toEqual([{ conversationId: id, messageId }]);
      await expect(client.deleteMessage(id, unknownId)).rejects.toMatchObject({ code: 'not_found' });
    });
  });
}
