// Owns the order of the test files: those that last longest first, so that no worker is left with one at the end. Must
// not decide which files run.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of many processes, pages or rounds. Their size, by which Vitest goes in a fresh clone, does not tell. */
const longest = new RegExp(
  String.raw`/(?:${[
    'static-checks|accessibility|data-commands|e2e[^/]*|contact-form|pages|dockerfile|inbox|serve|package|security-page',
    'rest-matrix|deletion|screen|dashboard/settings|parity|commands|slices|knowledge-files|passkeys|ai-model|full-disk',
    'sync-flood|openapi|sign-in|sends|usage|data-doctor|knowledge-chunking|test-run|webhooks|migrations|width',
    'installation|failover|cluster-kill|queries|contract|mail-inbound|encrypted-backup|killed-server|server-lock',
    'hostile-texts|frames|rest|terminal-sign-in|storage-faults|idle-backup|steady',
  ].join('|')})\.test\.tsx?$`,
);

/** @returns 0 for a file that comes early */
function rank({ moduleId }: TestSpecification): number {
  return longest.test(moduleId) ? 0 : 1;
}

/** For `sequence.sequencer`. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
