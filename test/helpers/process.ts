// Owns: the real server as a process of its own, and other processes beside it on the same folder.
// Must not leave one running: the caller stops or kills it.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { cleanEnvironment, repository, Running, type Outcome } from './command.ts';

const launcher = join(repository, 'bin/deskbell.js');

export interface ServingOptions {
  readonly flags?: readonly string[];
  readonly environment?: Record<string, string>;
  /** The umask under which it is started, as `000`. */
  readonly umask?: string;
}

/** Starts the built program as a user would; it may refuse. */
export function startServing(
  folder: string,
  { flags = [], environment = {}, umask }: ServingOptions = {},
): Running {
  const args = [launcher, 'serve', '--json', '--port', '0', '--data', folder, ...flags];
  const options = { env: cleanEnvironment({ DESKBELL_LOG_LEVEL: 'warn', ...environment }) };
  return umask === undefined
    ? new Running(process.execPath, args, options)
    : new Running('sh', ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, ...args], options);
}

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Ends it as a power cut ends a process. */
  kill(): Promise<Outcome>;
  /** Ends it as a service manager does. */
  stop(): Promise<Outcome>;
}

/** Starts the built program and waits until it serves. */
export async function serve(folder: string, options: ServingOptions = {}): Promise<ServerProcess> {
  const running = startServing(folder, options);
  const [text] = await running.line(/^\{.*\}$/);
  const { url, pid } = JSON.parse(text) as { url: string; pid: number };
  return { url, pid, kill: () => running.stop('SIGKILL'), stop: () => running.stop('SIGTERM') };
}

/** Another process that has opened the database, and does what it is told. */
export interface OtherProcess {
  /** Runs SQL there; resolves when it is done. */
  exec(sql: string): Promise<void>;
  close(): Promise<void>;
}

const otherProgram = `
const Database = require(process.argv[1]);
const db = new Database(process.argv[2], { timeout: 5000 });
process.on('message', (sql) => { db.exec(sql); process.send('done'); });
process.once('disconnect', () => db.close());
process.send('ready');
`;

/** Opens a database file from another process. */
export async function openInOtherProcess(file: string): Promise<OtherProcess> {
  const driver = createRequire(import.meta.url).resolve('better-sqlite3');
  const child = spawn(process.execPath, ['-e', otherProgram, driver, file], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: cleanEnvironment(),
  });
  const ended = new Promise<never>((_resolve, reject) =>
    child.once('exit', (code) => reject(new Error(`the other process ended with ${code}`))),
  );
  ended.catch(() => undefined);
  const told = (): Promise<void> =>
    Promise.race([new Promise<void>((resolve) => child.once('message', () => resolve())), ended]);
  await told();
  return {
    exec: async (sql) => {
      const done = told();
      child.send(sql);
      await done;
    },
    close: async () => {
      if (child.exitCode !== null) return;
      child.disconnect();
      await ended.catch(() => undefined);
    },
  };
}
