// Questions on a terminal, hidden ones included, and secrets from standard input.
// Writes on stderr, so that stdout stays the command's answer; knows no question itself.
import { createInterface } from 'node:readline';
import { Writable, type Readable } from 'node:stream';
import { CommandError, UsageError } from './errors.ts';
import { sanitizeCell, type OutputStream } from './print.ts';
import { readStandardInput } from './standard-input.ts';

/** A stream that may be a terminal, as process.stdin is. */
export type InputStream = Readable & { readonly isTTY?: boolean; ref?(): unknown };

export interface Prompt {
  /**
   * Asks until the answer is good.
   * @param check what is wrong with an answer, or null
   * @throws CommandError when the person leaves (Ctrl-C, Ctrl-D)
   */
  ask(question: string, check: (answer: string) => string | null): Promise<string>;
  /** Asks once, without showing the answer, which may hold blanks. @throws CommandError as above */
  secret(question: string): Promise<string>;
  /** Asks for a new password twice, without showing it. @throws CommandError as above */
  newPassword(question: string, check: (answer: string) => string | null): Promise<string>;
  close(): void;
}

/** @param stopped what is said when the person leaves */
export function openPrompt(
  input: InputStream,
  screen: OutputStream,
  stopped = 'Stopped; nothing was changed.',
): Prompt {
  let hidden = false;
  const echo = new Writable({
    // Synchronous: a write that waited would be hidden or shown by what is set later.
    write: (chunk: Buffer | string, _encoding, done) => {
      if (!hidden) screen.write(chunk);
      done();
    },
  });
  const terminal = input.isTTY === true;
  // The console lets go of the keyboard while it is handed over: a person who thinks would be left without a program.
  input.ref?.();
  // No history: an arrow key must not bring a password back.
  const reader = createInterface({
    input,
    output: Object.assign(echo, { columns: screen.columns, isTTY: terminal }),
    terminal,
    historySize: 0,
  });
  const lines: string[] = [];
  let left = false;
  let wake = (): void => undefined;
  reader.on('line', (line) => {
    lines.push(line);
    wake();
  });
  reader.on('SIGINT', () => reader.close());
  reader.on('close', () => {
    left = true;
    wake();
  });

  async function nextLine(): Promise<string> {
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) return line;
      if (left) {
        screen.write('\n');
        throw new CommandError(stopped);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
  }

  async function put(question: string, secret: boolean): Promise<string> {
    // The prompt belongs to readline, which draws it again when a line is edited.
    if (!left) {
      reader.setPrompt(question);
      reader.prompt();
    }
    hidden = secret;
    try {
      return await nextLine();
    } finally {
      hidden = false;
      if (secret && !left) screen.write('\n');
    }
  }

  async function ask(question: string, check: (answer: string) => string | null): Promise<string> {
    for (;;) {
      const answer = (await put(question, false)).trim();
      const problem = check(answer);
      if (problem === null) return answer;
      screen.write(`  ${sanitizeCell(problem)}\n`);
    }
  }

  async function newPassword(question: string, check: (answer: string) => string | null): Promise<string> {
    for (;;) {
      const first = await put(question, true);
      const problem = check(first);
      if (problem !== null) screen.write(`  ${sanitizeCell(problem)}\n`);
      else if ((await put('Once more: ', true)) === first) return first;
      else screen.write('  The two differ. Once again, please.\n');
    }
  }

  return { ask, secret: (question) => put(question, true), newPassword, close: () => reader.close() };
}

/** The longest secret that is read from standard input, in bytes; far above what any rule allows. */
const maxSecretBytes = 16_384;

/** What a secret is called, and the option by which it is read. */
export interface SecretName {
  readonly noun: string;
  readonly option: string;
}

const passwordName: SecretName = { noun: 'password', option: '--password-stdin' };

/**
 * All of standard input as one secret, without the line end behind it.
 * @throws UsageError when there is none, it is too long or no UTF-8
 */
export async function readSecret(
  input: Readable,
  { noun, option }: SecretName = passwordName,
): Promise<string> {
  const text = await readStandardInput(input, maxSecretBytes, {
    tooLong: `What came on standard input is too long for a ${noun}.`,
    notText: 'What came on standard input is not UTF-8 text.',
  });
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '')
    throw new UsageError(
      `Nothing came on standard input. Pipe the ${noun} in: printf %s "$${noun.toUpperCase()}" | deskbell … ${option}`,
    );
  if (/[\r\n]/.test(secret))
    throw new UsageError(`More than one line came on standard input; a ${noun} is one line.`);
  return secret;
}
