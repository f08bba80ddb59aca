// The contract of engine.ts, once for the engine as it is and once behind the hostile wrapper. What is tested here holds
// for every engine; what only SQLite promises is in store.test.ts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CommittedEvent, CommitNotice, Engine, NewEvent, Tx } from '../../src/engine/engine.ts';
import { contractEngines, openContractEngine } from '../helpers/contract-engines.ts';
import { releasedEvent } from '../helpers/engine-events.ts';
import { eventually } from '../helpers/eventually.ts';
import { createHostileEngine } from '../helpers/hostile-engine.ts';

let engine: Engine;

const event = (name: string): NewEvent => ({ ...releasedEvent(name), originConnectionId: `node:${name}` });

const put = (key: string) => (tx: Tx) => tx.repositories.meta.set(key, key);
const get = (key: string): Promise<string | undefined> =>
  engine.store.read(({ repositories }) => repositories.meta.get(key));
const scopeOf = (name: string) => ({ organization: 'o', part: `conversation:${name}` }) as const;

describe.each(contractEngines)('%s', (_name, open) => {
  let remove: () => Promise<void>;

  beforeEach(async () => {
    ({ engine, remove } = await open());
  });

  afterEach(() => remove());

  /** What subscribers hear from now on. */
  function hear(): { notices: CommitNotice[]; events: () => CommittedEvent[] } {
    const notices: CommitNotice[] = [];
    engine.store.subscribe((notice) => notices.push(notice));
    return { notices, events: () => notices.flatMap((notice) => notice.events) };
  }

  describe('a write', () => {
    it('is seen by every read that begins after it was answered', async () => {
      await engine.store.write('server', put('a'));
      expect(await get('a')).toBe('a');
      expect(await engine.store.readAlone(({ repositories }) => repositories.meta.get('a'))).toBe('a');
    });

    it('is all or nothing, and spares the writes beside it', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 12 }, (_, index) =>
          engine.store.write(scopeOf(`c${index}`), async (tx) => {
            await put(`k${index}`)(tx);
            if (index % 3 === 0) throw new Error(`no ${index}`);
            return index;
          }),
        ),
      );
      for (const [index, outcome] of outcomes.entries()) {
        expect(outcome).toEqual(
          index % 3 === 0
            ? { status: 'rejected', reason: new Error(`no ${index}`) }
            : { status: 'fulfilled', value: index },
        );
        expect(await get(`k${index}`)).toBe(index % 3 === 0 ? undefined : `k${index}`);
      }
    });

    it('counts once, however often its work runs', async () => {
      await engine.store.write('server', ({ repositories }) => repositories.meta.set('count', '0'));
      await Promise.all(
        Array.from({ length: 20 }, () =>
          engine.store.write('server:count', async ({ repositories: { meta } }) => {
            const before = Number(await meta.get('count'));
            await meta.set('count', String(before + 1));
          }),
        ),
      );
      expect(await get('count')).toBe('20');
    });

    it('loses no update of another one to the same scope', async () => {
      await engine.store.write('server', ({ repositories }) => repositories.meta.set('list', ''));
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          engine.store.write([scopeOf('one'), scopeOf('two')], async ({ repositories: { meta } }) => {
            const before = (await meta.get('list')) ?? '';
            return meta.replace('list', before, `${before}${index}`);
          }),
        ),
      );
      expect(answers).toEqual(Array.from({ length: 10 }, () => 1));
      expect((await get('list'))?.split('').toSorted().join('')).toBe('0123456789');
    });
  });

  it('alone runs its work once, which may wait for something else while reads go on', async () => {
    let runs = 0;
    const release = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const done = engine.store.alone('server', async (tx) => {
      runs += 1;
      await put('alone')(tx);
      began.resolve();
      await release.promise;
    });
    await began.promise;
    expect(await get('alone')).toBeUndefined();
    release.resolve();
    await done;
    expect([runs, await get('alone')]).toEqual([1, 'alone']);
  });

  it('a read sees one snapshot, also one that waits', async () => {
    const seen = await engine.store.readAlone(async ({ repositories }) => {
      const before = await repositories.meta.get('late');
      await engine.store.write('server', put('late'));
      return [before, await get('late'), await repositories.meta.get('late')];
    });
    expect(seen).toEqual([undefined, 'late', undefined]);
  });

  describe('notices', () => {
    it('have each committed event once, in the order of the log, as it was handed in', async () => {
      const { events } = hear();
      await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) =>
          engine.store.write([scopeOf(`e${index}`), scopeOf(`e${index}b`)], async (tx) => {
            await tx.emit(event(`e${index}`));
            if (index % 7 === 0) throw new Error('no');
            if (index % 5 === 0) await tx.emit(event(`e${index}b`));
          }),
        ),
      );
      const rows = await engine.store.read(({ repositories }) => repositories.events.after(0, 1_000));
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
      await eventually(() => expect(events().length).toBeGreaterThanOrEqual(rows.length));
      expect(events()).toEqual(
        rows.map((row) => ({
          ...row,
          own: true,
          payload: { name: row.conversation_id },
          activity: undefined,
          originConnectionId: `node:${row.conversation_id}`,
        })),
      );
    });

    it('say whose configuration changed, and nothing of what was rolled back', async () => {
      const { notices } = hear();
      await engine.store
        .write('server', async (tx) => {
          await put('x')(tx);
          tx.configurationChanged('refused');
          throw new Error('no');
        })
        .catch(() => undefined);
      await engine.store.write('server', async (tx) => tx.configurationChanged('acme'));
      await eventually(() => expect(notices.some(({ configuration }) => configuration !== null)).toBe(true));
      const named = notices.flatMap(({ configuration }) =>
        configuration === null ? [] : configuration === 'all' ? ['all'] : [...configuration],
      );
      expect(named).toEqual(['acme']);
    });

    it('end with the subscription', async () => {
      const names: string[] = [];
      const stop = engine.store.subscribe(({ events }) => {
        for (const one of events) names.push(one.conversation_id);
      });
      await engine.store.write('server', (tx) => tx.emit(event('one')));
      await eventually(() => expect(names).toEqual(['one']));
      stop();
      const { events } = hear();
      await engine.store.write('server', (tx) => tx.emit(event('two')));
      await eventually(() => expect(events()).toHaveLength(1));
      expect(names).toEqual(['one']);
    });
  });

  it('the number of the configuration has risen when a change was answered', async () => {
    for (let round = 0; round < 5; round += 1) {
      const before = await engine.store.freshConfiguration();
      await engine.store.write('server', async (tx) => tx.configurationChanged('acme'));
      expect(await engine.store.freshConfiguration()).toBeGreaterThan(before);
    }
  });

  it('the limiter never lets more through than the limit, however many ask at once', async () => {
    const checks = [{ key: 'k', windows: [{ limit: 5, windowMs: 3_600_000 }] }];
    const verdicts = await Promise.all(Array.from({ length: 12 }, async () => engine.limiter.take(checks)));
    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(5);
    expect(await engine.limiter.peek(checks)).toMatchObject({ ok: false, failed: 0 });
  });

  it('seats are as many as there are, and free again when given back', async () => {
    const wanted = [{ key: 'a', most: 2 }];
    const taken = await Promise.all(Array.from({ length: 4 }, () => engine.seats.take(wanted)));
    const held = taken.filter((seat) => typeof seat === 'function');
    expect(held).toHaveLength(2);
    held[0]?.();
    held[0]?.();
    expect(await engine.seats.take(wanted)).toBeTypeOf('function');
    expect(await engine.seats.take(wanted)).toEqual({ full: 0 });
  });

  it('presence tells of the first connection and the last, in order, and knows who is there', async () => {
    const heard: [string, boolean][] = [];
    engine.presence.subscribe((organization, online) => heard.push([organization, online]));
    engine.presence.join('o', 'ann', '1');
    engine.presence.join('o', 'bob', '2');
    expect(await engine.presence.present(['ann', 'bob', 'cy'])).toEqual(new Set(['ann', 'bob']));
    expect([await engine.presence.online('o'), await engine.presence.memberCount()]).toEqual([true, 2]);
    engine.presence.leave('o', 'ann', '1');
    engine.presence.leave('o', 'bob', '2');
    await eventually(() =>
      expect(heard).toEqual([
        ['o', true],
        ['o', false],
      ]),
    );
    expect(await engine.presence.online('o')).toBe(false);
    expect(await engine.presence.awayMs('ann')).toBeGreaterThanOrEqual(0);
  });

  it('signals reach every subscriber, the sender too', async () => {
    const heard: string[] = [];
    engine.signals.subscribe((signal) => heard.push(signal.type === 'typing' ? signal.userId : ''));
    engine.signals.subscribe((signal) => heard.push(signal.type === 'typing' ? signal.userId : ''));
    engine.signals.send({
      type: 'typing',
      organizationId: 'o',
      conversationId: 'c',
      userId: 'ann',
      userName: 'Ann',
      senderRole: 'operator',
      active: true,
    });
    await eventually(() => expect(heard).toEqual(['ann', 'ann']));
  });

  it('a job runs while the node leads, and has ended when its end was answered', async () => {
    const started = Promise.withResolvers<void>();
    let running = false;
    const end = engine.jobs.whileLeading(() => {
      running = true;
      started.resolve();
      return async () => {
        await new Promise((resolve) => setImmediate(resolve));
        running = false;
      };
    });
    await started.promise;
    expect(running).toBe(true);
    await end();
    expect(running).toBe(false);
  });

  it('its id is short, and no other node has it', async () => {
    expect(engine.nodeId).toMatch(/^[0-9a-z]{4,16}$/);
  });
});

it('the hostile wrapper refuses a write outside of its scope', async () => {
  const { engine: hostile, remove } = await openContractEngine((inner) => createHostileEngine(inner, 1));
  const { store } = hostile;
  const attempts = [scopeOf('other'), { organization: 'other' }, 'server:thing'] as const;
  for (const scope of attempts)
    await expect(store.write(scope, (tx) => tx.emit(event('one')))).rejects.toThrow('outside of the scope');
  await store.write(scopeOf('one'), (tx) => tx.emit(event('one')));
  await store.write({ organization: 'o' }, (tx) => tx.emit(event('two')));
  await remove();
});
