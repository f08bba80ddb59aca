// What only PostgreSQL's engine promises: several nodes on one database write one log without a gap, hear of each other,
// and lose nothing that they have acknowledged when a connection ends.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import {
  StoreUnavailableError,
  type CommittedEvent,
  type Engine,
  type Scope,
} from '../../src/engine/engine.ts';
import { EngineError } from '../../src/engine/open-errors.ts';
import { createHistogram } from '../../src/engine/histogram.ts';
import { Lane } from '../../src/engine/postgres/lane.ts';
import { Link } from '../../src/engine/postgres/link.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres.ts';
import { locksOf } from '../../src/engine/postgres/scopes.ts';
import { createMigratedDatabase } from '../helpers/contract-engines.ts';
import { eventually } from '../helpers/eventually.ts';
import { createTestClock } from '../helpers/clock.ts';
import type { TestDatabase } from '../helpers/postgres.ts';
import { releasedEvent } from '../helpers/engine-events.ts';

let database: TestDatabase;
let nodes: Engine[];

const openNode = (keyCheck = 'key', clock = createSystemClock()): Promise<Engine> =>
  openPostgresEngine({
    url: database.url,
    durability: 'normal',
    clock,
    keyCheck,
    as: 'server',
    version: '0',
    connections: 3,
  });

beforeEach(async () => {
  database = await createMigratedDatabase();
  nodes = [await openNode(), await openNode()];
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await database.remove();
});

const partOf = (name: string): Scope => ({ organization: 'o', part: `conversation:${name}` });

function hear(node: Engine): CommittedEvent[] {
  const heard: CommittedEvent[] = [];
  node.store.subscribe(({ events }) => heard.push(...events));
  return heard;
}

/** Runs a statement beside the engines. */
async function beside(text: string): Promise<unknown[]> {
  const link = await Link.open({ url: database.url, name: 'beside', durable: false, patient: true });
  try {
    return (await link.query({ text })).rows;
  } finally {
    await link.close();
  }
}

describe('several nodes on one database', () => {
  it('write one log without a gap, and each tells of all of it once and in order', async () => {
    const heard = nodes.map(hear);
    const writes = 300;
    const answers = await Promise.allSettled(
      Array.from({ length: writes }, async (_, index) => {
        // Spread over turns of the loop, so that several groups are under way at a time on each node.
        await new Promise((resolve) => setTimeout(resolve, index / 10));
        const { store } = nodes[index % nodes.length] ?? expect.unreachable();
        await store.write(partOf(`c${index % 17}`), async (tx) => {
          await tx.repositories.meta.set(`k${index}`, '');
          await tx.emit(releasedEvent(`e${index}`));
          if (index % 50 === 0) throw new Error('no');
        });
      }),
    );
    const kept = answers.filter(({ status }) => status === 'fulfilled').length;
    expect(kept).toBe(writes - writes / 50);
    for (const events of heard) {
      await eventually(() => expect(events).toHaveLength(kept));
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: kept }, (_, index) => index + 1));
      // Own events have their payload, however they were found.
      for (const { own, payload } of events) expect(payload !== undefined).toBe(own);
    }
    expect(heard[0]?.map(({ conversation_id }) => conversation_id)).toEqual(
      heard[1]?.map(({ conversation_id }) => conversation_id),
    );
    expect(heard[0]?.filter(({ own }) => own).length).toBeGreaterThan(0);
  });

  it('exclude each other where their scopes do', async () => {
    const [one, other] = nodes;
    if (one === undefined || other === undefined) return expect.unreachable();
    await one.store.write('server', ({ repositories }) => repositories.meta.set('count', '0'));
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? one : other).store.write(
          index % 10 === 0 ? { organization: 'o' } : partOf('one'),
          async ({ repositories: { meta } }) => {
            const before = Number(await meta.get('count'));
            await meta.set('count', String(before + 1));
          },
        ),
      ),
    );
    expect(await other.store.read(({ repositories }) => repositories.meta.get('count'))).toBe('40');
  });

  it('refuse from the next question on what another has changed', async () => {
    const [one, other] = nodes;
    if (one === undefined || other === undefined) return expect.unreachable();
    const told: unknown[] = [];
    other.store.subscribe(({ configuration }) => configuration !== null && told.push(configuration));
    for (let round = 0; round < 20; round += 1) {
      const before = await other.store.freshConfiguration();
      await one.store.write({ organization: 'o' }, async (tx) => tx.configurationChanged('o'));
      expect(await other.store.freshConfiguration()).toBe(before + 1);
    }
    // Told at least once: what is told again, or of several at once, is asked for once more.
    await eventually(() => expect(told).toContainEqual(new Set(['o'])));
  });

  it('read again what was looked up before, where the change is of the same commit', async () => {
    const [{ store } = expect.unreachable()] = nodes;
    for (let round = 0; round < 10; round += 1) {
      const before = await store.freshConfiguration();
      // Handed over together, they share a transaction; the later one waits for the earlier one's lock.
      const [, late] = await Promise.all([
        store.write({ organization: 'o' }, async (tx) => {
          await tx.repositories.meta.set('changed in', String(round));
          tx.configurationChanged('o');
        }),
        store.write(partOf('one'), async (tx) => ({
          sees: (await tx.repositories.meta.get('changed in')) === String(round),
          epoch: await tx.configurationEpoch(),
        })),
      ]);
      expect(late.sees).toBe(true);
      expect(late.epoch === null || late.epoch > before).toBe(true);
    }
  });

  it('a key that is not the database’s is refused', async () => {
    await expect(openNode('another')).rejects.toBeInstanceOf(EngineError);
  });
});

