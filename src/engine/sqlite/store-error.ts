// What the caller of an operation is told of an error of SQLite's.
import { IndexDamagedError, StoreUnavailableError } from '../engine.ts';
import { errorMessage } from '../file-errors.ts';
import { isStorageError, sqliteCode } from './connection.ts';

/**
 * The error for the caller; one that is not SQLite's, or no fault of the storage or an index, as it is.
 * @param refused a sentence for what storage did not do
 */
export function toStoreError(error: unknown, refused: string): unknown {
  if (isStorageError(error)) return new StoreUnavailableError(refused, { cause: error });
  return isIndexDamage(error)
    ? new IndexDamagedError(
        `A full-text index of the database is damaged (${errorMessage(error)}). Stop the server and make the indexes anew: deskbell reindex. No message is lost.`,
        { cause: error },
      )
    : error;
}

/** Whether a full-text index contradicts itself: SQLite has this code for what virtual tables find, and for nothing else. */
export function isIndexDamage(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_CORRUPT_VTAB';
}
