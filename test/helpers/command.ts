// Owns: running real programs in tests: npm, the packed bin, the launcher.
// Must not let a child see the npm run that started the tests, nor leave one running.
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { dirname, delimiter, join } from 'node:path';

/** The checkout's root folder. */
export const repository = join(import.meta.dirname, '../..');

/** What a finished command left behind. */
export interface Outcome {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * The environment of a fresh shell whose `node` is the one that runs the tests: without what npm
 * hands to its scripts (an inner npm would take the outer one's folder for its own) and without
 * settings of Deskbell's. What the program keeps of its compiled code stays in the checkout, not in the home of the person
 * who runs the tests.
 */
export function cleanEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !/^(npm_(?!config_(registry|cafile|userconfig|globalconfig|cache)$)|DESKBELL_|VITEST|NODE_ENV$|INIT_CWD$)/.test(
        entry[0],
      ),
  );
  const environment = Object.fromEntries(inherited);
  // node_modules/.bin of the checkout would stand in for what an empty machine does not have.
  const path = (environment['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'));
  return {
    ...environment,
    PATH: [dirname(process.execPath), ...path].join(delimiter),
    XDG_CACHE_HOME: join(repository, 'node_modules/.cache'),
    ...extra,
  };
}

/** A running command, with what it has printed so far. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  private readonly output = { stdout: '', stderr: '' };

  constructor(command: string, args: readonly string[], options: SpawnOptions) {
    this.child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.output[name] += text;
      });
    }
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        resolve({ code, signal, ...this.output });
      });
    });
  }

  /**
   * Waits until a line of stdout matches, and returns the match.
   * @throws Error with all output when the command ends before that.
   */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    const found = (): RegExpExecArray | undefined => {
      const whole = this.output.stdout.split('\n').slice(0, -1);
      return whole.map((line) => pattern.exec(line)).find((match) => match !== null) ?? undefined;
    };
    let finished: Outcome | undefined;
    const end = this.ended.then((outcome) => {
      finished = outcome;
    });
    for (;;) {
      const match = found();
      if (match !== undefined) return match;
      if (finished !== undefined)
        throw new Error(`ended without a line like ${pattern}: ${JSON.stringify(finished)}`);
      const { promise: more, resolve } = Promise.withResolvers<void>();
      this.child.stdout?.once('data', () => {
        resolve();
      });
      await Promise.race([more, end]);
    }
  }

  /** Sends a signal and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<Outcome> {
    this.child.kill(signal);
    return await this.ended;
  }
}

/**
 * Runs a command to its end.
 * @throws Error with all output when it ends with anything but the expected code (0 unless told).
 */
export async function run(
  command: string,
  args: readonly string[],
  options: SpawnOptions & { expect?: number },
): Promise<Outcome> {
  const { expect: expected = 0, ...rest } = options;
  const outcome = await new Running(command, args, rest).ended;
  if (outcome.code !== expected) {
    throw new Error(
      `${command} ${args.join(' ')}: expected exit ${expected}, got ${JSON.stringify(outcome)}`,
    );
  }
  return outcome;
}
