// What passes on a live connection besides messages: presence for visitors, activity for
// staff, and the modes that staff ask for. Must not test rooms.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { Ear } from '../helpers/client.ts';
import {
  aConversation,
  aMember,
  aMessage,
  anOrganization,
  aVisitor,
  aVisitorByKey,
  type Person,
  type TestOrganization,
} from '../helpers/world.ts';

let app: TestApp;
let acme: TestOrganization;

beforeEach(async () => {
  app = await startApp();
  acme = await anOrganization(app, 'acme');
});

afterEach(async () => {
  await app.stop();
});

async function settled(person: Person, query = ''): Promise<Ear> {
  const ear = await person.connect(query);
  await ear.quiet();
  ear.frames.length = 0;
  return ear;
}

async function heard(ear: Ear): Promise<string[]> {
  await ear.quiet();
  return ear.takeTypes();
}

describe('presence, activity and modes', () => {
  it('tells visitors when the first member comes and the last one goes, and nobody of another organization', async () => {
    const other = await anOrganization(app, 'other');
    const ear = await settled(aVisitor(app, acme.application));
    const foreign = await settled(aVisitor(app, other.application));
    const member = await aMember(app, 'acme');
    const [first, second] = [await settled(member), await settled(member)];
    expect(await ear.hears('presence')).toEqual({ online: true });
    await first.close();
    expect(await heard(ear)).toEqual(['presence']);
    await second.close();
    expect(await ear.hears('presence')).toEqual({ online: false });
    expect(await heard(ear)).toEqual(['presence']);
    expect(await heard(foreign)).toEqual([]);
  });

  it('tells staff of a message in at most 120 characters, whoever sent it and whether they are in the room or not', async () => {
    const visitor = aVisitor(app, acme.application);
    const member = await aMember(app, 'acme');
    const conversationId = await aConversation(visitor);
    const ear = await settled(await aMember(app, 'acme'));
    const id = await aMessage(visitor, conversationId, `first\nline ${'😀'.repeat(200)}`);
    const activity = await ear.hears('conversation:activity');
    expect(activity).toMatchObject({ conversationId, lastMessageId: id, waiting: true });
    expect(activity.preview.length).toBeLessThanOrEqual(120);
    expect(activity.preview).toMatch(/^first line 😀+…$/u);
    await member.call('POST', `/conversations/${conversationId}/accept`);
    ear.frames.length = 0;
    await aMessage(member, conversationId, 'answer');
    expect(await ear.hears('conversation:activity')).toMatchObject({ preview: 'answer', waiting: false });
  });

  it('keeps test conversations away from staff who did not ask for them', async () => {
    const member = await aMember(app, 'acme');
    const ears = {
      live: await settled(member),
      junk: await settled(member, '&mode=nonsense'),
      test: await settled(member, '&mode=test'),
      all: await settled(member, '&mode=all'),
    };
    const tester = aVisitorByKey(app, acme.application, 'test');
    const visitor = aVisitor(app, acme.application, tester.id);
    const whole = async (person: Person): Promise<void> => {
      const conversationId = await aConversation(person);
      await aMessage(person, conversationId);
      await member.call('POST', `/conversations/${conversationId}/accept`);
      await member.call('POST', `/conversations/${conversationId}/resolve`);
    };
    const everything = ['conversation:new', 'conversation:activity', 'conversation:accepted', 'conversation:resolved'];
    const round = async (): Promise<Record<string, string[]>> =>
      Object.fromEntries(await Promise.all(Object.entries(ears).map(async ([name, ear]) => [name, await heard(ear)] as const)));
    await whole(tester);
    expect(await round()).toEqual({ live: [], junk: [], test: everything, all: everything });
    await whole(visitor);
    expect(await round()).toEqual({ live: everything, junk: everything, test: [], all: everything });
  });
});
