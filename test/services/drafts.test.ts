// Drafts of answers go by their age, not with those of others: each when it is older than the organization keeps messages.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  signIn,
  type TestMember,
} from '../helpers/fixtures.ts';

const day = 86_400_000;
let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});

afterAll(async () => {
  await app.stop();
});

it('a draft goes when it is older than messages may be, and a younger one stays', async () => {
  const { application } = await createOrganization(app, 'acme', 'free');
  const visitor = createVisitor(app, application);
  const member = await createMember(app, 'acme');
  const [early, late] = [await createConversation(visitor), await createConversation(visitor)];
  const write = async (who: TestMember, id: string): Promise<void> => {
    const { status } = await who.call('PUT', `/conversations/${id}/draft`, { content: 'Perhaps' });
    expect(status).toBe(200);
  };
  const drafts = async (): Promise<boolean[]> => {
    const who = await signIn(app, 'acme', member.email, member.id);
    const found = [];
    for (const id of [early, late])
      found.push((await who.call('GET', `/conversations/${id}/draft`)).body.draft !== null);
    return found;
  };
  await write(member, early);
  app.clock.advance(20 * day);
  for (const id of [early, late]) await createMessage(visitor, id, 'Are you there?');
  await write(await signIn(app, 'acme', member.email, member.id), late);
  await app.local('retention.purge', {});
  expect(await drafts()).toEqual([true, true]);
  app.clock.advance(11 * day);
  await app.local('retention.purge', {});
  expect(await drafts()).toEqual([false, true]);
});
