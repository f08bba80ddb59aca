// Runs in a thread of its own: brings a file that grows to the disk, a stretch at a time, until it is told to end.
import { closeSync, fdatasyncSync, fstatSync, openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { syncWhileItGrows, type SyncTask } from './sync-behind.ts';

/** Between two looks at the file's size, ms. */
const pauseMs = 2;

function isTask(value: unknown): value is SyncTask {
  return typeof value === 'object' && value !== null && 'file' in value && 'ended' in value;
}

const task: unknown = workerData;
if (!isTask(task)) throw new Error('The thread was given no file.');
const ended = new Int32Array(task.ended);
const descriptor = openSync(task.file, 'r+');
parentPort?.postMessage('begun');
syncWhileItGrows({
  size: () => fstatSync(descriptor).size,
  sync: () => fdatasyncSync(descriptor),
  pause: () => Atomics.wait(ended, 0, 0, pauseMs) === 'timed-out',
});
closeSync(descriptor);
