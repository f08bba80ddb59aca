// What `deskbell doctor` looks at: each check is one finding, with what to do where
// something is wrong. Reads only; prints nothing.
import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import type { DataFolderReport } from '../data-folder.ts';
import type { RowsReport } from '../engine/open-engine.ts';
import { isLoopbackHost } from '../net/ip-ranges.ts';
import { readAstray } from '../services/mail/inbound/astray.ts';
import { shellWord } from './context.ts';
import { messageOf } from './errors.ts';
import { note, ok, wrong, type Finding } from './finding.ts';
import type { MailCheckOptions } from './mail-check.ts';
import { readinessProblem } from './running-server.ts';

const mebi = 1_048_576;
const dayMs = 86_400_000;
const timeoutMs = 4_000;
/** With less free space a server soon refuses writes. */
const minFreeBytes = 100 * mebi;
/** A larger log means that something prevents its checkpoints. */
const maxLogBytes = 64 * mebi;
/** Before the first version. */
const earliestNow = Date.UTC(2026, 0, 1);

/** What was seen of rows, in a folder or in a database that takes its place. */
interface SeenRows extends Pick<DataFolderReport, 'secrets'> {
  readonly database: RowsReport | Error | null;
}

export interface DoctorChecks extends Pick<MailCheckOptions, 'dkimSelector'> {
  /** Whether a mail is sent to the server itself. */
  readonly mailRoundTrip?: boolean | undefined;
}

/** Every check, in the order in which to fix what they find. */
export async function runChecks(config: Config, now: number, options: DoctorChecks = {}): Promise<Finding[]> {
  const findings = [checkNodeVersion(process.versions.node, manifest.engines.node)];
  if (config.databaseUrl !== null) return [...findings, ...(await databaseInstead(config, now, options))];
  const folder = await stat(config.data).catch(() => null);
  if (folder === null || !folder.isDirectory()) {
    findings.push(
      folder === null
        ? await missingFolder(config.data)
        : wrong('data folder', `${config.data} is no folder`, 'Name another one: --data DIR'),
    );
    return [
      ...findings,
      clockAlone(now),
      ...(await checkAddresses(config, false)),
      ...(await mail(config, options)),
      ...noRoundTrip(options),
      ...(await model(config)),
    ];
  }
  const { inspectDataFolder: examineFolder } = await import('../data-folder.ts');
  const seen = await examineFolder(config);
  findings.push(
    ...(await rights(config.data, folder)),
    ...databaseFindings(config, seen, now),
    await freeSpace(config.data),
    await reserve(config.data, seen.serverRunning),
    await fileSystem(config.data),
    await logSize(config.data),
    durability(config),
    ...(await files(config, seen)),
    ...(await push(config, seen)),
    ...(await checkAddresses(config, seen.serverRunning)),
    ...(await mail(config, options)),
    ...mailsAstray(seen, now),
    ...(options.mailRoundTrip === true ? [await roundTrip(config, seen)] : []),
    ...(await model(config)),
  );
  return findings;
}

/** Whether the first start can make the folder. */
async function missingFolder(path: string): Promise<Finding> {
  let above = dirname(path);
  let found = await stat(above).catch(() => null);
  while (found === null && above !== dirname(above)) {
    above = dirname(above);
    found = await stat(above).catch(() => null);
  }
  const problem =
    found?.isDirectory() === false
      ? `${above} is no folder`
      : await access(above, constants.W_OK).then(() => null, messageOf);
  return problem === null
    ? note('data folder', `${path} does not exist yet; the first start makes it`)
    : wrong(
        'data folder',
        `${path} does not exist and can't be made: ${problem}`,
        'Name another one: --data DIR',
      );
}

