// Brings a large file to the disk while it is written. What is written at once and brought there at the end makes every
// other program's sync wait behind it: a server's commits stood still for a tenth of a second beside a backup.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What the thread is told. */
export interface SyncTask {
  readonly file: string;
  /** A number of 32 bits, 0 until the writing has ended. */
  readonly ended: SharedArrayBuffer;
}

/** A file is brought to the disk whenever it has grown by so much, bytes. */
export const syncStretchBytes = 1_048_576;

export interface GrowingFile {
  /** Bytes. */
  size(): number;
  /** Brings what is written to the disk. */
  sync(): void;
  /** @returns false once the writing has ended */
  pause(): boolean;
}

/** Brings a file to the disk whenever it has grown by a stretch. What it has grown by at last is left. */
export function syncWhileItGrows(file: GrowingFile): void {
  let synced = 0;
  do {
    const size = file.size();
    if (size - synced < syncStretchBytes) continue;
    file.sync();
    synced = size;
  } while (file.pause());
}

/** Beside this file as a source, and as a bundle. */
const workerFile = import.meta.url.endsWith('.ts') ? './sync-worker.ts' : './sync-worker.mjs';

/**
 * Runs what writes a file at one go, as a statement of SQLite does. What it has written last may
 * still be on its way to the disk.
 * @param file exists; a descriptor of it is opened and closed in this process
 * @returns what `write` returns
 * @throws Error what `write` throws, or where the file could not be brought to the disk
 */
export async function syncBehind<T>(file: string, write: () => T): Promise<T> {
  const task: SyncTask = { file, ended: new SharedArrayBuffer(4) };
  const worker = new Worker(new URL(workerFile, import.meta.url), { workerData: task, env: {} });
  await once(worker, 'message');
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  worker.once('exit', () => resolve());
  worker.once('error', reject);
  const end = (): Promise<void> => {
    const ended = new Int32Array(task.ended);
    Atomics.store(ended, 0, 1);
    Atomics.notify(ended, 0);
    return over;
  };
  let result;
  try {
    result = write();
  } catch (error) {
    // A disk without room fails both: what the writing says is known better.
    await end().catch(() => undefined);
    throw error;
  }
  await end();
  return result;
}
