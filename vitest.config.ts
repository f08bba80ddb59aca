// Owns: how the tests run. Must not hold anything that a single test needs for itself.
import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { LongestFirst } from './test/helpers/sequencer.ts';

/** @param files a pattern of files below test/, without what follows their names */
function project(name: string, files: string, env: Record<string, string> = {}): TestProjectConfiguration {
  return { extends: true, test: { name, include: [`test/${files}.test.{ts,tsx}`], env } };
}

/** On PostgreSQL: those of the transports that touch the engine most. `npm run test:postgres` runs all of them there. */
const onPostgres = 'transports/{tenancy,staff-queue,socket-subscriptions,knowledge}';

/** The journeys once more, behind the hostile engine, and a part of the transports on PostgreSQL. A run that says where it runs has neither. */
const onceMore =
  process.env['DESKBELL_TEST_ENGINE'] === undefined
    ? [
        project('hostile', 'e2e/**/*', { DESKBELL_TEST_ENGINE: 'hostile:1' }),
        project('postgres', onPostgres, { DESKBELL_TEST_ENGINE: 'postgres' }),
      ]
    : [];

/** `npm run test:long`, or a number of rounds that a person has chosen: those last as long as they last. */
const unbounded =
  process.env['DESKBELL_TEST_LONG'] === '1' || (process.env['DESKBELL_TEST_ROUNDS'] ?? '') !== '';

export default defineConfig({
  test: {
    environment: 'node',
    projects: [project('tests', '*/**/*'), ...onceMore],
    // Files share workers, which load the program once.
    isolate: false,
    pool: 'forks',
    // Two more than cores: a test that drives a browser, a terminal or a process waits for a good part of its time. On two cores
    // the run took a tenth less than with one more, and no more of the processor.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // A limit is for a test that hangs, not for one that is slow: a busy machine takes ten times as long.
    testTimeout: unbounded ? 0 : 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    globalSetup: './test/helpers/global-setup.ts',
    setupFiles: './test/helpers/setup-file.ts',
    reporters: ['default', './test/helpers/closing-line-reporter.ts'],
  },
});
