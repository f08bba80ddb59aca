// Owns: the very last line of a test run, "N passed, N failed", which CI reads, and before it the names of the files that
// did not end. Must not print anything else, and must never close a broken run with "0 failed".
import { writeSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, TestRunEndReason, TestSpecification } from 'vitest/node';

/** What one run came to, in tests. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** The line for a tally; skipped tests are named only when there are any. */
export function closingLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/**
 * Counts a finished run. A file that could not be loaded, a suite whose hook threw, an error outside
 * of any test and a run that was cut short have no failed test of their own: each counts as one.
 */
export function tally(
  modules: readonly Pick<TestModule, 'children' | 'errors'>[],
  unhandledErrors: number,
  reason: TestRunEndReason,
): Tally {
  const counted: Tally = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const module of modules) {
    counted.failed += module.errors().length;
    for (const suite of module.children.allSuites()) counted.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') counted.passed += 1;
      else if (state === 'skipped') counted.skipped += 1;
      else counted.failed += 1;
    }
  }
  if (reason !== 'passed') counted.failed = Math.max(counted.failed, 1);
  return counted;
}

/** Prints the closing line when the process ends, after whatever other reporters still have to say. */
export default class ClosingLineReporter implements Reporter {
  private line = closingLine({ passed: 0, failed: 1, skipped: 0 });
  private readonly unended = new Set<string>();

  onInit(): void {
    process.once('exit', () => writeSync(process.stdout.fd, `${this.line}\n`));
  }

  onTestRunStart(files: readonly TestSpecification[]): void {
    for (const { moduleId } of files) this.unended.add(moduleId);
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.unended.delete(moduleId);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    const names = [...this.unended].map((file) => `did not end: ${relative(process.cwd(), file)}\n`);
    this.line = names.join('') + closingLine(tally(modules, errors.length, reason));
  }
}
