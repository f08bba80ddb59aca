// What passes on a live connection besides messages: presence for visitors, activity for
// staff, and the modes that staff ask for. Must not test rooms.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;

beforeEach(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
});

afterEach(async () => {
  await app.stop();
});

async function settled(person: TestClient, query = ''): Promise<TestSocket> {
  const socket = await person.connect(query);
  await socket.drain();
  socket.frames.length = 0;
  return socket;
}

async function heard(socket: TestSocket): Promise<string[]> {
  await socket.drain();
  return socket.takeTypes();
}

describe('presence, activity and modes', () => {
  it('tells visitors when the first member comes and the last one goes, and no one of another organization', async () => {
    const other = await createOrganization(app, 'other');
    const socket = await settled(createVisitor(app, acme.application));
    const foreign = await settled(createVisitor(app, other.application));
    const member = await createMember(app, 'acme');
    const [first, second] = [await settled(member), await settled(member)];
    expect(await socket.receives('presence')).toEqual({ online: true });
    await first.close();
    expect(await heard(socket)).toEqual(['presence']);
    await second.close();
    expect(await socket.receives('presence')).toEqual({ online: false });
    expect(await heard(socket)).toEqual(['presence']);
    expect(await heard(foreign)).toEqual([]);
  });

  it('tells staff of a message in at most 120 characters, from any sender, whether they are in the room or not', async () => {
    const visitor = createVisitor(app, acme.application);
    const member = await createMember(app, 'acme');
    const conversationId = await createConversation(visitor);
    const socket = await settled(await createMember(app, 'acme'));
    const id = await createMessage(visitor, conversationId, `first\nline ${'😀'.repeat(200)}`);
    const activity = await socket.receives('conversation:activity');
    expect(activity).toMatchObject({ conversationId, lastMessageId: id, waiting: true });
    expect(activity.preview.length).toBeLessThanOrEqual(120);
    expect(activity.preview).toMatch(/^first line 😀+…$/u);
    await member.call('POST', `/conversations/${conversationId}/accept`);
    socket.frames.length = 0;
    await createMessage(member, conversationId, 'answer');
    expect(await socket.receives('conversation:activity')).toMatchObject({
      preview: 'answer',
      waiting: false,
    });
  });

  it('keeps test conversations away from staff who did not ask for them', async () => {
    const member = await createMember(app, 'acme');
    const sockets = {
      live: await settled(member),
      junk: await settled(member, '&mode=nonsense'),
      test: await settled(member, '&mode=test'),
      all: await settled(member, '&mode=all'),
    };
    const tester = createVisitorByKey(app, acme.application, 'test');
    const visitor = createVisitor(app, acme.application, tester.id);
    const whole = async (person: TestClient): Promise<void> => {
      const conversationId = await createConversation(person);
      await createMessage(person, conversationId);
      await member.call('POST', `/conversations/${conversationId}/accept`);
      await member.call('POST', `/conversations/${conversationId}/resolve`);
    };
    const everything = [
      'conversation:new',
      'conversation:activity',
      'conversation:accepted',
      'conversation:resolved',
    ];
    const round = async (): Promise<Record<string, string[]>> =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(sockets).map(async ([name, socket]) => [name, await heard(socket)] as const),
        ),
      );
    await whole(tester);
    expect(await round()).toEqual({ live: [], junk: [], test: everything, all: everything });
    await whole(visitor);
    expect(await round()).toEqual({ live: everything, junk: everything, test: [], all: everything });
  });
});