describe('a change of configuration', () => {
  /** A node that looks at nothing of its own accord, and in order what it tells of: whose configuration, and events. */
  async function openListener() {
    const clock = createTestClock();
    const node = await openNode('key', clock);
    nodes.push(node);
    const told: unknown[] = [];
    node.store.subscribe(({ events, configuration }) => {
      if (configuration !== null) told.push(configuration);
      told.push(...events.map(({ conversation_id }) => conversation_id));
    });
    const cutOff = (): Promise<unknown> =>
      beside(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'deskbell ${node.nodeId}'`,
      );
    return { node, told, clock, cutOff };
  }
  const change = (node: Engine | undefined): Promise<void> | undefined =>
    node?.store.write({ organization: 'o' }, async (tx) => tx.configurationChanged('o'));
  const emit = (node: Engine | undefined, name: string): Promise<void> | undefined =>
    node?.store.write(partOf(name), (tx) => tx.emit(releasedEvent(name)));

  it('that was not heard of is told before the events behind it in the log', async () => {
    const { node, told, cutOff } = await openListener();
    await cutOff();
    await change(nodes[0]);
    await emit(nodes[0], 'after');
    await eventually(async () => {
      await node.store.freshConfiguration();
      expect(told).toContain('after');
    });
    expect(told).toEqual(['all', 'after']);
  });

  it('that was not heard of is told before what the node itself commits behind it', async () => {
    const { node, told, cutOff } = await openListener();
    await cutOff();
    await change(nodes[0]);
    await eventually(() => emit(node, 'own'));
    expect(told).toEqual(['all', 'own']);
  });

  it('that was heard of concerns no one else', async () => {
    const { node, told, clock } = await openListener();
    const one = new Set(['o']);
    for (const heard of [[one], [one, one]]) {
      await change(nodes[0]);
      await eventually(() => expect(told).toEqual(heard));
    }
    await emit(nodes[0], 'after');
    await eventually(() => expect(told).toContain('after'));
    await change(node);
    clock.advance(1_000);
    // It travels behind the look that the node has just begun.
    await node.store.freshConfiguration();
    expect(told).toEqual([one, one, 'after', one]);
  });
});

describe('a transaction that is lost', () => {
  it('is never acknowledged: what COMMIT answers is looked at', async () => {
    const link = await Link.open({ url: database.url, name: 'lane', durable: false });
    const commits: unknown[] = [];
    const lane = new Lane({
      nodeId: 'test',
      clock: createSystemClock(),
      open: () => Promise.resolve(link),
      onCommit: (commit) => commits.push(commit),
      committing: () => undefined,
      numbering: () => (count) => count,
      groupSizes: createHistogram([]),
      commitMs: createHistogram([]),
    });
    const told: string[] = [];
    await lane.runOnce({
      locks: locksOf('server'),
      work: async ({ repositories }) => {
        await repositories.meta.set('kept', 'no');
        // Refused behind the back of the operation: nothing but the answer to COMMIT tells of it.
        await link.query({ text: 'select 1 / 0' }).catch(() => undefined);
        return () => told.push('acknowledged');
      },
      reject: (error) => told.push(String(error)),
    });
    await lane.close();
    expect([told, commits]).toEqual([['Error: The transaction was rolled back.'], []]);
  });

  it('is refused also where its operation hides what the database has refused', async () => {
    const [{ store } = expect.unreachable()] = nodes;
    const refused = store.write('server', async ({ repositories }) => {
      await repositories.meta.set('kept', 'no');
      await repositories.exportImport
        .insert('conversations', ['id'], { id: 'without what it needs' })
        .catch(() => undefined);
    });
    await expect(refused).rejects.toThrow('null value in column');
    expect(await store.read(({ repositories }) => repositories.meta.get('kept'))).toBeUndefined();
  });

  it('takes no other operation with it', async () => {
    const [{ store } = expect.unreachable()] = nodes;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 9 }, (_, index) =>
        store.write(partOf(`c${index}`), async ({ repositories }) => {
          await repositories.meta.set(`k${index}`, 'kept');
          if (index === 4)
            await repositories.exportImport.insert('conversations', ['id'], { id: 'without what it needs' });
        }),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(
      outcomes.map((_, index) => (index === 4 ? 'rejected' : 'fulfilled')),
    );
    const found = await store.read(({ repositories }) =>
      Promise.all(outcomes.map((_, index) => repositories.meta.get(`k${index}`))),
    );
    expect(found).toEqual(outcomes.map((_, index) => (index === 4 ? undefined : 'kept')));
  });

  it('and whose locks another holds, is not waited for by the others of its group', async () => {
    const [{ store } = expect.unreachable()] = nodes;
    const holder = await Link.open({ url: database.url, name: 'holder', durable: false, patient: true });
    await holder.query({ text: 'begin' });
    for (const { id } of locksOf(partOf('held')).slice(-1))
      await holder.query({ text: `select pg_advisory_xact_lock(${id})` });
    let told = false;
    const held = store
      .write(partOf('held'), ({ repositories }) => repositories.meta.set('held', 'kept'))
      .finally(() => (told = true));
    await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        store.write(partOf(`c${index}`), ({ repositories }) => repositories.meta.set(`k${index}`, 'kept')),
      ),
    );
    expect(told).toBe(false);
    await holder.query({ text: 'commit' });
    await holder.close();
    await held;
  });

  it('with all connections ended beside it: callers are told, and the next writes and reads go on', async () => {
    const [one, other] = nodes;
    if (one === undefined || other === undefined) return expect.unreachable();
    const heard = hear(other);
    await one.store.write(partOf('a'), (tx) => tx.emit(releasedEvent('before')));
    for (let round = 0; round < 5; round += 1) {
      const writes = Promise.allSettled(
        Array.from({ length: 20 }, (_, index) =>
          one.store.write(partOf(`c${index}`), (tx) => tx.emit(releasedEvent(`${round} ${index}`))),
        ),
      );
      await beside(
        // The server of the run has databases of other files, too.
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name like 'deskbell%' and datname = current_database()`,
      );
      for (const outcome of await writes)
        if (outcome.status === 'rejected')
          expect(outcome.reason).toMatchObject({ name: 'StoreUnavailableError' });
    }
    await eventually(() => one.store.write(partOf('a'), (tx) => tx.emit(releasedEvent('after'))));
    const rows = await eventually(() =>
      other.store.read(({ repositories }) => repositories.events.after(0, 1_000)),
    );
    expect(rows.at(-1)?.conversation_id).toBe('after');
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
    // The other node did not hear of it either: it finds what it has missed.
    await eventually(async () => {
      await other.store.freshConfiguration();
      expect(heard.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq));
    });
  });

  it('because its program stands still for long, holds up no one else', async () => {
    const [one = expect.unreachable(), other = expect.unreachable()] = nodes;
    const begun = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    const frozen = one.store
      .alone('server', async (tx) => {
        await tx.repositories.meta.set('frozen', 'kept');
        begun.resolve();
        await goesOn.promise;
        return tx.repositories.meta.set('frozen', 'kept');
      })
      .catch((error: unknown) => error);
    await begun.promise;
    try {
      await eventually(() => other.store.write(partOf('a'), (tx) => tx.emit(releasedEvent('after'))), 60_000);
    } finally {
      goesOn.resolve();
    }
    expect(await frozen).toBeInstanceOf(StoreUnavailableError);
    expect(await other.store.read(({ repositories }) => repositories.meta.get('frozen'))).toBeUndefined();
  });
});

describe('scopes', () => {
  it('are taken from the wide to the narrow, the wide ones shared', () => {
    const [server, organization, part] = locksOf(partOf('c'));
    expect([server?.exclusive, organization?.exclusive, part?.exclusive]).toEqual([false, false, true]);
    expect(locksOf({ organization: 'o' })).toEqual([server, { id: organization?.id, exclusive: true }]);
    expect(locksOf('server')).toEqual([{ id: server?.id, exclusive: true }]);
    expect(locksOf('server:thing')[0]).toEqual(server);
    const several = locksOf([partOf('d'), partOf('c'), { organization: 'o' }]).map(({ id }) => id);
    expect(several).toEqual(several.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(several).toHaveLength(4);
  });
});
