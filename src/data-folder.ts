// A whole data folder, database and secret key together: backing it up, restoring it,
// looking at it. Knows nothing of organizations, transports or terminals.
import { copyFile, chmod, link, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Config } from './config.ts';
import {
  BackupError,
  databaseExists,
  databaseFile,
  EngineError,
  inspectDatabase,
  inspectDatabaseUrl,
  readMetaValue,
  forUser,
  giveName,
  isServed,
  lockFolder,
  logSuffixes,
  nameLockHolder,
  openBackup,
  openConnection,
  partialEnd,
  prepareFolder,
  reindexDatabase,
  removeBackupFiles,
  removePartialFiles,
  restoreCopyName,
  restoringEnd,
  sqliteCode,
  systemErrorCode,
  unsealedCopyName,
  writeBackup,
  type BackupManifest,
  type DatabaseReport,
  type PostgresReport,
  type OpenBackup,
  type WriteBackup,
} from './engine/open-engine.ts';
import { givenMasterKey, loadMasterKey, secretKeyFile } from './secret-key.ts';
import { createSecrets, type Secrets } from './services/auth/secrets.ts';

export { hasReserve, isSealedBackup, PassphraseError, reserveBytes } from './engine/open-engine.ts';

export interface BackupResult {
  readonly file: string;
  readonly facts: BackupManifest;
}

/** Files of a data folder that must never be written over by a backup. */
const reservedFileName = /^(deskbell[.-]|secret\.key|files(\.restoring)?$)/;

/**
 * Backs up a data folder beside a running server: one file with the database as of one commit and the secret key.
 * @param file where to; replaced only with `force`
 * @param now ms since the epoch
 * @param passphrase without which it can't be read, or null
 * @param write what writes and checks it; the only part of this that takes long
 * @throws EngineError, BackupError; nothing is left at `file` then that was not there before
 */
export async function backUpDataFolder(
  config: Config,
  file: string,
  force: boolean,
  now: number,
  passphrase: string | null = null,
  write: WriteBackup = writeBackup,
): Promise<BackupResult> {
  const target = resolve(file);
  if (dirname(target) === config.data && reservedFileName.test(basename(target)))
    throw new EngineError(
      `${target} is the name of a file that Deskbell itself keeps there. Choose another.`,
    );
  if (await isFolder(target)) throw new EngineError(`${target} is a folder. Name a file in it.`);
  if (!force && (await exists(target))) throw existsAlready(target);
  const key = await loadMasterKey(config.data, config.secretKey);
  const copy = join(config.data, unsealedCopyName);
  for (const path of [target, copy]) await removePartialFiles(path, now);
  const end = partialEnd();
  const partial = target + end;
  const files = {
    target: partial,
    // Where it is in the clear anyway: the target may lie on a disk that must never see it so.
    unsealed: copy + end,
    folder: config.files === null ? filesFolder(config.data) : null,
  };
  try {
    const { facts, keyCheck } = await write(databaseFile(config.data), files, key, now, passphrase);
    assertKey(
      keyCheck,
      key,
      'The secret key at hand is not the one of this database, so a backup with it would be worth nothing.',
    );
    if (force) await rename(partial, target);
    else if (!(await giveName(partial, target))) throw existsAlready(target);
    try {
      await syncFolder(dirname(target));
    } catch (error) {
      // Its name may be gone after a crash. What it replaced can't come back, so then it stays.
      if (!force) await rm(target, { force: true });
      throw error;
    }
    await removeBackupFiles(files);
    return { file: target, facts };
  } catch (error) {
    // In a folder that can't be written to, this fails for the same reason.
    await removeBackupFiles(files).catch(() => undefined);
    const problem = folderProblem(systemErrorCode(error), dirname(target));
    if (problem !== null && pathOf(error) === partial) throw new EngineError(problem, { cause: error });
    throw await forUser(config.data, error);
  }
}

function existsAlready(target: string): EngineError {
  return new EngineError(`${target} exists already. Choose another file, or add --force to replace it.`);
}

/** Why no file can be made in a folder, and what to do; null: it is not the folder's fault. */
function folderProblem(code: string | undefined, folder: string): string | null {
  switch (code) {
    case 'ENOENT':
      return `There is no folder ${folder}. Make it, or choose another.`;
    case 'ENOTDIR':
      return `${folder} is not a folder. Choose another.`;
    case 'EACCES':
    case 'EPERM':
      return `This user may not write to the folder ${folder}. Choose another.`;
    case 'EROFS':
      return `The folder ${folder} is on a file system that can't be written to. Choose another.`;
    case 'ENAMETOOLONG':
      return `The name of the file is too long for the folder ${folder}. Choose a shorter one.`;
    default:
      return null;
  }
}

