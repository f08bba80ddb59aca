// Owns: `npm run bench`: runs each benchmark, both servers in turn, and prints medians and ratios.
// Must not touch anything outside its own temporary folders, nor take longer than a minute by default.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Child, type Load, type LoadResult } from './protocol.ts';
import { idleMemory, median, startUp, versionTime } from './program.ts';

const help = `npm run bench [-- options]

  --only NAMES      ws, rest, start, idle, sockets, version; several with commas (all of these);
                    widget: its cost in a real browser on a slow line, against a page without it;
                    assistant: an answer from 20,000 passages, against a bare full-text match;
                    attacks: floods and a large deletion, with what they cost the others;
                    the default run would take over a minute with these three, so name them
  --runs N          runs of each server, in turn; the median counts (3)
  --seconds N       length of one run (2)
  --pairs N         pairs of connections (50)
  --window N        messages under way at once per pair, over WebSocket (1)
  --sockets N       idle sockets to hold (1000)
  --messages N      messages of the organization that is attacked (152000)
  --events N        events of the console's day (50000)
  --folder DIR      where the databases are made: name a folder on the disk to be measured
  --profile DIR     write a CPU profile of Deskbell's server there
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'ws,rest,start,idle,sockets,version' },
    runs: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    pairs: { type: 'string', default: '50' },
    window: { type: 'string', default: '1' },
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

async function withServers<T>(work: (deskbell: Child, ceiling: Child) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(values.folder, 'deskbell-bench-'));
  const profiling = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const deskbell = start(
    './deskbell-server.ts',
    [join(folder, 'deskbell'), values.pairs],
    ['--expose-gc', ...profiling],
  );
  const ceiling = start('./ceiling-server.ts', [folder, values.pairs], ['--expose-gc']);
  try {
    return await work(deskbell, ceiling);
  } finally {
    await Promise.all([deskbell.stop(), ceiling.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

function start(script: string, args: readonly string[], flags: readonly string[] = []): Child {
  const child = new Child(script, args, flags);
  children.push(child);
  return child;
}

interface Run extends LoadResult {
  readonly cpuMicros: number;
}

/** One run against one server, with a generator of its own. */
async function runOnce(server: Child, kind: 'ws' | 'rest'): Promise<Run> {
  const generator = start('./load.ts', []);
  const load: Load = {
    kind,
    address: await server.ask('address'),
    pairs: await server.ask('pairs'),
    seconds: Number(values.seconds),
    window: Number(values.window),
    sockets: 0,
  };
  await generator.request<'warm'>(load);
  const before = await server.ask('usage');
  const result = await generator.next<LoadResult>();
  const after = await server.ask('usage');
  await generator.stop();
  return { ...result, cpuMicros: after.cpuMicros - before.cpuMicros };
}

async function messages(deskbell: Child, ceiling: Child, kind: 'ws' | 'rest', what: string): Promise<Line[]> {
  const own: Run[] = [];
  const theirs: Run[] = [];
  for (let run = 0; run < runs; run += 1) {
    theirs.push(await runOnce(ceiling, kind));
    own.push(await runOnce(deskbell, kind));
  }
  const of = (list: readonly Run[], value: (run: Run) => number): number => median(list.map(value));
  const rate = (list: readonly Run[]): number => of(list, (run) => run.perSecond);
  // In turn: each run is compared with the one beside it, so that a machine that slows down moves both.
  const ratios = own.map((run, index) => run.perSecond / (theirs[index]?.perSecond ?? Number.NaN));
  const cpu = (list: readonly Run[]): number => of(list, (run) => run.cpuMicros / run.messages);
  const delay = (list: readonly Run[]): string =>
    `${of(list, (run) => run.ackP50).toFixed(1)} / ${of(list, (run) => run.ackP99).toFixed(1)}`;
  return [
    {
      what: `${what}, messages/s`,
      deskbell: rate(own).toFixed(0),
      ceiling: rate(theirs).toFixed(0),
      ratio: median(ratios).toFixed(2),
    },
    {
      what: '  CPU of the server per message, µs',
      deskbell: cpu(own).toFixed(0),
      ceiling: cpu(theirs).toFixed(0),
      ratio: (cpu(theirs) / cpu(own)).toFixed(2),
    },
    { what: '  ack p50 / p99, ms', deskbell: delay(own), ceiling: delay(theirs), ratio: '' },
  ];
}

async function idleSockets(deskbell: Child, ceiling: Child): Promise<Line> {
  const perSocket = async (server: Child): Promise<number> => {
    const generator = start('./load.ts', []);
    const load: Load = {
      kind: 'hold',
      address: await server.ask('address'),
      pairs: await server.ask('pairs'),
      seconds: 0,
      window: 0,
      sockets: Number(values.sockets),
    };
    const before = await server.ask('usage');
    await generator.request(load);
    const after = await server.ask('usage');
    await generator.stop();
    return (after.rss - before.rss) / load.sockets / 1024;
  };
  const theirs = await perSocket(ceiling);
  const own = await perSocket(deskbell);
  return {
    what: `memory per idle socket (${values.sockets} held), kB`,
    deskbell: own.toFixed(1),
    ceiling: theirs.toFixed(1),
    ratio: (own / theirs).toFixed(2),
  };
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

async function main(): Promise<void> {
  if (values.help) {
    console.log(help);
    return;
  }
  const lines: Line[] = [];
  if (['ws', 'rest', 'sockets'].some((name) => chosen.has(name)))
    await withServers(async (deskbell, ceiling) => {
      if (chosen.has('sockets')) lines.push(await idleSockets(deskbell, ceiling));
      if (chosen.has('ws'))
        lines.push(...(await messages(deskbell, ceiling, 'ws', `WebSocket, ${values.pairs} pairs`)));
      if (chosen.has('rest'))
        lines.push(...(await messages(deskbell, ceiling, 'rest', `REST, ${values.pairs} connections`)));
    });
  const single = (what: string, value: number): Line => ({
    what,
    deskbell: value.toFixed(0),
    ceiling: '',
    ratio: '',
  });
  if (chosen.has('start')) lines.push(single('start to first /healthz, ms', await startUp(runs + 2)));
  if (chosen.has('idle')) lines.push(single('idle resident memory, MB', await idleMemory()));
  if (chosen.has('version')) lines.push(single('deskbell --version, ms', await versionTime(runs + 2)));
  if (lines.length > 0) print(lines, 'ceiling');
  if (chosen.has('assistant')) {
    const { assistantCost, assistantLines } = await import('./assistant.ts');
    print(assistantLines(await assistantCost(values.folder)), 'bare match');
  }
  if (chosen.has('attacks')) {
    const { attacks } = await import('./attacks.ts');
    await attacks({
      folder: values.folder,
      messages: Number(values.messages),
      seconds: Number(values.seconds),
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
