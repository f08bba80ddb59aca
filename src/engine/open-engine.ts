// Opens the engine, on a data folder or on a database: the only place that knows which kinds there are.
// Owns the folder's files (names, rights, locks); holds no rule.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock, Durability, Engine, Pace } from './engine.ts';
import { errorMessage, isOutOfRoom, systemErrorCode } from './file-errors.ts';
import { EngineError } from './open-errors.ts';
import { restoringEnd, schemaCopyName } from './sqlite/copies.ts';
import { createLoopPace } from './memory/pace.ts';
import { createPresence } from './memory/presence.ts';
import { createMemoryJobs } from './memory/jobs.ts';
import { createMemorySignals } from './memory/signals.ts';
import { createMemorySeats } from './memory/seats.ts';
import { createMemoryLimiter, createSlidingWindowLimiter } from './memory/sliding-window-limiter.ts';
import {
  enterWal,
  firstRow,
  isStorageError,
  openConnection,
  sqliteCode,
  type Connection,
} from './sqlite/connection.ts';
import type { NodeRow, PostgresReport } from './postgres/inspect.ts';
import { releaseReserve } from './sqlite/disk-reserve.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import { acquireServerLock, describeLockHolder } from './sqlite/server-lock.ts';
import type { WriteBackup, WrittenBackup } from './sqlite/backup.ts';
import { countNames, createDatabaseFile, realFolder } from './sqlite/database-file.ts';
import { pageProblem } from './sqlite/examine.ts';
import { assertNotNewer, migrate, schemaVersion } from './sqlite/migrate.ts';
import { builder } from './sqlite/query.ts';

// The embedded engine's own files, for backup, restore and examination of a data folder (src/data-folder.ts).
export {
  isSealedBackup,
  logSuffixes,
  openBackup,
  removeBackupFiles,
  writeBackup,
  type BackupManifest,
  type OpenBackup,
  type WriteBackup,
} from './sqlite/backup.ts';
export { BackupError, PassphraseError } from './sqlite/sealed-backup.ts';
export { errorMessage, systemErrorCode } from './file-errors.ts';
export { EngineError } from './open-errors.ts';
export { openConnection, sqliteCode } from './sqlite/connection.ts';
export { restoreCopyName, restoringEnd, unsealedCopyName } from './sqlite/copies.ts';
export { giveName, partialEnd, removePartialFiles } from './partial-files.ts';
export { hasReserve, reserveBytes } from './sqlite/disk-reserve.ts';
export { inspectDatabase, readMetaValue, type DatabaseReport } from './sqlite/inspect.ts';
export { reindexDatabase } from './sqlite/reindex.ts';

/**
 * As `writeBackup`, in a process that takes only the time that no other wants, where that can be had.
 * @param environment of that process
 */
export async function writeIdleBackup(
  environment: Readonly<Record<string, string>>,
  ...work: Parameters<WriteBackup>
): Promise<WrittenBackup> {
  // Loaded on use: a server has no need of it.
  const { writeInIdleTime } = await import('./sqlite/idle-backup.ts');
  return writeInIdleTime({ environment }, ...work);
}

interface CommonOptions {
  readonly durability: Durability;
  readonly clock: Clock;
  /** A digest of the secret key: kept in the database, so that another key is refused before anything is written. */
  readonly keyCheck: string;
  /** A server holds the folder's lock and never waits for the database; a command waits and watches nothing. */
  readonly as: 'server' | 'command';
}

export interface EngineOptions extends CommonOptions {
  readonly folder: string;
  /** Told once why the thread fails that moves the log into the database, and once with null when it works again. */
  readonly onCheckpointThread?: ((failure: string | null) => void) | undefined;
}

export interface DatabaseEngineOptions extends CommonOptions {
  /** `postgres://…`; it may hold a password and is never logged. */
  readonly url: string;
  /** The version of the program, told to other servers. */
  readonly version: string;
  /** Told how far the machine's clock is from the database's, where that is too far, ms. */
  readonly onClockApart?: ((ms: number) => void) | undefined;
  /** Told once why the database can't be used any more, and once with null when it can again. */
  readonly onUnavailable?: ((why: string | null) => void) | undefined;
}

