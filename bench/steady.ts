// Owns: whether sending stays even while the server does what it does all day: at half load, with the index of the search
// filling, a webhook that takes every message, retention that removes old ones, and one backup after the other. The ceiling,
// which has nothing else to do, sends in turn, at half of its own maximum. Deskbell's maximum is measured twice: beside that
// work, of which half is its half load, and without it, of which half is more. A round begins when the work is under way, and
// is over when all of that is done: nothing of it is left beside the ceiling. All processes share the machine's cores: what
// that alone costs is shown by the ceiling beside the same backup command, the one work of these that is no work of its server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Hold } from './hold.ts';
import { placeMessages } from './place-messages.ts';
import { assertBuilt, launcher, median } from './program.ts';
import { Child, type Sent } from './protocol.ts';
import type { ReceiverOrder } from './receiver.ts';
import { assertWhole, countRows, inTurn } from './sends.ts';

export interface SteadyOptions {
  readonly folder: string;
  readonly pairs: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly sizes?: SteadySizes;
}

export interface SteadySizes {
  /** Made before each round beside the work, for retention to remove during it. */
  readonly oldMessages: number;
  /** Rounds at full speed before those that count. */
  readonly warmRounds: number;
  /** Sent at a round's rate before it, while the work begins, s. */
  readonly leadInSeconds: number;
}

export interface SteadyLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

const usualSizes: SteadySizes = { oldMessages: 40_000, warmRounds: 3, leadInSeconds: 0.5 };
const oldMs = 40 * 86_400_000;
/** Within it the server has heard of the old messages. */
const settleMs = 500;
/** So long the deliveries and the index of a round may take behind it. */
const doneWithinMs = 180_000;

interface Contender {
  readonly server: 'deskbell' | 'ceiling';
  readonly child: Child;
  readonly generator: Child;
  readonly database: string;
  /** Messages/s at most, with nothing else at work. */
  readonly rates: number[];
}

type Round = Sent & Hold;

/** The rounds at half load, and Deskbell's messages/s at most beside its work. */
interface Rounds {
  readonly busyRates: number[];
  /** Deskbell beside its work, at half of that. */
  readonly busyHalf: Round[];
  /** Deskbell beside its work, at half of what it is at most without. */
  readonly half: Round[];
  /** The ceiling, and the ceiling beside a backup of Deskbell's data. */
  readonly ceiling: Round[];
  readonly ceilingBesideBackup: Round[];
}

/** Writes a conversation of old messages past every handler: like the one of that subject, which is young and stays. */
function addOld(database: string, round: number, messages: number): void {
  const file = new Database(database, { timeout: 5_000 });
  const created = Date.now() - oldMs;
  const id = `00000000-0000-7000-9000-${String(round).padStart(12, '0')}`;
  file
    .transaction(() => {
      file
        .prepare(
          `insert into conversations (id, organization_id, application_id, visitor_key, mode, status, last_seq,
           last_visitor_seq, created_at, updated_at)
         select ?, organization_id, application_id, visitor_key, mode, status, ?, ?, ?, ?
           from conversations where subject = 'old'`,
        )
        .run(id, messages, messages, created, created);
      file
        .prepare(
          `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${messages})
         insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content,
           content_format, internal, created_at)
         select printf('00000000-%04x-7000-8000-%012x', ?, n), id, organization_id, n, n, 'old', 'visitor',
           printf('%.200c', 'x'), 'plain', 0, ? from conversations, numbers where id = ?`,
        )
        .run(round, created, id);
      placeMessages(file);
    })
    .immediate();
  // What the server has to do for this write is no part of the round.
  file.pragma('wal_checkpoint(truncate)');
  file.close();
}

