// Owns the end of a run's PostgreSQL server, for the watcher of the run. Must not need a package.
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.ts';

/** @param run the run's folder */
export const serverFolderOf = (run: string): string => join(run, 'postgres');

/** @param folder the server's folder */
export const serverPidFile = (folder: string): string => join(folder, 'pid');

/** Where the databases are; for the run's server maybe a link to a folder in memory. @param folder the server's folder */
export const dataFolderOf = (folder: string): string => join(folder, 'data');

/**
 * Ends the server of a run, where one was started, and removes its databases: by itself it gives back what it shares with
 * the system, killed it would not.
 * @param run the run's folder
 */
export async function stopServer(run: string): Promise<void> {
  try {
    await endServer(run);
  } finally {
    const data = dataFolderOf(serverFolderOf(run));
    if (existsSync(data)) rmSync(realpathSync(data), { recursive: true, force: true, maxRetries: 3 });
  }
}

async function endServer(run: string): Promise<void> {
  const file = serverPidFile(serverFolderOf(run));
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8'));
  // At once: nothing in it is kept.
  if (!signal(pid, 'SIGQUIT')) return;
  await eventually(() => {
    if (signal(pid, 0)) throw new Error(`PostgreSQL (process ${pid}) does not end.`);
  }, 10_000);
}

/** @returns false when there is no such process */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
