// One server per data folder: an exclusive lock on a small SQLite file of its own.
// The system frees it however the holder dies, so there is no stale lock to clear.
import Database from 'better-sqlite3';

/**
 * Takes the lock of a data folder.
 * @param file path of the lock file; made when it is missing
 * @returns a function that gives the lock back, or null when another process holds it
 */
export function acquireServerLock(file: string): (() => void) | null {
  const holder = new Database(file, { timeout: 0 });
  try {
    holder.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    holder.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return null;
    throw error;
  }
  return () => holder.close();
}
