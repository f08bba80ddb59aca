// Owns: how things look on a terminal and on a pipe: columns of wide letters, narrow
// screens, JSON and strangers' text that no terminal may obey.
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineFormat } from '../../src/cli/log-lines.ts';
import { createPrinter, safeJson, type Printer } from '../../src/cli/print.ts';
import { displayWidth, padTo } from '../../src/text/width.ts';
import { outputStream } from '../helpers/cli.ts';

function printed(
  terminal: boolean,
  work: (print: Printer) => void,
  { json = false, columns = 80 } = {},
): { out: string; err: string } {
  const [out, err] = [outputStream(terminal, columns), outputStream(terminal, columns)];
  work(createPrinter(out, err, new AbortController().signal, json, { displayWidth, padTo }));
  return { out: out.text(), err: err.text() };
}

// Whatever a terminal would act on or reorder by, the line's end apart.
const obeyed = /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

test.each([
  ['abc', 3],
  ['', 0],
  ['東京', 4],
  ['한글', 4],
  ['ｱ', 1],
  ['Ａ', 2],
  ['é', 1],
  ['e\u0301', 1],
  ['👩‍👩‍👧', 2],
  ['❤️', 2],
  ['a\u200bb', 2],
  ['日本a', 5],
])('%j takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
  expect(displayWidth(padTo(text, 10))).toBe(10);
});

describe('tables', () => {
  const rows = [
    ['東京', 'x'],
    ['b', 'y'],
  ];

  test('columns stand under each other, wide letters or not', () => {
    const { out } = printed(false, (print) => print.table(['NAME', 'K'], rows, 'none'));
    expect(out).toBe('NAME  K\n東京  x\nb     y\n');
  });

  test('a table wider than the terminal becomes blocks, so that no id is cut', () => {
    const { out } = printed(
      true,
      (print) => print.table(['ID', 'NAME'], [['a'.repeat(36), 'n'.repeat(60)]], 'none'),
      { columns: 60 },
    );
    expect(out).toContain('a'.repeat(36));
    expect(out.split('\n')).toHaveLength(3);
    const why = printed(
      true,
      (print) => print.table(['ID', 'WHY', 'NAME'], [['1', '', 'n'.repeat(60)]], 'none'),
      { columns: 60 },
    );
    const shown = stripVTControlCharacters(why.out).split('\n');
    expect(shown).toEqual(['id    1', `name  ${'n'.repeat(60)}`, '']);
  });

  test('without rows a person reads a word and a program nothing', () => {
    expect(printed(true, (print) => print.table(['A'], [], 'Nothing yet.')).out).toBe('Nothing yet.\n');
    expect(printed(false, (print) => print.table(['A'], [], 'Nothing yet.')).out).toBe('');
  });
});

test('with --json only documents reach stdout, and no advice', () => {
  const { out, err } = printed(
    true,
    (print) => {
      print.line('text');
      print.fields([['a', 'b']]);
      print.next('deskbell serve');
      print.document({ a: 1 });
      print.note('careful');
    },
    { json: true },
  );
  expect(JSON.parse(out)).toEqual({ a: 1 });
  expect(err).toBe('careful\n');
});

test("a stranger's text is never obeyed, wherever it is printed, and JSON stays the same document", () => {
  const nasty = fc.string({
    unit: fc.oneof(
      fc.constantFrom('\u001b', '\u009b', '\u007f', '\r', '\b', '\u202e', '\u2066', '\u2028', '"', '\\'),
      fc.string({ unit: 'binary', maxLength: 1 }),
    ),
  });
  fc.assert(
    fc.property(nasty, (text) => {
      const { out, err } = printed(false, (print) => {
        print.line(text, ['bold', text]);
        print.fields([[text, text]]);
        print.table([text], [[text]], text);
        print.note(text);
      });
      const document = safeJson({ text }, 0);
      expect(out).not.toMatch(obeyed);
      expect(err).not.toMatch(obeyed);
      expect(out.split('\n')).toHaveLength(5);
      expect(document).not.toMatch(obeyed);
      expect(JSON.parse(document)).toEqual({ text });
    }),
  );
});

test('a line of the log is short on a terminal, and what the command said itself is left out', () => {
  const format = createLineFormat();
  expect(
    format(JSON.stringify({ level: 'info', time: '2026-01-02T03:04:05.678Z', msg: 'serving', url: 'x' })),
  ).toBeNull();
  expect(
    format(
      JSON.stringify({
        level: 'error',
        time: '2026-01-02T03:04:05.678Z',
        msg: 'serving\u001b[2J',
        status: 500,
      }),
    ),
  ).toBe('03:04:05 error serving␛[2J status=500');
});
