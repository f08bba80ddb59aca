// Owns: `npm run bench`: runs each benchmark and prints medians and ratios.
// Must not touch anything outside its own temporary folders, nor take longer than a minute by default.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Child, ways } from './protocol.ts';
import { idleMemory, median, startUp, versionTime } from './program.ts';
import { compareSends, peers, sendTable } from './sends.ts';

const help = `npm run bench [-- options]

  --only NAMES      ws, rest, start, idle, sockets, version; several with commas (all of these);
                    of ws and rest also one alone: visitor, operator, origin, key;
                    dashboard: first queue, key to paint and heap in a real browser, beside the aims;
                    widget: its cost in a real browser on a slow line, against a page without it;
                    assistant: an answer from 20,000 passages, against a bare full-text match;
                    flat: a send, history, catching up, unread, queue, search and a start among --messages messages,
                    against 1,000 (needs a build);
    queue: lists and counts in 100,000 conversations, against bare SQL over the same rows;
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
const runs = Number(values.runs);
const children: Child[] = [];

/** Sends in every way that was chosen, and prints the table and, where it is wanted, the JSON. */
async function sends(): Promise<void> {
  const folder = await mkdtemp(join(values.folder, 'deskbell-bench-'));
  const profiling = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  try {
    const figures = await compareSends(
      {
        folder,
        pairs: Number(values.pairs),
        window: Number(values.window),
        randomIds: values['random-ids'],
        rounds: Number(values.rounds),
        seconds: Number(values.seconds),
        ways: ways.filter(
          (way) => chosen.has(way === 'visitor' || way === 'operator' ? 'ws' : 'rest') || chosen.has(way),
        ),
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
    await hold(Number(values.sockets));
    const after = await server.ask('memory');
    await generator.stop();
    await server.stop();
    return (after - before) / Number(values.sockets) / 1024;
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
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    pairs: Number(values.pairs),
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
  const size = { pairs: Number(values.pairs), messages: Number(values.messages), seconds: 5, restMs: 60_000 };
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
  const sizes = { conversations: 10_000, messages: 5_000, keys: 200, events: Number(values.events) };
  const figures = await dashboardCost({ runs: runs + 2, ...sizes });
  print(
    figures.map(({ what, dashboard: found, aim }) => ({ what, deskbell: found, ceiling: aim, ratio: '' })),
    'aim',
  );
}

async function main(): Promise<void> {
  if (values.help) {
    console.log(help);
    return;
  }
  await mkdir(values.folder, { recursive: true });
  const lines: Line[] = [];
  if (['ws', 'rest', ...ways].some((name) => chosen.has(name))) await sends();
  if (chosen.has('sockets')) lines.push(await idleSockets());
  const single = (what: string, value: number, digits = 0): Line => ({
    what,
    deskbell: value.toFixed(digits),
    ceiling: '',
    ratio: '',
  });
  if (chosen.has('start')) lines.push(single('start to first /healthz, ms', await startUp(runs + 2)));
  if (chosen.has('idle')) lines.push(single('idle resident memory, MB', await idleMemory()));
  if (chosen.has('version')) lines.push(single('deskbell --version, ms', await versionTime(runs + 2)));
  if (chosen.has('installed')) {
    const { installedSize } = await import('./installed.ts');
    const found = await installedSize(values.folder, runs);
    lines.push(
      single('packed file, kB', found.packedMegabytes * 1_000),
      single('installed tree, MB', found.treeMegabytes, 2),
      single('the same in blocks of the disk, MB', found.diskMegabytes, 2),
      single('first npx of the packed file, ms', found.npxMs),
      single('start of bare Node, ms', found.nodeMs),
    );
  }
  if (lines.length > 0) print(lines, 'ceiling');
  if (chosen.has('assistant')) {
    const { assistantCost, assistantLines } = await import('./assistant.ts');
    print(assistantLines(await assistantCost(values.folder)), 'bare match');
  }
  if (chosen.has('flat')) {
    const { flatCost } = await import('./flat.ts');
    const lines = await flatCost(values.folder, Number(values.messages), Number(values.rounds));
    console.log(`load ${loadavg()[0]?.toFixed(1)}`);
    print(lines, '1,000');
  }
  if (chosen.has('queue')) {
    const { queueCost } = await import('./queue.ts');
    console.log(
      `load ${loadavg()
        .map((load) => load.toFixed(1))
        .join(' ')}`,
    );
    print(await queueCost(values.folder, Number(values.rounds)), 'bare SQL');
  }
  if (chosen.has('cluster')) await cluster();
  if (chosen.has('attacks')) {
    const { attacks } = await import('./attacks.ts');
    await attacks({
      folder: values.folder,
      messages: Number(values.messages),
      seconds: Number(values.seconds),
    });
  }
  if (chosen.has('loaded')) await loaded();
  if (chosen.has('many')) {
    const { manyConnections } = await import('./many.ts');
    print(await manyConnections(values.folder, children), 'ceiling');
  }
  if (chosen.has('steady')) {
    const { steadyCost } = await import('./steady.ts');
    const { lines: found, done } = await steadyCost(
      {
        folder: values.folder,
        pairs: Number(values.pairs),
        rounds: Number(values.rounds),
        seconds: Number(values.seconds),
      },
      children,
    );
    print(found, 'ceiling');
    console.log(`beside: ${JSON.stringify(done)}, load ${loadavg()[0]?.toFixed(1)}`);
  }
  if (chosen.has('mixed')) {
    const { mixed } = await import('./mixed.ts');
    await mixed({
      folder: values.folder,
      messages: Number(values.messages),
      seconds: Number(values.seconds),
      sockets: Number(values.sockets),
    });
  }
  if (chosen.has('console')) {
    // The terminal's driver is read only where it is needed.
    const { consoleCost } = await import('./console.ts');
    const sizes = { conversations: 10_000, messages: 1_000, keys: 200, events: Number(values.events) };
    print(
      (await consoleCost({ runs: runs + 4, ...sizes })).map(({ console: own, ...line }) => ({
        ...line,
        deskbell: own,
      })),
      'Ink alone',
    );
  }
  if (chosen.has('dashboard')) await dashboard();
  if (!chosen.has('widget')) return;
  // The browser's driver is read only where it is needed.
  const { widgetCost } = await import('./widget.ts');
  print(
    (await widgetCost(runs)).map(({ what, widget, blank, ratio }) => ({
      what,
      deskbell: widget,
      ceiling: blank,
      ratio,
    })),
    'blank page',
  );
}

try {
  await main();
} catch (error) {
  for (const child of children) child.kill();
  throw error;
}
