// Faults below SQLite: the kernel refuses the n-th write that makes a file longer, at every n until the work is done,
// also in the middle of a page. What was acknowledged is there, what was refused is wholly absent, the database is
// whole, and the same call succeeds once there is room.
//
// The fault is the limit on the size of files (RLIMIT_FSIZE), moved on this process while it runs: write(2) writes what
// fits and then fails with EFBIG, for the database, its log and a backup alike. So every write of the log is refused
// once. What it can't refuse is a write into the middle of a file and fsync; the order of write, sync and answer is held
// by sync-before-ack.test.ts.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { readConfig } from '../../src/config.ts';
import { backUpDataFolder } from '../../src/data-folder.ts';
import { createSystemClock } from '../../src/engine/clock.ts';
import { databaseFile, openConnection, openEngine } from '../../src/engine/open-engine.ts';
import { readBackup } from '../../src/engine/sqlite/backup.ts';
import { migrate, schemaVersion } from '../../src/engine/sqlite/migrate.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
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
import { inDatabase } from '../helpers/rest-checks.ts';
import { isLong, seededRandom } from '../helpers/rounds.ts';

/** A frame of the log is 4,120 bytes: the long form stops each of them at several places. */
const step = isLong ? 515 : 4_120;
const random = seededRandom();

function limitFiles(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:unlimited`]);
}

function canLimit(): boolean {
  try {
    limitFiles('unlimited');
    return true;
  } catch {
    return false;
  }
}

/** Does work while no file may grow beyond a limit. */
async function limited<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  limitFiles(bytes);
  try {
    return await work();
  } finally {
    limitFiles('unlimited');
  }
}

afterAll(() => {
  if (canLimit()) limitFiles('unlimited');
});

/**
 * Runs an act with ever more room until it goes through.
 * @param act true: acknowledged; false: refused as unavailable
 * @param check what must hold after each attempt
 * @returns how many attempts were refused
 */
async function untilDone(
  size: number,
  act: (attempt: number) => Promise<boolean>,
  check: (attempt: number, done: boolean) => Promise<void> | void,
): Promise<number> {
  for (let attempt = 0; ; attempt += 1) {
    const bytes = Math.floor(size * attempt + random() * size);
    const done = await limited(bytes, () => act(attempt));
    await check(attempt, done);
    if (done) return attempt;
  }
}

describe.skipIf(!canLimit())('every write refused once (needs prlimit of util-linux)', () => {
  let app: TestApp;
  let acme: TestOrganization;
  let visitor: TestClient;
  let operator: TestMember;
  let conversation: string;

  beforeEach(async () => {
    app = await startApp({ flags: { durability: 'full' } });
    acme = await createOrganization(app, 'acme');
    visitor = createVisitor(app, acme.application);
    operator = await createMember(app, 'acme');
    conversation = await createConversation(visitor);
    await createMessage(visitor, conversation, 'first');
  });
  afterEach(() => app.stop());

  /** What the database holds, as far as these acts change it. */
  const state = (): unknown =>
    inDatabase(
      app,
      `select (select count(*) from messages) as messages, (select group_concat(content) from messages) as contents,
        (select count(*) from events) as events, (select count(*) from audit) as audit,
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
    const { maintenance } = app.service.engine;
    expect(await maintenance.clearRemoved()).toBe(true);
    const before = state();
    const statuses = new Set<number>();
    const refused = await untilDone(
      step,
      async () => {
        const { status } = await act();
        statuses.add(status);
        return status < 300;
      },
      async (_attempt, done) => {
        expectWhole();
        if (done) expect(state()).not.toEqual(before);
        else expect(state()).toEqual(before);
        expect(await maintenance.clearRemoved()).toBe(true);
      },
    );
    expect(refused).toBeGreaterThan(2);
    expect([...statuses].toSorted((one, other) => one - other)).toEqual([expect.toBeOneOf([200, 201]), 503]);
    const after = state();
    app = await app.restart();
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
    app.clock.step(8 * 86_400_000);
    const { maintenance } = app.service.engine;
    await maintenance.clearRemoved();
    const refused = await untilDone(
      step,
      () =>
        app.local('retention.purge', { force: true }).then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'unavailable' });
            return false;
          },
        ),
      async () => {
        expectWhole();
        await maintenance.clearRemoved();
      },
    );
    expect(refused).toBeGreaterThan(2);
    expect(state()).toMatchObject({ messages: 0, contents: null, status: null });
  });

  it('backup: leaves nothing behind until it is complete', async () => {
    const target = await mkdtemp(join(tmpdir(), 'deskbell-fault-'));
    const file = join(target, 'a.backup');
    await app.service.engine.maintenance.clearRemoved();
    const [{ bytes = 0 } = {}] = inDatabase(
      app,
      'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()',
    );
    try {
      const refused = await untilDone(
        Number(bytes) / (isLong ? 100 : 8),
        () =>
          backUpDataFolder(readConfig({ data: app.folder }, {}), file, false, app.clock.now()).then(
            () => true,
            () => false,
          ),
        async (_attempt, done) => {
          expect(await readdir(target)).toEqual(done ? ['a.backup'] : []);
          expectWhole();
        },
      );
      expect(refused).toBeGreaterThan(2);
      expect((await readBackup(file)).bytes).toBeGreaterThan(0);
    } finally {
      await rm(target, { recursive: true });
    }
  });
});

describe.skipIf(!canLimit())('a change of the schema, every write refused once', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-fault-'));
    const connection = openConnection(databaseFile(folder), { durability: 'full', lockTimeoutMs: 0 });
    await migrate(connection, async () => undefined, migrations.slice(0, 4));
    connection.close();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const look = (): [number, unknown] => {
    const connection = openConnection(databaseFile(folder), { durability: 'full', lockTimeoutMs: 0 });
    try {
      return [schemaVersion(connection), connection.pragma('integrity_check', { simple: true })];
    } finally {
      connection.close();
    }
  };

  it('is made wholly or not at all', async () => {
    const refused = await untilDone(
      isLong ? 4_120 : 60_000,
      async () => {
        try {
          const engine = await openEngine({
            folder,
            durability: 'full',
            clock: createSystemClock(),
            keyCheck: 'k',
            as: 'server',
          });
          await engine.close();
          return true;
        } catch {
          return false;
        }
      },
      (_attempt, done) => {
        // Whatever was opened after the change may still have been refused.
        expect(look()).toEqual([done ? migrations.length : expect.toBeOneOf([4, migrations.length]), 'ok']);
      },
    );
    expect(refused).toBeGreaterThan(2);
  });
});
