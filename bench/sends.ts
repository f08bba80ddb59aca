// Owns: how Deskbell's sending is held against its peers: all servers are up at once and send in turn, in short rounds,
// so that a busy machine slows all of them; what counts is the ratio within a round, by messages and by processor time.
// The next one's round begins when nothing is left of the last one's work: what a server puts off until little is sent
// would slow the other, and is part of what a message costs. After each round the rows in each database are counted. Must
// not believe a server: it counts the rows itself.
import { mkdir } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { median } from './program.ts';
import { Child, overSocket, type Sent, type Way } from './protocol.ts';

export interface SendOptions {
  /** Where the databases are made. */
  readonly folder: string;
  readonly pairs: number;
  /** Messages under way at once, per pair. */
  readonly window: number;
  /** Whether clients' ids come in no order. */
  readonly randomIds: boolean;
  readonly rounds: number;
  /** Length of a round of one server. */
  readonly seconds: number;
  readonly ways: readonly Way[];
  readonly peers: readonly Peer[];
  /** Another checkout of Deskbell that sends in the same rounds: what a change has brought. */
  readonly beside?: string | undefined;
  /** Node's flags for Deskbell's server. */
  readonly flags: readonly string[];
  /** Between two looks at whether a server rests, ms; left out: as long as servers wait before they do what they put off. */
  readonly lookMs?: number;
}

/** `reach`: Deskbell itself with mail, pushes and a webhook on; those of Socket.IO have no REST. */
export const peers = ['ceiling', 'fair', 'socketio', 'socketio-grouped', 'reach'] as const;
export type Peer = (typeof peers)[number];
type Server = 'deskbell' | 'beside' | Peer;

/** One server in one way of sending, medians of the rounds. */
export interface Figures {
  readonly server: Server;
  readonly way: Way;
  readonly perSecond: number;
  /** Processor time of the server for a message, user and system, µs: while it is sent, and what was put off until later. */
  readonly cpuMicros: number;
  readonly laterMicros: number;
  /** Medians of the ratios to the ceiling, without one to the other checkout or to Deskbell, round by round: more is better. */
  readonly rateRatio: number;
  readonly cpuRatio: number;
  /** Milliseconds to the acknowledgement, at half of its own messages/s. */
  readonly halfP50: number;
  readonly halfP99: number;
  /** Its p99 divided by the ceiling's. */
  readonly p99Ratio: number;
  readonly rows: number;
}

interface Round extends Sent {
  /** Of all of its messages, during the round and behind it. */
  readonly cpuMicros: number;
  readonly laterMicros: number;
}

/** One server with the generator that sends to it in one way. */
interface Contender {
  readonly server: Server;
  readonly child: Child;
  readonly generator: Child;
  readonly database: string;
  readonly full: Round[];
  readonly half: Round[];
}

const warmRounds = 3;
/**
 * Deskbell's index of words waits for 250 ms in which little was sent, and takes a sixth of a processor at least from then on:
 * what is not over after this time has taken more than the share below.
 */
const usualLookMs = 800;
/** A server rests that takes less of a processor: a profiler takes some of that. */
const restingShare = 0.06;
const mostLooks = 300;

type Start = (script: string, args: readonly string[], flags?: readonly string[]) => Child;

function startPeer(peer: Peer, { folder, pairs, flags }: SendOptions, start: Start): Child {
  const count = String(pairs);
  if (peer === 'reach') return start('./deskbell-server.ts', [join(folder, 'reach'), count, 'reach'], flags);
  if (peer === 'socketio') return start('./peer-socketio.ts', [folder, count, 'each']);
  if (peer === 'socketio-grouped') return start('./peer-socketio.ts', [folder, count, 'group']);
  return start('./peer-server.ts', [folder, count, peer === 'fair' ? 'fair' : 'least']);
}

/**
 * Sends in every way to every server.
 * @throws Error when what was sent, acknowledged, delivered and stored is not the same number
 */
export async function compareSends(options: SendOptions, started: Child[]): Promise<Figures[]> {
  const start = (script: string | URL, args: readonly string[], flags: readonly string[] = []): Child => {
    const child = new Child(script, args, flags);
    started.push(child);
    return child;
  };
  await mkdir(options.folder, { recursive: true });
  const pairs = String(options.pairs);
  const servers = new Map<Server, Child>([
    ['deskbell', start('./deskbell-server.ts', [join(options.folder, 'deskbell'), pairs], options.flags)],
  ]);
  if (options.beside !== undefined)
    servers.set(
      'beside',
      start(pathToFileURL(resolve(options.beside, 'bench/deskbell-server.ts')), [
        join(options.folder, 'beside'),
        pairs,
      ]),
    );
  for (const peer of options.peers) servers.set(peer, startPeer(peer, options, start));
  const figures: Figures[] = [];
  for (const way of options.ways) {
    const contenders: Contender[] = [];
    for (const [server, child] of servers) {
      if (server.startsWith('socketio') && !overSocket(way)) continue;
      const address = await child.ask('address');
      const generator = start('./load.ts', []);
      await generator.request({
        what: 'open',
        address,
        pairs: await child.ask(`pairs:${way}`),
        window: options.window,
        randomIds: options.randomIds,
      });
      contenders.push({ server, child, generator, database: address.database, full: [], half: [] });
    }
    figures.push(...(await compare(contenders, way, options)));
    for (const { generator } of contenders) await generator.stop();
  }
  for (const child of servers.values()) await child.stop();
  return figures;
}

