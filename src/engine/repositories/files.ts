// What is asked of files that are sent with messages, and of the bytes that are to go.
import type { FileRemovalRow, FileRow, FileTotalsRow } from '../rows.ts';

export interface FilesRepository {
  /** 0 when its uploader has a file with the same idempotency key. */
  insert(row: FileRow): Promise<number>;
  byId(id: string): Promise<FileRow | undefined>;
  byIdempotencyKey(uploader: string, key: string): Promise<FileRow | undefined>;
  /** Gives a file that waits, and was looked at, to a message; 0 when it is not there or has one. */
  attach(id: string, messageId: string): Promise<number>;
  /** The files of a message, in any order. */
  ofMessage(messageId: string): Promise<FileRow[]>;
  /** It may be sent from now on, and waits for that as one that was uploaded now. */
  setReady(id: string, now: number): Promise<number>;
  /** Its bytes are due to go. */
  remove(id: string): Promise<number>;
  /** Removes the files of a message: their bytes are due to go. */
  removeOfMessage(messageId: string): Promise<number>;
  /** Removes files without a message that were uploaded, or became ready, before a time, at most `limit`; another for those that wait for the scanner. */
  removeUnused(before: number, scanningBefore: number, limit: number): Promise<number>;
  /** Files that wait for the scanner after one of them, oldest first. */
  toScan(after: Pick<FileRow, 'created_at' | 'id'>, limit: number): Promise<FileRow[]>;
  /** How much of an organization is stored; zeros where nothing is. */
  totals(organizationId: string): Promise<Omit<FileTotalsRow, 'organization_id'>>;
  /** The same of all organizations, and what waits. */
  overview(): Promise<{ files: number; bytes: number; scanning: number; removals: number; failing: number }>;
  /** Whether an object is a file's. */
  isUsed(object: string): Promise<boolean>;
  /** Whether an object is a file's, or will go anyway. */
  isKnown(object: string): Promise<boolean>;
  /** Has an object removed at a time. */
  planRemoval(object: string, dueAt: number): Promise<number>;
  /** Objects that are due to go, oldest first. */
  dueRemovals(now: number, limit: number): Promise<FileRemovalRow[]>;
  /** Forgets a removal: it is done, or its file is there to stay. */
  forgetRemoval(object: string): Promise<number>;
  failRemoval(object: string, dueAt: number, error: string): Promise<number>;
}
