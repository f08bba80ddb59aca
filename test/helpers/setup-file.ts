// Owns what surrounds every test file: a mark and a temporary folder of its own, and where random choices begin. A file
// that leaves a process or anything in its folder fails by name, and what it left is removed. Must not know what a test
// is about.
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { configureGlobal } from 'fast-check';
import { afterAll, chai } from 'vitest';
import { useBuiltWorkers } from './built-workers.ts';
import { eventually } from './eventually.ts';
import { seed } from './rounds.ts';
import { findProcesses, killProcesses, runVariable } from './run-mark.ts';

/** How long a process that was told to end may still take. */
const endTimeoutMs = Number(process.env['TEST_END_TIMEOUT_MS'] ?? 30_000);

/** What programs that the tests don't write keep in the temporary folder: Node's compiled code, Chromium's locks. */
const foreign = /^(?:node-compile-cache$|\.org\.chromium\.)/;

// A worker runs one file after another: each begins from the run's folder and mark, not from those of the last.
const run = (process.env[runVariable] ?? 'alone').split('.')[0] ?? '';
const folder = mkdtempSync(join(process.env['TEST_RUN_FOLDER'] ?? tmpdir(), 'file-'));
chmodSync(folder, 0o711);
const mark = `${run}.${basename(folder)}`;
process.env['TMPDIR'] = folder;
// The command line runs in this process, too, and must not see the settings of the shell.
for (const name of Object.keys(process.env))
  if (name.startsWith('DESKBELL_') && !name.startsWith('DESKBELL_TEST_')) delete process.env[name];

process.env[runVariable] = mark;
useBuiltWorkers();

configureGlobal({ seed });
// The proxies around assertions only tell of a misspelt one, which the compiler does, and cost more than most of them.
chai.config.useProxy = false;

/** @throws Error naming the processes that don't end, and what lies in the folder */
async function expectNothingLeft(): Promise<void> {
  try {
    await eventually(() => {
      const left = [
        ...findProcesses(mark).map(({ pid, command }) => `process ${pid} (${command})`),
        ...readdirSync(folder).filter((name) => !foreign.test(name)),
      ];
      if (left.length > 0) throw new Error(`this test file leaves behind: ${left.join(', ')}`);
    }, endTimeoutMs);
  } finally {
    killProcesses(mark);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

// Hooks run last in, first out: this one after all of the file's.
afterAll(expectNothingLeft);
