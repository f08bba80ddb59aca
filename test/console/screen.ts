// The console drawn by Ink into a terminal in memory (xterm without a window), so that a
// test sees what a person would: cells, cursor, and every byte. Not a test itself.
import { PassThrough, Writable } from 'node:stream';
import { createElement } from 'react';
import { render } from 'ink';
import xterm from '@xterm/headless';
import { graphemeWidth } from '../../src/text/width.ts';
import { App } from '../../src/cli/console/views/app.tsx';
import type { ModelFixture } from '../desk/model-fixture.ts';

export interface Screen {
  /** The rows, without blanks at their ends. */
  rows(): Promise<readonly string[]>;
  text(): Promise<string>;
  /** Column and row, from 0; null: hidden. */
  cursor(): Promise<{ readonly x: number; readonly y: number } | null>;
  /** How many cells a row takes up to its last character, as the terminal counts. */
  width(row: number): Promise<number>;
  /** What stands in one cell. */
  cell(column: number, row: number): Promise<string>;
  /** All bytes that were written. */
  bytes(): string;
  /** Bytes as the keyboard sends them. */
  type(bytes: string): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  close(): void;
}

/** Widths as terminals have them nowadays; xterm's own are those of 2010, when emoji were narrow. */
function useCurrentWidths(terminal: InstanceType<typeof xterm.Terminal>): void {
  const wcwidth = (code: number): 0 | 1 | 2 =>
    Math.min(2, graphemeWidth(String.fromCodePoint(code))) as 0 | 1 | 2;
  terminal.unicode.register({
    version: 'current',
    wcwidth,
    // As xterm packs them: width in bits 1 and 2, whether it joins the character before in bit 0.
    charProperties: (code, preceding) => {
      const width = wcwidth(code);
      const before = (preceding >> 1) & 3;
      const joins = width === 0 && preceding !== 0 && before !== 0;
      return ((joins ? before : width) << 1) | (joins ? 1 : 0);
    },
  });
  terminal.unicode.activeVersion = 'current';
}

export async function createScreen(fixture: ModelFixture, columns: number, rows: number): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
  useCurrentWidths(terminal);
  let written = '';
  let hidden = false;
  const stdout = Object.assign(
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        const text = chunk.toString('utf8');
        written += text;
        for (const [, way] of text.matchAll(/\p{Cc}\[\?25([lh])/gu)) hidden = way === 'l';
        terminal.write(text, done);
      },
    }),
    { isTTY: true, columns, rows },
  );
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => stdin,
    ref: () => stdin,
    unref: () => stdin,
  });
  const instance = render(
    createElement(App, { model: fixture.model, view: fixture.view, keymap: fixture.keymap }),
    {
      stdout: stdout as unknown as NodeJS.WriteStream,
      stdin: stdin as unknown as NodeJS.ReadStream,
      exitOnCtrlC: false,
      patchConsole: false,
      maxFps: 1_000,
      incrementalRendering: true,
      alternateScreen: true,
      interactive: true,
      isScreenReaderEnabled: false,
    },
  );
  const drawn = async (): Promise<void> => {
    await fixture.settle();
    await instance.waitUntilRenderFlush();
    await new Promise<void>((resolve) => {
      terminal.write('', resolve);
    });
  };
  const line = (row: number) => terminal.buffer.active.getLine(row);
  const screen: Screen = {
    rows: async () => {
      await drawn();
      return Array.from({ length: terminal.rows }, (_, row) =>
        (line(row)?.translateToString(true) ?? '').trimEnd(),
      );
    },
    text: async () => (await screen.rows()).join('\n'),
    cursor: async () => {
      await drawn();
      return hidden ? null : { x: terminal.buffer.active.cursorX, y: terminal.buffer.active.cursorY };
    },
    width: async (row) => {
      await drawn();
      let last = 0;
      for (let column = 0; column < terminal.cols; column += 1) {
        const cell = line(row)?.getCell(column);
        if (cell !== undefined && cell.getChars().trim() !== '') last = column + cell.getWidth();
      }
      return last;
    },
    cell: async (column, row) => {
      await drawn();
      return line(row)?.getCell(column)?.getChars() ?? '';
    },
    bytes: () => written,
    type: async (bytes) => {
      stdin.write(bytes);
      await drawn();
    },
    resize: async (toColumns, toRows) => {
      terminal.resize(toColumns, toRows);
      Object.assign(stdout, { columns: toColumns, rows: toRows });
      stdout.emit('resize');
      await drawn();
    },
    close: () => instance.unmount(),
  };
  await drawn();
  return screen;
}