/** Where a database takes the place of the folder. */
async function databaseInstead(config: Config, now: number, options: DoctorChecks): Promise<Finding[]> {
  const { checkDatabase: examine, lookAtDatabase: look } = await import('./database-checks.ts');
  const report = await look(config);
  if (report === null) return [];
  const seen =
    report instanceof Error
      ? { database: report, secrets: null }
      : { database: report, secrets: report.secrets };
  return [
    ...(await examine(config, report, now)),
    ...(await files(config, seen)),
    ...(await push(config, seen)),
    ...(await checkAddresses(config, null)),
    ...(await mail(config, options)),
    ...mailsAstray(seen, now),
    ...noRoundTrip(options),
    ...(await model(config)),
  ];
}

/** @param range as in package.json: `^22.22.2 || >=26.0.0` */
export function checkNodeVersion(version: string, range: string): Finding {
  const numbers = (text: string): number[] =>
    text
      .replace(/^[^\d]*/, '')
      .split('.')
      .map(Number);
  const have = numbers(version);
  const fits = range.split('||').some((part) => {
    const least = numbers(part.trim());
    const difference = have.map((one, index) => one - (least[index] ?? 0)).find((one) => one !== 0) ?? 0;
    return difference >= 0 && (part.includes('>=') || have[0] === least[0]);
  });
  return fits
    ? ok('node', version)
    : wrong('node', `${version}, and Deskbell needs ${range}`, 'Install a newer one from https://nodejs.org');
}

async function rights(folder: string, { mode, uid }: { mode: number; uid: number }): Promise<Finding[]> {
  const findings: Finding[] = [];
  const me = process.getuid?.() ?? uid;
  if (uid !== me && me !== 0)
    findings.push(
      wrong(
        'data folder',
        `${folder} belongs to user ${uid}, and this is user ${me}`,
        `chown -R ${me} ${shellWord(folder)}`,
      ),
    );
  else if ((mode & 0o077) !== 0)
    findings.push(wrong('data folder', `${folder} is open to other users`, `chmod 700 ${shellWord(folder)}`));
  const writable = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!writable)
    findings.push(wrong('data folder', `${folder} can't be written`, `chmod u+rwx ${shellWord(folder)}`));
  if (findings.length === 0) findings.push(ok('data folder', folder));
  for (const name of ['deskbell.db', 'deskbell.db-wal', 'deskbell.db-shm', 'secret.key']) {
    const file = join(folder, name);
    const info = await stat(file).catch(() => null);
    if (info !== null && (info.mode & 0o077) !== 0)
      findings.push(wrong('rights', `${file} is open to other users`, `chmod 600 ${shellWord(file)}`));
    // Root reads everything; the server that runs as the folder's owner does not.
    if (info !== null && info.uid !== uid)
      findings.push(
        wrong(
          'rights',
          `${file} belongs to user ${info.uid}, and the folder to user ${uid}`,
          `chown -R ${uid} ${shellWord(folder)}`,
        ),
      );
  }
  return findings;
}

const restore = 'Restore a backup: deskbell restore FILE --force';

/** What to do about a database that can't be opened. A backup helps where it is damaged, and takes much where it is not. */
function remedyFor(error: Error): string {
  // What the files must be like is said by the engine itself.
  if (error.name === 'EngineError')
    return 'Make the folder and its files writable for the user who runs the server';
  return 'code' in error && /^SQLITE_(?:FULL|IOERR)/.test(String(error.code))
    ? 'See whether the disk is full (df) or fails (dmesg)'
    : restore;
}

