// Runs in a thread of its own: moves the log into the database, over a connection of its own.
import { parentPort, workerData } from 'node:worker_threads';
import {
  checkpoint,
  createLogReader,
  moveWhole,
  type CheckpointOrder,
  type CheckpointTask,
} from './checkpoints.ts';
import { openConnection } from './connection.ts';

function isTask(value: unknown): value is CheckpointTask {
  return typeof value === 'object' && value !== null && 'file' in value && 'durability' in value;
}

const task: unknown = workerData;
if (!isTask(task)) throw new Error('The thread was given no database.');
const connection = openConnection(task.file, { durability: task.durability, lockTimeoutMs: 0 });
const readLog = createLogReader(connection);

parentPort?.on('message', (order: CheckpointOrder) => {
  if (order === 'move') {
    moveWhole(() => checkpoint(connection, 'PASSIVE'), readLog);
    parentPort?.postMessage('moved');
    return;
  }
  connection.close();
  parentPort?.close();
});