/** The file or folder that a system error is about. */
function pathOf(error: unknown): unknown {
  return error instanceof Error && 'path' in error ? error.path : undefined;
}

/** Where the files of messages lie, unless they are in a bucket. */
function filesFolder(folder: string): string {
  return join(folder, 'files');
}

export interface RestoreResult {
  readonly facts: BackupManifest;
  /** The folder that holds what was there before, or null. */
  readonly before: string | null;
}

/**
 * Puts a backup's database and key into a data folder that no server uses.
 * @param force also where there is a database: it is kept aside first
 * @param now ms since the epoch
 * @param passphrase of the backup, or null
 * @throws PassphraseError, BackupError, SchemaError, EngineError; the folder's data are as they were then
 */
export async function restoreDataFolder(
  config: Config,
  file: string,
  force: boolean,
  now: number,
  passphrase: string | null = null,
): Promise<RestoreResult> {
  const backup = await openBackup(resolve(file), passphrase);
  try {
    return await restoreOpened(config, backup, force, now);
  } finally {
    await backup.close();
  }
}

async function restoreOpened(
  config: Config,
  { facts, extract, extractFiles }: OpenBackup,
  force: boolean,
  now: number,
): Promise<RestoreResult> {
  const key = Buffer.from(facts.key, 'base64');
  if (config.secretKey !== null && !key.equals(Buffer.from(config.secretKey.reveal().trim(), 'base64')))
    throw new EngineError(
      'DESKBELL_SECRET_KEY holds another key than this backup. Unset it, or set it to the key of the backup; nothing was changed.',
    );
  const folder = config.data;
  await prepareFolder(folder);
  const unlock = await lockFolder(folder);
  if (unlock === null)
    throw new EngineError(
      `A deskbell server${await nameLockHolder(folder)} is running on ${folder}. Stop it, then restore; nothing was changed.`,
    );
  const incoming = databaseFile(folder) + restoringEnd;
  const incomingFiles = filesFolder(folder) + restoringEnd;
  try {
    await assertFree(folder, key, force);
    assertKey(
      await extract(incoming),
      key,
      'The database in this backup was made with another key than the one beside it.',
    );
    const withFiles = config.files === null;
    if (withFiles) await extractFiles(incomingFiles);
    const before = await keepPrevious(folder, now, withFiles);
    // The key first: a database of another key is refused by every start, so a cut in between harms nothing.
    if (config.secretKey === null) await replaceKey(folder, facts.key);
    if (withFiles && facts.files !== undefined && facts.files.count > 0)
      await rename(incomingFiles, filesFolder(folder));
    await rename(incoming, databaseFile(folder));
    await syncFolder(folder);
    return { facts, before };
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(incoming + end, { force: true });
    await rm(incomingFiles, { recursive: true, force: true });
    unlock();
  }
}

/**
 * Makes the full-text indexes of a folder that no server uses anew.
 * @throws EngineError; nothing was changed then
 */
export async function reindexDataFolder({ data: folder }: Config): Promise<void> {
  const unlock = await lockFolder(folder);
  if (unlock === null)
    throw new EngineError(
      `A deskbell server${await nameLockHolder(folder)} is running on ${folder}. Stop it, then try again; nothing was changed.`,
    );
  try {
    reindexDatabase(databaseFile(folder));
  } finally {
    unlock();
  }
}

async function assertFree(folder: string, key: Uint8Array, force: boolean): Promise<void> {
  if (force) return;
  if (await databaseExists(folder))
    throw new EngineError(
      `There is a database in ${folder} already. Name another folder with --data DIR, or add --force: what is there is then kept aside.`,
    );
  if (!(await exists(secretKeyFile(folder)))) return;
  const kept = await loadMasterKey(folder, null);
  if (!Buffer.from(kept).equals(Buffer.from(key)))
    throw new EngineError(
      `${secretKeyFile(folder)} holds another key than this backup. Move it away, or add --force: it is then kept aside.`,
    );
}

/** Keeps what the folder holds now in a folder of its own. @returns its path; null where there was nothing */
async function keepPrevious(folder: string, now: number, withFiles: boolean): Promise<string | null> {
  const database = databaseFile(folder);
  const present = [];
  for (const path of [database, secretKeyFile(folder)]) if (await exists(path)) present.push(path);
  const files = withFiles && (await exists(filesFolder(folder)));
  if (present.length === 0 && !files) return null;
  const before = join(folder, restoreCopyName(now));
  await mkdir(before, { mode: 0o700 });
  if (present.includes(database)) await foldOrKeepWal(database, before);
  for (const path of present) {
    const copy = join(before, basename(path));
    // The name stays in its place until the new file takes it: there is no moment without a database.
    await link(path, copy).catch(() => copyFile(path, copy));
    await chmod(copy, 0o600);
  }
  if (files) await rename(filesFolder(folder), join(before, 'files'));
  // A log must never meet another database.
  for (const end of logSuffixes) await rm(database + end, { force: true });
  await syncFolder(before);
  return before;
}

