// The dashboard's pure parts: pieces of a long conversation, marks of formatting, names of keys.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunkSize, chunksOf, placePieces, type Chunk } from '../../src/dashboard/inbox/chunks.ts';
import { keyPressOf } from '../../src/dashboard/inbox/keys.ts';
import { applyMark } from '../../src/dashboard/inbox/markdown-marks.ts';

interface Item {
  readonly key: string;
}
const items = (from: number, to: number): Item[] =>
  Array.from({ length: to - from }, (_, index) => ({ key: `m${from + index}` }));

describe('the pieces of a long conversation', () => {
  test('hold every message once and in order, whatever comes and goes', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            act: fc.constantFrom('older', 'newer', 'lost'),
            count: fc.integer({ min: 1, max: 120 }),
          }),
          { maxLength: 20 },
        ),
        (acts) => {
          let all = items(1_000, 1_050);
          let chunks: readonly Chunk<Item>[] = [];
          let [first, last] = [1_000, 1_050];
          for (const { act, count } of acts) {
            if (act === 'older') all = [...items(first - count, (first -= count) + count), ...all];
            else if (act === 'newer') all = [...all, ...items(last, (last += count))];
            else all = all.filter((_, index) => index !== count);
            chunks = chunksOf(all, chunks);
            expect(chunks.flatMap(({ messages }) => messages)).toEqual(all);
            for (const [index, { key, messages, before }] of chunks.entries()) {
              expect(messages.length).toBeGreaterThan(0);
              expect(messages.length).toBeLessThanOrEqual(2 * chunkSize);
              expect(key).toBe(messages[0]?.key);
              expect(before).toBe(chunks[index - 1]?.messages.at(-1));
            }
          }
        },
      ),
    );
  });

  test('keep their beginnings and themselves while messages come at either end', () => {
    const all = items(0, 190);
    const earlier = chunksOf(all, []);
    const later = chunksOf([...items(-50, 0), ...all, ...items(190, 191)], earlier);
    const kept = later.filter((chunk) => earlier.includes(chunk));
    // The first one has another message before it, the last one has grown.
    expect(kept).toHaveLength(earlier.length - 2);
    expect(later.map(({ key }) => key)).toEqual(expect.arrayContaining(earlier.map(({ key }) => key)));
  });
});

test('which pieces are drawn settles, though a piece is not as high as the gap that stands for it', () => {
  const inSight = 700;
  const piece = fc.record({
    gap: fc.integer({ min: 40, max: 2_000 }),
    more: fc.integer({ min: -40, max: 300 }),
  });
  fc.assert(
    fc.property(fc.array(piece, { minLength: 3, maxLength: 12 }), (pieces) => {
      const chunks = pieces.map((_, index): Chunk<Item> => ({
        key: String(index),
        messages: [],
        before: undefined,
      }));
      const gapOf = ({ key }: Chunk<Item>): number => pieces[Number(key)]?.gap ?? 0;
      let drawn: ReadonlySet<string> = new Set();
      let top = 0;
      for (let round = 0; round < 20; round += 1) {
        const placed = placePieces(
          chunks,
          gapOf,
          { top, height: inSight },
          drawn,
          (_, index) => index >= chunks.length - 2,
        );
        const now = new Set(placed.filter(({ isDrawn }) => isDrawn).map(({ chunk }) => chunk.key));
        const height = pieces.reduce(
          (sum, { gap, more }, index) => sum + gap + (now.has(String(index)) ? more : 0),
          0,
        );
        // The reader stays at the end.
        const end = Math.max(0, height - inSight);
        if (end === top && [...now].join() === [...drawn].join()) return;
        [top, drawn] = [end, now];
      }
      expect.fail('it is drawn again and again');
    }),
    { numRuns: 2_000 },
  );
});

describe('marks', () => {
  const marked = (mark: Parameters<typeof applyMark>[0], text: string): string => {
    const from = text.indexOf('[');
    const to = text.indexOf(']') - 1;
    const next = applyMark(mark, { text: text.replace(/[[\]]/g, ''), from, to });
    return `${next.text.slice(0, next.from)}[${next.text.slice(next.from, next.to)}]${next.text.slice(next.to)}`;
  };
  test.each([
    ['bold', 'a [word] b', 'a **[word]** b'],
    ['bold', 'a **[word]** b', 'a [word] b'],
    ['bold', 'a [ word ] b', 'a  **[word]**  b'],
    ['bold', 'a []', 'a **[]**'],
    ['italic', 'a **[word]** b', 'a ***[word]*** b'],
    ['italic', 'a ***[word]*** b', 'a **[word]** b'],
    ['italic', '*[word]*', '[word]'],
    ['strike', '[word]', '~~[word]~~'],
    ['code', '[word]', '`[word]`'],
    ['code', '[one\ntwo]', '```\n[one\ntwo]\n```'],
    ['bullets', '[one\ntwo]', '[- one\n- two]'],
    ['bullets', '[- one\n- two]', '[one\ntwo]'],
    ['numbers', '[- one\n- two]', '[1. one\n2. two]'],
    ['bullets', 'before\n[one]', 'before\n\n[- one]'],
    ['bullets', '[]', '- []'],
  ] as const)('%s: %s', (mark, before, after) => {
    expect(marked(mark, before)).toBe(after);
  });

  test('a link asks for the address, or for the words of one', () => {
    expect(applyMark('link', { text: 'see page', from: 4, to: 8 })).toEqual({
      text: 'see [page](https://)',
      from: 11,
      to: 19,
    });
    expect(applyMark('link', { text: 'https://a.example', from: 0, to: 17 })).toEqual({
      text: '[](https://a.example)',
      from: 1,
      to: 1,
    });
  });
});

describe('keys', () => {
  const none = { code: '', ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  test.each([
    [{ key: 'a' }, 'a'],
    [{ key: 'N', shiftKey: true }, 'N'],
    [{ key: 'k', ctrlKey: true }, 'ctrl+k'],
    [{ key: 'k', metaKey: true }, 'ctrl+k'],
    [{ key: 'Z', ctrlKey: true, shiftKey: true }, 'ctrl+shift+z'],
    [{ key: 'Enter', shiftKey: true }, 'shift+enter'],
    [{ key: '˜', code: 'KeyN', altKey: true }, 'alt+n'],
    [{ key: ' ' }, 'space'],
    [{ key: 'F6' }, 'f6'],
    [{ key: '?', shiftKey: true }, '?'],
  ])('%o is %s', (pressed, name) => {
    expect(keyPressOf({ ...none, ...pressed })?.key).toBe(name);
  });
  test.each(['Shift', 'Dead', 'F5', 'AudioVolumeUp', 'Process'])('%s is none of ours', (key) => {
    expect(keyPressOf({ ...none, key })).toBeNull();
  });
});
