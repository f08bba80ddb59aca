// Owns how long the tests that could go on for ever go on: random walks, kill loops, many lives. `npm test` runs a few
// rounds of each, `npm run test:long` many. Must not decide anything else: both forms check the same.

/** Whether this is `npm run test:long`. */
export const isLong = process.env['DESKBELL_TEST_LONG'] === '1';

/** How many rounds instead, where one file is run by hand; empty: as many as the form has. */
const counted = process.env['DESKBELL_TEST_ROUNDS'] ?? '';

/** @returns the number of rounds: few in `npm test`, many in `npm run test:long`; DESKBELL_TEST_ROUNDS=<number> overrides both */
export function rounds(few: number, many: number): number {
  if (counted !== '') return Number(counted);
  return isLong ? many : few;
}

/**
 * Where random choices begin: at the same number in every `npm test`, so that a change is judged by what it does and not
 * by what a run happens to meet; anywhere in the long form, which looks for what has not been thought of. A test that fails
 * prints it; DESKBELL_TEST_SEED=<number> repeats the run.
 */
export const seed = Number(
  process.env['DESKBELL_TEST_SEED'] ?? (isLong ? Math.floor(Math.random() * 2 ** 31) : 1),
);

/**
 * Does random work whose failure says how to repeat it.
 * @param file the test's, below the repository
 * @param count how many rounds it has
 * @throws Error with the command; its cause is what the work threw
 */
export async function repeatable(file: string, count: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new Error(
      `repeat: DESKBELL_TEST_SEED=${seed} DESKBELL_TEST_ROUNDS=${count} npx vitest run ${file}`,
      {
        cause,
      },
    );
  }
}

/** Parameters of fast-check's `assert`, which prints the seed when it fails. */
export function runs(few: number, many: number): { numRuns: number; seed: number } {
  return { numRuns: rounds(few, many), seed };
}

/** @returns numbers from 0 to 1 that are the same for the same seed (mulberry32) */
export function seededRandom(from: number = seed): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
