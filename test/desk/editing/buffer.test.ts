// Attacks the edit buffer as an impatient writer would: any acts in any order, any script, long texts.
// Must not test keys or drawing.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as buffers from '../../../src/desk/editing/buffer.ts';
import { bufferOf, maxTextLength, type EditBuffer } from '../../../src/desk/editing/buffer.ts';
import * as rowMotions from '../../../src/cli/console/text/row-motions.ts';
import { rowsOf } from '../../../src/cli/console/text/text-layout.ts';
import { strangeText } from '../../console/text/strange-text.ts';
import { inkColumns, OBEYED } from '../../console/text/screen.ts';

const at = (text: string, caret: number): EditBuffer => ({ ...bufferOf(text), caret });
/** `a|b` is a caret between a and b. */
const marked = (text: string): EditBuffer => at(text.replace('|', ''), text.indexOf('|'));
const mark = ({ text, caret }: EditBuffer): string => `${text.slice(0, caret)}|${text.slice(caret)}`;
const typed = (buffer: EditBuffer, text: string): EditBuffer =>
  text.split('').reduce((now, letter) => buffers.insert(now, letter), buffer);

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
const boundaries = (text: string): Set<number> =>
  new Set([text.length, ...[...segmenter.segment(text)].map(({ index }) => index)]);

type Act = (buffer: EditBuffer) => EditBuffer;
const columns = 12;
const acts: Readonly<Record<string, Act>> = {
  deleteBack: buffers.deleteBack,
  deleteForward: buffers.deleteForward,
  deleteWordBack: buffers.deleteWordBack,
  deleteWordForward: buffers.deleteWordForward,
  killToLineEnd: buffers.killToLineEnd,
  killToLineStart: buffers.killToLineStart,
  yank: buffers.yank,
  yankOlder: buffers.yankOlder,
  moveLeft: buffers.moveLeft,
  moveRight: buffers.moveRight,
  moveWordLeft: buffers.moveWordLeft,
  moveWordRight: buffers.moveWordRight,
  moveTextStart: buffers.moveTextStart,
  moveTextEnd: buffers.moveTextEnd,
  moveRowStart: (buffer) => rowMotions.moveRowStart(buffer, columns),
  moveRowEnd: (buffer) => rowMotions.moveRowEnd(buffer, columns),
  moveUp: (buffer) => rowMotions.moveUp(buffer, columns),
  moveDown: (buffer) => rowMotions.moveDown(buffer, columns),
  newLine: buffers.newLine,
  undo: buffers.undo,
  redo: buffers.redo,
};
const motions = [
  'moveLeft',
  'moveRight',
  'moveWordLeft',
  'moveWordRight',
  'moveTextStart',
  'moveTextEnd',
  'moveRowStart',
  'moveRowEnd',
  'moveUp',
  'moveDown',
];
const anyAct: fc.Arbitrary<readonly [string, Act]> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Object.entries(acts)) },
  {
    weight: 2,
    arbitrary: strangeText.map(
      (text) =>
        [`insert ${JSON.stringify(text)}`, (buffer: EditBuffer) => buffers.insert(buffer, text)] as const,
    ),
  },
  {
    weight: 1,
    arbitrary: strangeText.map(
      (text) =>
        [`paste ${JSON.stringify(text)}`, (buffer: EditBuffer) => buffers.paste(buffer, text)] as const,
    ),
  },
);
const anyActs = fc.array(anyAct, { maxLength: 40 });

