// The only writer to stdout and stderr of the command line: tables, lines, JSON.
// Every text is made safe for a terminal here; colour only where a terminal shows it.
import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { escapeControls } from '../text/text.ts';
import type * as widths from '../text/width.ts';

/** A stream that may be a terminal, as process.stdout is. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** A piece of a line: plain, or with a style for terminals. */
export type StyledText = string | readonly [Style, string];

export interface Printer {
  /** True with --json: then only documents go to stdout. */
  readonly json: boolean;
  /** True when a person reads: a terminal, and no --json. */
  readonly interactive: boolean;
  /** The width of the terminal; wide enough for everything where there is none. */
  readonly columns: number;
  /** Aborted when the reader of stdout has closed it (`deskbell … | head`): a command that runs on should end. */
  readonly outputClosed: AbortSignal;
  line(...pieces: readonly StyledText[]): void;
  /** Several lines exactly as they are, to be copied. */
  block(text: string): void;
  /** Rows under their headings; `empty` is said instead of a table without rows. */
  table(headings: readonly string[], rows: readonly (readonly string[])[], empty: string): void;
  /** One thing: a label and a value a line. */
  fields(rows: readonly (readonly [label: string, value: string])[]): void;
  /** A JSON document, the only one on stdout. */
  document(value: unknown): void;
  /** One JSON document of many, on a line of its own. */
  jsonLine(value: unknown): void;
  /** What to do next; for people only. */
  next(...commands: readonly string[]): void;
  /** A remark on stderr, so that stdout stays what was asked for. */
  note(text: string): void;
}

/**
 * Keeps a fault of an output stream from ending the process.
 * @returns aborted with the fault once nothing can be written any more
 */
export function watchOutput(stream: Writable): AbortSignal {
  const closed = new AbortController();
  stream.on('error', (error) => closed.abort(error));
  return closed.signal;
}

/**
 * The stream itself, or one that takes its place where it is a file: Node's own writes to a file by one call and does not
 * look how much of it was taken, so that on a disk that fills up the rest is left out without a word.
 */
export function wholeOutput(stream: OutputStream & { readonly fd: number }): OutputStream {
  if (!fstatSync(stream.fd).isFile()) return stream;
  return new Writable({
    decodeStrings: true,
    write: (bytes: Buffer, _encoding, done) => {
      try {
        for (let at = 0; at < bytes.length;) at += writeSync(stream.fd, bytes, at);
        done();
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
}

/** The fault that a person must hear of: a full disk, but not a reader that has read enough. */
export function outputError({ aborted, reason }: AbortSignal): Error | null {
  if (!aborted || !(reason instanceof Error)) return null;
  return 'code' in reason && (reason.code === 'EPIPE' || reason.code === 'ERR_STREAM_DESTROYED')
    ? null
    : reason;
}

/** How text is put into columns. */
export type Columns = Pick<typeof widths, 'displayWidth' | 'padTo'>;

/** For what prints no table of people's text. Counting other text properly takes 30 ms of processor time to load. */
export const plainColumns: Columns = {
  displayWidth: (text) => text.length,
  padTo: (text, width) => text.padEnd(width),
};

/**
 * @param json whether stdout belongs to one JSON document
 * @param columns what tables are made with
 */
export function createPrinter(
  out: OutputStream,
  err: OutputStream,
  outputClosed: AbortSignal,
  json: boolean,
  { displayWidth, padTo }: Columns,
): Printer {
  const interactive = !json && out.isTTY === true;

  // styleText honours NO_COLOR, but FORCE_COLOR would make it colour a pipe: colours are for terminals only.
  const styled = (style: Style, text: string): string =>
    interactive ? styleText(style, text, { stream: out, validateStream: true }) : text;

  function write(text: string): void {
    if (!outputClosed.aborted) out.write(`${text}\n`);
  }

  function say(text: string): void {
    if (!json) write(text);
  }

  function fields(rows: readonly (readonly [string, string])[]): void {
    const widest = Math.max(0, ...rows.map(([label]) => displayWidth(label)));
    for (const [label, value] of rows)
      say(`${styled('dim', padTo(sanitizeCell(label), widest))}  ${sanitizeCell(value)}`);
  }

  return {
    json,
    interactive,
    columns: interactive ? (out.columns ?? 80) : Number.POSITIVE_INFINITY,
    outputClosed,
    line: (...pieces) =>
      say(
        pieces
          .map((piece) =>
            typeof piece === 'string' ? sanitizeCell(piece) : styled(piece[0], sanitizeCell(piece[1])),
          )
          .join(''),
      ),
    block: (text) => say(escapeControls(text)),
    fields,
    table: (titles, rows, empty) => {
      if (rows.length === 0) {
        // An empty list is nothing for a program that reads it; a person wants a word.
        if (interactive) say(sanitizeCell(empty));
        return;
      }
      const headings = titles.map(sanitizeCell);
      const cells = rows.map((row) => row.map(sanitizeCell));
      const widths = headings.map((heading, index) =>
        Math.max(displayWidth(heading), ...cells.map((row) => displayWidth(row[index] ?? ''))),
      );
      const width = widths.reduce((sum, one) => sum + one + 2, -2);
      if (interactive && width > (out.columns ?? 80)) {
        cells.forEach((row, index) => {
          if (index > 0) say('');
          // An empty cell keeps a place in a table; as a line of its own it says nothing.
          const filled = headings.map(
            (heading, column) => [heading.toLowerCase(), row[column] ?? ''] as const,
          );
          fields(filled.filter(([, value]) => value !== ''));
        });
        return;
      }
      const lined = (row: readonly string[]): string =>
        row
          .map((text, index) => padTo(text, widths[index] ?? 0))
          .join('  ')
          .trimEnd();
      say(styled('bold', lined(headings)));
      for (const row of cells) say(lined(row));
    },
    document: (value) => write(safeJson(value, out.isTTY === true ? 2 : 0)),
    jsonLine: (value) => write(safeJson(value, 0)),
    next: (...commands) => {
      if (!interactive || commands.length === 0) return;
      say('');
      for (const [index, command] of commands.entries())
        say(`${styled('dim', index === 0 ? 'Next:' : '     ')} ${styled('cyan', sanitizeCell(command))}`);
    },
    note: (text) => {
      err.write(`${sanitizeCell(text)}\n`);
    },
  };
}

/** One line of a user's text, safe for a terminal. */
export function sanitizeCell(text: string): string {
  return escapeControls(text).replace(/[\n\t]+/g, ' ');
}

// JSON leaves these raw, and a terminal may obey them or show them in another order; as \u escapes they mean the same.
const rawInJson = /[\u007f-\u009f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/g;

/** JSON that a terminal can show: the same document, with what could be taken for a command written as an escape. */
export function safeJson(value: unknown, indent: 0 | 2): string {
  return JSON.stringify(value, null, indent).replace(
    rawInJson,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
