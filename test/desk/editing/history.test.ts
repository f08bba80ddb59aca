// Attacks the walk through what was sent. Must not test buffers or keys.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory, newer, older, remember, type History } from '../../../src/desk/editing/history.ts';

const sent = (...texts: readonly string[]): History => texts.reduce(remember, emptyHistory);

/** What older (and, after `/`, newer) show one after the other, beginning with a text. */
function walk(history: History, text: string, directions: string): (string | null)[] {
  let now = { history, text };
  return directions.split('').map((direction) => {
    const step = direction === '<' ? older(now.history, now.text) : newer(now.history, now.text);
    if (step !== null) now = step;
    return step?.text ?? null;
  });
}

describe('history', () => {
  it('goes back to the oldest, and forward to what was being written', () => {
    expect(walk(sent('a', 'b'), 'draft', '<')).toEqual([null]);
    expect(walk(sent('a', 'b'), '', '<<<>>>')).toEqual(['b', 'a', null, 'b', '', null]);
  });

  it('finds what begins with the text that was being written, and brings that back', () => {
    expect(walk(sent('hello ann', 'bye', 'hello bob', 'Hello'), 'hello', '<<<>>>')).toEqual([
      'hello bob',
      'hello ann',
      null,
      'hello bob',
      'hello',
      null,
    ]);
  });

  it('meets a text once, at its latest place', () => {
    expect(walk(sent('a', 'b', 'a'), '', '<<<')).toEqual(['a', 'b', null]);
  });

  it('begins anew with a text that was changed on the way', () => {
    const first = older(sent('ab', 'b'), '');
    expect(first?.text).toBe('b');
    expect(older(first?.history ?? emptyHistory, 'a')?.text).toBe('ab');
    expect(newer(first?.history ?? emptyHistory, 'changed')).toBeNull();
  });

  it('does not remember blanks, and ends a walk when something is sent', () => {
    expect(sent(' \n ').entries).toEqual([]);
    const walking = older(sent('a'), 'x'.slice(1))?.history ?? emptyHistory;
    expect(newer(remember(walking, 'b'))).toBeNull();
  });

  it('keeps no more than 200, the newest', () => {
    const history = sent(...Array.from({ length: 250 }, (_, index) => `n${index}`));
    expect([history.entries.length, history.entries[0], history.entries.at(-1)]).toEqual([
      200,
      'n50',
      'n249',
    ]);
  });

  it('always comes back to where it began', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[ab]{0,3}$/)),
        fc.stringMatching(/^[ab]{0,2}$/),
        fc.nat(12),
        (texts, text, steps) => {
          const shown = walk(sent(...texts), text, '<'.repeat(steps));
          const found = shown.filter((one) => one !== null);
          for (const one of found) expect(one.startsWith(text)).toBe(true);
          const back = walk(sent(...texts), text, '<'.repeat(steps) + '>'.repeat(found.length));
          if (found.length > 0) expect(back.at(-1)).toBe(text);
        },
      ),
    );
  });
});
