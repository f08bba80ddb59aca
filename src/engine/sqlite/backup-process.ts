// A program of its own that writes a backup, for the process that has started it (idle-backup.ts). The work is done in a
// thread, so that the program hears at any time that the other one is gone, and ends with it: SQLite copies a database
// without a look at anything else.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { errorMessage, isOutOfRoom } from '../file-errors.ts';

/** What the program is told to write, as one message: neither a process list nor an environment may show a secret. */
export interface BackupTask {
  readonly database: string;
  readonly target: string;
  readonly unsealed: string;
  readonly folder: string | null;
  /** In base64. */
  readonly key: string;
  /** ms since the epoch. */
  readonly madeAt: number;
  readonly passphrase: string | null;
}

function isTask(value: unknown): value is BackupTask {
  if (typeof value !== 'object' || value === null) return false;
  const field = (name: string): unknown => Reflect.get(value, name);
  return (
    ['database', 'target', 'unsealed', 'key'].every((name) => typeof field(name) === 'string') &&
    ['folder', 'passphrase'].every((name) => field(name) === null || typeof field(name) === 'string') &&
    typeof field('madeAt') === 'number'
  );
}

/** What the program answers where no room is left: to do it again would fill the disk again. */
export interface NoRoom {
  readonly noRoom: string;
}

/** Writes the backup; posts `copied` once the database is copied, and at the end what was written, or that no room is left. */
async function write(task: unknown): Promise<void> {
  if (!isTask(task)) throw new Error('The process was given no backup to write.');
  const { writeBackup } = await import('./backup.ts');
  const { database, target, unsealed, folder, key, madeAt, passphrase } = task;
  try {
    const written = await writeBackup(
      database,
      { target, unsealed, folder },
      Buffer.from(key, 'base64'),
      madeAt,
      passphrase,
      () => parentPort?.postMessage('copied'),
    );
    parentPort?.postMessage(written);
  } catch (error) {
    if (!isOutOfRoom(error)) throw error;
    parentPort?.postMessage({ noRoom: errorMessage(error) } satisfies NoRoom);
  }
}

/** Nothing is left to do for a process that is gone, and a thread inside SQLite ends by nothing less. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

if (isMainThread) {
  process.once('disconnect', end);
  process.once('message', (task) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: task, env: {} });
    thread.on('message', (message: unknown) => process.send?.(message));
    // What went wrong the other process finds out by doing it itself.
    thread.once('error', () => process.exit(1));
    // Without a listener the channel no longer keeps this process.
    thread.once('exit', () => process.off('disconnect', end));
  });
} else await write(workerData);