function databaseFindings(config: Config, { database, key }: DataFolderReport, now: number): Finding[] {
  if (database === null)
    return [note('database', 'there is none yet; the first start makes it'), clockAlone(now)];
  if (database instanceof Error)
    return [
      wrong('database', `it can't be opened: ${database.message}`, remedyFor(database)),
      clockAlone(now),
    ];
  const { schema, knownSchema, sqliteVersion, problem, isIndexAlone, isIndexFilling, newestTime } = database;
  const findings = [ok('sqlite', sqliteVersion)];
  if (key instanceof Error)
    findings.push(
      wrong('secret key', key.message, 'Put the right secret.key back, or set DESKBELL_SECRET_KEY'),
    );
  else if (key === true)
    findings.push(
      ok(
        'secret key',
        config.secretKey === null ? 'secret.key is the right one' : 'DESKBELL_SECRET_KEY is the right one',
      ),
    );
  else
    findings.push(
      wrong(
        'secret key',
        'it is not the one of this database',
        'Put the right secret.key back, or set DESKBELL_SECRET_KEY',
      ),
    );
  if (schema > knownSchema)
    findings.push(
      wrong('schema', `${schema}, newer than this program's ${knownSchema}`, 'Install a newer deskbell'),
    );
  else if (schema < knownSchema)
    findings.push(note('schema', `${schema}; the next start brings it to ${knownSchema}, after a copy`));
  else findings.push(ok('schema', String(schema)));
  findings.push(
    problem === null
      ? ok('integrity', 'the database is whole')
      : isIndexAlone
        ? wrong(
            'integrity',
            `an index of the search is damaged, and nothing else: ${problem}`,
            'Stop the server, and make the indexes anew: deskbell reindex',
          )
        : wrong('integrity', `the database is damaged: ${problem}`, restore),
  );
  if (isIndexFilling && !isIndexAlone)
    findings.push(
      note(
        'search',
        'a running server puts messages into its index; until then a search finds a part of them',
      ),
    );
  findings.push(checkClock(now, newestTime));
  return findings;
}

function clockAlone(now: number): Finding {
  return checkClock(now, null);
}

/** A clock that is far behind what is stored is wrong; one that is far ahead can't be told from a quiet server. */
export function checkClock(now: number, newestTime: number | null): Finding {
  const time = iso(now);
  const fix = 'Set the clock right (timedatectl set-ntp true), or retention and tokens go wrong';
  if (now < earliestNow) return wrong('clock', `it says ${time}`, fix);
  if (newestTime === null) return ok('clock', time);
  if (newestTime > now + dayMs)
    return wrong('clock', `it says ${time}, and the newest row is from ${iso(newestTime)}`, fix);
  const quietDays = Math.floor((now - newestTime) / dayMs);
  if (quietDays > 30)
    return note(
      'clock',
      `it says ${time}; nothing has been stored for ${quietDays} days. Is that so, or is the clock ahead?`,
    );
  return ok('clock', time);
}

/** A jumped clock may be beyond what a date can show. */
function iso(ms: number): string {
  return Number.isNaN(new Date(ms).getTime()) ? `${ms} ms` : new Date(ms).toISOString();
}

async function freeSpace(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const size = (await stat(join(folder, 'deskbell.db')).catch(() => null))?.size ?? 0;
  const text = `${Math.floor(free / mebi).toLocaleString('en')} MiB free`;
  if (free < minFreeBytes)
    return wrong('disk', text, 'Make room: without it no message can be stored, nor removed');
  if (free < 2 * size)
    return note('disk', `${text}, less than twice the database: a backup or a change of schema may not fit`);
  return ok('disk', text);
}

async function reserve(folder: string, served: boolean): Promise<Finding> {
  const { hasReserve, reserveBytes } = await import('../data-folder.ts');
  const size = `${reserveBytes / mebi} MiB`;
  if (hasReserve(folder)) return ok('reserve', `${size} are kept for a full disk`);
  return note(
    'reserve',
    served ? `none: the disk is or was full, or the server has just begun` : 'none yet',
    served ? `Make room: it comes back by itself when ${(2 * reserveBytes) / mebi} MiB are free` : null,
  );
}

/** File systems by the magic number that statfs tells. */
const networkFileSystems: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB2',
  0x01021997: '9p (a folder of the host shown to a virtual machine)',
  0x0187: 'autofs',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
};
const fuse = 0x65735546;

async function fileSystem(folder: string): Promise<Finding> {
  const { type } = await statfs(folder);
  return checkFileSystem(type);
}

