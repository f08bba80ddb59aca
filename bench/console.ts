// Owns: what the operator's console costs: its first frame, the echo of a key, its memory over a day of events; each
// beside a ceiling of the same run. Must not judge: it prints. Every program runs on a terminal of its own.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { eventually } from '../test/helpers/eventually.ts';
import { openPty, type PtyTerminal, type Terminal } from '../test/helpers/terminal.ts';
import type { ConsoleQuestion, Seeded } from './console-server.ts';
import { median } from './program.ts';
import { Child } from './protocol.ts';

export interface ConsoleLine {
  readonly what: string;
  readonly console: string;
  readonly ceiling: string;
  readonly ratio: string;
}

const size = { columns: 120, rows: 40 };
const root = join(import.meta.dirname, '..');
const launcher = join(root, 'bin/deskbell.js');

export interface ConsoleBenchOptions {
  /** Starts of each program; the median counts. */
  readonly runs: number;
  readonly conversations: number;
  readonly messages: number;
  readonly keys: number;
  readonly events: number;
}

/**
 * The console's figures as lines of a table.
 * @throws Error when the program is not built, or the console does not show what it should
 */
export async function consoleCost(options: ConsoleBenchOptions): Promise<readonly ConsoleLine[]> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-console-'));
  const server = new Child('./console-server.ts', [join(folder, 'data')]);
  try {
    const { conversations, messages } = options;
    const seeded = await server.request<Seeded>({
      kind: 'seed',
      conversations,
      messages,
    } satisfies ConsoleQuestion);
    await signIn(join(folder, 'config'), seeded);
    const ceiling = await inkHello(folder);
    const programs: Programs = { folder, seeded, ceiling };
    return [
      ...(await firstFrames(programs, options.runs)),
      ...(await echoes(programs, options.keys)),
      ...(await memory(programs, server, options.events)),
    ];
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Programs {
  readonly folder: string;
  readonly seeded: Seeded;
  /** A bundle of Ink that draws one line and shows what is typed. */
  readonly ceiling: string;
}

/** Leaves the sign-in as `deskbell login` does. */
async function signIn(
  config: string,
  { url, organization, token, expiresAt, member }: Seeded,
): Promise<void> {
  await mkdir(config, { recursive: true, mode: 0o700 });
  const signIns = [{ url, organization, organizationName: 'Bench', token, expiresAt, member }];
  await writeFile(join(config, 'credentials.json'), JSON.stringify({ version: 1, signIns }), { mode: 0o600 });
}

const hello = `
import { createElement as h, useState } from 'react';
import { render, Box, Text, useInput } from 'ink';
function Hello() {
  const [text, setText] = useState('');
  useInput((input) => setText((before) => (before + input).slice(-60)));
  return h(Box, { flexDirection: 'column' }, h(Text, { bold: true }, 'Hello'), h(Text, null, '> ' + text));
}
const app = render(h(Hello), { alternateScreen: true, incrementalRendering: true, exitOnCtrlC: true });
await app.waitUntilExit();
`;

/** The least that an Ink program can be, bundled as the console is, with the same cache of compiled code. */
async function inkHello(folder: string): Promise<string> {
  const outfile = join(folder, 'hello.mjs');
  await build({
    stdin: { contents: hello, resolveDir: root, loader: 'js' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    minify: true,
    outfile,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    banner: { js: "import{createRequire as own}from'node:module';const require=own(import.meta.url);" },
    plugins: [
      {
        name: 'without-devtools',
        setup: (one) => {
          one.onResolve({ filter: /^react-devtools-core$/ }, () => ({
            path: 'react-devtools-core',
            namespace: 'nothing',
          }));
          one.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {};' }));
        },
      },
    ],
  });
  const start = join(folder, 'hello-start.mjs');
  await writeFile(
    start,
    `import { enableCompileCache } from 'node:module';\nenableCompileCache(${JSON.stringify(join(folder, 'cache'))});\nawait import('./hello.mjs');\n`,
  );
  return start;
}

function environment({ folder }: Programs): Record<string, string> {
  // With a cache of its own, so that the first start warms it for the others.
  return {
    DESKBELL_CONFIG: join(folder, 'config'),
    DESKBELL_DATA: join(folder, 'none'),
    XDG_CACHE_HOME: join(folder, 'cache'),
  };
}

async function openConsole(programs: Programs, flags: readonly string[] = []): Promise<PtyTerminal> {
  return openPty([], {
    ...size,
    environment: environment(programs),
    program: [process.execPath, ...flags, launcher, 'console', '--no-bell', '--no-desktop'],
  });
}

const openHello = (programs: Programs): Promise<PtyTerminal> =>
  openPty([], { ...size, environment: environment(programs), program: [process.execPath, programs.ceiling] });
const openNode = (programs: Programs): Promise<PtyTerminal> =>
  openPty([], {
    ...size,
    environment: environment(programs),
    program: [process.execPath, '-e', "process.stdout.write('Hello'); setInterval(() => 0, 1000)"],
  });

/** From the command until it has drawn what is looked for, ms. */
async function firstFrame(open: () => Promise<PtyTerminal>, shows: RegExp): Promise<number> {
  const startedAt = performance.now();
  const terminal = await open();
  const { promise, resolve } = Promise.withResolvers<number>();
  let text = '';
  terminal.onOutput((bytes) => {
    text += Buffer.from(bytes).toString('latin1');
    if (shows.test(text)) resolve(performance.now() - startedAt);
  });
  const tooLate = setTimeout(() => resolve(Number.NaN), 20_000);
  try {
    return await promise;
  } finally {
    clearTimeout(tooLate);
    await terminal.close();
  }
}

async function firstFrames(programs: Programs, runs: number): Promise<ConsoleLine[]> {
  const times: { frame: number[]; queue: number[]; hello: number[]; node: number[] } = {
    frame: [],
    queue: [],
    hello: [],
    node: [],
  };
  // In turn, so that a machine that slows down moves all of them; the first turn only warms.
  for (let run = 0; run <= runs; run += 1) {
    const node = await firstFrame(() => openNode(programs), /Hello/);
    const ink = await firstFrame(() => openHello(programs), /Hello/);
    const frame = await firstFrame(() => openConsole(programs), /\[\?1049h[^]*[a-z]{3}/i);
    const queue = await firstFrame(() => openConsole(programs), /Question \d/);
    if (run === 0) continue;
    times.node.push(node);
    times.hello.push(ink);
    times.frame.push(frame);
    times.queue.push(queue);
  }
  const hello_ = median(times.hello);
  const line = (what: string, own: number): ConsoleLine => ({
    what,
    console: own.toFixed(0),
    ceiling: `${hello_.toFixed(0)} (node ${median(times.node).toFixed(0)})`,
    ratio: (own / hello_).toFixed(2),
  });
  return [
    line('console: first frame after the command, ms', median(times.frame)),
    line('console: the queue is there, ms', median(times.queue)),
  ];
}

/** Letters that neither the rest of the screen nor a control sequence is likely to bring. */
const letters = 'qzxjwv';

/** Types letter by letter, and notes how long each takes to come back. */
async function typed(terminal: PtyTerminal, keys: number): Promise<number[]> {
  const times: number[] = [];
  let receiveBytes: (bytes: Uint8Array) => void = () => undefined;
  terminal.onOutput((bytes) => receiveBytes(bytes));
  for (let index = 0; index < keys; index += 1) {
    const letter = letters.charCodeAt(index % letters.length);
    const { promise, resolve } = Promise.withResolvers<number>();
    const startedAt = performance.now();
    receiveBytes = (bytes) => {
      if (bytes.includes(letter)) resolve(performance.now() - startedAt);
    };
    await terminal.type(String.fromCharCode(letter));
    times.push(await promise);
    // As fast as the fastest typist, and not in step with anybody's frames.
    await new Promise((wait) => setTimeout(wait, 40 + (index % 7) * 11));
  }
  return times;
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[
    Math.min(values.length - 1, Math.floor(values.length * share))
  ] ?? Number.NaN;

/** Opens the conversation with the many messages and goes into its composer. */
async function intoConversation(terminal: Terminal, { newest, oldest }: Seeded): Promise<void> {
  await terminal.waitFor('online');
  await terminal.waitFor('new');
  await terminal.press('2');
  await terminal.waitFor('[Mine');
  await terminal.waitFor('newest');
  await terminal.press('enter');
  await terminal.waitFor(newest);
  // Up to the beginning, page by page, so that all messages are held; then back to the newest.
  await eventually(async () => {
    await terminal.press('g');
    await terminal.waitFor(oldest, 300);
  }, 60_000);
  await terminal.press('G');
  await terminal.waitFor(newest);
  await terminal.press('r');
  await terminal.waitFor('new line');
}

async function echoes(programs: Programs, keys: number): Promise<ConsoleLine[]> {
  const hello_ = await openHello(programs);
  const console_ = await openConsole(programs);
  try {
    await hello_.waitFor('Hello');
    await intoConversation(console_, programs.seeded);
    const theirs = await typed(hello_, keys);
    const own = await typed(console_, keys);
    const line = (what: string, share: number): ConsoleLine => ({
      what,
      console: percentile(own, share).toFixed(1),
      ceiling: percentile(theirs, share).toFixed(1),
      ratio: (percentile(own, share) / percentile(theirs, share)).toFixed(2),
    });
    return [
      line('console: a key is echoed, median, ms', 0.5),
      line('console: a key is echoed, 95 %, ms', 0.95),
    ];
  } finally {
    await hello_.close();
    await console_.close();
  }
}

/** Answers SIGUSR2 with the heap after a collection, in a file. */
const probe = (file: string): string =>
  `process.on('SIGUSR2', () => { gc(); gc(); require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify({ heap: process.memoryUsage().heapUsed, pid: process.pid })); });
require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify({ heap: 0, pid: process.pid }));`;

async function memory(programs: Programs, server: Child, events: number): Promise<ConsoleLine[]> {
  const file = join(programs.folder, 'heap.json');
  const script = join(programs.folder, 'probe.cjs');
  await writeFile(script, probe(file));
  const console_ = await openConsole(programs, ['--expose-gc', '--require', script]);
  try {
    await intoConversation(console_, programs.seeded);
    const { pid } = JSON.parse(await readFile(file, 'utf8')) as { pid: number };
    const heap = async (): Promise<number> => {
      await rm(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      return eventually(
        async () => (JSON.parse(await readFile(file, 'utf8')) as { heap: number }).heap / 1_048_576,
      );
    };
    const figures: number[] = [];
    let done = 0;
    for (const share of [0.1, 0.5, 1]) {
      const count = Math.round(events * share) - done;
      await server.request({ kind: 'events', count } satisfies ConsoleQuestion);
      done += count;
      // What was asked about the last events comes back within a moment.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      figures.push(await heap());
    }
    const [tenth = Number.NaN, half = Number.NaN, whole = Number.NaN] = figures;
    return [
      {
        what: `console: heap after 10 / 50 / 100 % of ${events} events, MB`,
        console: figures.map((one) => one.toFixed(1)).join(' / '),
        ceiling: '',
        ratio: (whole / Math.max(tenth, Math.min(half, tenth))).toFixed(2),
      },
    ];
  } finally {
    await console_.close();
  }
}
