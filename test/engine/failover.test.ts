// What a node does when its database fails under it: one that can only be read, one that has lost commits, statements
// that are refused, connections that die without a word. Callers are told that it may succeed later, never an error.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import { StoreUnavailableError, type CommitNotice, type Engine } from '../../src/engine/engine.ts';
import { Link } from '../../src/engine/postgres/link.ts';
import { nodesOf } from '../../src/engine/postgres/inspect.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres.ts';
import { startApp } from '../helpers/app.ts';
import { createTestClock } from '../helpers/clock.ts';
import { createMigratedDatabase } from '../helpers/contract-engines.ts';
import { createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { eventually } from '../helpers/eventually.ts';
import { askDatabase, OwnServer, type TestDatabase } from '../helpers/postgres.ts';
import { startProxy, type Proxy } from '../helpers/proxy.ts';
import { releasedEvent } from '../helpers/engine-events.ts';

const nodes: Engine[] = [];

async function openNode(url: string, clock = createSystemClock()): Promise<Engine> {
  const node = await openPostgresEngine({
    url,
    durability: 'normal',
    clock,
    keyCheck: 'key',
    as: 'server',
    version: '1',
    connections: 2,
    beatMs: 20,
  });
  nodes.push(node);
  return node;
}

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

const write = (node: Engine, name: string): Promise<void> =>
  node.store.write(`server:${name}`, (tx) => tx.emit(releasedEvent(name)));
const readMeta = (node: Engine, key: string): Promise<string | undefined> =>
  node.store.read(({ repositories }) => repositories.meta.get(key));

function hear(node: Engine): CommitNotice[] {
  const heard: CommitNotice[] = [];
  node.store.subscribe((notice) => heard.push(notice));
  return heard;
}

describe('a failover to a standby that had not received everything', () => {
  let primary: OwnServer;
  let standby: OwnServer;
  let current: OwnServer;
  let proxy: Proxy;

  beforeAll(async () => {
    primary = await OwnServer.start();
    current = primary;
    proxy = await startProxy(() => current.socket);
  });

  afterAll(async () => {
    await proxy.stop();
    await primary.remove();
    await standby.remove();
  });

  it('is neither written nor read before it is the primary, and then the node starts over', async () => {
    await askDatabase({ url: primary.url('postgres') }, 'create database deskbell');
    const first = await openNode(primary.url('deskbell'));
    await write(first, 'kept');
    await first.store.write({ organization: 'o' }, async (tx) => tx.configurationChanged('o'));
    await first.close();
    await primary.stop();
    standby = await primary.copyAsStandby();
    await primary.start();

    const node = await openNode(`postgres://postgres@127.0.0.1:${proxy.port}/deskbell`);
    const heard = hear(node);
    for (const name of ['lost 1', 'lost 2', 'lost 3']) await write(node, name);
    await node.store.write({ organization: 'o' }, async (tx) => tx.configurationChanged('o'));
    const epoch = await node.store.freshConfiguration();
    await eventually(() => expect(heard.flatMap(({ events }) => events)).toHaveLength(3));
    expect(heard.some(({ lost }) => lost === true)).toBe(false);

    await primary.stop('SIGKILL');
    current = standby;
    proxy.cutAll();
    for (let round = 0; round < 3; round += 1) {
      await expect(readMeta(node, 'key_check')).rejects.toBeInstanceOf(StoreUnavailableError);
      await expect(write(node, 'refused')).rejects.toBeInstanceOf(StoreUnavailableError);
      await expect(node.store.freshConfiguration()).rejects.toBeInstanceOf(StoreUnavailableError);
    }
    await askDatabase({ url: standby.url('postgres') }, 'select pg_promote()');
    await eventually(() => write(node, 'after 1'));
    await eventually(() => expect(heard.filter(({ lost }) => lost === true)).toHaveLength(1));
    expect(heard.find(({ lost }) => lost === true)?.configuration).toBe('all');
    heard.length = 0;
    await write(node, 'after 2');
    await eventually(() =>
      expect(heard.flatMap(({ events }) => events).at(-1)?.conversation_id).toBe('after 2'),
    );
    // As many changes as were known before, and other ones: what was looked up under them is stale.
    await node.store.write({ organization: 'o' }, async (tx) => tx.configurationChanged('o'));
    expect(await node.store.freshConfiguration()).toBeGreaterThan(epoch);
    const seen = await node.store.write('server:x', (tx) => Promise.resolve(tx.configurationEpoch()));
    expect(seen).toBe(await node.store.freshConfiguration());
  });
});

describe('on the server of the run', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createMigratedDatabase();
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.close()));
    await database.remove();
  });
  const beside = (text: string): Promise<Record<string, unknown>[]> => askDatabase(database, text);
  const setForAll = (setting: string): Promise<unknown> =>
    beside(`do $$ begin execute format('alter database %I set ${setting}', current_database()); end $$`);
  const endConnections = (): Promise<unknown> =>
    beside(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name like 'deskbell%' and datname = current_database()`);

  it('a log that was written anew up to the same number is known as another', async () => {
    const node = await openNode(database.url);
    for (const name of ['1', '2']) await write(node, name);
    const heard = hear(node);
    await beside("update events set conversation_id = 'another' where seq = 2");
    await endConnections();
    await eventually(() => expect(heard.map(({ lost }) => lost)).toContain(true));
    heard.length = 0;
    await endConnections();
    await eventually(() => write(node, '3'));
    // The same log as before: nothing was lost.
    expect(heard.map(({ lost }) => lost)).not.toContain(true);
  });

  it('a database that turns read-only is an outage, over as soon as it is written again', async () => {
    const node = await openNode(database.url);
    await setForAll('default_transaction_read_only = on');
    await endConnections();
    await eventually(() => expect(write(node, 'x')).rejects.toBeInstanceOf(StoreUnavailableError));
    const link = await Link.open({ url: database.url, name: 'beside', durable: true, patient: true });
    await link.query({ text: 'set default_transaction_read_only = off' });
    await link.query({
      text: `do $$ begin
        execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
    });
    await link.close();
    // The connection that could only read is given up.
    await eventually(() => write(node, 'x'));
  });

  it('a read that is refused takes no other of its turn with it', async () => {
    const node = await openNode(database.url);
    const outcomes = await Promise.allSettled([
      readMeta(node, 'key_check'),
      // PostgreSQL takes no U+0000, not even to compare with.
      readMeta(node, '\0'),
      readMeta(node, 'key_check'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).not.toMatchObject({ reason: { name: 'StoreUnavailableError' } });
  });

  it('what waits for too long is told that it may succeed later', async () => {
    const node = await openNode(database.url);
    const blocker = await Link.open({ url: database.url, name: 'blocker', durable: true, patient: true });
    await blocker.query({ text: 'begin' });
    await blocker.query({ text: 'lock table meta, seats in access exclusive mode' });
    const cancelled = readMeta(node, 'x').catch((error: unknown) => error);
    await eventually(async () =>
      expect(
        await beside(`select pg_cancel_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'deskbell%' and wait_event_type = 'Lock' and query like '%meta%'`),
      ).not.toEqual([]),
    );
    expect(await cancelled).toBeInstanceOf(StoreUnavailableError);
    await expect(node.store.freshConfiguration()).rejects.toBeInstanceOf(StoreUnavailableError);
    // Longer than a lock is waited for, and than it is tried again.
    await expect(node.seats.take([{ key: 'k', most: 1 }])).rejects.toBeInstanceOf(StoreUnavailableError);
    await blocker.query({ text: 'commit' });
    await blocker.close();
    expect(await eventually(() => node.seats.take([{ key: 'k', most: 1 }]))).toBeTypeOf('function');
  });

  it('what was removed is cleared, but for what an open transaction may read', async () => {
    const node = await openNode(database.url);
    await node.store.write('server', ({ repositories }) => repositories.meta.set('gone', 'CANARY'));
    const reader = await Link.open({ url: database.url, name: 'reader', durable: true, patient: true });
    await reader.query({ text: 'begin isolation level repeatable read' });
    await reader.query({ text: 'select count(*) from meta' });
    await beside("delete from meta where key = 'gone'");
    expect(await node.maintenance.clearRemoved()).toBe(false);
    await reader.query({ text: 'commit' });
    await reader.close();
    expect(await node.maintenance.clearRemoved()).toBe(true);
  });

  it('what was removed is cleared later, where another holds a table for long', async () => {
    const node = await openNode(database.url);
    const analyst = await Link.open({ url: database.url, name: 'analyst', durable: true, patient: true });
    await analyst.query({ text: 'begin' });
    await analyst.query({ text: 'lock table messages in share update exclusive mode' });
    expect(await node.maintenance.clearRemoved()).toBe(false);
    await analyst.query({ text: 'commit' });
    await analyst.close();
    expect(await node.maintenance.clearRemoved()).toBe(true);
  });

  it('limits count by the database’s clock, whatever the nodes’ own clocks show', async () => {
    const one = await openNode(database.url);
    const ahead = await openNode(database.url);
    const checks = [{ key: 'k', windows: [{ limit: 2, windowMs: 600_000 }] }];
    expect(await one.limiter.take(checks)).toEqual({ ok: true });
    const now = Date.now.bind(Date);
    const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    try {
      expect(await ahead.limiter.take(checks)).toEqual({ ok: true });
    } finally {
      spy.mockRestore();
    }
    for (const node of [ahead, one]) {
      const verdict = await node.limiter.take(checks);
      expect(verdict).toMatchObject({ ok: false });
      if (!verdict.ok) expect(verdict.retryAfterMs).toBeLessThanOrEqual(600_000);
    }
  });

  it('a job that is still ending is not begun beside itself', async () => {
    const node = await openNode(database.url);
    const ending = Promise.withResolvers<void>();
    const said: string[] = [];
    node.jobs.whileLeading(() => {
      said.push('starts');
      return async () => {
        said.push('stops');
        await ending.promise;
        said.push('ended');
      };
    });
    await endConnections();
    await eventually(() => expect(said).toContain('stops'));
    await eventually(async () =>
      expect(await nodesOf(database.url)).toMatchObject([{ leads: true, connected: true }]),
    );
    expect(said).toEqual(['starts', 'stops']);
    ending.resolve();
    await eventually(() => expect(said).toEqual(['starts', 'stops', 'ended', 'starts']));
  });

  it('a node that begins anew keeps what it tells, though others had just missed it', async () => {
    await beside(`insert into nodes (id, lock, host, version, schema, leads, seen_at)
      values ('back', 1, 'h', 'v', 1, false, now() - interval '6 seconds')`);
    await beside("insert into seats values ('back', 'k', 1)");
    const holder = await Link.open({ url: database.url, name: 'holder', durable: true, patient: true });
    await holder.query({ text: 'begin' });
    // It enters with another lock, and has not committed when it is found to be gone.
    await holder.query({ text: "update nodes set lock = 2, seen_at = now() where id = 'back'" });
    const other = await openNode(database.url);
    await eventually(async () =>
      expect(
        await beside(`select from pg_stat_activity where query like 'with gone as%' and wait_event_type = 'Lock'
          and datname = current_database()`),
      ).toHaveLength(1),
    );
    await holder.query({ text: 'commit' });
    await holder.close();
    await eventually(async () =>
      expect(await nodesOf(database.url)).toMatchObject([{ id: 'back' }, { id: other.nodeId }]),
    );
    expect(await other.seats.take([{ key: 'k', most: 1 }])).toEqual({ full: 0 });
  });
});

