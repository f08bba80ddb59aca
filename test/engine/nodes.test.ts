// What several nodes on one PostgreSQL database promise together: limits, places, presence, signals and the lead belong
// to all of them, and a node that has ended or frozen holds nothing for long.
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { logLock } from '../../migrations/columns.ts';
import { createSystemClock } from '../../src/engine/clock.ts';
import type { Clock, CommittedEvent, Engine, LimitVerdict, Signal } from '../../src/engine/engine.ts';
import { Link } from '../../src/engine/postgres/link.ts';
import { migrateDatabaseUrl } from '../../src/engine/open-engine.ts';
import { newestSchema } from '../../src/engine/postgres/migrate.ts';
import { inspectPostgres, nodesOf } from '../../src/engine/postgres/inspect.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres.ts';
import { createTestClock } from '../helpers/clock.ts';
import { createMigratedDatabase } from '../helpers/contract-engines.ts';
import { releasedEvent } from '../helpers/engine-events.ts';
import { eventually } from '../helpers/eventually.ts';
import { askDatabase, createDatabase, type TestDatabase } from '../helpers/postgres.ts';
import { migratePostgres } from '../helpers/migrate-postgres.ts';

let database: TestDatabase;
let nodes: Engine[];

async function openNode(clock: Clock = createSystemClock()): Promise<Engine> {
  const node = await openPostgresEngine({
    url: database.url,
    durability: 'normal',
    clock,
    keyCheck: 'key',
    as: 'server',
    version: '1.2.3',
    connections: 2,
    beatMs: 20,
  });
  nodes.push(node);
  return node;
}

beforeEach(async () => {
  database = await createMigratedDatabase();
  nodes = [];
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await database.remove();
});

const beside = (text: string): Promise<Record<string, unknown>[]> => askDatabase(database, text);

/** Ends the connection by which a node is a node, as a loss of its network does. */
const cutOff = (): Promise<unknown> =>
  beside(
    `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())`,
  );

describe('limits', () => {
  it('hold for all nodes together, and a refusal says when the next use is free', async () => {
    const all = await Promise.all([openNode(), openNode(), openNode()]);
    const checks = [
      { key: 'visitor', windows: [{ limit: 10, windowMs: 3_600_000 }] },
      { key: 'application', windows: [{ limit: 1_000, windowMs: 3_600_000 }] },
    ];
    const verdicts: LimitVerdict[] = await Promise.all(
      Array.from(
        { length: 60 },
        async (_, index) => all[index % 3]?.limiter.take(checks) ?? expect.unreachable(),
      ),
    );
    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(10);
    for (const node of all) {
      const verdict = await node.limiter.peek(checks);
      if (verdict.ok) return expect.unreachable();
      expect([verdict.failed, verdict.window.limit]).toEqual([0, 10]);
      expect(verdict.retryAfterMs).toBeGreaterThan(3_500_000);
      expect(verdict.retryAfterMs).toBeLessThanOrEqual(3_600_000);
    }
    // What was refused counts nowhere.
    const [row] = await beside("select uses from limits where key = 'application'");
    expect(
      JSON.parse(String(row?.['uses']))[0][2].reduce((sum: number, [, n]: number[]) => sum + (n ?? 0), 0),
    ).toBe(10);
  });

  it('count keys that are new at several nodes at once, in any order, each use once', async () => {
    const all = await Promise.all([openNode(), openNode(), openNode()]);
    const keys = Array.from({ length: 24 }, (_, index) => `key ${index}`);
    const windows = [{ limit: 1_000, windowMs: 3_600_000 }];
    const wanted = new Map(keys.map((key) => [key, 0]));
    const takes = Array.from({ length: 120 }, async (_, index) => {
      // Two that follow each other have some keys in common, which the one names forwards and the other backwards.
      const some = [0, 1, 2, 3].map((step) => keys[(index * 5 + step * (index % 7)) % keys.length] ?? '');
      const named = [...new Set(index % 2 === 0 ? some : some.toReversed())];
      for (const key of named) wanted.set(key, (wanted.get(key) ?? 0) + 1);
      return all[index % 3]?.limiter.take(named.map((key) => ({ key, windows })));
    });
    expect(new Set(await Promise.all(takes))).toEqual(new Set([{ ok: true }]));
    const rows = await beside('select key, uses from limits');
    const counted = new Map(
      rows.map(({ key, uses }) => {
        const [[, , entries]] = JSON.parse(String(uses)) as [[number, number, [number, number][]]];
        return [key, entries.reduce((sum, [, count]) => sum + count, 0)];
      }),
    );
    expect(counted).toEqual(new Map([...wanted].filter(([, count]) => count > 0)));
  });

  it('change no index, so that a stranger’s open transaction makes no use slower than the one before', async () => {
    await (await openNode()).limiter.take([{ key: 'k', windows: [{ limit: 5, windowMs: 3_600_000 }] }]);
    expect(await beside("select indexdef from pg_indexes where tablename = 'limits'")).toEqual([
      { indexdef: expect.stringMatching(/UNIQUE INDEX .* \(key\)$/) },
    ]);
  });

  it('answer one who asks again as soon as they were answered', async () => {
    const { limiter } = await openNode();
    const checks = [{ key: 'k', windows: [{ limit: 40, windowMs: 3_600_000 }] }];
    // At every distance from the answer, counted in steps of promises.
    for (let steps = 0; steps < 10; steps += 1) {
      await limiter.take(checks);
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      expect(await limiter.take(checks)).toEqual({ ok: true });
    }
  });

  it('are forgotten when nothing of them counts any more', async () => {
    const node = await openNode();
    await node.limiter.take([{ key: 'brief', windows: [{ limit: 5, windowMs: 1 }] }]);
    await eventually(async () => expect(await beside('select key from limits')).toEqual([]));
  });

  it('are forgotten by the clock that counted them, not by the database’s, which may be ahead', async () => {
    const clock = createTestClock(Date.now() - 2 * 86_400_000);
    const node = await openNode(clock);
    const lasting = [{ key: 'lasting', windows: [{ limit: 1, windowMs: 3_600_000 }] }];
    await node.limiter.take(lasting);
    await node.limiter.take([{ key: 'brief', windows: [{ limit: 5, windowMs: 1 }] }]);
    await eventually(async () => {
      clock.advance(20);
      expect(await beside("select key from limits where key = 'brief'")).toEqual([]);
    });
    expect(await node.limiter.take(lasting)).toMatchObject({ ok: false, failed: 0 });
  });
});

