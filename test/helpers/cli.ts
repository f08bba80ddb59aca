// Owns running the real command line in tests: the built bin as a process, and `main`
// in this process with streams of our own. Must not know what a test is about.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { main } from '../../src/cli/main.ts';
import { cleanEnvironment, repository, Running, type Outcome } from './command.ts';

export { ensureBuilt } from './built.ts';

const bin = join(repository, 'bin/deskbell.js');

export interface CliOptions {
  /** What comes on standard input. */
  readonly input?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

/** Runs the bin to its end, whatever its exit code. */
export async function deskbell(
  args: readonly string[],
  { input = '', env = {}, cwd }: CliOptions = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [bin, ...args], {
    env: cleanEnvironment(env),
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  // A command that does not read its input may be gone before it is written.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  child.once('error', reject);
  child.once('close', (code, signal) => resolve({ code, signal, ...output }));
  return promise;
}

/** What most commands answer, as far as tests look at it. */
export interface Created {
  readonly id: string;
  readonly appId: string;
  readonly key: string;
}

/** Runs a command in this process with --json, expects exit 0 and exactly one document. */
export async function deskbellJson<T = Created>(
  args: readonly string[],
  options: { readonly input?: string } = {},
): Promise<T> {
  return expectDocument(args, await inProcess([...args, '--json'], options));
}

/** As {@link deskbellJson}, with the bin as a process: slower, for what is about processes. */
export async function deskbellProcessJson<T = Created>(
  args: readonly string[],
  options: CliOptions = {},
): Promise<T> {
  return expectDocument(args, await deskbell([...args, '--json'], options));
}

function expectDocument<T>(args: readonly string[], outcome: Omit<Outcome, 'signal'>): T {
  if (outcome.code !== 0 || outcome.stderr !== '')
    throw new Error(`deskbell ${args.join(' ')}: ${JSON.stringify(outcome)}`);
  return JSON.parse(outcome.stdout) as T;
}

export interface ServeProcess {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly running: Running;
}

/** Starts `deskbell serve --port 0 --json` and waits for its first line. */
export async function serve(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ServeProcess> {
  const running = new Running(process.execPath, [bin, 'serve', '--port', '0', '--json', ...args], {
    env: cleanEnvironment(env),
  });
  const line = await running.line(/^\{.*\}$/);
  return { ...(JSON.parse(line[0]) as Omit<ServeProcess, 'running'>), running };
}

/** Starts any command that runs until it is stopped. */
export function start(args: readonly string[], env: Record<string, string> = {}): Running {
  return new Running(process.execPath, [bin, ...args], { env: cleanEnvironment(env) });
}

/** A stream of ours that remembers, as a terminal or as a pipe. */
export function outputStream(
  terminal: boolean,
  columns = 80,
): Writable & { isTTY: boolean; columns: number; text: () => string } {
  let text = '';
  const stream = new Writable({
    write: (chunk: Buffer | string, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  return Object.assign(stream, { isTTY: terminal, columns, text: () => text });
}

/** Runs `main` in this process: quick, for the many small cases. */
export async function inProcess(
  args: readonly string[],
  options: { readonly input?: string; readonly terminal?: boolean; readonly columns?: number } = {},
): Promise<Omit<Outcome, 'signal'>> {
  const { input = '', terminal = false, columns = 80 } = options;
  const [output, errors] = [outputStream(terminal, columns), outputStream(terminal, columns)];
  const code = await main(args, {
    input: new PassThrough().end(input),
    output,
    errors,
    outputClosed: new AbortController().signal,
  });
  return { code, stdout: output.text(), stderr: errors.text() };
}

/** An empty temporary folder, and its removal. */
export async function temporaryFolder(): Promise<{
  readonly folder: string;
  readonly remove: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-cli-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
