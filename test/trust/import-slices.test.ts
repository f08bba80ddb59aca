// An import of a large organization comes in many short transactions beside others' work, is not seen before it is
// whole, and leaves nothing when it is cut off.
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it, vi } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { runMaintenance } from '../../src/services/data/maintenance.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const messages = 3_000;
const snoozeMs = 90_000;
const tables = [
  'organizations',
  'applications',
  'api_keys',
  'domains',
  'members',
  'visitors',
  'conversations',
  'participants',
  'messages',
];
let from: TestApp;
let acme: TestOrganization;
let lines: string[];
let to: TestApp;

const callOn = ({ service }: TestApp) =>
  ({ service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest }) as const;

beforeAll(async () => {
  from = await startApp();
  acme = await createOrganization(from, 'acme');
  await createMember(from, 'acme', 'admin');
  const visitor = createVisitor(from, acme.application);
  const conversation = await createConversation(visitor);
  await createMessage(visitor, conversation, 'hello');
  await rowsOf(
    from,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 2 union all select i + 1 from n where i <= ${messages})
     select lower(printf('%08x-0000-4000-8000-000000000000', i)), conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1`,
  );
  await rowsOf(from, `update conversations set last_seq = ${messages + 1}`);
  const snooze = 'update conversations set snoozed_until = ?';
  await rowsOf(from, snooze, from.clock.now() + snoozeMs);
  lines = [];
  await exportOrganization(callOn(from), 'acme', async (line) => void lines.push(line));
});
afterAll(() => from.stop());
beforeEach(async () => {
  to = await startApp();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await to.stop();
});

async function* asLines(): AsyncIterable<string> {
  yield* lines;
}
const importIt = () => importOrganization(callOn(to), asLines);
const numbers = (app = to) =>
  Promise.all(
    tables.map(async (table) => (await rowsOf(app, `select count(*) as n from ${table}`))[0]?.['n']),
  );

it('goes in short transactions, and others’ messages in between; it is not seen before it is whole', async () => {
  const other = await createOrganization(to, 'other');
  const visitor = createVisitor(to, other.application);
  const conversation = await createConversation(visitor);
  const { store } = to.service.engine;
  const write = store.write.bind(store);
  let slices = 0;
  let largest = 0;
  let before = 0;
  let sent = 0;
  vi.spyOn(store, 'write').mockImplementation(async (scope, work) => {
    const done = await write(scope, work);
    const now = Number(
      (await rowsOf(to, `select count(*) as n from messages where organization_id = '${acme.id}'`))[0]?.['n'],
    );
    if (now === before) return done;
    slices += 1;
    largest = Math.max(largest, now - before);
    before = now;
    if (slices % 3 !== 1) return done;
    expect((await to.local('organizations.list', {})).organizations.map(({ slug }) => slug)).toEqual([
      'other',
    ]);
    for (const reference of ['acme', acme.id])
      await expect(to.local('organizations.get', { organization: reference })).rejects.toThrow(/No such/);
    for (const stranger of [createVisitorByKey(to, acme.application), createVisitor(to, acme.application)])
      expect((await stranger.call('POST', '/conversations', {})).status).toBe(401);
    await createMessage(visitor, conversation, `in between ${(sent += 1)}`);
    return done;
  });
  await importIt();
  expect(largest).toBeLessThanOrEqual(400);
  expect(slices).toBeGreaterThanOrEqual(messages / 400);
  expect(sent).toBeGreaterThan(2);
  vi.restoreAllMocks();
  expect((await to.local('organizations.get', { organization: 'acme' })).name).toBe(
    (await from.local('organizations.get', { organization: 'acme' })).name,
  );
  // The number of a message is its database's.
  for (const table of ['organizations', 'ordered_messages'])
    expect(
      await rowsOf(
        to,
        `select * from ${table} where ${table === 'ordered_messages' ? 'organization_id' : 'id'} = ? order by id`,
        acme.id,
      ),
      table,
    ).toEqual(await rowsOf(from, `select * from ${table} order by id`));
  await createConversation(createVisitorByKey(to, acme.application));
});

it('what is snoozed sleeps on until all of it is there, and wakes then', async () => {
  const { store } = to.service.engine;
  const write = store.write.bind(store);
  const half = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  vi.spyOn(store, 'write').mockImplementation(async (scope, work) => {
    const done = await write(scope, work);
    if (scope !== 'server' || (await rowsOf(to, 'select 1 from messages limit 1')).length === 0) return done;
    half.resolve();
    await goOn.promise;
    return done;
  });
  const importing = importIt();
  await half.promise;
  const asleep = async () => (await rowsOf(to, 'select 1 from conversations where snoozed_until > 0')).length;
  const told = () => rowsOf(to, "select 1 from events where type = 'conversation:changed'");
  try {
    expect(await asleep()).toBe(1);
    to.clock.advance(snoozeMs);
    // Asked by the job's own means as well: its next look is no time that a test could wait for.
    const { wakeDue } = await import('../../src/services/chat/snooze-job.ts');
    expect(await wakeDue(to.service)).toBeNull();
    expect([await asleep(), await told()]).toEqual([1, []]);
  } finally {
    goOn.resolve();
  }
  await importing;
  await eventually(async () => expect([await asleep(), (await told()).length]).toEqual([0, 1]));
});

describe('cut off in the middle', () => {
  /** As after kill -9: from some write on, the import writes nothing any more, not even to clean up. */
  async function cutOff(): Promise<unknown[]> {
    const before = await numbers();
    const { store } = to.service.engine;
    const write = store.write.bind(store);
    vi.spyOn(store, 'write').mockImplementation(async (scope, work) => {
      const there = (await rowsOf(to, 'select 1 from messages limit 1')).length > 0;
      if (there) throw new Error('killed');
      return write(scope, work);
    });
    await expect(importIt()).rejects.toThrow('killed');
    vi.restoreAllMocks();
    expect(Number((await rowsOf(to, 'select count(*) as n from messages'))[0]?.['n'])).toBeGreaterThan(0);
    return before;
  }

  it('is not found, and is removed by the server’s maintenance', async () => {
    const before = await cutOff();
    expect((await to.local('organizations.list', {})).organizations).toEqual([]);
    // It could still be at work.
    await runMaintenance(to.service);
    expect(await numbers()).not.toEqual(before);
    to.clock.advance(61_000);
    await runMaintenance(to.service);
    expect(await numbers()).toEqual(before);
  });

  it('gives way to the next import of the same file, after a minute', async () => {
    await cutOff();
    await expect(importIt()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/being imported already.*Try again in a minute/),
    });
    to.clock.advance(61_000);
    await importIt();
    expect(await numbers()).toEqual(await numbers(from));
  });

  it('goes no further once its rows were removed as abandoned', async () => {
    const before = await numbers();
    const { store } = to.service.engine;
    const write = store.write.bind(store);
    const removals: Promise<void>[] = [];
    vi.spyOn(store, 'write').mockImplementation(async (scope, work) => {
      const done = await write(scope, work);
      if (removals.length > 0 || (await rowsOf(to, 'select 1 from messages limit 1')).length === 0)
        return done;
      to.clock.advance(61_000);
      const { removeAbandonedArrivals } = await import('../../src/services/data/arrivals.ts');
      removals.push(removeAbandonedArrivals(to.service));
      return done;
    });
    await expect(importIt()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/held up for more than a minute/),
    });
    await Promise.all(removals);
    vi.restoreAllMocks();
    expect(await numbers()).toEqual(before);
  });
});