describe('places', () => {
  it('are as many as there are over all nodes, and free when a node ends', async () => {
    const [one, other] = [await openNode(), await openNode()];
    const wanted = [
      { key: 'address', most: 100 },
      { key: 'visitor', most: 5 },
    ];
    const taken = await Promise.all(
      Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? one : other).seats.take(wanted)),
    );
    expect(taken.filter((seat) => typeof seat === 'function')).toHaveLength(5);
    expect(taken.filter((seat) => typeof seat !== 'function')).toEqual(Array(11).fill({ full: 1 }));
    // The address has no more than the visitor has.
    expect(await beside("select sum(held) as held from seats where key = 'address'")).toEqual([{ held: 5 }]);
    const held = taken
      .filter((_, index) => index % 2 === 0)
      .filter((seat) => typeof seat === 'function').length;
    await one.close();
    const again = await Promise.all(Array.from({ length: 6 }, () => other.seats.take(wanted)));
    expect(again.filter((seat) => typeof seat === 'function')).toHaveLength(held);
  });

  it('stay held by a node that has lost its connection', async () => {
    const [one, other] = [await openNode(), await openNode()];
    const seat = await one.seats.take([{ key: 'k', most: 1 }]);
    await cutOff();
    await eventually(async () =>
      expect(await other.seats.take([{ key: 'k', most: 1 }])).toEqual({ full: 0 }),
    );
    if (typeof seat === 'function') seat();
    await eventually(async () =>
      expect(await other.seats.take([{ key: 'k', most: 1 }])).toBeTypeOf('function'),
    );
  });
});

