// Faults below SQLite: the kernel refuses the n-th write that makes a file longer, at every n until the work is done,
// also in the middle of a page. What was acknowledged is there, what was refused is wholly absent, the database is
// whole, and the same call succeeds once there is room.
//
// The fault is the limit on the size of files (`ulimit -f`) of a process of its own: write(2) writes what fits and then
// fails with EFBIG, for the database, its log and a backup alike. The limit stays where it is; the log is filled up so
// far that ever one frame more fits. So every write of the log is refused once. What the limit can't refuse is a write
// into the middle of a file and fsync; the order of write, sync and answer is held by sync-before-ack.test.ts.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';
import { readBackup } from '../../src/engine/sqlite/backup.ts';
import { migrate, schemaVersion } from '../../src/engine/sqlite/migrate.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type FixtureApp,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { inDatabase } from '../helpers/rest-checks.ts';
import { isLong, seededRandom } from '../helpers/rounds.ts';
import { frameBytes, LimitedProcess, openLogFiller, type LogFiller } from './limited-process.ts';

const random = seededRandom();

/** 2 MiB and up to a frame more, so that the limit cuts a frame anywhere; the long form cuts at several places. */
const limits = Array.from({ length: isLong ? 8 : 1 }, (_, index) =>
  isLong ? 4_096 + index : 4_096 + Math.floor(random() * 8),
);

