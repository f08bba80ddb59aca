// Owns: how the tests run. Must not hold anything that a single test needs for itself.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['test/**/*.test.{ts,tsx}'],
    pool: 'forks',
    // Tests wait for browsers, terminals and other processes most of the time: one more than the cores of a small machine.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', './test/helpers/closing-line-reporter.ts'],
  },
});