/** SQLite throws the log of a database away that it can't read: it is copied first, and kept where it is still needed. */
async function foldOrKeepWal(database: string, before: string): Promise<void> {
  const copied = [];
  for (const end of logSuffixes) {
    if (!(await exists(database + end))) continue;
    const copy = join(before, basename(database) + end);
    await copyFile(database + end, copy);
    copied.push(copy);
  }
  try {
    if (!foldWal(database)) return;
  } catch (error) {
    await rm(before, { recursive: true });
    throw error;
  }
  for (const copy of copied) await rm(copy);
}

/**
 * Folds the log into the file, which also proves that no other process has it open.
 * @returns false for a damaged database, which stays as it is
 */
function foldWal(file: string): boolean {
  let connection;
  try {
    connection = openConnection(file, { durability: 'full', lockTimeoutMs: 2_000 });
    const mode: unknown = connection.pragma('journal_mode = DELETE', { simple: true });
    if (mode === 'delete') return true;
  } catch (error) {
    const code = sqliteCode(error);
    if (code === undefined) throw error;
    if (!code.startsWith('SQLITE_BUSY') && code !== 'SQLITE_LOCKED') return false;
  } finally {
    connection?.close();
  }
  throw new EngineError(`Another program has ${file} open. Let it end, then restore; nothing was changed.`);
}

async function replaceKey(folder: string, key: string): Promise<void> {
  const file = secretKeyFile(folder);
  const incoming = `${file}.restoring`;
  await rm(incoming, { force: true });
  await writeFile(incoming, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
  await rename(incoming, file);
}

function assertKey(keyCheck: string | null, key: Uint8Array, sentence: string): void {
  if (keyCheck !== null && createSecrets(key).keyCheck !== keyCheck)
    throw new BackupError(`${sentence} Nothing was changed.`);
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export interface DataFolderReport {
  /** True while a server runs on it. */
  readonly serverRunning: boolean;
  /** null where there is no database; the error where it can't be opened. */
  readonly database: DatabaseReport | Error | null;
  /** True when the key at hand is the database's; the error where there is none to be had; null without a database. */
  readonly key: boolean | Error | null;
  /** Opens what is sealed in the database; null without the right key. */
  readonly secrets: Pick<Secrets, 'open' | 'digest'> | null;
}

/** Looks at a folder that exists, and changes nothing in it. */
export async function inspectDataFolder(config: Config): Promise<DataFolderReport> {
  // Who may not even ask for the lock may not write beside the database either.
  const served = await isServed(config.data).catch(asError);
  const serverRunning = served === true;
  if (!(await databaseExists(config.data)))
    return { serverRunning, database: null, key: null, secrets: null };
  const database =
    served instanceof Error
      ? served
      : await inspectDatabase(databaseFile(config.data)).catch(async (error: unknown) =>
          asError(await forUser(config.data, error)),
        );
  const key = await loadMasterKey(config.data, config.secretKey).catch(asError);
  if (key instanceof Error) return { serverRunning, database, key, secrets: null };
  const secrets = createSecrets(key);
  const isRight = !(database instanceof Error) && database.keyCheck === secrets.keyCheck;
  return { serverRunning, database, key: isRight, secrets: isRight ? secrets : null };
}

/** One value that a running server has noted in its folder. */
export function readNote(folder: string, key: string): Promise<string | undefined> {
  return readMetaValue(databaseFile(folder), key);
}

export interface SharedDatabaseReport extends PostgresReport {
  /** True when the key at hand is the database's; the error where it is none; null: the database has none yet. */
  readonly key: boolean | Error | null;
  /** With the right key: what opens what the database holds sealed. */
  readonly secrets: Pick<Secrets, 'open' | 'digest'> | null;
}

/** Looks at the database that takes the folder's place. @throws EngineError, SchemaError */
export async function inspectSharedDatabase(
  { secretKey }: Config,
  url: string,
): Promise<SharedDatabaseReport> {
  const report = await inspectDatabaseUrl(url);
  if (report.keyCheck === null || secretKey === null) return { ...report, key: null, secrets: null };
  try {
    const secrets = createSecrets(givenMasterKey(secretKey));
    const isRight = secrets.keyCheck === report.keyCheck;
    return { ...report, key: isRight, secrets: isRight ? secrets : null };
  } catch (error) {
    return { ...report, key: asError(error), secrets: null };
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
