// Owns: how the tests run. Must not hold anything that a single test needs for itself.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.{ts,tsx}'],
    pool: 'forks',
    maxWorkers: 2,
    // A limit is for a test that hangs, not for one that is slow: a busy machine takes ten times as long.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: './test/helpers/global-setup.ts',
    setupFiles: './test/helpers/setup-file.ts',
    reporters: ['default', './test/helpers/closing-line-reporter.ts'],
  },
});