describe('presence', () => {
  it('is that of all nodes: the first connection anywhere, and the last', async () => {
    const [one, other] = [await openNode(), await openNode()];
    const heard: [string, boolean][] = [];
    other.presence.subscribe((organization, online) => heard.push([organization, online]));
    one.presence.join('o', 'ann', '1');
    await eventually(() => expect(heard).toEqual([['o', true]]));
    expect([
      await other.presence.online('o'),
      await other.presence.present(['ann', 'bob']),
      await other.presence.memberCount(),
      await other.presence.awayMs('ann'),
    ]).toEqual([true, new Set(['ann']), 1, null]);
    other.presence.join('o', 'ann', '2');
    one.presence.leave('o', 'ann', '1');
    await eventually(async () =>
      expect(await beside('select node, member_id from presence')).toEqual([
        { node: other.nodeId, member_id: 'ann' },
      ]),
    );
    // A node that comes later knows who is there.
    const third = await openNode();
    expect(await third.presence.online('o')).toBe(true);
    expect(await one.presence.awayMs('ann')).toBeNull();
    other.presence.leave('o', 'ann', '2');
    await eventually(async () => expect(await third.presence.online('o')).toBe(false));
    expect(heard).toEqual([
      ['o', true],
      ['o', false],
    ]);
    expect(await third.presence.awayMs('ann')).toBeGreaterThanOrEqual(0);
  });

  it('of a node that ends is over, and of one that is cut off for a moment is not', async () => {
    const [one, other] = [await openNode(), await openNode()];
    one.presence.join('o', 'ann', '1');
    await eventually(async () => expect(await other.presence.online('o')).toBe(true));
    const heard: boolean[] = [];
    other.presence.subscribe((_, online) => heard.push(online));
    const before = await beside('select lock from nodes order by id');
    await cutOff();
    await eventually(async () => {
      const now = await nodesOf(database.url);
      expect(now.map(({ connected }) => connected)).toEqual([true, true]);
      for (const { lock } of await beside('select lock from nodes'))
        expect(before).not.toContainEqual({ lock });
    });
    expect([await other.presence.online('o'), heard]).toEqual([true, []]);
    expect(await beside('select organization_id, member_id from presence')).toEqual([
      { organization_id: 'o', member_id: 'ann' },
    ]);
    await one.close();
    await eventually(() => expect(heard).toEqual([false]));
  });
});

describe('signals', () => {
  it('that are none, from any role of the database, end no node', async () => {
    const [one, other] = await Promise.all([openNode(), openNode()]);
    const heard: unknown[] = [];
    other.signals.subscribe((signal) => heard.push(signal));
    for (const text of ['v1 a b', 'v1 x signal null', 'v1 x signal {', 'x'])
      for (const channel of ['deskbell', 'deskbell_nodes']) await beside(`notify ${channel}, '${text}'`);
    one.signals.send({ type: 'focus', memberId: 'm', connectionId: 'x:1', conversationId: null });
    await eventually(() => expect(heard).toHaveLength(1));
  });

  it('reach all nodes once', async () => {
    const all = await Promise.all([openNode(), openNode(), openNode()]);
    const heard = all.map((node) => {
      const signals: Signal[] = [];
      node.signals.subscribe((signal) => signals.push(signal));
      return signals;
    });
    const signal: Signal = {
      type: 'typing',
      organizationId: 'o',
      conversationId: 'c',
      userId: 'ann',
      userName: 'Änne "A." 🙂\n',
      senderRole: 'operator',
      active: true,
    };
    all[0]?.signals.send(signal);
    all[1]?.signals.send({ type: 'focus', memberId: 'm', connectionId: 'x:1', conversationId: null });
    await eventually(() => {
      for (const signals of heard) expect(signals).toHaveLength(2);
    });
    for (const signals of heard) expect(signals).toContainEqual(signal);
  });
});

describe('the lead', () => {
  it('has one node at a time, another when it ends, and jobs end before that', async () => {
    const running: string[] = [];
    const join = async (name: string): Promise<{ node: Engine; end: () => Promise<void> }> => {
      const node = await openNode();
      const end = node.jobs.whileLeading(() => {
        running.push(name);
        return () => void running.splice(running.indexOf(name), 1);
      });
      return { node, end };
    };
    const first = await join('first');
    expect(running).toEqual(['first']);
    const second = await join('second');
    await join('third');
    expect(running).toEqual(['first']);
    const [leader] = (await nodesOf(database.url)).filter(({ id }) => id === first.node.nodeId);
    expect(leader).toMatchObject({ version: '1.2.3', schema: newestSchema, connected: true });
    await first.node.close();
    await eventually(() => expect(running).toHaveLength(1));
    expect(running).not.toContain('first');
    await second.end();
    await second.node.close();
    await eventually(() => expect(running).toEqual(['third']));
    await eventually(async () =>
      expect((await nodesOf(database.url)).map(({ leads }) => leads)).toEqual([true]),
    );
  });

  it('is lost with the connection, and found again', async () => {
    const node = await openNode();
    const said: string[] = [];
    node.jobs.whileLeading(() => {
      said.push('starts');
      return () => void said.push('ends');
    });
    await cutOff();
    await eventually(() => expect(said).toEqual(['starts', 'ends', 'starts']));
  });
});

