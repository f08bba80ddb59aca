// Owns: whatever colours a site chooses, everything in the widget can be read (WCAG 2.2: 4.5:1 for text, 3:1 for
// what surrounds controls). The ratio is computed here once more, from the standard's own words.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { palette } from '../../widget/shared/colours.ts';

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function ratio(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high! + 0.05) / (low! + 0.05);
}

const colour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((value) => `#${value.toString(16).padStart(6, '0')}`);
/** Foreground, background, and how much they must differ. */
const pairs = [
  ['--on-primary', '--primary', 4.5],
  ['--ink', '--ground', 4.5],
  ['--ink', '--bubble', 4.5],
  ['--muted', '--ground', 4.5],
  ['--muted', '--bubble', 4.5],
  ['--accent', '--ground', 4.5],
  ['--accent', '--bubble', 4.5],
  ['--alarm', '--ground', 4.5],
  ['--edge', '--ground', 3],
] as const;

describe.each(pairs)('%s on %s', (front, back, least) => {
  test(`differs by ${least}:1 at least, for any colours`, () => {
    fc.assert(
      fc.property(colour, colour, colour, fc.boolean(), (primary, background, text, dark) => {
        const made = palette({ primary, background, text }, dark);
        expect(ratio(made[front]!, made[back]!)).toBeGreaterThanOrEqual(least);
      }),
      // The example: a ground on which black and white are all but equal, and only one of them also suits the bubble.
      { numRuns: 1_000, examples: [['#000000', '#a258a9', '#000000', false]] },
    );
  });
});

test('colours that can be read are left as the site chose them', () => {
  const made = palette({ primary: '#2563eb', background: '#ffffff', text: '#111827' }, false);
  expect(made).toMatchObject({
    '--primary': '#2563eb',
    '--ground': '#ffffff',
    '--ink': '#111827',
    '--on-primary': '#ffffff',
  });
});
