// Owns: looking at storage from below: what the driver was told and when, what lies in the files.
// Must not change what the code under test does, except where a test asks for a fault by name.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';

type Statement = Database.Statement & { readonly source: string };

const prototype = Object.getPrototypeOf(new Database(':memory:').prepare('select 1')) as {
  run: (...values: unknown[]) => unknown;
};

/** Watches every statement that is run without answering rows, in order. */
export interface Watch {
  /** The text of each, once it has returned. */
  readonly finished: string[];
  /** The connection that last began to write: the store's writing one. */
  writer(): Database.Database;
  /** Called in the place of the next COMMIT. */
  insteadOfCommit: (() => never) | null;
  /** Called after each statement has returned. */
  onFinish: ((source: string, values: readonly unknown[]) => void) | null;
  end(): void;
}

/** Begins to watch; `end` it in the same test. */
export function watchStatements(): Watch {
  const original = prototype.run;
  let writer: Database.Database | null = null;
  const watch: Watch = {
    finished: [],
    insteadOfCommit: null,
    onFinish: null,
    writer: () => {
      if (writer === null) throw new Error('nothing was written yet');
      return writer;
    },
    end: () => {
      prototype.run = original;
    },
  };
  prototype.run = function run(this: Statement, ...values: unknown[]): unknown {
    const { source } = this;
    if (source === 'BEGIN IMMEDIATE') writer = this.database;
    if (source === 'COMMIT' && this.database === writer && watch.insteadOfCommit !== null) {
      const fault = watch.insteadOfCommit;
      watch.insteadOfCommit = null;
      fault();
    }
    const result: unknown = original.apply(this, values);
    watch.finished.push(source);
    watch.onFinish?.(source, values);
    return result;
  };
  return watch;
}

/** A file's bytes, read by another process: a descriptor closed in this one would drop SQLite's locks. */
export function bytesOf(file: string): Buffer {
  return execFileSync('cat', [file], { maxBuffer: 1 << 28 });
}

export function sha256(file: string): string {
  return createHash('sha256').update(bytesOf(file)).digest('hex');
}

/** How many commits lie in a write-ahead log (sqlite.org/fileformat2.html, 4.1): a commit's last frame says how large the database then is. */
export function commitsInLog(file: string): number {
  const log = bytesOf(file);
  if (log.length < 32) return 0;
  const pageSize = log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let commits = 0;
  for (let at = 32; at + 24 + pageSize <= log.length; at += 24 + pageSize) {
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    if (log.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
