// Attacks the window over the conversation with random messages, heights and ways of moving:
// nothing is skipped, nothing doubled, and nothing jumps when messages come.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  viewportOf,
  scrollIntoView,
  scrollBy,
  scrollToTop,
  type MessageBlocks,
} from '../../../src/cli/console/views/viewport.ts';
import type { Anchor } from '../../../src/cli/console/views/view-state.ts';
import { textOf } from '../../../src/cli/console/text/wrap.ts';

/** Messages of so many lines each; line 2 of message 3 reads "3.2". */
function blocks(heights: readonly number[], first = 0): MessageBlocks {
  return {
    length: heights.length,
    keyAt: (index) => `m${index + first}`,
    linesAt: (index) =>
      Array.from({ length: heights[index] ?? 0 }, (_, line) => [{ text: `${index + first}.${line}` }]),
  };
}

const all = (heights: readonly number[]): string[] =>
  heights.flatMap((height, index) => Array.from({ length: height }, (_, line) => `${index}.${line}`));
const seen = (of: MessageBlocks, anchor: Anchor | null, height: number): string[] =>
  viewportOf(of, anchor, height).lines.map(({ line }) => textOf(line));

const heightsOf = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 });
const steps = fc.array(fc.integer({ min: -15, max: 15 }), { maxLength: 12 });

describe('whatever is scrolled', () => {
  test('what is in sight is one unbroken piece, full where there is enough', () => {
    fc.assert(
      fc.property(heightsOf, fc.integer({ min: 1, max: 12 }), steps, (heights, height, moves) => {
        const of = blocks(heights);
        let anchor: Anchor | null = null;
        for (const by of moves) anchor = scrollBy(of, anchor, by, height);
        const lines = seen(of, anchor, height);
        const whole = all(heights);
        const at = whole.indexOf(lines[0]!);
        expect(lines).toEqual(whole.slice(at, at + lines.length));
        expect(lines).toHaveLength(Math.min(height, whole.length));
        const view = viewportOf(of, anchor, height);
        expect(view.atTop).toBe(at === 0);
        expect(view.atEnd).toBe(at + lines.length === whole.length);
      }),
    );
  });

  test('so many lines up and down again is where one was', () => {
    fc.assert(
      fc.property(
        heightsOf,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 0, max: 10 }),
        (heights, height, by) => {
          const of = blocks(heights);
          const room = Math.max(0, all(heights).length - height);
          const up = scrollBy(of, null, Math.min(by, room), height);
          expect(seen(of, scrollBy(of, up, -Math.min(by, room), height), height)).toEqual(
            seen(of, null, height),
          );
        },
      ),
    );
  });

  test('each line is reached on the way to the beginning', () => {
    const heights = [3, 1, 7, 2, 5];
    const of = blocks(heights);
    const found = new Set(seen(of, null, 4));
    let anchor: Anchor | null = null;
    for (let step = 0; step < 20; step += 1) {
      anchor = scrollBy(of, anchor, 1, 4);
      for (const line of seen(of, anchor, 4)) found.add(line);
    }
    expect([...found].toSorted()).toEqual(all(heights).toSorted());
  });
});

describe('while messages come', () => {
  test('who reads further up sees no line move: neither new ones below nor older ones above', () => {
    const before = blocks([2, 3, 2, 4]);
    const anchor = scrollBy(before, null, 5, 3);
    const lines = seen(before, anchor, 3);
    const after: MessageBlocks = blocks([9, 9, 2, 3, 2, 4, 6], -2);
    expect(seen(after, anchor, 3)).toEqual(lines);
  });

  test('at the end one stays at the end', () => {
    expect(seen(blocks([2, 2]), null, 3)).toEqual(['0.1', '1.0', '1.1']);
    expect(seen(blocks([2, 2, 1]), null, 3)).toEqual(['1.0', '1.1', '2.0']);
  });

  test('a message that is removed leaves the window at the end', () => {
    expect(seen(blocks([2, 2]), { key: 'gone', below: 1 }, 3)).toEqual(['0.1', '1.0', '1.1']);
  });

  test('a message that has become shorter than the place in it', () => {
    expect(seen(blocks([1, 5]), { key: 'm0', below: 7 }, 2)).toEqual(['0.0', '1.0']);
  });
});

describe('a message that is chosen', () => {
  test('comes into sight whole where it fits, and by its beginning where it does not', () => {
    fc.assert(
      fc.property(
        heightsOf,
        fc.integer({ min: 1, max: 8 }),
        steps,
        fc.nat(),
        (heights, height, moves, which) => {
          const of = blocks(heights);
          let anchor: Anchor | null = null;
          for (const by of moves) anchor = scrollBy(of, anchor, by, height);
          const index = which % heights.length;
          const lines = seen(of, scrollIntoView(of, anchor, `m${index}`, height), height);
          const own = lines.filter((line) => line.startsWith(`${index}.`));
          expect(own.length).toBe(Math.min(heights[index]!, height, lines.length));
        },
      ),
    );
  });

  test('that is in sight already does not move the window', () => {
    const of = blocks([2, 2, 2, 2]);
    const anchor = scrollBy(of, null, 2, 4);
    expect(scrollIntoView(of, anchor, 'm1', 4)).toEqual(anchor);
  });

  test('that is not there leaves everything as it is', () => {
    expect(scrollIntoView(blocks([2, 2]), null, 'gone', 3)).toBeNull();
  });
});

test('the beginning, and nothing at all', () => {
  expect(seen(blocks([4, 4]), scrollToTop(blocks([4, 4]), 3), 3)).toEqual(['0.0', '0.1', '0.2']);
  expect(scrollToTop(blocks([]), 3)).toBeNull();
  expect(scrollBy(blocks([]), null, 3, 3)).toBeNull();
  expect(viewportOf(blocks([]), null, 3).lines).toEqual([]);
});
