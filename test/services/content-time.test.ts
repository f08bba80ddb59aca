// Owns what rich text may cost: eight times the tree takes about eight times the work, whatever it is made of. Counted
// in processor time, which other work on the machine does not add to.
import { expect, it } from 'vitest';
import { prepareContent } from '../../src/services/content/content.ts';

const text = (value: string, format = 0): object => ({ type: 'text', text: value, format });
const node = (type: string, children: readonly object[], more: object = {}): object => ({
  type,
  children,
  ...more,
});
const times = (count: number, make: (at: number) => object): object[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** Trees that make a careless renderer, sanitiser or pattern work more than once on the same piece. */
const shapes: Readonly<Record<string, (size: number) => readonly object[]>> = {
  paragraphs: (size) => times(size / 2, () => node('paragraph', [text('a')])),
  'empty paragraphs': (size) => [text('a'), ...times(size, () => node('paragraph', []))],
  'one long text': (size) => [text('a '.repeat(size * 20))],
  'angle brackets': (size) => [text('<'.repeat(size * 20))],
  ampersands: (size) => [text('&amp'.repeat(size * 10))],
  'blanks within': (size) => [text(`a${' '.repeat(size * 20)}b`)],
  'line feeds': (size) => [text(`a${'\r\n'.repeat(size * 10)}b`)],
  'Arabic articles': (size) => [text('ال'.repeat(size * 20))],
  'combining marks': (size) => [text(`a${'\u0301'.repeat(size * 20)}`)],
  'open comments': (size) => [text('<!--'.repeat(size * 10))],
  'every mark': (size) => times(size, () => text('a', 31)),
  'line breaks': (size) => [text('a'), ...times(size, () => node('linebreak', []))],
  links: (size) => times(size / 2, () => node('link', [text('a')], { url: 'https://a.example/?b=<&>"' })),
  'one long address': (size) => [
    node('link', [text('a')], { url: `https://a.example/${'?&'.repeat(size * 10)}` }),
  ],
  'lists in paragraphs': (size) => [
    node(
      'paragraph',
      times(size / 4, () => node('list', [node('listitem', [text('a')])])),
    ),
  ],
  'unknown nodes': (size) => times(size, () => node('quote', [], { text: 'a' })),
  'deep lists': (size) =>
    times(size / 32, () => {
      let tree = node('listitem', [text('a')]);
      for (let level = 0; level < 28; level += 1) tree = node(level % 2 === 0 ? 'list' : 'listitem', [tree]);
      return tree;
    }),
};

function cost(children: readonly object[]): number {
  const source = JSON.stringify({ root: { type: 'root', version: 1, children } });
  const once = (): number => {
    const before = process.cpuUsage();
    expect(prepareContent(source, 'lexical', Infinity).ok).toBe(true);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  return Math.min(...Array.from({ length: 5 }, once));
}

it.each(Object.entries(shapes))('%s cost no more than their size', (_name, make) => {
  // Below so many microseconds what is measured is the collector of garbage.
  const small = Math.max(cost(make(200)), 2_000);
  expect(cost(make(1_600)) / small).toBeLessThan(32);
});
