// A backup in idle time: written by a process of its own, and by this one wherever that fails or gets too little time.
import { execFileSync, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { helperEnvironment } from '../../src/config/user-environment.ts';
import { backUpDataFolder } from '../../src/data-folder.ts';
import { objectPath } from '../../src/engine/object-path.ts';
import {
  readBackup,
  writeBackup,
  type BackupFiles,
  type WriteBackup,
} from '../../src/engine/sqlite/backup.ts';
import type { BackupTask } from '../../src/engine/sqlite/backup-process.ts';
import { writeInIdleTime, type IdleOptions } from '../../src/engine/sqlite/idle-backup.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { createConversation, createMessage, createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { pathWithChrt, pathWithoutChrt } from '../helpers/idle-class.ts';

const passphrase = 'correct horse battery staple';
const madeAt = Date.UTC(2026, 10, 21, 12);
let app: TestApp;
let parent: string;
let scratch: string;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-idle-'));
  app = await startApp({ engine: 'sqlite' });
  const { application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  await createMessage(visitor, await createConversation(visitor), 'hello');
});
afterAll(async () => {
  await app.stop();
  await rm(parent, { recursive: true, force: true });
});
beforeEach(async () => {
  scratch = await mkdtemp(join(parent, 'test-'));
});

const leftIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.includes('partial'));

interface Outcome {
  readonly file: string;
  /** How many of its files lay there when this process began to write itself; null: it did not. */
  readonly metHere: number | null;
}

/** Backs up in idle time, and holds what came of it against its trailer. */
async function backUp(
  path: string,
  { secret = null, ...options }: Omit<IdleOptions, 'environment'> & { readonly secret?: string | null } = {},
): Promise<Outcome> {
  const file = join(scratch, 'made.backup');
  let metHere: number | null = null;
  const writeHere: WriteBackup = async (database, files, ...more) => {
    // Both would write the same file.
    if (existsSync(join(scratch, 'pid'))) await expectEnded();
    metHere = [files.target, files.unsealed].filter(existsSync).length;
    return writeBackup(database, files, ...more);
  };
  const environment = { ...helperEnvironment(), PATH: path };
  const config = readConfig({ data: app.folder }, {});
  const { facts } = await backUpDataFolder(config, file, false, madeAt, secret, (...work) =>
    writeInIdleTime({ ...options, environment, writeHere }, ...work),
  );
  expect(await readBackup(file, secret)).toEqual(facts);
  expect(facts).toMatchObject({ madeAt, bytes: expect.any(Number), files: { count: 0 } });
  expect([...(await leftIn(scratch)), ...(await leftIn(app.folder))]).toEqual([]);
  return { file, metHere };
}

/**
 * A `chrt` that starts another program than it was told: one that takes the task, makes one of its files, sends these
 * messages, and then does this.
 * @param made null: it makes none
 */
async function pathToProgram(
  made: 'target' | 'unsealed' | null,
  messages: readonly unknown[],
  then = '',
): Promise<string> {
  const program = join(scratch, 'program.mjs');
  await writeFile(
    program,
    `import { renameSync, writeFileSync } from 'node:fs';
     setInterval(() => undefined, 1_000);
     process.once('disconnect', () => process.exit());
     process.once('message', async (task) => {
       // It may be killed at any moment: the number is there whole, or not at all.
       writeFileSync(${JSON.stringify(join(scratch, 'pid-begun'))}, String(process.pid));
       renameSync(${JSON.stringify(join(scratch, 'pid-begun'))}, ${JSON.stringify(join(scratch, 'pid'))});
       ${made === null ? '' : `writeFileSync(task.${made}, 'begun');`}
       for (const message of ${JSON.stringify(messages)})
         await new Promise((resolve) => process.send(message, resolve));
       writeFileSync(${JSON.stringify(join(scratch, 'sent'))}, '');
       ${then}
     });`,
  );
  return pathWithChrt(join(scratch, 'bin'), 'shift 5', `exec "$1" '${program}'`);
}

/** A time that moves by as much at each look, once the program has sent its messages. */
function movedTime(stepMs: number): { now: () => number; readonly ms: number } {
  let ms = 0;
  return {
    now: () => (ms += existsSync(join(scratch, 'sent')) ? stepMs : 0),
    get ms() {
      return ms;
    },
  };
}

async function expectEnded(): Promise<void> {
  const pid = Number(await readFile(join(scratch, 'pid'), 'utf8'));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
}

it('is written by a process that is started by chrt, in the clear and sealed', async () => {
  const path = await pathWithChrt(join(scratch, 'bin'), 'exec "$@"');
  const { file, metHere } = await backUp(path);
  expect(metHere).toBeNull();
  await rm(file);
  expect((await backUp(path, { secret: passphrase })).metHere).toBeNull();
});

it('tells once that the database is copied', async () => {
  const files: BackupFiles = {
    target: join(scratch, 'one'),
    unsealed: join(scratch, 'two'),
    folder: null,
  };
  const sizes: number[] = [];
  const { facts } = await writeBackup(
    join(app.folder, 'deskbell.db'),
    files,
    Buffer.alloc(32),
    madeAt,
    null,
    () => sizes.push(statSync(files.target).size),
  );
  expect(sizes).toEqual([facts.bytes]);
});

it('is written here where there is no chrt, or none that knows the class', async () => {
  const { file, metHere } = await backUp(await pathWithoutChrt(join(scratch, 'bin')));
  expect(metHere).toBe(0);
  await rm(file);
  expect((await backUp(await pathWithChrt(join(scratch, 'refusing'), 'exit 1'))).metHere).toBe(0);
});