describe('a database that has no more connections', () => {
  it('leaves a node the use of those that it has', async () => {
    const database = await createMigratedDatabase();
    try {
      const node = await openNode(database.url);
      const begin = (work: () => Promise<void>): Promise<void> => node.store.write('server:one', work);
      await begin(async () => undefined);
      const refused = Promise.withResolvers<never>();
      const spy = vi.spyOn(Link, 'open').mockReturnValue(refused.promise);
      const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const busy = begin(() => {
        begun.resolve();
        return over.promise;
      });
      await begun.promise;
      // It needs another connection, and hears that there is none after the one that is there has become free.
      const another = begin(async () => undefined);
      await eventually(() => expect(spy).toHaveBeenCalled(), 20_000);
      over.resolve();
      await busy;
      refused.reject(new StoreUnavailableError('sorry, too many clients already'));
      await expect(another).rejects.toThrow(StoreUnavailableError);
      for (let later = 0; later < 3; later += 1) await begin(async () => undefined);
      spy.mockRestore();
    } finally {
      vi.restoreAllMocks();
      await Promise.all(nodes.splice(0).map((node) => node.close()));
      await database.remove();
    }
  });

  it('leaves it those that it reads by, too', async () => {
    const database = await createMigratedDatabase();
    const over = Promise.withResolvers<void>();
    try {
      const { store } = await openNode(database.url);
      const begun = Promise.withResolvers<void>();
      const busy = store.read(() => {
        begun.resolve();
        return over.promise;
      });
      await begun.promise;
      const refused = Promise.withResolvers<never>();
      const spy = vi.spyOn(Link, 'open').mockReturnValue(refused.promise);
      const another = store.read(async () => undefined);
      await eventually(() => expect(spy).toHaveBeenCalled(), 20_000);
      over.resolve();
      await busy;
      spy.mockRestore();
      // The connection that is there is free before the other one is heard of.
      await eventually(async () =>
        expect(
          await askDatabase(
            database,
            "select 1 from pg_stat_activity where application_name like 'deskbell %' and state = 'idle in transaction'",
          ),
        ).toEqual([]),
      );
      vi.spyOn(Link, 'open').mockRejectedValue(new StoreUnavailableError('sorry, too many clients already'));
      refused.reject(new StoreUnavailableError('sorry, too many clients already'));
      await expect(another).rejects.toThrow(StoreUnavailableError);
      await eventually(() => store.read(async () => undefined), 20_000);
    } finally {
      over.resolve();
      vi.restoreAllMocks();
      await Promise.all(nodes.splice(0).map((node) => node.close()));
      await database.remove();
    }
  });
});

