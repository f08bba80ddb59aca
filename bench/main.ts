// Owns: `npm run bench`: runs each benchmark and prints medians and ratios.
// Must not touch anything outside its own temporary folders, nor take longer than a minute by default.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Child, overSocket, ways } from './protocol.ts';
import { idleMemory, median, startUp, versionTime } from './program.ts';
import { compareSends, peers, sendTable } from './sends.ts';

const help = `npm run bench [-- options]

  --only NAMES      ws, rest, start, idle, sockets, version; several with commas (all of these);
                    of ws and rest also one alone: both, visitor, operator, origin, key;
                    dashboard: first queue, key to paint and heap in a real browser, beside the aims;
                    widget: its cost in a real browser on a slow line, against a page without it;
                    assistant: an answer from 20,000 passages, against a bare full-text match;
                    flat: a send, history, catching up, unread, queue, search and a start among --messages messages,
                    against 1,000 (needs a build);
                    queue: lists and counts in 100,000 conversations, against bare SQL over the same rows;
                    console: a day of events, key to paint and heap in a terminal, against Ink alone;
                    attacks: floods and a large deletion, with what they cost the others;
                    cluster: three servers on one PostgreSQL database, against a bare store in as many processes
                    (needs a build, and the packages of the tests);
                    loaded: memory after --messages messages, against the ceiling (needs a build);
                    installed: the packed file, what it installs, the first npx of it (needs a build and a registry);
                    many: 1,000 members listening, a room of 200, 1,000 visitors who come back at once;
                    steady: half load with index, webhook, retention and backup at work, against the ceiling (needs a build);
                    mixed: everything at once beside --sockets sockets, against a quiet loop (needs a build);
                    the default run would take over a minute with these, so name them
  --rounds N        rounds of each server, in turn, at full and at half load; medians count (9)
  --seconds N       length of one server's round (0.5)
  --peers NAMES     ceiling: the least code that does it; fair: with the same rows and limits (both);
                    socketio: Socket.IO with SQLite, one synced commit for each message; socketio-grouped:
                    with the ceiling's group commit (both over WebSocket alone); reach:
                    Deskbell with mail, pushes and a webhook on, alone against Deskbell without
  --beside DIR      another checkout of Deskbell, in the same rounds; without a ceiling what it is held against
  --json FILE       write the figures of the sends there
  --runs N          runs of the other measurements; the median counts (3)
  --pairs N         pairs of connections (50)
  --window N        messages under way at once per pair, over WebSocket (1)
  --random-ids      clients' ids in no order; the SDK's begin with the time
  --sockets N       idle sockets to hold, beyond the first 100 (1000)
  --messages N      messages of the organization that is attacked, of the large database, or of the load (152000)
  --events N        events of the console's and the dashboard's day (50000)
  --folder DIR      where the databases are made: name a folder on the disk to be measured
  --profile DIR     write a CPU profile of Deskbell's server there
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'ws,rest,start,idle,sockets,version' },
    runs: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '0.5' },
    peers: { type: 'string', default: 'ceiling,fair' },
    beside: { type: 'string' },
    json: { type: 'string' },
    pairs: { type: 'string', default: '50' },
    window: { type: 'string', default: '1' },
    'random-ids': { type: 'boolean', default: false },
    sockets: { type: 'string', default: '1000' },
    messages: { type: 'string', default: '152000' },
    events: { type: 'string', default: '50000' },
    folder: { type: 'string', default: tmpdir() },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

interface Line {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

const chosen = new Set(values.only.split(','));
/** The options that are numbers. */
const numbers = {
  runs: Number(values.runs),
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  pairs: Number(values.pairs),
  window: Number(values.window),
  sockets: Number(values.sockets),
  messages: Number(values.messages),
  events: Number(values.events),
};
const { runs } = numbers;
const children: Child[] = [];

/** Sends in every way that was chosen, and prints the table and, where it is wanted, the JSON. */
async function sends(): Promise<void> {
  const folder = await mkdtemp(join(values.folder, 'deskbell-bench-'));
  const profiling = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  try {
    const figures = await compareSends(
      {
        folder,
        pairs: numbers.pairs,
        window: numbers.window,
        randomIds: values['random-ids'],
        rounds: numbers.rounds,
        seconds: numbers.seconds,
        ways: ways.filter((way) => chosen.has(overSocket(way) ? 'ws' : 'rest') || chosen.has(way)),
        peers: peers.filter((peer) => values.peers.split(',').includes(peer)),
        beside: values.beside,
        flags: profiling,
      },
      children,
    );
    for (const line of sendTable(figures)) console.log(line);
    if (values.json !== undefined)
      await writeFile(values.json, `${JSON.stringify({ load: loadavg(), figures }, null, 2)}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What an idle socket takes of each server's memory. */
