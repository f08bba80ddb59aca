// One server per data folder: an exclusive lock on a small SQLite file of its own.
// The system frees it however the holder dies, so there is no stale lock to clear.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';

/** Beside the lock: whose it is. For people only; the lock itself decides. */
const pidFile = (file: string): string => `${file}.pid`;

/**
 * Takes the lock of a data folder.
 * @param file path of the lock file; made when it is missing
 * @returns a function that gives the lock back, or null when another process holds it
 */
export function acquireServerLock(file: string): (() => void) | null {
  const holder = new Database(file, { timeout: 0 });
  try {
    holder.exec('BEGIN EXCLUSIVE');
    writeFileSync(pidFile(file), `${process.pid}\n`, { mode: 0o600 });
  } catch (error) {
    holder.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return null;
    throw error;
  }
  return () => {
    rmSync(pidFile(file), { force: true });
    holder.close();
  };
}

/**
 * Names the process that holds the lock, as far as it can be known.
 * @param file path of the lock file
 * @returns as ` (process 4711)`, or nothing
 */
export function describeLockHolder(file: string): string {
  let text = '';
  try {
    text = readFileSync(pidFile(file), 'utf8').trim();
  } catch {
    // It has not been written yet, or the folder is another user's.
  }
  return /^[1-9]\d{0,9}$/.test(text) ? ` (process ${text})` : '';
}
