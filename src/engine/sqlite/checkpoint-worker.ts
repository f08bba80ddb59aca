// Runs in a thread of its own: moves the log into the database, over a connection of its own.
import { parentPort, workerData } from 'node:worker_threads';
import {
  checkpoint,
  createLogReader,
  moveWhole,
  type CheckpointAnswer,
  type CheckpointOrder,
  type CheckpointTask,
} from './checkpoints.ts';
import { openConnection, sqliteCode } from './connection.ts';

function isTask(value: unknown): value is CheckpointTask {
  return typeof value === 'object' && value !== null && 'file' in value && 'durability' in value;
}

const task: unknown = workerData;
if (!isTask(task)) throw new Error('The thread was given no database.');
const connection = openConnection(task.file, { durability: task.durability, lockTimeoutMs: 0 });
const readLog = createLogReader(connection);

/** Another connection that moves the log just then is no failure. */
function refusedByStorage(refused: Error | null): CheckpointAnswer {
  if (refused === null || /^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(refused) ?? '')) return null;
  return refused.message;
}

parentPort?.on('message', (order: CheckpointOrder) => {
  if (order === 'move') {
    let refused: Error | null = null;
    moveWhole(() => (refused = checkpoint(connection, 'PASSIVE')), readLog);
    parentPort?.postMessage(refusedByStorage(refused));
    return;
  }
  connection.close();
  parentPort?.close();
});
