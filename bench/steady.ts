// Owns: whether sending stays even while the server does what it does all day: at half of its own maximum, with the index of
// the search filling, a webhook that takes every message, retention that removes old ones, and a backup. The ceiling, which
// has nothing else to do, sends in turn, at half of its own. The maximum is measured before that work begins, so that half of
// it is more than half of what the server can do beside it. All processes share the machine's cores: what that alone costs is
// shown by the ceiling beside the same backup command, the one work of these that is no work of its server.
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
}

export interface SteadyLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

/** Made before each round, for retention to remove during it. */
const oldMessages = 20_000;
const oldMs = 40 * 86_400_000;
const warmRounds = 3;
/** Within it the server has heard of the old messages. */
const settleMs = 500;

interface Contender {
  readonly server: 'deskbell' | 'ceiling';
  readonly child: Child;
  readonly generator: Child;
  readonly database: string;
  readonly rates: number[];
  readonly half: (Sent & Hold)[];
  /** The ceiling's half, beside a backup of Deskbell's data. */
  readonly besideBackup: (Sent & Hold)[];
}

/** Writes a conversation of old messages past every handler: like the one of that subject, which is young and stays. */
function addOld(database: string, round: number): void {
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
        .run(id, oldMessages, oldMessages, created, created);
      file
        .prepare(
          `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${oldMessages})
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
  readonly #server: Child;
  readonly #receiver: Child;
  readonly done: Record<string, number> = {};

  constructor(folder: string, server: Child, receiver: Child) {
    this.#folder = folder;
    this.#server = server;
    this.#receiver = receiver;
  }

  /** Begins it; the answer ends it once it has come to an end by itself. */
  async begin(): Promise<() => Promise<void>> {
    const before = await this.#receiver.request<number>('go' satisfies ReceiverOrder);
    await this.#server.ask('work');
    const backup = backUp(this.#folder);
    return async () => {
      await backup;
      const done = await this.#server.ask('rest');
      const after = await this.#receiver.request<number>('hold' satisfies ReceiverOrder);
      for (const [what, count] of Object.entries({ ...done, webhooks: after - before, backups: 1 }))
        this.done[what] = (this.done[what] ?? 0) + count;
    };
  }
}

/**
 * Every message is a delivery that has arrived or waits, or an event that the webhook's position has not reached.
 * @param taken what the receiver has answered
 * @throws Error when one was lost
 */
function assertDelivered(database: string, taken: number): void {
  const file = new Database(database, { readonly: true, timeout: 5_000 });
  try {
    const counts = file
      .prepare<[], { events: number; ahead: number; kept: number; delivered: number }>(
        `with told as (
           select seq from event_log join webhooks using (organization_id) where type = 'message:new'
         )
         select (select count(*) from told) as events,
           (select count(*) from told where seq > (select position from webhooks)) as ahead,
           (select count(*) from webhook_deliveries where status in ('waiting', 'delivered')) as kept,
           (select count(*) from webhook_deliveries where status = 'delivered') as delivered`,
      )
      .get();
    if (counts === undefined || counts.ahead + counts.kept !== counts.events || counts.delivered > taken)
      throw new Error(`deliveries were lost: ${JSON.stringify({ ...counts, taken })}`);
  } finally {
    file.close();
  }
}

async function sendRound(
  { server, child, generator, database }: Contender,
  since: number,
  seconds: number,
  perSecond: number | null,
): Promise<Sent & Hold> {
  const stored = countRows(database, since);
  await child.ask('measure');
  const sent: Sent = await generator.request({ what: 'send', seconds, perSecond });
  const hold = await child.ask('measured');
  assertWhole(server, sent, countRows(database, since) - stored);
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
  await generator.request({ what: 'open', address, pairs: await child.ask('pairs:visitor'), window: 1 });
  return { server, child, generator, database: address.database, rates: [], half: [], besideBackup: [] };
}

/**
 * @returns a line for each figure, and what was done beside
 * @throws Error when a message was lost, or stored twice, or a backup failed
 */
export async function steadyCost(
  { folder: parent, pairs, rounds, seconds }: SteadyOptions,
  started: Child[],
): Promise<{ lines: SteadyLine[]; done: Readonly<Record<string, number>> }> {
  await assertBuilt();
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
    const work = new Work(folder, own, receiver);
    for (let round = 0; round < warmRounds + rounds; round += 1)
      for (const contender of inTurn(contenders, round)) {
        const { sent, seconds: took } = await sendRound(contender, since, seconds, null);
        if (round >= warmRounds) contender.rates.push(sent / took);
      }
    for (let round = 0; round < rounds; round += 1)
      for (const contender of inTurn(contenders, round)) {
        const isOwn = contender.server === 'deskbell';
        if (isOwn) {
          addOld(contender.database, round);
          await pause(settleMs);
        }
        const end = isOwn ? await work.begin() : undefined;
        const perSecond = median(contender.rates) / 2;
        contender.half.push(await sendRound(contender, since, seconds, perSecond));
        await end?.();
        if (isOwn) continue;
        const backup = backUp(folder);
        try {
          contender.besideBackup.push(await sendRound(contender, since, seconds, perSecond));
        } finally {
          await backup;
        }
      }
    assertDelivered(
      contenders[0]?.database ?? '',
      await receiver.request<number>('hold' satisfies ReceiverOrder),
    );
    for (const { generator, child } of contenders) {
      await generator.stop();
      await child.stop();
    }
    await receiver.stop();
    return { lines: linesOf(contenders), done: work.done };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function linesOf(contenders: readonly Contender[]): SteadyLine[] {
  const [own, theirs] = contenders;
  if (own === undefined || theirs === undefined) throw new Error('two servers are compared');
  const line = (
    what: string,
    value: (round: Sent & Hold) => number,
    ceiling: readonly (Sent & Hold)[] = theirs.half,
  ): SteadyLine => ({
    what,
    deskbell: median(own.half.map(value)).toFixed(1),
    ceiling: median(ceiling.map(value)).toFixed(1),
    ratio: median(
      own.half.map((round, at) => {
        const beside = ceiling[at];
        return beside === undefined ? Number.NaN : value(round) / value(beside);
      }),
    ).toFixed(2),
  });
  const longest = (what: string, value: (round: Sent & Hold) => number): SteadyLine => ({
    what,
    deskbell: Math.max(...own.half.map(value)).toFixed(1),
    ceiling: Math.max(...theirs.half.map(value)).toFixed(1),
    ratio: '',
  });
  return [
    {
      what: 'half of its maximum, messages/s',
      deskbell: (median(own.rates) / 2).toFixed(0),
      ceiling: (median(theirs.rates) / 2).toFixed(0),
      ratio: (median(own.rates) / median(theirs.rates)).toFixed(2),
    },
    line('acknowledged, p50, ms', ({ p50 }) => p50),
    line('acknowledged, p99, ms', ({ p99 }) => p99),
    line('ceiling beside the same backup: p50, ms', ({ p50 }) => p50, theirs.besideBackup),
    line('ceiling beside the same backup: p99, ms', ({ p99 }) => p99, theirs.besideBackup),
    line('delay of the loop, p99, ms', ({ delayP99 }) => delayP99),
    longest('longest delay of the loop in any round, ms', ({ delayLongest }) => delayLongest),
    longest('longest turn of the loop in any round, processor time, ms', ({ cpuLongest }) => cpuLongest),
  ];
}