/** @param type statfs's magic number */
export function checkFileSystem(type: number): Finding {
  // Some platforms hand the number over signed.
  const network = networkFileSystems[type >>> 0];
  if (network !== undefined)
    return wrong(
      'file system',
      `${network}: SQLite's locks do not hold there, and databases break`,
      'Move the data folder to a disk of this machine: --data DIR',
    );
  if (type >>> 0 === fuse)
    return note('file system', 'FUSE: make sure that it is no network drive, because SQLite breaks there');
  return ok('file system', 'local');
}

async function logSize(folder: string): Promise<Finding> {
  const size = (await stat(join(folder, 'deskbell.db-wal')).catch(() => null))?.size ?? 0;
  const text = `${(size / mebi).toFixed(1)} MiB of write-ahead log`;
  return size > maxLogBytes
    ? wrong(
        'log',
        text,
        'Something holds the database open: end old sqlite3 shells and stuck backups, then restart the server',
      )
    : ok('log', text);
}

function durability(config: Config): Finding {
  return config.durability === 'full'
    ? ok('durability', 'full: what is acknowledged survives a loss of power')
    : note(
        'durability',
        'normal: a loss of power may take acknowledged messages',
        'Serve with --durability full',
      );
}

// Loaded here: it brings the whole service along, which no other check needs.
async function model(config: Config): Promise<Finding[]> {
  const { checkModel: examineModel } = await import('./model-check.ts');
  return examineModel(config);
}

async function mail(config: Config, options: MailCheckOptions): Promise<Finding[]> {
  const { checkMail: examineMail } = await import('./mail-check.ts');
  return examineMail(config, options);
}

async function roundTrip(config: Config, seen: DataFolderReport): Promise<Finding> {
  const { checkRoundTrip } = await import('./mail-round-trip.ts');
  return checkRoundTrip(config, seen);
}

/** What is said of the mail that was asked for where no server on a folder could take it. */
function noRoundTrip({ mailRoundTrip }: DoctorChecks): Finding[] {
  return mailRoundTrip === true
    ? [note('mail round trip', 'no mail was sent: this checks a server on a data folder')]
    : [];
}

/** Nothing is said of pushes where no browser takes any. */
async function push({ baseUrl: url }: Config, { database, secrets }: SeenRows): Promise<Finding[]> {
  const about = 'push';
  if (secrets === null || database === null || database instanceof Error || database.push === null) return [];
  if (database.push.keys === null && database.push.counts.length === 0) return [];
  const { inspectPush } = await import('../services/notifications/push-keys.ts');
  const { devices, failing, problem } = inspectPush(secrets, database.push.keys, database.push.counts);
  if (problem !== null)
    return [
      wrong(about, problem, 'Make a new key: deskbell notify rotate-key. Browsers then subscribe again'),
    ];
  const found = `${devices} ${devices === 1 ? 'browser is' : 'browsers are'} sent pushes`;
  if (devices > 0 && url?.startsWith('https:') !== true)
    return [
      note(
        about,
        `${found}, and Apple takes none from a server without an https address`,
        'Set --base-url https://…',
      ),
    ];
  return failing === 0
    ? [ok(about, found)]
    : [
        note(
          about,
          `${found}, and the last push did not arrive at ${failing}`,
          'Their members see why on the page Notifications, and deskbell notify test names it',
        ),
      ];
}

/** Mails of people that came in and led nowhere, where there were some of late. */
function mailsAstray({ database }: SeenRows, now: number): Finding[] {
  if (database === null || database instanceof Error) return [];
  const { count, lastAt } = readAstray(database.mailsAstray);
  if (lastAt === null || lastAt < now - 30 * dayMs) return [];
  return [
    note(
      'mails that came',
      `${count} of people led to no conversation and to no inbox, the last on ${iso(lastAt)}`,
      'Compare the addresses in the log with DESKBELL_MAIL_ADDRESS and the application’s email.address',
    ),
  ];
}

/** The store of files, the scanner, and what waits for them. */
async function files(config: Config, { database }: SeenRows): Promise<Finding[]> {
  const { checkFiles: examineFiles } = await import('./files-check.ts');
  const report = database === null || database instanceof Error ? null : database.files;
  return examineFiles(config, report);
}