describe('any acts in any order', () => {
  it('leave the caret on a boundary inside the text, the text free of controls, and the layout inside its box', () => {
    fc.assert(
      fc.property(
        anyActs,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 6 }),
        (list, width, height) => {
          let buffer = bufferOf();
          let firstRow = 0;
          for (const [, act] of list) {
            buffer = act(buffer);
            expect(boundaries(buffer.text)).toContain(buffer.caret);
            expect(buffer.text.replaceAll(/[\n\t]/g, '')).not.toMatch(OBEYED);
            const view = rowMotions.layoutBuffer(buffer, width, height, firstRow);
            ({ firstRow } = view);
            expect(view.lines.length).toBe(Math.min(height, view.rowCount - firstRow));
            expect(view.caretRow).toBeGreaterThanOrEqual(0);
            expect(view.caretRow).toBeLessThan(view.lines.length);
            expect(view.caretColumn).toBeGreaterThanOrEqual(0);
            expect(view.caretColumn).toBeLessThan(width);
            for (const line of view.lines) {
              expect(inkColumns(line)).toBeLessThanOrEqual(Math.max(1, width - 1));
              expect(line).not.toMatch(OBEYED);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are all taken back by undo, and all made again by redo', () => {
    fc.assert(
      fc.property(strangeText, anyActs, (text, list) => {
        const start = bufferOf(text);
        const end = list
          .filter(([name]) => name !== 'undo' && name !== 'redo')
          .reduce((buffer, [, act]) => act(buffer), start);
        let back = end;
        while (back.past.length > 0) back = buffers.undo(back);
        expect(back.text).toBe(start.text);
        let again = back;
        for (let next = buffers.redo(again); next !== again; next = buffers.redo(again)) again = next;
        expect(again.text).toBe(end.text);
        expect(back.ring).toEqual(end.ring);
      }),
      { numRuns: 150 },
    );
  });

  it('never change the text by a motion, and end every motion somewhere', () => {
    fc.assert(
      fc.property(strangeText, fc.constantFrom(...motions), (text, name) => {
        let buffer = bufferOf(text);
        const limit = buffer.text.length + 3;
        for (let times = 0; times < limit; times++) buffer = acts[name]?.(buffer) ?? buffer;
        expect(buffer.text).toBe(bufferOf(text).text);
        const still = acts[name]?.(buffer);
        expect(still?.caret).toBe(buffer.caret);
        if (/Left|Up/.test(name) || name === 'moveTextStart') expect(buffer.caret).toBe(0);
        if (name === 'moveWordRight' || name === 'moveRight' || name === 'moveDown' || name === 'moveTextEnd')
          expect(buffer.caret).toBe(buffer.text.length);
      }),
    );
  });

  it('lay the text out without a gap: its rows are the text, whatever the width', () => {
    fc.assert(
      fc.property(strangeText, fc.integer({ min: 1, max: 40 }), (strange, width) => {
        const { text } = bufferOf(strange);
        let rebuilt = '';
        for (const { start, end } of rowsOf(text, width)) {
          if (start > rebuilt.length) rebuilt += '\n';
          expect(start).toBe(rebuilt.length);
          rebuilt += text.slice(start, end);
        }
        expect(rebuilt).toBe(text);
      }),
    );
  });
});

describe('typing', () => {
  it('stands where the caret is, and takes every kind of line end as one', () => {
    expect(mark(buffers.insert(marked('a|c'), 'b'))).toBe('ab|c');
    expect(mark(buffers.paste(marked('<|>'), 'one\r\ntwo\rthree\nfour\u2028five'))).toBe(
      '<one\ntwo\nthree\nfour\nfive|>',
    );
  });

  it.each([
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007x', 'x'],
    ['\u001b]8;;https://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['\u001b]52;c;aGk=', ''],
    ['\u001bP1$r\u001b\\a', 'a'],
    ['\u009b2Jb\u009d0;t\u009cc', 'bc'],
    ['\u001bOPd', 'd'],
    ['e\u001b[', 'e'],
    ['\u001b]0;no end\nnext line', '\nnext line'],
    ['a\u0000\u0008\u007f\u0085b', 'a\nb'],
    ['\u202egnp\u202c.exe', 'gnp.exe'],
    ['tab\tstays', 'tab\tstays'],
    ['\ud800', '\ufffd'],
    ['👨‍👩‍👧 ❤️ नमस्ते', '👨‍👩‍👧 ❤️ नमस्ते'],
  ])('pastes %j as %j', (pasted, text) => {
    expect(buffers.paste(bufferOf(), pasted).text).toBe(text);
  });

  it('never leaves the caret inside a character that grows', () => {
    expect(mark(buffers.insert(marked('e|x'), '\u0301'))).toBe('e\u0301|x');
    // A letter before a mark that stood alone: both become one, and the caret goes behind it.
    expect(mark(buffers.insert(marked('|\u0301x'), 'e'))).toBe('e\u0301|x');
    expect(mark(buffers.deleteBack(marked('🇩x|🇪')))).toBe('🇩🇪|');
  });

  it('stops at the most that a buffer holds, between characters', () => {
    const full = buffers.paste(bufferOf('x'), '👍🏽'.repeat(maxTextLength));
    expect(full.text.length).toBeLessThanOrEqual(maxTextLength);
    expect(full.text.length).toBeGreaterThan(maxTextLength - 4);
    expect(full.text.endsWith('👍🏽')).toBe(true);
    expect(
      buffers.insert(buffers.insert(buffers.insert(full, 'a'), 'b'), 'c').text.length,
    ).toBeLessThanOrEqual(maxTextLength);
  });
});

describe('deleting', () => {
  it.each<[string, Act, string]>([
    ['a👨‍👩‍👧|b', buffers.deleteBack, 'a|b'],
    ['a|👨‍👩‍👧b', buffers.deleteForward, 'a|b'],
    ['a\n|b', buffers.deleteBack, 'a|b'],
    ['|a', buffers.deleteBack, '|a'],
    ['a|', buffers.deleteForward, 'a|'],
    ['one two|', buffers.deleteWordBack, 'one |'],
    ['one two, |', buffers.deleteWordBack, 'one |'],
    ['one |two three', buffers.deleteWordForward, 'one | three'],
    ['今日は天気|', buffers.deleteWordBack, '今日は|'],
    ['...|', buffers.deleteWordBack, '|'],
    ['ab|cd\nef', buffers.killToLineEnd, 'ab|\nef'],
    ['ab|\nef', buffers.killToLineEnd, 'ab|ef'],
    ['x\nab|cd', buffers.killToLineStart, 'x\n|cd'],
    ['x\n|cd', buffers.killToLineStart, 'x|cd'],
  ])('%s', (before, act, after) => {
    expect(mark(act(marked(before)))).toBe(after);
  });
});

describe('cutting and putting back', () => {
  it('puts the last cut back, then older ones in its place, round and round', () => {
    let buffer = buffers.deleteWordBack(buffers.moveTextEnd(bufferOf('one two')));
    buffer = buffers.moveLeft(buffer);
    buffer = buffers.killToLineStart(buffer);
    buffer = buffers.moveTextEnd(buffer);
    expect([buffer.text, buffer.ring]).toEqual([' ', ['one', 'two']]);
    buffer = buffers.yank(buffer);
    expect(mark(buffer)).toBe(' one|');
    buffer = buffers.yankOlder(buffer);
    expect(mark(buffer)).toBe(' two|');
    expect(mark(buffers.yankOlder(buffer))).toBe(' one|');
    // Only right after putting back.
    const moved = buffers.moveLeft(buffer);
    expect(buffers.yankOlder(moved)).toBe(moved);
    expect(mark(buffers.undo(buffers.undo(buffer)))).toBe(' |');
  });

  it('joins cuts in a row in the order of reading', () => {
    const back = buffers.deleteWordBack(buffers.deleteWordBack(bufferOf('one two three')));
    expect(back.ring).toEqual(['two three']);
    const forward = buffers.killToLineEnd(buffers.killToLineEnd(at('a\nb', 0)));
    expect(forward.ring).toEqual(['a\n']);
    expect(mark(buffers.undo(back))).toBe('one two three|');
  });

  it('keeps no more than twenty, and survives sending', () => {
    let buffer = bufferOf();
    for (let index = 0; index < 30; index++) {
      buffer = buffers.moveTextEnd(
        buffers.killToLineStart(buffers.moveTextEnd(buffers.insert(buffer, `n${index}`))),
      );
    }
    expect(buffer.ring).toHaveLength(20);
    const next = buffers.cleared(buffer);
    expect([next.text, next.past.length, buffers.yank(next).text]).toEqual(['', 0, 'n29']);
  });
});

describe('undo', () => {
  it('takes typed words one by one, a paste and a line end each by itself', () => {
    let buffer = buffers.paste(typed(bufferOf(), 'hello big world'), 'PASTED');
    buffer = typed(buffers.newLine(buffer), 'x');
    const steps: string[] = [];
    for (; buffer.past.length > 0; buffer = buffers.undo(buffer)) steps.push(buffer.text);
    expect(steps).toEqual([
      'hello big worldPASTED\nx',
      'hello big worldPASTED\n',
      'hello big worldPASTED',
      'hello big world',
      'hello big ',
      'hello ',
    ]);
    expect(buffer.text).toBe('');
  });

  it('takes a run of deletions as one, apart from the typing before and the other direction', () => {
    let buffer = typed(bufferOf(), 'abcd');
    buffer = buffers.deleteBack(buffers.deleteBack(buffer));
    buffer = buffers.deleteForward(buffers.moveTextStart(buffer));
    expect(buffer.text).toBe('b');
    expect(mark((buffer = buffers.undo(buffer)))).toBe('|ab');
    expect(mark((buffer = buffers.undo(buffer)))).toBe('abcd|');
    expect(mark(buffers.undo(buffer))).toBe('|');
  });

  it('begins a new group after a motion, and forgets what could be redone after an edit', () => {
    let buffer = typed(buffers.moveLeft(typed(bufferOf(), 'ac')), 'b');
    expect(buffer.text).toBe('abc');
    buffer = buffers.undo(buffer);
    expect(mark(buffer)).toBe('a|c');
    expect(buffers.redo(buffer).text).toBe('abc');
    buffer = buffers.insert(buffer, 'x');
    expect(buffers.redo(buffer)).toBe(buffer);
    expect(buffer.text).toBe('axc');
  });

  it('brings back what a canned reply or an editor replaced', () => {
    const buffer = buffers.replaceAll(typed(bufferOf(), 'mine'), 'a canned\r\nreply');
    expect([mark(buffer), mark(buffers.undo(buffer))]).toEqual(['a canned\nreply|', 'mine|']);
  });
});

describe('moving', () => {
  it.each<[string, Act, string]>([
    ['a👨‍👩‍👧|', buffers.moveLeft, 'a|👨‍👩‍👧'],
    ['|👨‍👩‍👧a', buffers.moveRight, '👨‍👩‍👧|a'],
    ['one, |two', buffers.moveWordLeft, '|one, two'],
    ['one| two', buffers.moveWordRight, 'one two|'],
    ['|日本語を書く', buffers.moveWordRight, '日本語|を書く'],
    ['สวัสดีครับ|', buffers.moveWordLeft, 'สวัสดี|ครับ'],
    ['x\nab|c\ny', buffers.moveLineStart, 'x\n|abc\ny'],
    ['x\na|bc\ny', buffers.moveLineEnd, 'x\nabc|\ny'],
    ['ab|', buffers.moveTextStart, '|ab'],
  ])('%s', (before, act, after) => {
    expect(mark(act(marked(before)))).toBe(after);
  });

  it('up and down keep the column through shorter and wrapped rows', () => {
    // In 9 columns: "one two " / "three " / "four" / "" / "sixseven"
    let buffer = marked('one two three four\n\nsixseve|n');
    const seen: string[] = [];
    for (let times = 0; times < 5; times++) seen.push(mark((buffer = rowMotions.moveUp(buffer, 9))));
    expect(seen).toEqual([
      'one two three four\n|\nsixseven',
      'one two three four|\n\nsixseven',
      'one two three| four\n\nsixseven',
      'one two| three four\n\nsixseven',
      '|one two three four\n\nsixseven',
    ]);
    buffer = marked('one two| three four\n\nsixseven');
    for (let times = 0; times < 4; times++) buffer = rowMotions.moveDown(buffer, 9);
    expect(mark(buffer)).toBe('one two three four\n\nsixseve|n');
    expect(mark(rowMotions.moveDown(buffer, 9))).toBe('one two three four\n\nsixseven|');
    // Another motion sets a new column.
    expect(mark(rowMotions.moveUp(buffers.moveLeft(marked('abcd\nef|')), 20))).toBe('a|bcd\nef');
  });

  it('home and end go to the row’s ends first, and then to the line’s', () => {
    const home = rowMotions.moveRowStart(marked('one two three fo|ur'), 9);
    expect([mark(home), mark(rowMotions.moveRowStart(home, 9))]).toEqual([
      'one two three |four',
      '|one two three four',
    ]);
    const end = rowMotions.moveRowEnd(marked('o|ne two three four'), 9);
    expect([mark(end), mark(rowMotions.moveRowEnd(end, 9))]).toEqual([
      'one two| three four',
      'one two three four|',
    ]);
  });

  it('knows the first and the last row, where up and down mean the history', () => {
    const middle = marked('one two th|ree four');
    expect([
      rowMotions.onFirstRow(middle, 9),
      rowMotions.onLastRow(middle, 9),
      rowMotions.onFirstRow(middle, 40),
      rowMotions.onLastRow(middle, 40),
    ]).toEqual([false, false, true, true]);
  });
});

describe('layout', () => {
  it('keeps a column for the caret, and puts it on the next row behind a full one', () => {
    expect(rowMotions.layoutBuffer(bufferOf('abcd'), 5, 3)).toEqual({
      lines: ['abcd'],
      caretRow: 0,
      caretColumn: 4,
      firstRow: 0,
      rowCount: 1,
    });
    expect(rowMotions.layoutBuffer(bufferOf('abcde'), 5, 3)).toEqual({
      lines: ['abcd', 'e'],
      caretRow: 1,
      caretColumn: 1,
      firstRow: 0,
      rowCount: 2,
    });
    expect(rowMotions.layoutBuffer(bufferOf(''), 5, 3)).toEqual({
      lines: [''],
      caretRow: 0,
      caretColumn: 0,
      firstRow: 0,
      rowCount: 1,
    });
    expect(rowMotions.layoutBuffer(bufferOf('ab\n'), 5, 3)).toMatchObject({
      lines: ['ab', ''],
      caretRow: 1,
      caretColumn: 0,
    });
    // Blanks behind a full row hang there, out of sight, and the caret stays in the box.
    expect(rowMotions.layoutBuffer(bufferOf('abcd    '), 5, 3)).toMatchObject({
      lines: ['abcd'],
      caretRow: 0,
      caretColumn: 4,
    });
  });

  it('counts columns as they are drawn', () => {
    expect(rowMotions.layoutBuffer(marked('漢字|x'), 20, 3)).toMatchObject({
      caretColumn: 4,
      lines: ['漢字x'],
    });
    expect(rowMotions.layoutBuffer(marked('👨‍👩‍👧|x'), 20, 3)).toMatchObject({ caretColumn: 6 });
    expect(rowMotions.layoutBuffer(marked('a\t|x'), 20, 3)).toMatchObject({
      caretColumn: 5,
      lines: ['a    x'],
    });
    expect(rowMotions.layoutBuffer(marked('\u0301|x'), 20, 3)).toMatchObject({
      caretColumn: 1,
      lines: ['\u200b◌\u0301\u200bx'],
    });
  });

  it('scrolls only when the caret leaves the box', () => {
    const text = Array.from({ length: 10 }, (_, index) => `${index}`).join('\n');
    const rowOf = (caret: number, before: number): number =>
      rowMotions.layoutBuffer(at(text, caret), 10, 3, before).firstRow;
    expect([
      rowOf(text.length, 0),
      rowOf(14, 7),
      rowOf(12, 7),
      rowOf(0, 7),
      rowOf(4, 0),
      rowOf(6, 0),
    ]).toEqual([7, 7, 6, 0, 0, 1]);
    // The text shrank: no empty rows below while there is text above.
    expect(rowMotions.layoutBuffer(bufferOf('a\nb\nc\nd'), 10, 3, 9)).toMatchObject({
      firstRow: 1,
      lines: ['b', 'c', 'd'],
    });
  });
});
