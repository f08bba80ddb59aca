// Owns that threads run the built file of a worker, as users do, also where a test starts them from the sources: Node
// strips the types of a worker's sources anew in every thread, which takes as long as all else that it does.
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { repository } from './command.ts';

interface Threads {
  Worker: typeof Worker;
}

/** Called in every process that runs tests. Twice is once. */
export function useBuiltWorkers(): void {
  const threads: Threads = createRequire(import.meta.url)('node:worker_threads');
  if (threads.Worker.name === 'BuiltWorker') return;
  threads.Worker = class BuiltWorker extends threads.Worker {
    constructor(file: string | URL, options?: WorkerOptions) {
      const name = /\/src\/\S*\/([\w-]+-worker)\.ts$/.exec(file instanceof URL ? file.pathname : file)?.[1];
      super(name === undefined ? file : join(repository, 'dist', `${name}.mjs`), options);
    }
  };
  syncBuiltinESMExports();
}
