// The store's promises, on a real file: group commit, all or nothing, snapshots, order,
// other processes. Rules and transports are not part of this.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import {
  StoreUnavailableError,
  type Clock,
  type CommitNotice,
  type Engine,
  type Tx,
} from '../../src/engine/engine.ts';
import { databaseFile, openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { releasedEvent } from '../helpers/engine-events.ts';
import { eventually } from '../helpers/eventually.ts';
import { openInOtherProcess, type OtherProcess } from '../helpers/process.ts';
import { commitsInLog, watchStatements, type Watch } from '../helpers/storage.ts';

let folder: string;
let engine: Engine;
let clock: Clock;
let watch: Watch;
const others: OtherProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-store-'));
  await prepareFolder(folder);
  watch = watchStatements();
  clock = createSystemClock();
  engine = await openEngine({
    folder,
    durability: 'full',
    clock,
    keyCheck: 'key',
    as: 'server',
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  watch.end();
  for (const otherProcess of others.splice(0)) await otherProcess.close();
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

const file = (): string => databaseFile(folder);

async function openOther(): Promise<OtherProcess> {
  const made = await openInOtherProcess(file());
  others.push(made);
  return made;
}

const put = (key: string) => (tx: Tx) => tx.repositories.meta.set(key, key);
const get = (key: string): Promise<string | undefined> =>
  engine.store.read(({ repositories }) => repositories.meta.get(key));

/** What another connection sees of a key. */
function seenFromOutside(key: string): unknown {
  const other = new Database(file(), { readonly: true });
  try {
    return other.prepare('select value from meta where key = ?').pluck().get(key);
  } finally {
    other.close();
  }
}

/** However slow the machine is, a group takes no time. */
function standStill(): void {
  vi.spyOn(clock, 'monotonic').mockReturnValue(0);
}

describe('group commit', () => {
  beforeEach(standStill);

  it('gives operations that arrive together one commit on disk', async () => {
    await engine.store.write('server', put('before'));
    const before = commitsInLog(`${file()}-wal`);
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => engine.store.write('server', put(`k${index}`))),
    );
    expect(commitsInLog(`${file()}-wal`) - before).toBe(1);
    await engine.store.write('server', put('after'));
    expect(commitsInLog(`${file()}-wal`) - before).toBe(2);
    expect(seenFromOutside('k39')).toBe('k39');
  });

  it.each([
    ['12 that wait are worth a turn of the loop', 12, 0, 'next'],
    ['11 are not', 11, 0, undefined],
    ['nor are 12 that have waited for a millisecond', 12, 1, undefined],
  ])(
    'waits for those of the next turn where many came, and for no others: %s',
    async (_name, many, ms, next) => {
      let now = 0;
      vi.spyOn(clock, 'monotonic').mockImplementation(() => now);
      const write = (key: string): Promise<unknown> => engine.store.write('server', put(key));
      const first = Array.from({ length: many }, (_, index) => write(`k${index}`));
      now += ms;
      const later: Promise<unknown>[] = [];
      setImmediate(() => {
        later.push(write('next'));
        setImmediate(() => later.push(write('after next')));
      });
      await Promise.all(first);
      expect([seenFromOutside('k0'), seenFromOutside('next'), seenFromOutside('after next')]).toEqual([
        'k0',
        next,
        undefined,
      ]);
      await eventually(() => expect(later).toHaveLength(2));
      await Promise.all(later);
      expect(seenFromOutside('after next')).toBe('after next');
    },
  );

  it.each([
    ['as long as more come, where a commit takes long', [12, 1, 1, 1], 15],
    ['until a turn brings none', [12, 1, 0, 1], 13],
    ['until the group is full', [12, 88, 1], 100],
  ])('waits for further turns %s', async (_name, turns, together) => {
    let now = 0;
    const time = vi.spyOn(clock, 'monotonic').mockImplementation(() => (now += 0.1));
    await engine.store.write('server', put('slow'));
    time.mockImplementation(() => now);
    const writes: Promise<unknown>[] = [];
    const arrive = (turn: number): void => {
      for (let index = 0; index < (turns[turn] ?? 0); index += 1)
        writes.push(engine.store.write('server', put(`k${writes.length}`)));
      if (turn + 1 < turns.length) setImmediate(() => arrive(turn + 1));
    };
    arrive(0);
    await writes[0];
    expect([seenFromOutside(`k${together - 1}`), seenFromOutside(`k${together}`)]).toEqual([
      `k${together - 1}`,
      undefined,
    ]);
    await eventually(() => expect(writes).toHaveLength(turns.reduce((sum, many) => sum + many, 0)));
    await Promise.all(writes);
  });

  it('waits for no more turns than a commit takes', async () => {
    let now = 0;
    const time = vi.spyOn(clock, 'monotonic').mockImplementation(() => (now += 0.1));
    await engine.store.write('server', put('slow'));
    time.mockImplementation(() => now);
    const writes: Promise<unknown>[] = [];
    const arrive = (many: number): void => {
      now += 0.2;
      for (let index = 0; index < many; index += 1)
        writes.push(engine.store.write('server', put(`k${writes.length}`)));
      if (writes.length < 16) setImmediate(() => arrive(1));
    };
    arrive(12);
    await writes[0];
    expect([seenFromOutside('k13'), seenFromOutside('k14')]).toEqual(['k13', undefined]);
    await eventually(() => expect(writes).toHaveLength(16));
    await Promise.all(writes);
  });

  it('bounds a group, so that one commit never holds the loop for long', async () => {
    const before = commitsInLog(`${file()}-wal`);
    await Promise.all(
      Array.from({ length: 250 }, (_, index) => engine.store.write('server', put(`k${index}`))),
    );
    expect(commitsInLog(`${file()}-wal`) - before).toBe(3);
  });

  it('ends a group after 15 ms, in the middle of those that arrived together; order and answers stay', async () => {
    let now = 0;
    vi.spyOn(clock, 'monotonic').mockImplementation(() => now);
    const before = commitsInLog(`${file()}-wal`);
    const order: number[] = [];
    const slow = (index: number) => async (tx: Tx) => {
      now += 4;
      order.push(index);
      await put(`k${index}`)(tx);
      if (index === 5) throw new Error('no');
      return index;
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => engine.store.write('server', slow(index))),
    );
    expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : one.status))).toEqual([
      0,
      1,
      2,
      3,
      4,
      'rejected',
      6,
      7,
      8,
      9,
    ]);
    // Four in a group. The one that failed had its group begin again, with those that had come before it.
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9]);
    expect(commitsInLog(`${file()}-wal`) - before).toBe(3);
    expect([seenFromOutside('k4'), seenFromOutside('k5'), seenFromOutside('k9')]).toEqual([
      'k4',
      undefined,
      'k9',
    ]);
  });

  it('rolls back one that throws, alone, with its events', async () => {
    const heard: CommitNotice[] = [];
    engine.store.subscribe((notice) => heard.push(notice));
    const outcomes = await Promise.allSettled([
      engine.store.write('server', async (tx) => {
        await put('first')(tx);
        await tx.emit(releasedEvent('first'));
      }),
      engine.store.write('server', async (tx) => {
        await put('second')(tx);
        await tx.emit(releasedEvent('second'));
        tx.configurationChanged('acme');
        throw new Error('no');
      }),
      engine.store.write('server', async (tx) => {
        await put('third')(tx);
        await tx.emit(releasedEvent('third'));
      }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([seenFromOutside('first'), seenFromOutside('second'), seenFromOutside('third')]).toEqual([
      'first',
      undefined,
      'third',
    ]);
    expect(heard.flatMap(({ events }) => events.map((one) => [one.seq, one.conversation_id]))).toEqual([
      [1, 'first'],
      [2, 'third'],
    ]);
    expect(heard.map(({ configuration }) => configuration)).toEqual([null]);
    const rows = await engine.store.read(({ repositories }) => repositories.events.after(0, 10));
    expect(rows.map((row) => row.conversation_id)).toEqual(['first', 'third']);
  });

  it('survives an operation that throws before its first await, and one with bad SQL', async () => {
    const outcomes = await Promise.allSettled([
      engine.store.write('server', () => {
        throw new Error('at once');
      }),
      engine.store.write('server', (tx) => tx.repositories.messages.remove('unknown', 1, 1)),
      engine.store.write('server', (tx) =>
        tx.repositories.participants.join({
          conversation_id: 'nothing',
          user_id: 'u',
          role: 'visitor',
          joined_at: 1,
          left_at: null,
        }),
      ),
      engine.store.write('server', put('fine')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(seenFromOutside('fine')).toBe('fine');
  });

  it('answers no caller before the commit', async () => {
    let answered = false;
    const first = engine.store.write('server', put('early')).then(() => {
      answered = true;
      // The answer came: then it is there for everybody.
      expect(seenFromOutside('early')).toBe('early');
    });
    const second = engine.store.write('server', async (tx) => {
      // The first operation is done, and its transaction is still open.
      expect(await tx.repositories.meta.get('early')).toBe('early');
      expect(answered).toBe(false);
      expect(seenFromOutside('early')).toBeUndefined();
    });
    await Promise.all([first, second]);
    expect(answered).toBe(true);
  });

  it('answers a refusal only after the commit as well', async () => {
    const order: string[] = [];
    watch.onFinish = (source) => {
      if (source === 'COMMIT') order.push('commit');
    };
    await Promise.allSettled([
      engine.store.write('server', () => Promise.reject(new Error('no'))).catch(() => order.push('refused')),
      engine.store.write('server', put('x')).then(() => order.push('answered')),
    ]);
    expect(order[0]).toBe('commit');
    expect(order.slice(1).toSorted()).toEqual(['answered', 'refused']);
  });

  it('tells the whole group when the commit itself fails, keeps nothing, and goes on', async () => {
    await engine.store.write('server', put('before'));
    const heard: CommitNotice[] = [];
    engine.store.subscribe((notice) => heard.push(notice));
    watch.insteadOfCommit = () => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
    };
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map((index) =>
        engine.store.write('server', async (tx) => {
          await put(`lost${index}`)(tx);
          await tx.emit(releasedEvent(`lost${index}`));
        }),
      ),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
    expect(seenFromOutside('lost1')).toBeUndefined();
    expect(heard).toEqual([]);
    await engine.store.write('server', put('again'));
    expect(seenFromOutside('again')).toBe('again');
  });
});

describe('transactions', () => {
  it('that SQLite has ended with an operation keep nothing of those behind it', async () => {
    standStill();
    let failures = 0;
    watch.onFinish = (source) => {
      if (source !== 'RELEASE operation' || failures > 0) return;
      failures += 1;
      watch.writer().exec('ROLLBACK');
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE');
    };
    const outcomes = await Promise.allSettled([
      engine.store.write('server', put('first')),
      // Only where one fails half way has each a savepoint to end.
      engine.store.write('server', async (tx) => {
        await put('fails')(tx);
        throw new Error('no');
      }),
      engine.store.write('server', put('behind')),
    ]);
    expect(failures).toBe(1);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
    for (const key of ['first', 'fails', 'behind']) expect(seenFromOutside(key)).toBeUndefined();
    await engine.store.write('server', put('again'));
    expect(seenFromOutside('again')).toBe('again');
  });

  it('that SQLite has ended are refused, also where an operation went on, and keep nothing', async () => {
    standStill();
    const outside = new Database(file());
    outside.exec(
      "create trigger ends before insert on meta when new.key = 'ends' begin select raise(rollback, 'ended'); end",
    );
    outside.close();
    const outcomes = await Promise.allSettled([
      engine.store.write('server', put('before')),
      engine.store.write('server', async (tx) => {
        await put('ends')(tx).catch(() => undefined);
      }),
      engine.store.write('server', put('after')),
    ]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
    for (const key of ['before', 'ends', 'after']) expect(seenFromOutside(key)).toBeUndefined();
    await engine.store.write('server', put('again'));
    expect(seenFromOutside('again')).toBe('again');
  });

  it('throws when one is used after its end', async () => {
    let leaked: Tx | undefined;
    await engine.store.write('server', async (tx) => {
      leaked = tx;
      await put('x')(tx);
    });
    expect(() => leaked?.repositories).toThrow('after its end');
    expect(() => leaked?.emit(releasedEvent('late'))).toThrow('after its end');
    let failed: Tx | undefined;
    await engine.store
      .write('server', (tx) => {
        failed = tx;
        return Promise.reject(new Error('no'));
      })
      .catch(() => undefined);
    expect(() => failed?.repositories).toThrow('after its end');
    expect(await engine.store.read(({ repositories }) => repositories.events.after(0, 10))).toEqual([]);
  });

  it('never lets a read see an uncommitted row', async () => {
    const seen: unknown[] = [];
    await engine.store.write('server', async (tx) => {
      await put('dirty')(tx);
      seen.push(await get('dirty'));
    });
    seen.push(await get('dirty'));
    expect(seen).toEqual([undefined, 'dirty']);
  });

  it('reads from one snapshot, whatever is committed at the same time', async () => {
    const other = new Database(file());
    const seen = await engine.store.read(async ({ repositories }) => {
      const before = await repositories.meta.get('moving');
      other.prepare("insert into meta values ('moving', 'there')").run();
      return [before, await repositories.meta.get('moving')];
    });
    other.close();
    expect(seen).toEqual([undefined, undefined]);
    expect(await get('moving')).toBe('there');
  });

  it('runs work that waits for something else in a commit of its own', async () => {
    standStill();
    const release = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const together = [engine.store.write('server', put('first'))];
    const alone = engine.store.alone('server', async (tx) => {
      began.resolve();
      await put('alone')(tx);
      await release.promise;
    });
    together.push(engine.store.write('server', put('later')), engine.store.write('server', put('latest')));
    await began.promise;
    expect(seenFromOutside('first')).toBe('first');
    release.resolve();
    await Promise.all([...together, alone]);
    expect(seenFromOutside('latest')).toBe('latest');
    expect(engine.store.stats().groupSizes.counts.slice(0, 2)).toEqual([2, 1]);
  });

  it('lets others read and write while one read waits for something else, on its own snapshot', async () => {
    await engine.store.write('server', put('early'));
    const seen = await engine.store.readAlone(async ({ repositories }) => {
      const before = await repositories.meta.get('early');
      await engine.store.write('server', put('late'));
      const elsewhere = await get('late');
      return [before, elsewhere, await repositories.meta.get('late')];
    });
    expect(seen).toEqual(['early', 'late', undefined]);
    await expect(engine.store.readAlone((tx) => tx.repositories.meta.set('sly', 'x'))).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
  });

  it('can not write through a read', async () => {
    await expect(engine.store.read((tx) => tx.repositories.meta.set('sly', 'x'))).rejects.toBeInstanceOf(
      StoreUnavailableError,
    );
    expect(seenFromOutside('sly')).toBeUndefined();
  });

  it('refuses everything once it is closed, and closes twice', async () => {
    await engine.close();
    await engine.close();
    await expect(engine.store.write('server', put('late'))).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(get('late')).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  it('finishes what is under way when it is closed', async () => {
    const writing = Array.from({ length: 250 }, (_, index) => engine.store.write('server', put(`k${index}`)));
    const reading = get('k0');
    await engine.close();
    await Promise.all([...writing, reading]);
    expect(seenFromOutside('k249')).toBe('k249');
  });
});

describe('events', () => {
  it('come in commit order, numbered without gaps, across groups and failures', async () => {
    const heard: number[] = [];
    const names: string[] = [];
    engine.store.subscribe(({ events }) => {
      for (const one of events) {
        heard.push(one.seq);
        names.push(one.conversation_id);
      }
    });
    const writes = Array.from({ length: 330 }, (_, index) =>
      engine.store.write('server', async (tx) => {
        await tx.emit(releasedEvent(`e${index}`));
        if (index % 7 === 0) throw new Error('no');
        if (index % 5 === 0) await tx.emit(releasedEvent(`e${index}b`));
      }),
    );
    await Promise.allSettled(writes);
    expect(heard).toEqual(Array.from({ length: heard.length }, (_, index) => index + 1));
    const rows: string[] = [];
    for (;;) {
      const page = await engine.store.read(({ repositories }) => repositories.events.after(rows.length, 100));
      if (page.length === 0) break;
      rows.push(...page.map((row) => row.conversation_id));
    }
    expect(names).toEqual(rows);
    expect(rows).toHaveLength(330 - 48 + 56);
  });

  it('are not heard after unsubscribing', async () => {
    const heard: CommitNotice[] = [];
    const stop = engine.store.subscribe((notice) => heard.push(notice));
    await engine.store.write('server', (tx) => tx.emit(releasedEvent('one')));
    stop();
    await engine.store.write('server', (tx) => tx.emit(releasedEvent('two')));
    expect(heard.flatMap(({ events }) => events.map((one) => one.conversation_id))).toEqual(['one']);
  });
});

describe('other processes', () => {
  it('are noticed when they commit, and not before', async () => {
    const heard: CommitNotice[] = [];
    engine.store.subscribe((notice) => heard.push(notice));
    const other = await openOther();
    await other.exec("begin immediate; insert into meta values ('theirs', '1')");
    const epoch = await engine.store.freshConfiguration();
    expect(await get('theirs')).toBeUndefined();
    await other.exec('commit');
    await eventually(() => expect(heard).toEqual([{ events: [], configuration: 'all' }]));
    expect(await engine.store.freshConfiguration()).toBe(epoch + 1);
    expect(await get('theirs')).toBe('1');
  });

  it('that hold the write lock cost a refusal after 100 ms and nothing else', async () => {
    const other = await openOther();
    await other.exec('begin immediate');
    let ticks = 0;
    const counter = setInterval(() => {
      ticks += 1;
    }, 5);
    const refused = engine.store.write('server', put('refused'));
    await expect(refused).rejects.toBeInstanceOf(StoreUnavailableError);
    clearInterval(counter);
    // Had the driver waited, the loop would have stood still and nothing been counted.
    expect(ticks).toBeGreaterThan(0);
    expect(await get('refused')).toBeUndefined();
    const patient = engine.store.write('server', put('patient'));
    await other.exec('rollback');
    await patient;
    expect(seenFromOutside('patient')).toBe('patient');
  });
});

describe('storage that refuses', () => {
  it('a look at it that fails ends nothing: the next one sees what the other process did', async () => {
    const heard: CommitNotice[] = [];
    engine.store.subscribe((notice) => heard.push(notice));
    await engine.store.write('server', put('before'));
    const writer = watch.writer();
    const pragma = writer.pragma.bind(writer);
    let failures = 0;
    writer.pragma = (source, options) => {
      if (source !== 'data_version' || failures === 2) return pragma(source, options);
      failures += 1;
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_READ');
    };
    const other = await openOther();
    await other.exec("insert into meta values ('theirs', '1')");
    await eventually(() => expect(heard).toEqual([{ events: [], configuration: 'all' }]));
    expect(failures).toBe(2);
  });

  it('a full disk: what was answered is stored, what was refused is not, reads go on, and it resumes', async () => {
    await engine.store.write('server', put('before'));
    const writer = watch.writer();
    const pages = writer.pragma('page_count', { simple: true }) as number;
    writer.pragma(`max_page_count = ${pages + 4}`);
    const large = 'x'.repeat(3_000);
    const stored = new Set<number>();
    let refused = 0;
    for (let round = 0; round < 4; round += 1)
      await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const number = round * 10 + index;
          try {
            await engine.store.write('server', (tx) => tx.repositories.meta.set(`n${number}`, large));
            stored.add(number);
          } catch (error) {
            expect(error).toBeInstanceOf(StoreUnavailableError);
            refused += 1;
          }
        }),
      );
    expect(refused).toBeGreaterThan(0);
    for (let number = 0; number < 40; number += 1)
      expect(seenFromOutside(`n${number}`) !== undefined, `n${number}`).toBe(stored.has(number));
    expect(await get('before')).toBe('before');
    writer.pragma('max_page_count = 1000000');
    await engine.store.write('server', (tx) => tx.repositories.meta.set('resumed', large));
    expect(seenFromOutside('resumed')).toBe(large);
    expect(writer.pragma('integrity_check', { simple: true })).toBe('ok');
  });

  it('a file that can not be written: refused, reads go on, and it resumes', async () => {
    await engine.store.write('server', put('before'));
    watch.writer().pragma('query_only = ON');
    await expect(engine.store.write('server', put('no'))).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await get('before')).toBe('before');
    watch.writer().pragma('query_only = OFF');
    await engine.store.write('server', put('yes'));
    expect(seenFromOutside('yes')).toBe('yes');
  });
});
