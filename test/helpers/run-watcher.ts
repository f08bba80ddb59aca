// A process of its own that waits until the test runner has ended, and then removes what is left of the run:
//   node run-watcher.ts <run> <folder>
// The runner holds the other end of its standard input, which closes with the runner, also when it is killed.
import { rmSync } from 'node:fs';
import { stopServer } from './postgres-end.ts';
import { killProcesses } from './run-mark.ts';

const [run, folder] = process.argv.slice(2);
if (run === undefined || folder === undefined) throw new Error('usage: node run-watcher.ts <run> <folder>');

process.stdin.resume().once('close', () => {
  void stopServer(folder)
    .catch(() => undefined)
    .then(() => {
      killProcesses(run);
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    });
});