describe('a node that does not reach its database', () => {
  it('says so once it has lasted 15 s, once for each time', async () => {
    const database = await createMigratedDatabase();
    const { searchParams, pathname } = new URL(database.url.replace('@/', '@x/'));
    const proxy = await startProxy(() => `${searchParams.get('host')}/.s.PGSQL.5432`);
    const clock = createTestClock();
    try {
      const node = await openNode(`postgres://postgres@127.0.0.1:${proxy.port}${pathname}`, clock);
      const heard = hear(node);
      const cutOffs = (): number => heard.filter(({ cutOff }) => cutOff === true).length;
      for (const times of [1, 2]) {
        const since = clock.monotonic();
        proxy.refuse(true);
        proxy.cutAll();
        await eventually(() => {
          clock.advance(500);
          if (clock.monotonic() - since < 15_000) expect(cutOffs()).toBe(times - 1);
          expect(cutOffs()).toBe(times);
        });
        for (let more = 0; more < 40; more += 1) {
          clock.advance(1_000);
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect(cutOffs()).toBe(times);
        proxy.refuse(false);
        // No time passes: it is lost again before the node has looked for it.
        await eventually(() => write(node, `back ${times}`));
        await eventually(() => {
          expect(heard.flatMap(({ events }) => events).at(-1)?.conversation_id).toBe(`back ${times}`);
        });
      }
    } finally {
      await Promise.all(nodes.splice(0).map((node) => node.close()));
      await proxy.stop();
      await database.remove();
    }
  });

  it('says so in its log, once, and when it is over, and sends its clients to another', async () => {
    const database = await createMigratedDatabase();
    const { searchParams, pathname } = new URL(database.url.replace('@/', '@x/'));
    const proxy = await startProxy(() => `${searchParams.get('host')}/.s.PGSQL.5432`);
    const app = await startApp({
      engine: 'postgres',
      environment: { DESKBELL_DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}${pathname}` },
    });
    try {
      const { application } = await createOrganization(app, 'acme');
      const socket = await createVisitor(app, application).connect();
      let closed: number | null = null;
      void socket.waitForClose().then(({ code }) => (closed = code));
      // What the making of the organization has set off is over.
      await eventually(async () => {
        app.clock.advance(1_000);
        expect(await app.service.engine.store.freshConfiguration()).toBeGreaterThan(0);
        expect(app.clock.monotonic()).toBeGreaterThan(5_000);
      });
      proxy.refuse(true);
      proxy.cutAll();
      await eventually(() => {
        app.clock.advance(500);
        expect(closed).toBe(1001);
      });
      const said = (text: string): string[] => app.logged.filter((line) => line.includes(text));
      expect(said('the database can’t be used')).toHaveLength(1);
      expect(said('the database can’t be used')[0]).toMatch(
        /"level":"error".*"why":"[^"]+".*deskbell doctor/,
      );
      expect(said('the database can be used again')).toEqual([]);
      proxy.refuse(false);
      await eventually(() => {
        app.clock.advance(500);
        expect(said('the database can be used again')).toHaveLength(1);
      });
    } finally {
      proxy.refuse(false);
      await app.stop();
      await proxy.stop();
      await database.remove();
    }
  });
});

describe('a node whose connections die without a word', () => {
  it('leads no more, and another does within seconds', async () => {
    const database = await createMigratedDatabase();
    const { searchParams, pathname } = new URL(database.url.replace('@/', '@x/'));
    const proxy = await startProxy(() => `${searchParams.get('host')}/.s.PGSQL.5432`);
    try {
      const running: string[] = [];
      const join = (node: Engine, name: string): void =>
        void node.jobs.whileLeading(() => {
          running.push(name);
          return () => void running.splice(running.indexOf(name), 1);
        });
      join(await openNode(`postgres://postgres@127.0.0.1:${proxy.port}${pathname}`), 'cut off');
      join(await openNode(database.url), 'other');
      expect(running).toEqual(['cut off']);
      // Nothing passes, and nothing is closed.
      const release = proxy.hold();
      const began = performance.now();
      await eventually(() => expect(running).toEqual(['other']), 60_000);
      // What was said before it begins is heard of before the lead moves.
      expect(performance.now() - began).toBeLessThan(60_000);
      release();
    } finally {
      await Promise.all(nodes.splice(0).map((node) => node.close()));
      await proxy.stop();
      await database.remove();
    }
  });
});
