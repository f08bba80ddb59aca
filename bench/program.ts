// Owns: what is measured on the built program from outside: start-up, idle memory, --version.
// Must not import it: it is started as a user starts it.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const launcher = join(import.meta.dirname, '../bin/deskbell.js');

/** The middle value; of an even number, the upper one of the two. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** @throws Error when there is no built program */
export async function assertBuilt(): Promise<void> {
  await access(join(import.meta.dirname, '../dist/cli.mjs')).catch(() => {
    throw new Error('The program is not built: run "npm run build" first.');
  });
}

export interface Served {
  readonly process: ChildProcess;
  readonly url: URL;
  /** From the start of the process to the first answer of /healthz, ms. */
  readonly startMs: number;
}

/**
 * Starts the built program, and ends it after some work with it.
 * @param data the folder to serve; left out: an empty one, which is removed
 * @param settings variables of its environment
 */
export async function serve<T>(
  work: (served: Served) => Promise<T>,
  data?: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<T> {
  await assertBuilt();
  const folder = data ?? (await mkdtemp(join(tmpdir(), 'deskbell-bench-')));
  const startedAt = performance.now();
  const process_ = spawn(process.execPath, [launcher, 'serve', '--json', '--port', '0', '--data', folder], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...settings },
  });
  const ended = new Promise<void>((resolve) => process_.once('exit', () => resolve()));
  try {
    const line = await firstLine(process_);
    const { url } = JSON.parse(line) as { url: string };
    const answer = await fetch(`${url}/healthz`);
    if (answer.status !== 200) throw new Error(`/healthz answered ${answer.status}`);
    await answer.text();
    return await work({ process: process_, url: new URL(url), startMs: performance.now() - startedAt });
  } finally {
    process_.kill('SIGTERM');
    await ended;
    if (data === undefined) await rm(folder, { recursive: true, force: true });
  }
}

function firstLine(process_: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    process_.stdout?.setEncoding('utf8').on('data', (more: string) => {
      text += more;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
    });
    process_.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

/**
 * Median time from `deskbell serve` to its first answer, ms.
 * @param data the folder to serve; left out: an empty one
 */
export async function startUp(runs: number, data?: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) times.push(await serve(async ({ startMs }) => startMs, data));
  return median(times);
}

/** Resident memory of a server that has answered once and rested two seconds, MB. */
export function idleMemory(): Promise<number> {
  return serve(async ({ process: { pid } }) => {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    return residentMegabytes(pid);
  });
}

/** What a process holds of the machine's memory now, MB. */
export async function residentMegabytes(pid: number | undefined): Promise<number> {
  return (await residentKilobytes(pid ?? 0)) / 1024;
}

async function residentKilobytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => null);
  if (status !== null) return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout);
}

/** Median time of `deskbell --version`, ms. */
export async function versionTime(runs: number): Promise<number> {
  await assertBuilt();
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now();
    await promisify(execFile)(process.execPath, [launcher, '--version']);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}
