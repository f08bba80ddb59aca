// Cuts the file of the log (SQLite's WAL) short. SQLite never does that by itself, and frees a long one in one step when it
// is told to: one of 240 MB, as a backup of a busy server leaves it, held the loop for 80 ms. Here it goes in pieces.
import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { systemErrorCode } from '../file-errors.ts';
import { checkpoint, createLogReader, isPassing, type LogState } from './checkpoints.ts';
import type { Connection } from './connection.ts';

/** Freed at once, bytes: 3 ms on a disk. */
export const logPieceBytes = 8 * 1_048_576;
/** Of the log's file, and of each page in it: https://sqlite.org/fileformat2.html#walformat */
const headerBytes = 32;
const pageHeaderBytes = 24;

export interface LogFileOptions {
  /** The database's file. */
  readonly file: string;
  readonly writer: Connection;
  /** Another connection, for looks at the log while the writer holds the lock. */
  readonly reader: Connection;
}

/** Each method is called outside of any transaction of either connection. */
export class LogFile {
  readonly #options: LogFileOptions;
  readonly #readLog: () => LogState;
  readonly #pageBytes: number;
  readonly #change;

  constructor(options: LogFileOptions) {
    const { writer, reader } = options;
    this.#options = options;
    this.#readLog = createLogReader(reader);
    this.#pageBytes = Number(reader.pragma('page_size', { simple: true })) + pageHeaderBytes;
    // Another value each time: of what stays the same SQLite writes nothing.
    this.#change = writer.prepare(
      `insert into meta (key, value) values ('log_begun', '1')
       on conflict (key) do update set value = cast(value as integer) + 1`,
    );
  }

  /**
   * Has SQLite begin the log anew, which it does with the first change after all of it is in the database and none reads it.
   * @returns whether it has
   * @throws Error what SQLite says, where that is not about storage
   */
  beginAnew(): boolean {
    checkpoint(this.#options.writer, 'PASSIVE');
    const { pages, moved } = this.#readLog();
    if (moved < pages) return false;
    try {
      this.#change.run();
    } catch (error) {
      if (isPassing(error)) return false;
      throw error;
    }
    // What was added to the one before makes it longer; a log without a page has begun with this one.
    return pages === 0 || this.#readLog().pages <= pages;
  }

  /**
   * Frees a piece of what lies behind the log's last page. It holds the lock for writing while it does, so that no other
   * process is about to write there. SQLite takes no locks on this file that closing it could drop.
   * @returns whether there is more that can be freed; null: another process writes just now
   * @throws Error what SQLite says, where that is not about storage
   */
  cutPiece(): boolean | null {
    const { file, writer } = this.#options;
    try {
      writer.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (isPassing(error)) return null;
      throw error;
    }
    try {
      const { pages } = this.#readLog();
      // A log without a page is one that was not begun anew on the disk yet, or that can't be read: all of its file counts.
      return pages > 0 && cut(`${file}-wal`, headerBytes + pages * this.#pageBytes);
    } finally {
      writer.exec('ROLLBACK');
    }
  }
}

/**
 * @param used so many bytes stay
 * @returns whether more can be cut off
 */
function cut(path: string, used: number): boolean {
  try {
    const descriptor = openSync(path, 'r+');
    try {
      const { size } = fstatSync(descriptor);
      const end = Math.max(used, size - logPieceBytes);
      if (end < size) ftruncateSync(descriptor, end);
      return end > used;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error;
    // SQLite frees it in one step, or says what is wrong.
    return false;
  }
}
