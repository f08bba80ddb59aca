// Owns what surrounds a run of the tests: its temporary folder, its mark, and the watcher that ends all of the run
// with the runner, however that ends. Must not know what a test is about.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ensureBuilt } from './built.ts';
import { runVariable } from './run-mark.ts';

/** Called by Vitest before the first test file, once for each project of a run. */
export async function setup(): Promise<void> {
  if (process.env['TEST_RUNNER'] === String(process.pid)) return;
  process.env['TEST_RUNNER'] = String(process.pid);
  await ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-tests-'));
  // A test may start a server as another user, who must find the way to what is in here.
  chmodSync(folder, 0o711);
  const run = basename(folder);
  // The watcher itself must not carry the mark. It is in a group of its own: Ctrl-C is for the runner.
  const { TEST_RUN: _outer, ...environment } = process.env;
  const watcher = spawn(process.execPath, [join(import.meta.dirname, 'run-watcher.ts'), run, folder], {
    env: environment,
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  watcher.unref();
  process.env[runVariable] = run;
  process.env['TMPDIR'] = folder;
  process.env['TEST_RUN_FOLDER'] = folder;
}
