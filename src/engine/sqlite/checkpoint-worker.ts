// Runs in a thread of its own: moves the log into the database, over a connection of its own.
import { parentPort, workerData } from 'node:worker_threads';
import {
  checkpoint,
  createLogReader,
  fewPages,
  type CheckpointOrder,
  type CheckpointTask,
} from './checkpoints.ts';
import { openConnection } from './connection.ts';

/** What is written while it moves is moved after it, but not for ever. */
const mostPasses = 8;

function isTask(value: unknown): value is CheckpointTask {
  return typeof value === 'object' && value !== null && 'file' in value && 'durability' in value;
}

const task: unknown = workerData;
if (!isTask(task)) throw new Error('The thread was given no database.');
const connection = openConnection(task.file, { durability: task.durability, lockTimeoutMs: 0 });
const readLog = createLogReader(connection);

/** Ends where little is left, and where a reader keeps what is. */
function move(): void {
  let before = readLog();
  for (let pass = 1; pass <= mostPasses; pass += 1) {
    checkpoint(connection, 'PASSIVE');
    const after = readLog();
    if (after.pages - after.moved <= fewPages || after.moved === before.moved) return;
    before = after;
  }
}

parentPort?.on('message', (order: CheckpointOrder) => {
  if (order === 'move') {
    move();
    parentPort?.postMessage('moved');
    return;
  }
  connection.close();
  parentPort?.close();
});
