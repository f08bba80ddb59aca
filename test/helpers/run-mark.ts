// Owns the mark of a test run: a variable that every process of the run inherits, so that all of them are found
// again, those of a killed runner too: in Linux's /proc, and by the command ps where there is none.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** `<run>` in the runner's workers, `<run>.<file>` in all that a test file starts. */
export const runVariable = 'TEST_RUN';

/** A process that carries a mark. */
export interface MarkedProcess {
  readonly pid: number;
  readonly command: string;
}

/**
 * Finds what runs under a mark, this process left out.
 * @param mark a run, with all its files; or one file of a run
 */
export function findProcesses(mark: string): MarkedProcess[] {
  if (!existsSync('/proc/self/environ')) return findInList(askPs(), mark);
  return processIds()
    .filter((pid) => pid !== process.pid && hasMark(readProc(pid, 'environ').split('\0'), mark))
    .map((pid) => ({ pid, command: readProc(pid, 'cmdline').replaceAll('\0', ' ').trim() }));
}

/** What runs on a system without /proc: ps writes the environment behind the command. */
function askPs(): string {
  // "x" also names what has no terminal, "e" the environment, "ww" the whole of it.
  return execFileSync('ps', ['axeww', '-o', 'pid=,command='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** The same as {@link findProcesses}, from what ps says. */
export function findInList(text: string, mark: string): MarkedProcess[] {
  return text.split('\n').flatMap((line) => {
    const [pid = '', ...rest] = line.trim().split(/\s+/);
    const found = Number(pid) !== process.pid && hasMark(rest, mark);
    return found ? [{ pid: Number(pid), command: rest.filter((part) => !/^\w+=/.test(part)).join(' ') }] : [];
  });
}

/** Kills what runs under a mark, and whatever that still starts while it is looked for. */
export function killProcesses(mark: string): void {
  for (let found = findProcesses(mark); found.length > 0; found = findProcesses(mark)) {
    for (const { pid } of found) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has ended by itself in between.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function processIds(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function hasMark(environment: readonly string[], mark: string): boolean {
  return environment.some(
    (entry) => entry === `${runVariable}=${mark}` || entry.startsWith(`${runVariable}=${mark}.`),
  );
}

/** @returns a file of a process; empty when it has ended, or belongs to another user */
function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