export type { NodeRow, PostgresReport };
export type { RowsReport } from './sqlite/repositories/rows-report.ts';
export { describeDatabase } from './postgres/place.ts';

/** What there is to know of a PostgreSQL database without opening an engine on it. @throws EngineError, SchemaError */
export async function inspectDatabaseUrl(url: string): Promise<PostgresReport> {
  return (await import('./postgres/inspect.ts')).inspectPostgres(url);
}

/** The number of its schema; 0: there is none. @throws EngineError, SchemaError */
export async function schemaOfDatabase(url: string): Promise<number> {
  return (await import('./postgres/inspect.ts')).schemaOf(url);
}

/** The servers that run on it. @throws EngineError, SchemaError */
export async function nodesOfDatabase(url: string): Promise<readonly NodeRow[]> {
  return (await import('./postgres/inspect.ts')).nodesOf(url);
}

/** Brings it to the newest schema. @returns its number before and after. @throws EngineError, SchemaError */
export async function migrateDatabaseUrl(url: string): Promise<{ before: number; after: number }> {
  return (await import('./postgres/inspect.ts')).migrateDatabase(url);
}

/**
 * Opens, and where needed migrates, a PostgreSQL database. Loaded only then.
 * @throws EngineError when the database is not as it must be, or was made with another secret key
 * @throws SchemaError when it is newer than this program
 * @throws StoreUnavailableError when it can't be reached
 */
export async function openDatabaseEngine(options: DatabaseEngineOptions): Promise<Engine> {
  const { openPostgresEngine } = await import('./postgres/open-postgres.ts');
  return openPostgresEngine(options);
}

export const databaseFile = (folder: string): string => join(folder, 'deskbell.db');
/** A database that is larger is not examined as a whole when a server starts: a gibibyte takes a second. */
const maxCheckedBytes = 1_073_741_824;

/** One server per database, however it is reached: the lock lies where the file itself lies. */
async function lockFile(folder: string): Promise<string> {
  return join(await realFolder(databaseFile(folder)), 'deskbell.lock');
}

/**
 * Takes the lock that a server holds on a folder's database.
 * @returns gives it back; null: another process holds it
 * @throws EngineError where this user may not write there
 */
export async function lockFolder(folder: string): Promise<(() => void) | null> {
  try {
    return acquireServerLock(await lockFile(folder));
  } catch (error) {
    throw await forUser(folder, error);
  }
}

/** Names the process that holds the lock, as ` (process 4711)`; empty where that can't be known. */
export async function nameLockHolder(folder: string): Promise<string> {
  return describeLockHolder(await lockFile(folder));
}

/** Whether a server runs on a folder's database. Makes no file. */
export async function isServed(folder: string): Promise<boolean> {
  if ((await stat(await lockFile(folder)).catch(() => null)) === null) return false;
  const unlock = await lockFolder(folder);
  unlock?.();
  return unlock === null;
}

/**
 * True when a database lies in the folder.
 * @throws EngineError when the system does not say
 */
export async function databaseExists(folder: string): Promise<boolean> {
  try {
    await stat(databaseFile(folder));
    return true;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new EngineError(
      `The data folder ${folder} can't be looked into: ${errorMessage(error)}. Run this as the user who owns it, or choose another with --data.`,
      { cause: error },
    );
  }
}

/**
 * Makes the folder when it is missing, with rights for its owner only.
 * @throws EngineError when it can't be made or used
 */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await makeDirectories(folder);
    if (!(await stat(folder)).isDirectory()) throw new Error('it is not a folder');
  } catch (error) {
    throw new EngineError(
      `The data folder ${folder} can't be used: ${errorMessage(error)}. Choose another with --data.`,
      {
        cause: error,
      },
    );
  }
}

