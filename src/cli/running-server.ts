// Where the server of a data folder can be reached: a small private file that it writes
// while it serves. A left-over of a killed one is recognised; nothing else is decided here.
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { errorCode } from '../net/network-errors.ts';
import { readJson } from './server-answer.ts';

export interface ServerAddress {
  readonly url: string;
  readonly pid: number;
}

/** Where a server's data are. */
type Place = Pick<Config, 'data' | 'databaseUrl'>;

const fileOf = (folder: string): string => join(folder, 'deskbell-server.json');

/**
 * Leaves the address in the data folder.
 * @returns takes it away again, unless another server has written its own since
 */
export async function announceServer(folder: string, address: ServerAddress): Promise<() => Promise<void>> {
  const path = fileOf(folder);
  const text = `${JSON.stringify({ url: address.url, pid: address.pid })}\n`;
  const fresh = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.new`;
  try {
    await writeFile(fresh, text, { mode: 0o600, flag: 'wx' });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
  return async () => {
    if ((await readFile(path, 'utf8').catch(() => null)) === text)
      await rm(path, { force: true }).catch(() => undefined);
  };
}

/** How long a server on the same machine may take to say that it is there, ms. */
const timeoutMs = 2_000;

/** The ready server of this machine's data folder; null where there is none, or a database takes the folder's place. */
export async function serverHere(config: Place): Promise<ServerAddress | null> {
  const said = await announcedServer(config);
  // Its process number may be another process's by now.
  return said !== null && (await readinessProblem(said.url, timeoutMs)) === null ? said : null;
}

/**
 * The server of this machine's data folder as it said itself, whether it answers or not; null where its process is gone,
 * or a database takes the folder's place.
 */
export async function announcedServer({ data, databaseUrl }: Place): Promise<ServerAddress | null> {
  if (databaseUrl !== null) return null;
  const said = addressOf(await readFile(fileOf(data), 'utf8').catch(() => ''));
  return said !== null && isAlive(said.pid) ? said : null;
}

function addressOf(text: string): ServerAddress | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('url' in value) || !('pid' in value)) return null;
    const { url, pid } = value;
    return typeof url === 'string' &&
      URL.canParse(url) &&
      typeof pid === 'number' &&
      Number.isInteger(pid) &&
      pid > 0
      ? { url, pid }
      : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/**
 * Asks a server whether it is ready.
 * @returns what is wrong, as the end of a sentence; null when a Deskbell is ready there
 */
export async function readinessProblem(url: string, timeout: number): Promise<string | null> {
  try {
    const response = await fetch(new URL('/readyz', url), {
      signal: AbortSignal.timeout(timeout),
      redirect: 'manual',
    });
    const body: unknown = await readJson(response).catch(() => null);
    if (!response.ok) return `it answered ${response.status}`;
    const ready = typeof body === 'object' && body !== null && 'status' in body && body.status === 'ready';
    return ready ? null : 'something else answers there';
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time';
    const code = errorCode(error instanceof Error && error.cause !== undefined ? error.cause : error);
    return `no answer (${code})`;
  }
}
