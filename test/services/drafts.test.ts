// Drafts of answers: each is its member's alone, and goes when it is older than the organization keeps messages.
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

it('a draft is its member’s alone, to read, to write and to throw away', async () => {
  const { application } = await createOrganization(app, 'beta');
  const id = await createConversation(createVisitor(app, application));
  const [ann, otto] = [await createMember(app, 'beta', 'admin', 'Ann'), await createMember(app, 'beta')];
  const at = `/conversations/${id}/draft`;
  const read = async (who: TestMember): Promise<unknown> => (await who.call('GET', at)).body.draft;
  await otto.call('PUT', at, { content: 'Perhaps' });
  expect([await read(ann), await read(otto)]).toMatchObject([null, { content: 'Perhaps' }]);
  await ann.call('PUT', at, { content: 'No' });
  expect([await read(ann), await read(otto)]).toMatchObject([{ content: 'No' }, { content: 'Perhaps' }]);
  await ann.call('DELETE', at);
  expect([await read(ann), await read(otto)]).toMatchObject([null, { content: 'Perhaps' }]);
});