describe('a node that is gone', () => {
  it('without a word leaves nothing behind', async () => {
    const node = await openNode();
    const heard: boolean[] = [];
    await beside(`insert into nodes (id, lock, host, version, schema, leads, seen_at)
      values ('dead', 1, 'h', 'v', 1, true, now() - interval '3 seconds')`);
    await beside("insert into presence values ('dead', 'o', 'ann')");
    await beside("insert into seats values ('dead', 'k', 1)");
    node.presence.subscribe((_, online) => heard.push(online));
    // It is missed for a while first: a short loss must not be seen.
    const other = await openNode();
    expect(await other.presence.online('o')).toBe(true);
    expect(await other.seats.take([{ key: 'k', most: 1 }])).toEqual({ full: 0 });
    await beside("update nodes set seen_at = now() - interval '6 seconds' where id = 'dead'");
    await eventually(async () => expect(await other.presence.online('o')).toBe(false));
    expect(await other.seats.take([{ key: 'k', most: 1 }])).toBeTypeOf('function');
    expect((await nodesOf(database.url)).map(({ id }) => id)).not.toContain('dead');
  });

  it('because it has frozen loses its connections, and its locks with them', async () => {
    await openNode();
    const frozen = await Link.open({
      url: database.url,
      name: 'deskbell frozen',
      durable: true,
      patient: true,
    });
    await frozen.query({ text: 'select pg_advisory_lock(1145392971, 7)' });
    await beside(`insert into nodes (id, lock, host, version, schema, leads, seen_at)
      values ('frozen', 7, 'h', 'v', 1, false, now() - interval '11 seconds')`);
    await eventually(() => expect(frozen.lost).toBe(true));
    await eventually(async () =>
      expect((await nodesOf(database.url)).map(({ id }) => id)).not.toContain('frozen'),
    );
    await frozen.close();
  });

  it('for the others though it lives begins anew', async () => {
    const node = await openNode();
    node.presence.join('o', 'ann', '1');
    // In this order: the node looks for its row, and what it tells anew must stay.
    await beside('delete from presence');
    await beside('delete from nodes');
    await eventually(async () =>
      expect(await beside('select node, member_id from presence')).toEqual([
        { node: node.nodeId, member_id: 'ann' },
      ]),
    );
  });
});

describe('what a node tells of the log', () => {
  it('has the payload of its own events also where another’s news comes before the answer to its commit', async () => {
    const [one, other] = [await openNode(), await openNode()];
    const heard: CommittedEvent[] = [];
    one.store.subscribe(({ events }) => heard.push(...events));
    const answered = Promise.withResolvers<void>();
    const query = Reflect.get(Link.prototype, 'query');
    const committed = Promise.withResolvers<void>();
    const looked = Promise.withResolvers<void>();
    const spy = vi.spyOn(Link.prototype, 'query').mockImplementation(async function held(
      this: Link,
      ...given
    ) {
      const answer: unknown = await Reflect.apply(query, this, given);
      if (!heldBack && /from "events" where "seq" >/.test(given[0].text)) looked.resolve();
      if (given[0].name === 'commit' && heldBack) {
        heldBack = false;
        committed.resolve();
        await answered.promise;
      }
      return answer as never;
    });
    let heldBack = true;
    try {
      const mine = one.store.write('server:mine', (tx) => tx.emit(releasedEvent('mine')));
      await committed.promise;
      await other.store.write('server:theirs', (tx) => tx.emit(releasedEvent('theirs')));
      // The news has come, and the log was read, before the node knows of its own commit.
      await looked.promise;
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      answered.resolve();
      await mine;
    } finally {
      answered.resolve();
      spy.mockRestore();
    }
    await eventually(() => expect(heard).toHaveLength(2));
    expect(heard.map(({ own, payload }) => [own, payload])).toEqual([
      [true, { name: 'mine' }],
      [false, undefined],
    ]);
  });
});