async function idleSockets(): Promise<Line> {
  const folder = await mkdtemp(join(values.folder, 'deskbell-bench-'));
  const perSocket = async (script: string, args: readonly string[]): Promise<number> => {
    const server = new Child(script, args, ['--expose-gc']);
    const generator = new Child('./load.ts');
    children.push(server, generator);
    const [address, pairs] = [await server.ask('address'), await server.ask('pairs:visitor')];
    const hold = (sockets: number): Promise<null> =>
      generator.request({ what: 'hold', address, pairs, sockets });
    // What the first connections load and compile belongs to no socket.
    await hold(100);
    const before = await server.ask('memory');
    await hold(numbers.sockets);
    const after = await server.ask('memory');
    await generator.stop();
    await server.stop();
    return (after - before) / numbers.sockets / 1024;
  };
  try {
    const theirs = await perSocket('./peer-server.ts', [folder, values.pairs, 'least']);
    const own = await perSocket('./deskbell-server.ts', [join(folder, 'deskbell'), values.pairs]);
    return {
      what: `memory per idle socket (${values.sockets} held), kB`,
      deskbell: own.toFixed(1),
      ceiling: theirs.toFixed(1),
      ratio: (own / theirs).toFixed(2),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param against what the second column holds */
function print(lines: readonly Line[], against: string): void {
  const header: Line = { what: '', deskbell: 'deskbell', ceiling: against, ratio: 'ratio' };
  const width = Math.max(...lines.map(({ what }) => what.length));
  for (const { what, deskbell, ceiling, ratio } of [header, ...lines])
    console.log(
      `${what.padEnd(width)}  ${deskbell.padStart(14)}  ${ceiling.padStart(14)}  ${ratio.padStart(6)}`,
    );
}

async function cluster(): Promise<void> {
  const { clusterCost } = await import('./cluster.ts');
  const { servers, bare, steady } = await clusterCost({
    folder: values.folder,
    rounds: numbers.rounds,
    seconds: numbers.seconds,
    pairs: numbers.pairs,
  });
  const [own, theirs] = [median(servers), median(bare)];
  print(
    [
      {
        what: `messages a second, three servers, load ${loadavg()[0]?.toFixed(1)}`,
        deskbell: own.toFixed(0),
        ceiling: theirs.toFixed(0),
        ratio: (own / theirs).toFixed(2),
      },
    ],
    'bare store',
  );
  const ms = ([half, most]: readonly [number, number]): string => `${half.toFixed(1)} / ${most.toFixed(1)}`;
  const beside = {
    'beside an open transaction': steady.besideStranger,
    [`beside ${steady.dumps} copies of the database`]: steady.besideDumps,
  };
  print(
    Object.entries(beside).flatMap(([name, times]) =>
      (['acked', 'heard'] as const).map((what) => ({
        what: `300 a second, ${name}: ${what}, median / p99, ms`,
        deskbell: ms(times[what]),
        ceiling: ms(steady.alone[what]),
        ratio: (times[what][1] / steady.alone[what][1]).toFixed(2),
      })),
    ),
    'alone',
  );
}

/** What servers hold of the memory after a load. */
async function loaded(): Promise<void> {
  const { memoryAfterLoad } = await import('./loaded.ts');
  const folder = await mkdtemp(join(values.folder, 'deskbell-bench-'));
  const size = { pairs: numbers.pairs, messages: numbers.messages, seconds: 5, restMs: 60_000 };
  try {
    print(await memoryAfterLoad({ folder, ...size }, children), 'ceiling');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The dashboard in a real browser. */
async function dashboard(): Promise<void> {
  const { dashboardCost } = await import('./dashboard.ts');
  // Fifty thousand did not come to an end within five minutes.
  const sizes = { conversations: 10_000, messages: 5_000, keys: 200, events: numbers.events };
  const figures = await dashboardCost({ runs: runs + 2, ...sizes });
  print(
    figures.map(({ what, dashboard: found, aim }) => ({ what, deskbell: found, ceiling: aim, ratio: '' })),
    'aim',
  );
}

function single(what: string, value: number, digits = 0): Line {
  return { what, deskbell: value.toFixed(digits), ceiling: '', ratio: '' };
}

function printLoad(): void {
  console.log(
    `load ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  );
}

async function installed(): Promise<Line[]> {
  const { installedSize } = await import('./installed.ts');
  const found = await installedSize(values.folder, runs);
  return [
    single('packed file, kB', found.packedMegabytes * 1_000),
    single('installed tree, MB', found.treeMegabytes, 2),
    single('the same in blocks of the disk, MB', found.diskMegabytes, 2),
    single('first npx of the packed file, ms', found.npxMs),
    single('start of bare Node, ms', found.nodeMs),
  ];
}

async function assistant(): Promise<void> {
  const { assistantCost, assistantLines } = await import('./assistant.ts');
  print(assistantLines(await assistantCost(values.folder)), 'bare match');
}

async function flat(): Promise<void> {
  const { flatCost } = await import('./flat.ts');
  const lines = await flatCost(values.folder, numbers.messages, numbers.rounds);
  printLoad();
  print(lines, '1,000');
}

async function queue(): Promise<void> {
  const { queueCost } = await import('./queue.ts');
  printLoad();
  print(await queueCost(values.folder, numbers.rounds), 'bare SQL');
}

async function attacks(): Promise<void> {
  const { attacks: attack } = await import('./attacks.ts');
  const { messages, seconds } = numbers;
  await attack({ folder: values.folder, messages, seconds });
}

async function many(): Promise<void> {
  const { manyConnections } = await import('./many.ts');
  print(await manyConnections(values.folder, children), 'ceiling');
}

async function steady(): Promise<void> {
  const { steadyCost } = await import('./steady.ts');
  const { pairs, rounds, seconds } = numbers;
  const { lines: found, done } = await steadyCost(
    { folder: values.folder, pairs, rounds, seconds },
    children,
  );
  print(found, 'ceiling');
  console.log(`beside: ${JSON.stringify(done)}, load ${loadavg()[0]?.toFixed(1)}`);
}

async function mixedWork(): Promise<void> {
  const { mixed } = await import('./mixed.ts');
  const { messages, seconds, sockets } = numbers;
  await mixed({ folder: values.folder, messages, seconds, sockets });
}

/** The console in a terminal. */
async function terminal(): Promise<void> {
  // The terminal's driver is read only where it is needed.
  const { consoleCost } = await import('./console.ts');
  const sizes = { conversations: 10_000, messages: 1_000, keys: 200, events: numbers.events };
  const figures = await consoleCost({ runs: runs + 4, ...sizes });
  print(
    figures.map(({ console: own, ...line }) => ({ ...line, deskbell: own })),
    'Ink alone',
  );
}

async function widgetInPage(): Promise<void> {
  // The browser's driver is read only where it is needed.
  const { widgetCost } = await import('./widget.ts');
  const figures = await widgetCost(runs);
  print(
    figures.map(({ what, widget, blank, ratio }) => ({ what, deskbell: widget, ceiling: blank, ratio })),
    'blank page',
  );
}

/** What is printed in one table. */
const lines = new Map<string, () => Promise<Line | readonly Line[]>>([
  ['sockets', idleSockets],
  ['start', async () => single('start to first /healthz, ms', await startUp(runs + 2))],
  ['idle', async () => single('idle resident memory, MB', await idleMemory())],
  ['version', async () => single('deskbell --version, ms', await versionTime(runs + 2))],
  ['installed', installed],
]);
/** What prints a table of its own. */
const tables = new Map<string, () => Promise<void>>([
  ['assistant', assistant],
  ['flat', flat],
  ['queue', queue],
  ['cluster', cluster],
  ['attacks', attacks],
  ['loaded', loaded],
  ['many', many],
  ['steady', steady],
  ['mixed', mixedWork],
  ['console', terminal],
  ['dashboard', dashboard],
  ['widget', widgetInPage],
]);
const sendNames: readonly string[] = ['ws', 'rest', ...ways];

/** What is wrong with the command line, or null: a name that is none would measure nothing, and say nothing. */
function problem(): string | null {
  const names = [...sendNames, ...lines.keys(), ...tables.keys()];
  const stranger = [...chosen].find((name) => !names.includes(name));
  if (stranger !== undefined)
    return `There is no measurement ${JSON.stringify(stranger)}. --only takes: ${names.join(', ')}.`;
  const peer = values.peers.split(',').find((name) => !peers.some((one) => one === name));
  if (peer !== undefined)
    return `There is no server ${JSON.stringify(peer)}. --peers takes: ${peers.join(', ')}.`;
  const wrong = Object.entries(numbers).find(([, value]) => !(value > 0));
  return wrong === undefined ? null : `--${wrong[0]} must be a number above 0.`;
}

async function main(): Promise<void> {
  if (values.help) return console.log(help);
  const wrong = problem();
  if (wrong !== null) {
    console.error(wrong);
    process.exitCode = 2;
    return;
  }
  await mkdir(values.folder, { recursive: true });
  if (sendNames.some((name) => chosen.has(name))) await sends();
  const found: Line[] = [];
  for (const [name, measure] of lines) if (chosen.has(name)) found.push(...[await measure()].flat());
  if (found.length > 0) print(found, 'ceiling');
  for (const [name, measure] of tables) if (chosen.has(name)) await measure();
}

try {
  await main();
} catch (error) {
  for (const child of children) child.kill();
  throw error;
}
