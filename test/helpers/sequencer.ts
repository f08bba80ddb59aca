// Owns the order of the test files: those that last longest first, so that no worker is left with one at the end. Must
// not decide which files run.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of many processes, pages or rounds. Their size, by which Vitest goes in a fresh clone, does not tell. */
const longest =
  /\/(?:e2e[^/]*|accessibility|contact-form|pages|killed-server|serve|commands|data-commands|usage|dockerfile|package|full-disk|migrations|server-lock|rest-matrix|openapi|deletion|hostile-texts|knowledge-files|screen|frames|rest|sign-in|security-page|slices)\.test\.tsx?$/;

/** @returns 0 for a file that comes early, 2 for one that needs a worker of its own, which ends a shared one */
function rank({ moduleId, project }: TestSpecification): number {
  if (project.config.isolate) return 2;
  return longest.test(moduleId) ? 0 : 1;
}

/** For `sequence.sequencer`. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