describe.each(limits)('every write refused once, files of at most %i blocks', (blocks) => {
  let limited: LimitedProcess;
  let app: FixtureApp & { readonly folder: string };
  let log: LogFiller;
  let acme: TestOrganization;
  let visitor: TestClient;
  let operator: TestMember;
  let conversation: string;

  beforeAll(async () => {
    limited = await LimitedProcess.start(blocks);
  });
  afterAll(() => limited.end());

  const local = <N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>> =>
    limited.ask('local', name, input as RawInput<OperationName>) as Promise<Output<N>>;

  beforeEach(async () => {
    app = { ...(await limited.ask('start')), local };
    acme = await createOrganization(app, 'acme');
    visitor = createVisitor(app, acme.application);
    operator = await createMember(app, 'acme');
    conversation = await createConversation(visitor);
    await createMessage(visitor, conversation, 'first');
    log = openLogFiller(app.folder);
  });
  afterEach(async () => {
    log.close();
    await limited.ask('stop');
  });

  /**
   * Does an act with room for ever more frames until it goes through.
   * @param act true: acknowledged; false: refused as unavailable
   * @param check what must hold after each attempt
   * @returns how many attempts were refused
   */
  async function untilDone(act: () => Promise<boolean>, check: (done: boolean) => void): Promise<number> {
    for (let attempt = 0; ; attempt += 1) {
      expect(await limited.ask('clearRemoved')).toBe(true);
      log.leaveRoom(limited.limit, attempt * frameBytes);
      const done = await act();
      check(done);
      if (done) return attempt;
    }
  }

  /** What the database holds, as far as these acts change it. */
  const state = (): unknown =>
    inDatabase(
      app,
      `select (select count(*) from messages) as messages, (select group_concat(content) from messages) as contents,
        (select count(*) from event_log) as events, (select count(*) from audit) as audit,
        (select sum(last_seq) from conversations) as seq, (select group_concat(status) from conversations) as status,
        (select count(*) from participants) as participants, (select count(*) from api_keys) as keys,
        (select count(expires_at) from api_keys) as rotated`,
    )[0];

  function expectWhole(): void {
    expect(inDatabase(app, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(inDatabase(app, 'pragma foreign_key_check')).toEqual([]);
  }

  /** The whole loop of an act that is one transaction: refused it changed nothing, at the end it happened once. */
  async function expectRefusals(act: () => Promise<{ status: number }>): Promise<void> {
    const before = state();
    const statuses = new Set<number>();
    const refused = await untilDone(
      async () => {
        const { status } = await act();
        statuses.add(status);
        return status < 300;
      },
      (done) => {
        expectWhole();
        if (done) expect(state()).not.toEqual(before);
        else expect(state()).toEqual(before);
      },
    );
    expect(refused).toBeGreaterThan(2);
    expect([...statuses].toSorted((one, other) => one - other)).toEqual([expect.toBeOneOf([200, 201]), 503]);
    const after = state();
    app = { ...(await limited.ask('restart')), local };
    expect(state()).toEqual(after);
    expectWhole();
  }

  it('send', () =>
    expectRefusals(() =>
      visitor.call('POST', `/conversations/${conversation}/messages`, {
        content: 'second',
        clientMessageId: 'c1',
      }),
    ));

  it('edit', async () => {
    const message = await createMessage(visitor, conversation, 'wrong');
    await expectRefusals(() =>
      visitor.call('PATCH', `/conversations/${conversation}/messages/${message}`, { content: 'right' }),
    );
  });

  it('accept', () => expectRefusals(() => operator.call('POST', `/conversations/${conversation}/accept`)));

  it('rotate', async () => {
    const { keys } = await app.local('keys.list', { applicationId: acme.application.id });
    await expectRefusals(async () => {
      const rotated = app.local('keys.rotate', { keyId: keys[0]?.id ?? '', graceSeconds: 60 });
      return rotated.then(
        () => ({ status: 200 }),
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'unavailable' });
          return { status: 503 };
        },
      );
    });
  });

  it('purge: goes on where it was refused, and removes each conversation once', async () => {
    await app.local('organizations.update', { organization: 'acme', limits: { retentionDays: 1 } });
    for (let index = 0; index < 20; index += 1) await createMessage(visitor, conversation, `old ${index}`);
    await limited.ask('step', 8 * 86_400_000);
    const refused = await untilDone(
      () =>
        app.local('retention.purge', { force: true }).then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'unavailable' });
            return false;
          },
        ),
      expectWhole,
    );
    expect(refused).toBeGreaterThan(2);
    expect(state()).toMatchObject({ messages: 0, contents: null, status: null });
  });

  it('backup: leaves nothing behind until it is complete', async () => {
    const target = await mkdtemp(join(tmpdir(), 'deskbell-fault-'));
    const file = join(target, 'a.backup');
    // The limit stays where it is, and the database becomes shorter: refused ever later, at last when it is nearly done.
    const chunk = Math.floor(limited.limit / (isLong ? 30 : 3));
    inDatabase(app, 'create table backup_filler (bytes blob)');
    for (let bytes = 3 * limited.limit; bytes > 0; bytes -= chunk)
      inDatabase(app, 'insert into backup_filler values (zeroblob(?))', chunk);
    try {
      for (let refused = 0; ; refused += 1) {
        log.clear();
        const done = await limited.ask('backUp', file).then(
          () => true,
          () => false,
        );
        expect(await readdir(target)).toEqual(done ? ['a.backup'] : []);
        expectWhole();
        if (done) {
          expect(refused).toBeGreaterThan(2);
          break;
        }
        inDatabase(app, 'delete from backup_filler where rowid = (select max(rowid) from backup_filler)');
      }
      expect((await readBackup(file)).bytes).toBeGreaterThan(0);
    } finally {
      await rm(target, { recursive: true });
    }
  });

  it('a change of the schema is made wholly or not at all', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'deskbell-fault-'));
    const connection = openConnection(databaseFile(folder), { durability: 'full', lockTimeoutMs: 0 });
    connection.pragma('journal_mode = wal');
    await migrate(connection, async () => undefined, migrations.slice(0, 4));
    const old = openLogFiller(folder);
    // First the copy that is made before the change is refused, then the change itself.
    connection.exec('create table backup_filler (bytes blob)');
    connection.prepare('insert into backup_filler values (zeroblob(?))').run(limited.limit);
    old.clear();
    try {
      for (let refused = 0; ; refused += 1) {
        if (refused > 0) old.leaveRoom(limited.limit, (refused - 1 + random()) * (isLong ? 4_120 : 60_000));
        const done = await limited.ask('open', folder).then(
          () => true,
          () => false,
        );
        const version = schemaVersion(connection);
        if (refused === 0) expect([version, done]).toEqual([4, false]);
        // Whatever was opened after the change may still have been refused.
        expect(version).toEqual(done ? migrations.length : expect.toBeOneOf([4, migrations.length]));
        expect(connection.pragma('integrity_check', { simple: true })).toBe('ok');
        if (done) {
          expect(refused).toBeGreaterThan(2);
          break;
        }
        if (refused === 0) connection.exec('delete from backup_filler; vacuum');
        old.clear();
      }
    } finally {
      old.close();
      connection.close();
      await rm(folder, { recursive: true });
    }
  });
});