/** Like mkdir -p. Not Node's own `recursive`: that one never ends below /proc, where nothing can be made. */
async function makeDirectories(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EEXIST') return;
    const parent = dirname(folder);
    const parentExists = (await stat(parent).catch(() => null)) !== null;
    if (code !== 'ENOENT' || parentExists || parent === folder) throw error;
    await makeDirectories(parent);
    await mkdir(folder, { mode: 0o700 });
  }
}

/**
 * Opens, and where needed migrates, the database of a prepared folder.
 * @throws EngineError when another server has the database, or the file is none, empty, damaged or has two names
 * @throws SchemaError when the database is newer than this program
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { folder, clock } = options;
  const unlock = options.as === 'server' ? await lockForServer(folder) : () => undefined;
  try {
    const pace = createLoopPace();
    const store = await openStore(options, pace).catch((error: unknown) => {
      // To open it takes room for the log.
      if (!isStorageError(error) || !releaseReserve(folder)) throw error;
      return openStore(options, pace);
    });
    const localLimiter = createSlidingWindowLimiter({ monotonicMs: clock.monotonic });
    let closing: Promise<void> | null = null;
    return {
      nodeId: randomBytes(4).toString('hex'),
      store,
      maintenance: store,
      signals: createMemorySignals(),
      jobs: createMemoryJobs(),
      limiter: createMemoryLimiter(localLimiter),
      localLimiter,
      presence: createPresence(clock.monotonic),
      seats: createMemorySeats(),
      pace,
      clock,
      close: () => (closing ??= store.close().finally(unlock)),
    };
  } catch (error) {
    unlock();
    throw isOutOfRoom(error) ? await noRoom(folder, error) : await forUser(folder, error);
  }
}

/** A change of the schema is one transaction, with a copy of the database before it. */
async function noRoom(folder: string, cause: unknown): Promise<EngineError> {
  const found = await stat(databaseFile(folder)).catch(() => null);
  return new EngineError(
    found === null
      ? `There is not enough room in ${folder} to make a database. Make room, or choose another folder with --data.`
      : `There is not enough room in ${folder} to open the database. To bring it to a newer version of deskbell takes up to three times what it has, ${Math.ceil((3 * found.size) / 1_048_576)} MiB. Make room and start again; nothing of the database is lost.`,
    { cause },
  );
}

/** What SQLite and the system say of files that may not be opened or written. */
const refusedCodes = /^(?:SQLITE_(?:CANTOPEN|READONLY).*|EACCES|EPERM|EROFS)$/;

/** The error itself, or where this user may not use the folder's files one that says what they must be like. */
export async function forUser(folder: string, error: unknown): Promise<unknown> {
  const code = sqliteCode(error) ?? systemErrorCode(error) ?? '';
  if (!refusedCodes.test(code)) return error;
  const file = databaseFile(folder);
  const found = await stat(file).catch(() => stat(folder).catch(() => null));
  const advice =
    found !== null && found.uid === process.geteuid?.()
      ? `It, its folder and what lies beside it must be writable: chmod -R u+rwX ${folder}. On a disk that is mounted read-only it can't be used.`
      : ownerAdvice(folder);
  const what = code.startsWith('SQLITE_CANTOPEN') ? 'opened' : 'written';
  return new EngineError(`The database ${file} can't be ${what}. ${advice}`, { cause: error });
}

/** What to do about files that are there, and that this user may not read: root has made them for another, for the most part. */
export function ownerAdvice(folder: string): string {
  const must = `All files in ${folder} must belong to the user who runs this`;
  const user = process.geteuid?.();
  return user === undefined ? `${must}.` : `${must}: run it as their owner, or chown -R ${user} ${folder}`;
}

async function openStore(options: EngineOptions, pace: Pace): Promise<SqliteStore> {
  await migrateDatabase(options);
  const server = options.as === 'server';
  return new SqliteStore({
    file: databaseFile(options.folder),
    durability: options.durability,
    clock: options.clock,
    lockTimeoutMs: server ? 100 : 10_000,
    isServer: server,
    pollIntervalMs: server ? 200 : 0,
    onUsersCommitted: (commit) => pace.usersCommitted(commit),
    onCheckpointThread: options.onCheckpointThread,
  });
}