async function compare(contenders: readonly Contender[], way: Way, options: SendOptions): Promise<Figures[]> {
  const { rounds } = options;
  for (let round = 0; round < warmRounds; round += 1)
    for (const contender of contenders) await runRound(contender, options, null);
  for (let round = 0; round < rounds; round += 1)
    for (const contender of inTurn(contenders, round))
      contender.full.push(await runRound(contender, options, null));
  for (let round = 0; round < rounds; round += 1)
    for (const contender of inTurn(contenders, round))
      contender.half.push(await runRound(contender, options, rateOf(contender) / 2));
  const ceiling =
    contenders.find(({ server }) => server === 'ceiling') ??
    contenders.find(({ server }) => server === 'beside') ??
    contenders.find(({ server }) => server === 'deskbell');
  return contenders.map((contender) => {
    const { server, full, half } = contender;
    const against = (list: (of: Contender) => readonly Round[], value: (round: Round) => number): number =>
      median(
        list(contender).map((round, at) => {
          const beside = ceiling === undefined ? undefined : list(ceiling)[at];
          return beside === undefined ? Number.NaN : value(round) / value(beside);
        }),
      );
    return {
      server,
      way,
      perSecond: rateOf(contender),
      cpuMicros: median(full.map(({ cpuMicros, sent }) => cpuMicros / sent)),
      laterMicros: median(full.map(({ laterMicros, sent }) => laterMicros / sent)),
      rateRatio: against((of) => of.full, perSecond),
      cpuRatio: 1 / against((of) => of.full, cpuOf),
      halfP50: median(half.map(({ p50 }) => p50)),
      halfP99: median(half.map(({ p99 }) => p99)),
      p99Ratio: against(
        (of) => of.half,
        ({ p99 }) => p99,
      ),
      rows: countRows(contender.database),
    };
  });
}

/** Each round begins with another server. */
export function inTurn<T>(list: readonly T[], round: number): T[] {
  return list.map((_, at) => list[(at + round) % list.length] as T);
}

const perSecond = ({ sent, seconds }: Sent): number => sent / seconds;
const cpuOf = ({ cpuMicros, laterMicros, sent }: Round): number => (cpuMicros + laterMicros) / sent;
const rateOf = ({ full }: Contender): number => median(full.map(perSecond));

async function runRound(
  { child, generator, database, server }: Contender,
  { seconds, lookMs = usualLookMs }: SendOptions,
  rate: number | null,
): Promise<Round> {
  await generator.request({ what: 'reconnect' });
  const stored = countRows(database);
  const before = await child.ask('cpu');
  const sent: Sent = await generator.request({ what: 'send', seconds, perSecond: rate });
  const after = await child.ask('cpu');
  const rested = await untilResting(
    () => child.ask('cpu'),
    async () => {
      await pause(lookMs);
      return lookMs;
    },
  );
  assertWhole(server, sent, countRows(database) - stored);
  return { ...sent, cpuMicros: after - before, laterMicros: rested - after };
}

/**
 * Waits until a server does nothing more.
 * @param cpu the processor time that it has used so far, µs
 * @param look waits between two of these questions, and says for how many ms
 * @returns the processor time that it had used then
 * @throws Error when it goes on and on
 */
export async function untilResting(cpu: () => Promise<number>, look: () => Promise<number>): Promise<number> {
  let used = await cpu();
  for (let looks = 0; looks < mostLooks; looks += 1) {
    const ms = await look();
    const before = used;
    used = await cpu();
    if (used - before < restingShare * ms * 1000) return used;
  }
  throw new Error(`a server is still at work after ${mostLooks} looks`);
}

/**
 * @param rows by how many the stored messages have grown
 * @throws Error when a message was lost, doubled or only promised
 */
export function assertWhole(server: string, { sent, acknowledged, delivered }: Sent, rows: number): void {
  if (sent > 0 && acknowledged === sent && delivered === sent && rows === sent) return;
  throw new Error(
    `${server}: ${sent} messages were sent, ${acknowledged} acknowledged, ${delivered} delivered, ${rows} stored.`,
  );
}

/**
 * In this process, over a connection of its own: no server counts for itself.
 * @param since only messages from then on, ms: retention removes older ones
 */
export function countRows(database: string, since?: number): number {
  const db = new Database(database, { readonly: true });
  try {
    const all = 'select count(*) from messages';
    if (since === undefined) return db.prepare<[], number>(all).pluck().get() ?? 0;
    return db.prepare<[number], number>(`${all} where created_at >= ?`).pluck().get(since) ?? 0;
  } finally {
    db.close();
  }
}

/** The table that people read. */
export function sendTable(figures: readonly Figures[]): string[] {
  const row = (cells: readonly string[]): string =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(30) : cell.padStart(12))).join('');
  return [
    row([
      '',
      'messages/s',
      'of ceiling',
      'CPU µs',
      'later µs',
      'of ceiling',
      'half p50 ms',
      'p99 ms',
      'of ceiling',
    ]),
    ...figures.map((one) =>
      row([
        `${wayNames[one.way]}, ${one.server}`,
        one.perSecond.toFixed(0),
        one.rateRatio.toFixed(2),
        one.cpuMicros.toFixed(1),
        one.laterMicros.toFixed(1),
        one.cpuRatio.toFixed(2),
        one.halfP50.toFixed(1),
        one.halfP99.toFixed(1),
        one.p99Ratio.toFixed(1),
      ]),
    ),
    `load of the machine: ${loadavg()
      .map((one) => one.toFixed(1))
      .join(' ')}`,
  ];
}

const wayNames: Readonly<Record<Way, string>> = {
  both: 'WS both',
  visitor: 'WS visitor',
  operator: 'WS operator',
  origin: 'REST origin',
  key: 'REST key',
};
