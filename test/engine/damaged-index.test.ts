// A full-text index that is damaged: what needs it says what to do, and everything else goes on.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { IndexDamagedError } from '../../src/engine/engine.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { damageIndex } from '../helpers/damage.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let conversationId: string;

beforeEach(async () => {
  app = await startApp({ engine: 'sqlite' });
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  operator = await createMember(app, 'acme');
  conversationId = await createConversation(visitor);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

const find = (q: string) => operator.call('GET', `/conversations?q=${q}&mode=all`);
const path = (messageId = ''): string => `/conversations/${conversationId}/messages/${messageId}`;

const refusal = {
  status: 500,
  body: {
    error: 'internal_error',
    message: expect.stringMatching(/damaged.*No message is lost.*deskbell reindex/),
  },
};

it.each(['structure', 'words'] as const)(
  'is told to who searches and who removes, and messages are sent as ever (%s)',
  async (part) => {
    const messageId = await createMessage(visitor, conversationId, 'aardvark');
    expect((await find('aardvark')).status).toBe(200);
    damageIndex(app.folder, 'search', part);
    expect(await find('aardvark')).toMatchObject(refusal);
    // Its words could not be taken out of the index.
    expect(await visitor.call('DELETE', path(messageId))).toMatchObject(refusal);
    expect((await visitor.call('PATCH', path(messageId), { content: 'buffalo' })).status).toBe(200);
    await createMessage(visitor, conversationId, 'caracal');
    expect((await operator.call('GET', '/conversations')).body.total).toBe(1);
    expect(app.logged.join('')).toMatch(/"msg":"internal error"/);
  },
);

it('of names is told to who searches, and messages are sent as ever', async () => {
  damageIndex(app.folder, 'search_visitors');
  expect(await find('oli')).toMatchObject(refusal);
  expect((await createMessage(visitor, conversationId, 'dingo')).length).toBeGreaterThan(0);
});

it.each(['search', 'search_visitors'] as const)('leaves the other views their counts (%s)', async (index) => {
  await createMessage(visitor, conversationId, 'aardvark');
  await visitor.call('PUT', '/visitor', { name: 'Aardvark' });
  const view = async (query: object): Promise<string> =>
    (await operator.call('POST', '/views', { name: JSON.stringify(query), shared: false, query })).body.view
      .id;
  const words = await view({ q: 'aardvark' });
  const pending = await view({ status: 'pending' });
  const count = async () => {
    app.clock.advance(10_000);
    const { body } = await operator.call('GET', '/views/counts');
    return body.counts;
  };
  expect((await find('aardvark')).status).toBe(200);
  expect(await count()).toEqual([
    { id: words, count: 1 },
    { id: pending, count: 1 },
  ]);
  damageIndex(app.folder, index);
  expect(await count()).toEqual([{ id: pending, count: 1 }]);
});

it('is written no more once that has failed, which is logged once', async () => {
  const messageId = await createMessage(visitor, conversationId, 'aardvark');
  expect((await find('aardvark')).status).toBe(200);
  damageIndex(app.folder, 'search', 'words');
  const faults = (): number => app.logged.filter((line) => line.includes('search index could not be')).length;
  const edit = async (content: string): Promise<void> => {
    expect((await visitor.call('PATCH', path(messageId), { content })).status).toBe(200);
    app.clock.advance(30_000);
  };
  await edit('buffalo');
  await eventually(() => {
    app.clock.advance(250);
    expect(faults()).toBe(1);
  });
  expect(app.logged.find((line) => line.includes('search index could not be'))).toMatch(/deskbell reindex/);
  expect(await find('zebra')).toMatchObject(refusal);
  const { store } = app.service.engine;
  const write = vi.spyOn(store, 'write');
  for (const content of ['caracal', 'dingo', 'echidna']) await edit(content);
  expect(await find('zebra')).toMatchObject(refusal);
  const ofIndex = write.mock.calls.filter(([scope, , behind]) => scope !== 'server' && behind === 'behind');
  expect(ofIndex).toEqual([]);
  expect(faults()).toBe(1);
});

it('refuses no operation that only shares a commit with a write of it', async () => {
  const { store } = app.service.engine;
  const messageId = await createMessage(visitor, conversationId, 'aardvark');
  expect((await find('aardvark')).status).toBe(200);
  damageIndex(app.folder, 'search', 'words');
  const put = (key: string) => store.write('server', ({ repositories }) => repositories.meta.set(key, key));
  const [before, index, after, emitted] = await Promise.allSettled([
    put('before'),
    store.write('server', async ({ repositories: { search } }) => {
      await search.put(await search.scopeOf(acme.id), messageId, ['aardvark', 'buffalo']);
    }),
    put('after'),
    createMessage(visitor, conversationId, 'beside it'),
  ]);
  expect(index).toMatchObject({ status: 'rejected', reason: expect.any(IndexDamagedError) });
  expect([before.status, after.status, emitted.status]).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  const values = await store.read(async ({ repositories: { meta } }) => [
    await meta.get('before'),
    await meta.get('after'),
  ]);
  expect(values).toEqual(['before', 'after']);
});
