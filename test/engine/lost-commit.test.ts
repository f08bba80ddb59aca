// What a caller is told where it is not known whether what was asked for is kept: the answer to a commit was lost, or
// one of several commits was refused.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres.ts';
import { startApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
} from '../helpers/fixtures.ts';
import { askDatabase, OwnServer } from '../helpers/postgres.ts';

let database: OwnServer;
const ask = (sql: string): Promise<Record<string, unknown>[]> =>
  askDatabase({ url: database.url('deskbell') }, sql);

beforeAll(async () => {
  database = await OwnServer.start();
  await askDatabase({ url: database.url('postgres') }, 'create database deskbell');
});
afterAll(() => database.remove());

it('a commit whose answer is lost may be kept, and its caller is told so', async () => {
  const { store, close } = await openPostgresEngine({
    url: database.url('deskbell'),
    durability: 'full',
    clock: createSystemClock(),
    keyCheck: 'key',
    as: 'command',
    version: '1',
  });
  const keep = (key: string): Promise<number> =>
    store.write('server', ({ repositories }) => repositories.meta.set(key, 'kept'));
  const thrown = (key: string): Promise<unknown> => keep(key).catch((error: unknown) => error);
  const endWaiting = (condition: string): Promise<unknown> =>
    eventually(async () =>
      expect(
        await ask(`select pg_terminate_backend(pid) from pg_stat_activity where ${condition}`),
      ).toHaveLength(1),
    );
  await keep('before');
  // Commits are there, and wait to be confirmed by what never does.
  await ask("alter system set synchronous_standby_names = 'absent'");
  await ask('select pg_reload_conf()');
  await eventually(async () =>
    expect(await ask('show synchronous_standby_names')).toEqual([{ synchronous_standby_names: 'absent' }]),
  );
  const lost = thrown('lost');
  await endWaiting("wait_event = 'SyncRep'");
  expect(await lost).toBeInstanceOf(StoreUnavailableError);
  expect(await lost).toHaveProperty('mayBeKept', true);
  expect(await ask("select value from meta where key = 'lost'")).toEqual([{ value: 'kept' }]);
  await ask('alter system reset synchronous_standby_names');
  await ask('select pg_reload_conf()');
  // One that was ended before its commit is not kept, and is told that.
  const ended = store
    .write('server', async ({ repositories }) => {
      await repositories.meta.set('ended', 'kept');
      await endWaiting("state = 'idle in transaction'");
      return repositories.meta.set('ended', 'kept');
    })
    .catch((error: unknown) => error);
  expect(await ended).toBeInstanceOf(StoreUnavailableError);
  expect(await ended).toHaveProperty('mayBeKept', false);
  expect(await ask("select value from meta where key = 'ended'")).toEqual([]);
  await close();
});

it('what goes in several commits may be kept in part', async () => {
  const app = await startApp({ engine: 'sqlite' });
  const { application } = await createOrganization(app, 'acme');
  const admin = await createMember(app, 'acme', 'admin');
  const visitor = createVisitor(app, application, randomUUID());
  const conversationId = await createConversation(visitor);
  await createMessage(visitor, conversationId, 'hello');
  const { store } = app.service.engine;
  const write = store.write.bind(store);
  let writes = 0;
  const refusing = vi.spyOn(store, 'write').mockImplementation((...of) => {
    writes += 1;
    return writes > 1 ? Promise.reject(new StoreUnavailableError('The database is busy.')) : write(...of);
  });
  const path = `/api/v1/admin/visitors/${visitor.id}`;
  const erased = await request(app.url, 'DELETE', path, admin.headers);
  expect([erased.status, erased.body.error]).toEqual([503, 'unavailable']);
  expect(erased.body.message).toMatch(/may be kept, or a part of it/);
  const sent = await visitor.call('POST', `/conversations/${conversationId}/messages`, { content: 'more' });
  expect([sent.status, sent.body.error]).toEqual([503, 'unavailable']);
  expect(sent.body.message).toMatch(/nothing was kept/);
  refusing.mockRestore();
  expect((await request(app.url, 'DELETE', path, admin.headers)).status).toBe(200);
  await app.stop();
});
