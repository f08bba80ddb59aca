// Owns the mark of a test run: a variable that every process of the run inherits, so that all of them are found
// again, those of a killed runner too. Must not need anything but Linux's /proc; elsewhere nothing is found.
import { readdirSync, readFileSync } from 'node:fs';

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
  return processIds()
    .filter((pid) => pid !== process.pid && hasMark(readProc(pid, 'environ'), mark))
    .map((pid) => ({ pid, command: readProc(pid, 'cmdline').replaceAll('\0', ' ').trim() }));
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
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function hasMark(environment: string, mark: string): boolean {
  return environment
    .split('\0')
    .some((entry) => entry === `${runVariable}=${mark}` || entry.startsWith(`${runVariable}=${mark}.`));
}

/** @returns a file of a process; empty when it has ended, or belongs to another user */
function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