async function lockForServer(folder: string): Promise<() => void> {
  const unlock = await lockFolder(folder);
  if (unlock !== null) return unlock;
  throw new EngineError(
    `Another deskbell server${await nameLockHolder(folder)} is running on ${folder}. Stop it first, or start this one on another folder with --data.`,
  );
}

async function migrateDatabase(options: EngineOptions): Promise<void> {
  const file = databaseFile(options.folder);
  if (!(await databaseExists(options.folder)))
    await createDatabaseFile(file, async (connection) => {
      await migrate(connection, async () => undefined);
      storeKeyCheck(connection, options.keyCheck);
    });
  await assertOneName(file);
  let connection: Connection | undefined;
  try {
    connection = openConnection(file, { durability: options.durability, lockTimeoutMs: 5_000 });
    await chmod(file, 0o600);
    const open = connection;
    assertNotNewer(open);
    await assertWhole(open, file, options.as);
    assertSameKey(open, options.keyCheck);
    enterWal(open);
    await migrate(open, async (version) => {
      // A consistent copy made by SQLite itself; named by the schema that it has.
      const copy = join(options.folder, schemaCopyName(version + 1));
      await open.backup(copy);
      await chmod(copy, 0o600);
    });
    storeKeyCheck(open, options.keyCheck);
  } catch (error) {
    throw isDamage(error) ? damaged(file, errorMessage(error), error) : error;
  } finally {
    connection?.close();
  }
}

/** @throws EngineError where changes through one name would be lost under the other */
async function assertOneName(file: string): Promise<void> {
  const names = await countNames(file);
  if (names === 1) return;
  // A restore gives the database a second name before anything takes its place; the files of messages go first.
  if ((await stat(file + restoringEnd).catch(() => null)) !== null)
    throw new EngineError(
      `A restore into ${dirname(file)} was cut off while the files took their places. Repeat it: deskbell restore FILE --force. What was here before is in the folder deskbell-before-restore-TIME beside it; nothing is lost.`,
    );
  throw new EngineError(
    `${file} has ${names} names (hard links), and a database may have one: changes made under another would be lost. Find them with: find / -samefile ${file}. Remove all but one.`,
  );
}

/** A database that is made gets its name when it is complete: an empty one has lost everything. */
async function assertWhole(connection: Connection, file: string, as: EngineOptions['as']): Promise<void> {
  if (schemaVersion(connection) === 0) throw damaged(file, 'it is empty, though it was made complete');
  if (as === 'command' || (await stat(file)).size > maxCheckedBytes) return;
  const problem = pageProblem(file);
  if (problem !== null) throw damaged(file, problem);
}

function isDamage(error: unknown): boolean {
  // A table that is missing was on a page that has been lost: migrations make all of them.
  return (
    /^SQLITE_(CORRUPT|NOTADB)/.test(sqliteCode(error) ?? '') || /no such table/.test(errorMessage(error))
  );
}

function damaged(file: string, why: string, cause?: unknown): EngineError {
  return new EngineError(
    `The database ${file} is damaged: ${why.trim().replaceAll(/\s*\n\s*/g, ' ')}. Restore a backup: deskbell restore FILE --force; what is there is kept aside. Nothing was changed.`,
    { cause },
  );
}

function assertSameKey(connection: Connection, keyCheck: string): void {
  const query = builder.selectFrom('meta').select('value').where('key', '=', 'key_check').compile();
  const kept = firstRow(connection, query);
  if (kept === undefined || kept.value === keyCheck) return;
  throw new EngineError(
    "This database was made with another secret key. Put the right key back (the data folder's secret.key, or DESKBELL_SECRET_KEY); nothing was changed.",
  );
}

function storeKeyCheck(connection: Connection, keyCheck: string): void {
  const query = builder
    .insertInto('meta')
    .values({ key: 'key_check', value: keyCheck })
    .onConflict((conflict) => conflict.doNothing())
    .compile();
  connection.prepare(query.sql).run(...query.parameters);
}