/** A backup by the command, as an owner makes it. @throws Error when it fails */
async function backUp(folder: string): Promise<void> {
  const file = join(folder, `backup-${Date.now()}.db`);
  const child = spawn(process.execPath, [launcher, 'backup', file, '--data', join(folder, 'deskbell')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the backup ended with ${code}`);
  await rm(file, { force: true });
}

/** What is at work beside Deskbell's sending, and a count of it. */
class Work {
  readonly #folder: string;
  readonly #database: string;
  readonly #server: Child;
  readonly #receiver: Child;
  readonly done: Record<string, number> = {};

  constructor(folder: string, database: string, server: Child, receiver: Child) {
    this.#folder = folder;
    this.#database = database;
    this.#server = server;
    this.#receiver = receiver;
  }

  /** Begins it; the answer ends it once it has come to an end by itself. */
  async begin(): Promise<() => Promise<void>> {
    const before = await this.#receiver.request<number>('taken' satisfies ReceiverOrder);
    await this.#server.ask('work');
    let over = false;
    const backingUp = (async () => {
      let backups = 0;
      for (; !over; backups += 1) await backUp(this.#folder);
      return backups;
    })();
    return async () => {
      over = true;
      const backups = await backingUp;
      const done = await this.#server.ask('rest');
      // What is behind would be at work beside the next server's round.
      await untilDone(this.#database);
      const after = await this.#receiver.request<number>('taken' satisfies ReceiverOrder);
      for (const [what, count] of Object.entries({ ...done, webhooks: after - before, backups }))
        this.done[what] = (this.done[what] ?? 0) + count;
    };
  }
}

/** How far the work has come that is done behind the messages. */
interface Behind {
  /** Messages since the webhook was made, and how many of them it has been told of. */
  readonly messages: number;
  readonly delivered: number;
  /** Events, and how far the index of the search has read them. */
  readonly events: number;
  readonly indexed: number;
}

/** Over a connection of its own. */
function readBehind(database: string): Behind | undefined {
  const file = new Database(database, { readonly: true, timeout: 5_000 });
  try {
    return file
      .prepare<[], Behind>(
        `select
           (select count(*) from event_log join webhooks using (organization_id)
              where type = 'message:new' and event_log.created_at >= webhooks.created_at) as messages,
           (select count(*) from webhook_deliveries where status = 'delivered') as delivered,
           (select max(seq) from event_log) as events,
           (select cast(value as integer) from meta where key = 'search_cursor') as indexed`,
      )
      .get();
  } finally {
    file.close();
  }
}

/** @throws Error when not every message was delivered and indexed after a long while: one was lost */
async function untilDone(database: string): Promise<void> {
  const until = Date.now() + doneWithinMs;
  for (;;) {
    const behind = readBehind(database);
    if (behind !== undefined && behind.delivered === behind.messages && behind.indexed === behind.events)
      return;
    if (Date.now() > until) throw new Error(`work is missing: ${JSON.stringify(behind)}`);
    await pause(settleMs);
  }
}

async function sendRound(
  { server, child, generator, database }: Contender,
  since: number,
  { seconds, leadInSeconds }: { readonly seconds: number; readonly leadInSeconds: number },
  perSecond: number | null,
): Promise<Round> {
  // Nothing comes between the two that are sent: a server that has a moment to itself fills it with what waits.
  const stored = countRows(database, since);
  const before: Sent = await generator.request({ what: 'send', seconds: leadInSeconds, perSecond });
  await child.ask('measure');
  const sent: Sent = await generator.request({ what: 'send', seconds, perSecond });
  const hold = await child.ask('measured');
  assertWhole(server, sent, countRows(database, since) - stored - before.sent);
  return { ...hold, ...sent };
}

async function openContender(
  server: Contender['server'],
  child: Child,
  started: Child[],
): Promise<Contender> {
  const address = await child.ask('address');
  const generator = new Child('./load.ts');
  started.push(generator);
  await generator.request({
    what: 'open',
    address,
    pairs: await child.ask('pairs:visitor'),
    window: 1,
    natural: true,
  });
  return { server, child, generator, database: address.database, rates: [] };
}

/**
 * @returns a line for each figure, and what was done beside
 * @throws Error when a message was lost, or stored twice, or a backup failed
 */
export async function steadyCost(
  { folder: parent, pairs, rounds, seconds, sizes = usualSizes }: SteadyOptions,
  started: Child[],
): Promise<{ lines: SteadyLine[]; done: Readonly<Record<string, number>> }> {
  await assertBuilt();
  const { oldMessages, warmRounds, leadInSeconds } = sizes;
  const time = { seconds, leadInSeconds };
  const folder = await mkdtemp(join(parent, 'deskbell-bench-'));
  try {
    const since = Date.now();
    const receiver = new Child('./receiver.ts');
    started.push(receiver);
    const url = await receiver.request<string>('url' satisfies ReceiverOrder);
    const own = new Child('./deskbell-server.ts', [join(folder, 'deskbell'), String(pairs), 'steady', url]);
    const least = new Child('./peer-server.ts', [folder, String(pairs), 'least']);
    started.push(own, least);
    const contenders = [
      await openContender('deskbell', own, started),
      await openContender('ceiling', least, started),
    ];
    for (let round = 0; round < warmRounds + rounds; round += 1)
      for (const contender of inTurn(contenders, round)) {
        const { sent, seconds: took } = await sendRound(contender, since, time, null);
        if (round >= warmRounds) contender.rates.push(sent / took);
        if (contender.server === 'deskbell') await untilDone(contender.database);
      }
    const [deskbell, ceiling] = contenders;
    if (deskbell === undefined || ceiling === undefined) throw new Error('two servers are compared');
    const work = new Work(folder, deskbell.database, own, receiver);
    const atWork = async (round: number, perSecond: number | null): Promise<Round> => {
      addOld(deskbell.database, round, oldMessages);
      await pause(settleMs);
      const end = await work.begin();
      try {
        return await sendRound(deskbell, since, time, perSecond);
      } finally {
        await end();
      }
    };
    const made: Rounds = { busyRates: [], busyHalf: [], half: [], ceiling: [], ceilingBesideBackup: [] };
    for (let round = 0; round < rounds; round += 1) {
      const { sent, seconds: took } = await atWork(round, null);
      made.busyRates.push(sent / took);
    }
    for (let round = 0; round < rounds; round += 1) {
      const half = median(ceiling.rates) / 2;
      made.ceiling.push(await sendRound(ceiling, since, time, half));
      made.busyHalf.push(await atWork(rounds + 2 * round, median(made.busyRates) / 2));
      const backup = backUp(folder);
      try {
        made.ceilingBesideBackup.push(await sendRound(ceiling, since, time, half));
      } finally {
        await backup;
      }
      made.half.push(await atWork(rounds + 2 * round + 1, median(deskbell.rates) / 2));
    }
    for (const { generator, child } of contenders) {
      await generator.stop();
      await child.stop();
    }
    await receiver.stop();
    return { lines: linesOf(made, deskbell.rates, ceiling.rates), done: work.done };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * @param rates messages/s at most, without the work
 * @param ceilingRates the ceiling's
 */
function linesOf(made: Rounds, rates: readonly number[], ceilingRates: readonly number[]): SteadyLine[] {
  const line = (
    what: string,
    value: (round: Round) => number,
    rounds: readonly Round[] = made.busyHalf,
    ceiling: readonly Round[] = made.ceiling,
  ): SteadyLine => ({
    what,
    deskbell: median(rounds.map(value)).toFixed(1),
    ceiling: median(ceiling.map(value)).toFixed(1),
    ratio: median(
      rounds.map((round, at) => {
        const beside = ceiling[at];
        return beside === undefined ? Number.NaN : value(round) / value(beside);
      }),
    ).toFixed(2),
  });
  const longest = (what: string, value: (round: Round) => number): SteadyLine => ({
    what,
    deskbell: Math.max(...made.busyHalf.map(value)).toFixed(1),
    ceiling: Math.max(...made.ceiling.map(value)).toFixed(1),
    ratio: '',
  });
  const half = (what: string, own: readonly number[]): SteadyLine => ({
    what,
    deskbell: (median(own) / 2).toFixed(0),
    ceiling: (median(ceilingRates) / 2).toFixed(0),
    ratio: (median(own) / median(ceilingRates)).toFixed(2),
  });
  const besideBackup = 'against the ceiling beside a backup';
  const withoutWork = 'acknowledged at that, beside the work';
  return [
    half('half of the maximum beside the work, messages/s', made.busyRates),
    line('acknowledged, p50, ms', ({ p50 }) => p50),
    line('acknowledged, p99, ms', ({ p99 }) => p99),
    line('delay of the loop, p99, ms', ({ delayP99 }) => delayP99),
    longest('longest delay of the loop in any round, ms', ({ delayLongest }) => delayLongest),
    longest('longest turn of the loop in any round, processor time, ms', ({ cpuLongest }) => cpuLongest),
    line(`${besideBackup}: p50, ms`, ({ p50 }) => p50, made.busyHalf, made.ceilingBesideBackup),
    line(`${besideBackup}: p99, ms`, ({ p99 }) => p99, made.busyHalf, made.ceilingBesideBackup),
    half('half of the maximum without the work, messages/s', rates),
    line(`${withoutWork}: p50, ms`, ({ p50 }) => p50, made.half),
    line(`${withoutWork}: p99, ms`, ({ p99 }) => p99, made.half),
  ];
}