/** @param served whether a server runs on the folder; null: there is no folder, and a server here is no surprise */
async function checkAddresses(config: Config, served: boolean | null): Promise<Finding[]> {
  return [await port(config, served), ...(await baseUrl(config, served))];
}

async function port({ host, port: number }: Config, served: boolean | null): Promise<Finding> {
  const about = 'port';
  if (number === 0) return ok(about, 'a free one is picked');
  const here = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const problem = await listenProblem(host, number);
  if (problem === null)
    return served === true
      ? note(about, `${number} is free: the server of this folder listens elsewhere`)
      : ok(about, `${number} is free`);
  if (problem === 'EACCES')
    return wrong(
      about,
      `${number} needs rights that this user does not have`,
      'Choose one above 1023: --port N',
    );
  if (problem !== 'EADDRINUSE')
    return wrong(
      about,
      `${host}:${number} can't be listened on (${problem})`,
      'Choose another address: --host ADDRESS',
    );
  const unready = await readinessProblem(
    `http://${here.includes(':') ? `[${here}]` : here}:${number}`,
    timeoutMs,
  );
  if (unready === null && served !== false) return ok(about, `${number} is served by a Deskbell`);
  return wrong(
    about,
    `${number} is taken by ${unready === null ? 'a Deskbell on another data folder' : 'another program'}`,
    'Stop that one, or choose another port: --port N',
  );
}

/** @returns the code of what is in the way, or null */
async function listenProblem(host: string, number: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const server = createServer();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ host, port: number, exclusive: true }, () => server.close(() => resolve(null)));
  return promise;
}

async function baseUrl(config: Config, served: boolean | null): Promise<Finding[]> {
  const { baseUrl: url } = config;
  const about = 'base URL';
  if (url === null)
    return [
      note(
        about,
        'not set: snippets and links name this machine',
        'Serve with --base-url https://chat.example.com once visitors come from elsewhere',
      ),
    ];
  const problem = await readinessProblem(url, timeoutMs);
  if (problem !== null)
    return [
      served === true
        ? wrong(about, `${url}: ${problem}`, 'Look at the DNS name, the proxy in front and the firewall')
        : note(about, `${url}: ${problem}${served === false ? '; no server is running on this folder' : ''}`),
    ];
  const findings = [ok(about, `${url} answers`)];
  if (new URL(url).protocol === 'http:' && !isLoopbackHost(new URL(url).hostname))
    findings.push(
      note(
        'dashboard',
        `${url} is not encrypted: browsers keep no sign-in there, so the dashboard can’t be used`,
        'Serve it over https: put a proxy with a certificate in front and set --base-url https://…',
      ),
    );
  const upgrade = await upgradeProblem(url);
  findings.push(
    upgrade === null
      ? ok('websocket', `it passes through ${url}`)
      : wrong(
          'websocket',
          `${url}: ${upgrade}`,
          'Let the proxy pass upgrades on: the headers Upgrade and Connection, HTTP/1.1 to the server',
        ),
  );
  if (!isLoopbackHost(new URL(url).hostname) && config.trustProxy === 0)
    findings.push(
      note(
        'proxy',
        'behind a proxy all visitors would share its address, and its limits',
        'Serve with --trust-proxy 1 if exactly one proxy is in front',
      ),
    );
  return findings;
}

/** Opens a socket without a token: a server that upgrades it and closes with 4401 is a Deskbell. */
async function upgradeProblem(url: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = new WebSocket(new URL('/api/v1/ws', url.replace(/^http/, 'ws')));
  const timer = setTimeout(() => resolve('no answer in time'), timeoutMs);
  let opened = false;
  socket.addEventListener('open', () => (opened = true));
  socket.addEventListener('error', () => resolve('the upgrade was refused'));
  socket.addEventListener('close', ({ code }) =>
    resolve(opened && code === 4401 ? null : 'the connection was cut off'),
  );
  const problem = await promise;
  clearTimeout(timer);
  socket.close();
  return problem;
}