it('is written here where the process is killed, and what that left is gone before', async () => {
  const path = await pathToProgram('target', [], "process.kill(process.pid, 'SIGKILL')");
  expect((await backUp(path)).metHere).toBe(0);
  await expectEnded();
});

it('is written here where the process fails in its midst, and what that left is gone before', async () => {
  // No file of it may grow beyond four blocks of 512 bytes, which is less than the database has.
  const path = await pathWithChrt(join(scratch, 'bin'), 'ulimit -f 4', 'exec "$@"');
  expect((await backUp(path, { secret: passphrase })).metHere).toBe(0);
});

it('is written here where the process says what is no backup', async () => {
  expect(
    (await backUp(await pathToProgram('target', [{ facts: { madeAt: 1 }, keyCheck: null }]))).metHere,
  ).toBe(0);
  await expectEnded();
});

// A step is shorter than what a start is given, as the first look may come before the messages.
it.each([
  ['starts', null, [], null, 4_000, 10_000],
  ['copies', 'target', [], null, 500, 2_000],
  ['copies what is to be sealed', 'unsealed', [], passphrase, 500, 2_000],
  ['goes on', 'target', ['copied'], null, 9_000, 60_000],
] as const)('is written here where the process no longer %s', async (...which) => {
  const [, made, messages, secret, stepMs, stretchMs] = which;
  const time = movedTime(stepMs);
  const path = await pathToProgram(made, messages);
  expect((await backUp(path, { now: time.now, secret })).metHere).toBe(0);
  await expectEnded();
  expect(time.ms).toBeGreaterThanOrEqual(stretchMs);
  expect(time.ms).toBeLessThan(stretchMs + 4 * stepMs);
});

it('is written here where it can not be told what the process does', async () => {
  expect((await backUp(await pathToProgram('target', []), { progressOf: () => null })).metHere).toBe(0);
});

it('fails as it does here, with the same error', async () => {
  const path = await pathWithChrt(join(scratch, 'bin'), 'exec "$@"');
  const environment = { ...helperEnvironment(), PATH: path };
  const files: BackupFiles = {
    target: join(scratch, 'target'),
    unsealed: join(scratch, 'plain'),
    folder: null,
  };
  const broken = join(scratch, 'broken.db');
  await writeFile(broken, 'no database at all'.repeat(1_000));
  const errorOf = async (work: Promise<unknown>): Promise<unknown> => {
    const error: unknown = await work.catch((thrown: unknown) => thrown);
    await rm(files.target, { force: true });
    return error;
  };
  const here = await errorOf(writeBackup(broken, files, Buffer.alloc(32), madeAt, null));
  expect(here).toBeInstanceOf(Error);
  expect(
    await errorOf(writeInIdleTime({ environment }, broken, files, Buffer.alloc(32), madeAt, null)),
  ).toEqual(here);
});

/** Where this user can make a small file system for a process alone. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs none /tmp'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it.each([
  ['as the process says', () => pathToProgram('target', [{ noRoom: 'no space left on device' }])],
  ...(canMount()
    ? ([
        [
          'on a disk that is full',
          () =>
            pathWithChrt(
              join(scratch, 'bin'),
              `exec unshare -Urm sh -c 'mount -t tmpfs -o size=64k none "$0" && exec "$@"' '${join(scratch, 'small')}' "$@"`,
            ),
        ],
      ] as const)
    : []),
] as const)('is not written once more where no room was left: %s', async (_name, pathOf) => {
  await mkdir(join(scratch, 'small'));
  const environment = { ...helperEnvironment(), PATH: await pathOf() };
  let wrote = 0;
  const writeHere: WriteBackup = (...work) => {
    wrote += 1;
    return writeBackup(...work);
  };
  const config = readConfig({ data: app.folder }, {});
  const file = join(scratch, 'small', 'made.backup');
  await expect(
    backUpDataFolder(config, file, false, madeAt, null, (...work) =>
      writeInIdleTime({ environment, writeHere }, ...work),
    ),
  ).rejects.toThrow(
    /^There is not enough room for the backup \(.*(full|no space).*\)\. What was written of it is removed/i,
  );
  expect(wrote).toBe(0);
  expect(await readdir(join(scratch, 'small'))).toEqual([]);
  expect(await leftIn(app.folder)).toEqual([]);
});

it('ends with the process that has started it, in the midst of its work', async () => {
  const object = randomBytes(32).toString('hex');
  const task: BackupTask = {
    database: join(app.folder, 'deskbell.db'),
    target: join(scratch, 'target'),
    unsealed: join(scratch, 'plain'),
    folder: join(scratch, 'files'),
    key: Buffer.alloc(32).toString('base64'),
    madeAt,
    passphrase: null,
  };
  await rowsOf(
    app,
    `insert into files (id, organization_id, uploader, object, name, type, size, digest, state, created_at)
     select 'f', id, 'u', ?, 'n', 'text/plain', 1, 'd', 'ready', 1 from organizations limit 1`,
    object,
  );
  // A pipe in the place of a message's file: to open it waits until something writes to it.
  const pipe = objectPath(join(scratch, 'files'), object);
  await mkdir(dirname(pipe), { recursive: true });
  execFileSync('mkfifo', [pipe]);
  const program = fileURLToPath(new URL('../../src/engine/sqlite/backup-process.ts', import.meta.url));
  const child = fork(program, { env: helperEnvironment(), execArgv: [], stdio: 'ignore' });
  try {
    const ended = once(child, 'exit');
    child.send(task);
    expect(await once(child, 'message')).toEqual(['copied', undefined]);
    expect(child.exitCode).toBeNull();
    child.disconnect();
    expect(await ended).toEqual([null, 'SIGKILL']);
  } finally {
    child.kill('SIGKILL');
    await rowsOf(app, "delete from files where id = 'f'");
  }
});