describe('a database', () => {
  it('that is empty is made ready by three that begin at once', async () => {
    const empty = await createDatabase();
    const migrated = database;
    database = empty;
    try {
      await Promise.all([openNode(), openNode(), openNode()]);
      expect(await nodesOf(empty.url)).toHaveLength(3);
      await Promise.all(nodes.splice(0).map((node) => node.close()));
    } finally {
      await empty.remove();
      database = migrated;
    }
  });

  it('that is older is left alone while servers run on it', async () => {
    await openNode();
    await beside('delete from schema_migrations where number = (select max(number) from schema_migrations)');
    const refusal = /a server of another version runs on it\. Stop it first; nothing was changed/;
    await expect(openNode()).rejects.toThrow(refusal);
    await expect(migrateDatabaseUrl(database.url)).rejects.toThrow(refusal);
  });

  /** A session that holds the lock of the log, as one that migrates does, until it is told to commit. */
  async function holdLog(): Promise<{ link: Link; commit: () => Promise<void> }> {
    const link = await Link.open({ url: database.url, name: 'migrates', durable: true, patient: true });
    await link.query({ text: 'begin' });
    await link.query({ text: `select pg_advisory_xact_lock(${logLock})` });
    return {
      link,
      commit: async () => {
        await link.query({ text: 'commit' });
        await link.close();
      },
    };
  }

  const untilOneWaits = (): Promise<void> =>
    eventually(async () =>
      expect(
        await beside(`select 1 from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`),
      ).toHaveLength(1),
    );

  it('that was migrated while a node was cut off is not touched by that node', async () => {
    const node = await openNode();
    const touched = (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => 'done',
        (error: unknown) =>
          error instanceof Error && error.cause instanceof Error ? error.cause.message : error,
      );
    await beside(`insert into schema_migrations (number, name) values (${newestSchema + 1}, 'newer')`);
    await beside(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'deskbell %' and datname = current_database()",
    );
    const newer = `The database has schema ${newestSchema + 1}, and this version of deskbell works on ${newestSchema}. Start the version that it was migrated for.`;
    const emit = (): Promise<void> => node.store.write('server', (tx) => tx.emit(releasedEvent('late')));
    await eventually(async () => {
      expect(await touched(emit())).toBe(newer);
      expect(await touched(node.store.read(async () => undefined))).toBe(newer);
      expect(await touched(Promise.resolve(node.seats.take([{ key: 'place', most: 1 }])))).toBe(newer);
    });
    // One that was put back is its own again.
    await beside(`delete from schema_migrations where number > ${newestSchema}`);
    await eventually(emit);
  });

  it('that is being migrated is not joined', async () => {
    const { link, commit } = await holdLog();
    const late = openNode();
    late.catch(() => undefined);
    try {
      await untilOneWaits();
      await link.query({
        text: `insert into schema_migrations (number, name) values (${newestSchema + 1}, 'newer')`,
      });
    } finally {
      await commit();
    }
    await expect(late).rejects.toThrow(/Start the version that it was migrated for|can't be used/);
  });

  it('that a node has joined since is not migrated', async () => {
    await beside('delete from schema_migrations where number = (select max(number) from schema_migrations)');
    const { commit } = await holdLog();
    const migrated = migrateDatabaseUrl(database.url);
    migrated.catch(() => undefined);
    const late = await Link.open({ url: database.url, name: 'late', durable: true, patient: true });
    try {
      await untilOneWaits();
      await late.query({ text: 'select pg_advisory_lock(1145392971, 7)' });
      await late.query({
        text: "insert into nodes (id, lock, host, version, schema, leads) values ('late', 7, 'host', '0', 1, false)",
      });
      await commit();
      await expect(migrated).rejects.toThrow(/a server of another version runs on it/);
    } finally {
      await late.close();
    }
  });

  it('that has no more connections says what to raise', async () => {
    const role = `few_${randomBytes(4).toString('hex')}`;
    await beside(`create role ${role} login connection limit 0`);
    try {
      await expect(inspectPostgres(database.url.replace('postgres@', `${role}@`))).rejects.toThrow(
        /too many connections for role .* A server needs 11 connections and a command 3: raise max_connections/,
      );
    } finally {
      await beside(`drop role ${role}`);
    }
  });

  it('that can’t be reached is named without its password', async () => {
    const wrong = database.url
      .replace('postgres://postgres@', 'postgres://postgres:CANARY@')
      .replace(/test_\w+/, 'no_such');
    const refusal: unknown = await migratePostgres(wrong).catch((error: unknown) => error);
    expect(JSON.stringify(refusal)).not.toContain('CANARY');
    await expect(inspectPostgres(wrong)).rejects.toThrow(
      /no_such can't be used: database "no_such" does not exist/,
    );
    await inspectPostgres(wrong).catch((error: unknown) => expect(String(error)).not.toContain('CANARY'));
  });
});
