// The terminal beside Ink: whether its window has the focus, the clipboard, and the
// person's editor. Must not draw.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

const escape = '\u001b';
const focusSequences = new RegExp(`${escape}\\[([IO])`, 'g');
const askForFocus = `${escape}[?1004h`;
const endFocus = `${escape}[?1004l`;
/** Without autowrap a character that is wider than the layout believes breaks no row. */
const noWrap = `${escape}[?7l`;
const wrapAgain = `${escape}[?7h`;

/** The keyboard as Ink reads it: reports about the window's focus are taken out on the way. */
export interface TerminalInput {
  readonly stream: NodeJS.ReadStream;
  /** Stops reading, so that nothing keeps the process alive. */
  end(): void;
}

/**
 * @param real the process's standard input, a terminal
 * @param output where focus reports are asked for
 * @param onFocus the window got or lost the focus
 */
export function createTerminalInput(
  real: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  onFocus: (focused: boolean) => void,
): TerminalInput {
  const through = new PassThrough();
  const hear = (chunk: string): void => {
    const rest = chunk.replace(focusSequences, (_all, way: string) => {
      onFocus(way === 'I');
      return '';
    });
    if (rest !== '') through.write(rest);
  };
  real.setEncoding('utf8');
  // A terminal that was closed refuses to leave raw mode; there is nowhere to report it.
  real.on('error', () => undefined);
  const stream = Object.assign(through, {
    isTTY: true as const,
    setRawMode: (raw: boolean) => {
      real.setRawMode(raw);
      output.write(raw ? askForFocus + noWrap : endFocus + wrapAgain);
      // Handed over to an editor or to the sign-in, what is typed is theirs: a password must never arrive here.
      real.off('data', hear);
      if (raw) {
        real.on('data', hear);
        real.resume();
      } else real.pause();
      return stream;
    },
    ref: () => {
      real.ref();
      return stream;
    },
    unref: () => {
      real.unref();
      return stream;
    },
  });
  return {
    stream: stream as unknown as NodeJS.ReadStream,
    end: () => {
      real.off('data', hear);
      real.pause();
    },
  };
}

/** The bytes that put a text into the terminal's clipboard (OSC 52). */
export function clipboardBytes(text: string): string {
  return `${escape}]52;c;${Buffer.from(text, 'utf8').toString('base64')}\u0007`;
}

/** A stop takes effect at once, or never: where no shell waits for one, as under `docker run -it`. */
const stopMs = 100;

/**
 * Stops the program, and what started it with it, as Ctrl+Z does in a shell; the terminal must have been handed over.
 * @returns once the shell has it go on
 */
export async function stopProgram(): Promise<void> {
  process.kill(0, 'SIGTSTP');
  await new Promise((resolve) => setTimeout(resolve, stopMs));
}

/** The person's editor as a shell command. */
export function editorOf(environment: Readonly<Record<string, string | undefined>>): string {
  const set = [environment['VISUAL'], environment['EDITOR']].find(
    (one) => one !== undefined && one.trim() !== '',
  );
  return set ?? 'vi';
}

/**
 * Has a text changed in the person's editor; the terminal must have been handed over.
 * @param folder a private one: the text lies there in a 0600 file as long as the editor runs
 * @returns the text afterwards; null when the editor could not be run or said that it failed
 */
export async function editText(
  command: string,
  folder: string,
  text: string,
  streams: { readonly stdin: NodeJS.ReadStream; readonly stdout: NodeJS.WriteStream },
): Promise<string | null> {
  const own = mkdtempSync(join(folder, 'edit-'));
  const file = join(own, 'message.md');
  try {
    writeFileSync(file, text, { mode: 0o600 });
    const code = await new Promise<number | null>((resolve) => {
      // Through the shell, since EDITOR may hold arguments; the file's name is ours and passed as an argument of its own.
      const child = spawn('/bin/sh', ['-c', `${command} "$1"`, 'deskbell', file], {
        stdio: [streams.stdin, streams.stdout, 'inherit'],
      });
      child.on('error', () => resolve(null));
      child.on('exit', resolve);
    });
    return code === 0 ? readFileSync(file, 'utf8') : null;
  } catch {
    return null;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
