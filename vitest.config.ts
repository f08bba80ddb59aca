// Owns: how the tests run. Must not hold anything that a single test needs for itself.
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

/** Folders whose files share a worker, which then loads the program once. */
const shared = '{architecture,assistant,e2e,engine,llm,services,text,transports,trust}';

/** @param folders a pattern of folders below test/ */
function project(name: string, folders: string, isolate: boolean): TestProjectConfiguration {
  return { extends: true, test: { name, include: [`test/${folders}/**/*.test.{ts,tsx}`], isolate } };
}

/** `npm run test:long`, or a number of rounds that a person has chosen: those last as long as they last. */
const unbounded =
  process.env['DESKBELL_TEST_LONG'] === '1' || (process.env['DESKBELL_TEST_ROUNDS'] ?? '') !== '';

export default defineConfig({
  test: {
    environment: 'node',
    projects: [
      // A worker for each file: these fill globals of a page, or try what a module keeps for the life of a process.
      project('isolated', `!(${shared.slice(1, -1).replaceAll(',', '|')})`, true),
      project('shared', shared, false),
    ],
    pool: 'forks',
    maxWorkers: 2,
    // A limit is for a test that hangs, not for one that is slow: a busy machine takes ten times as long.
    testTimeout: unbounded ? 0 : 600_000,
    hookTimeout: 600_000,
    globalSetup: './test/helpers/global-setup.ts',
    setupFiles: './test/helpers/setup-file.ts',
    reporters: ['default', './test/helpers/closing-line-reporter.ts'],
  },
});
