// What a server tells V8 of its heap, in a process of its own: V8's flags are those of the whole process.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const heap = fileURLToPath(new URL('../../src/heap.ts', import.meta.url));
const mebibyte = 1_048_576;

/** Makes objects that outlive collections, as answers that wait do, with turns of the loop in between. */
const load = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { setTimeout as pause } from 'node:timers/promises';
  const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  async function load(rounds) {
    const kept = [];
    let most = 0;
    for (let round = 0; round < rounds; round += 1) {
      kept.push(Array.from({ length: 4_000 }, (_, at) => ({ round, text: 'x' + at, pair: [at, at] })));
      if (kept.length > 8) kept.shift();
      if (round % 4 === 0) await pause(2);
      most = Math.max(most, young());
    }
    return most;
  }`;

/** @returns what the script prints as JSON */
async function run(script: string, flags: readonly string[] = []): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--disable-warning=ExperimentalWarning',
    // By itself V8 allows less on a machine with little memory.
    '--max-semi-space-size=64',
    ...flags,
    '--eval',
    load + script,
  ]);
  return JSON.parse(stdout);
}

it('the young generation stops growing when it has enough, and grows again after V8 has made it smaller', async () => {
  const found = await run(
    `const { tuneHeap } = await import(${JSON.stringify(heap)});
     tuneHeap(1);
     const first = await load(700);
     // V8 gives the room back with collections of the whole heap at rest.
     for (let tries = 0; tries < 20 && young() >= first / 2; tries += 1) { gc({ type: 'major', flavor: 'last-resort' }); await pause(10); }
     const rest = young();
     await pause(10);
     const again = await load(700);
     console.log(JSON.stringify({ first, rest, again }));`,
    ['--expose-gc'],
  );
  expect(found).toEqual({ first: 64 * mebibyte, rest: expect.any(Number), again: 64 * mebibyte });
  expect((found as { rest: number }).rest).toBeLessThan(64 * mebibyte);
});

it('by itself V8 goes on', async () => {
  const most = await run('console.log(JSON.stringify(await load(700)));');
  expect(most).toBeGreaterThan(64 * mebibyte);
});
