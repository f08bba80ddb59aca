// Several servers as processes on one PostgreSQL database, killed at random under load, and the database too: every
// acknowledged message is there once, under the id that was promised, and is heard once and in order wherever one listens.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureBuilt, serve, type ServeProcess } from '../helpers/cli.ts';
import { LoadListener, LoadSender, makeTalks, noLimits } from '../helpers/cluster-load.ts';
import { eventually } from '../helpers/eventually.ts';
import { askDatabase, OwnServer } from '../helpers/postgres.ts';
import { isLong, repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

const kills = rounds(1, 100);
const restarts = isLong ? 3 : 1;
const terminations = rounds(2, 50);
const freezes = isLong ? 3 : 1;
const random = seededRandom();
const conversations = 8;

let folder: string;
let database: OwnServer;
let environment: Record<string, string>;
let nodes: ServeProcess[];
let senders: LoadSender[];
let listeners: LoadListener[];

const pick = (): string | null => nodes[Math.floor(Math.random() * nodes.length)]?.url ?? null;
const acks = (): number => senders.reduce((sum, { acked }) => sum + acked.size, 0);
const rowsOf = (sql: string): Promise<Record<string, unknown>[]> =>
  askDatabase({ url: database.url('deskbell') }, sql);
const report = (text: string): void => {
  if (isLong) process.stdout.write(`${text}\n`);
};

beforeAll(async () => {
  await ensureBuilt();
  folder = await mkdtemp(join(tmpdir(), 'deskbell-cluster-'));
  // What it has promised survives it.
  database = await OwnServer.start({ fsync: 'on', full_page_writes: 'on', max_connections: '100' });
  await askDatabase({ url: database.url('postgres') }, 'create database deskbell');
  environment = {
    DESKBELL_DATABASE_URL: database.url('deskbell'),
    DESKBELL_SECRET_KEY: randomBytes(32).toString('base64'),
    DESKBELL_FILES: pathToFileURL(join(folder, 'files')).href,
    DESKBELL_LOG_LEVEL: 'warn',
    ...noLimits,
  };
  const talks = await makeTalks(environment, conversations);
  senders = talks.map((talk) => new LoadSender({ pick, ...talk }));
  listeners = talks.map((talk) => new LoadListener({ pick, ...talk }));
  nodes = await Promise.all([serve([], environment), serve([], environment), serve([], environment)]);
});

afterAll(async () => {
  await Promise.all([...senders, ...listeners].map((client) => client.stop()));
  await Promise.all(nodes.map(({ running }) => running.stop('SIGKILL')));
  await database.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Ends a server, chosen at random, and puts another in its place. */
async function replaceOne(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const [victim] = nodes.splice(Math.floor(random() * nodes.length), 1);
  await victim?.running.stop(signal);
  nodes.push(await serve([], environment));
}

/** Ends sessions of the servers, as an administrator of the database does, while a stranger's transaction stands open. */
async function endSessions(): Promise<void> {
  const stranger = new pg.Client({ connectionString: database.url('deskbell') });
  await stranger.connect();
  await stranger.query('begin isolation level repeatable read');
  // A transaction with a number of its own: what waits for all older ones to end would wait for this one.
  await stranger.query('select pg_current_xact_id()');
  let longest = 0;
  for (let end = 0; end < terminations; end += 1) {
    await untilAcked(Math.floor(50 * random()));
    await rowsOf(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'deskbell%' and datname = 'deskbell' and random() < 0.4`,
    );
    const ended = performance.now();
    const heard = listeners.map(({ ids }) => ids.length);
    await eventually(() =>
      expect(listeners.every(({ ids }, index) => ids.length > (heard[index] ?? 0))).toBe(true),
    );
    longest = Math.max(longest, performance.now() - ended);
  }
  await stranger.query('rollback');
  await stranger.end();
  report(`${terminations} times sessions ended: all heard more within ${Math.round(longest)} ms`);
}

/** A server that stands still for a while holds up no one but its own clients, and goes on afterwards. */
async function freezeOne(): Promise<void> {
  for (let time = 0; time < freezes; time += 1) {
    await untilAcked(50);
    const frozen = nodes[Math.floor(random() * nodes.length)] ?? expect.unreachable();
    frozen.running.child.kill('SIGSTOP');
    const [stopped, before] = [performance.now(), acks()];
    try {
      await untilAcked(50);
      report(`beside a frozen server ${Math.round(performance.now() - stopped)} ms until 50 more`);
      if (isLong) await new Promise((resolve) => setTimeout(resolve, stopped + 15_000 - performance.now()));
      report(`15 s beside a frozen server: ${acks() - before} acknowledged`);
    } finally {
      frozen.running.child.kill('SIGCONT');
    }
    await eventually(async () => expect(await statusOf(frozen.url)).toBe(200));
  }
}

async function untilAcked(more: number): Promise<void> {
  const enough = acks() + more;
  await eventually(() => expect(acks()).toBeGreaterThan(enough));
}

/** Lets everything under way end, and holds what clients were told against what is stored. */
async function expectEverythingKept(): Promise<void> {
  for (const sender of senders) sender.finish();
  await eventually(() => expect(senders.map(({ unacked }) => unacked)).toEqual(senders.map(() => 0)));
  const rows = await rowsOf(
    'select id, conversation_id, seq, content from messages order by conversation_id, seq',
  );
  const stored = Map.groupBy(rows, (row) => String(row['conversation_id']));
  expect([...stored.values()].map((group) => group.map((row) => row['seq']))).toEqual(
    [...stored.values()].map((group) => group.map((_, index) => index + 1)),
  );
  const [log] = await rowsOf('select max(seq) as last, count(*) as n from events');
  expect(log?.['n']).toBe(log?.['last']);
  for (const [index, { acked, contradictions }] of senders.entries()) {
    expect(contradictions).toEqual([]);
    const id = [...acked.keys()][0]?.split('-')[0] ?? expect.unreachable();
    const [, group = []] = [...stored].find(([conversation]) => conversation.endsWith(id)) ?? [];
    // Each acknowledged message, once, under its id; and none that was not sent.
    expect(group.map((row) => [row['content'], row['id']].join(' ')).toSorted()).toEqual(
      [...acked].map((one) => one.join(' ')).toSorted(),
    );
    await eventually(() => expect(listeners[index]?.ids).toEqual(group.map((row) => row['id'])));
  }
}

it('lose nothing and double nothing, whichever is killed', () =>
  repeatable('test/engine/cluster-kill.test.ts', kills, async () => {
    for (const listener of listeners) listener.start();
    await eventually(() => expect(listeners.every(({ joined }) => joined)).toBe(true));
    for (const sender of senders) sender.start();
    await eventually(() => expect(listeners.every(({ ids }) => ids.length > 0)).toBe(true));
    const began = performance.now();
    for (let kill = 0; kill < kills; kill += 1) {
      await untilAcked(Math.floor(300 * random()));
      await replaceOne('SIGKILL');
    }
    report(
      `${kills} kills, ${acks()} acknowledged, ${Math.round((acks() / (performance.now() - began)) * 1000)}/s`,
    );

    await endSessions();
    await freezeOne();

    // One by one, as an update does. What is told to come back does not find an error.
    const refused = (): number[] => [...senders, ...listeners].flatMap(({ refusals }) => refusals);
    for (let restart = 0; restart < restarts; restart += 1) {
      await untilAcked(50);
      await replaceOne('SIGTERM');
    }
    expect(refused().filter((status) => status !== 503)).toEqual([]);

    // The database itself, with what it has not written yet.
    await untilAcked(50);
    await database.stop('SIGKILL');
    const statuses = await Promise.all(nodes.map(({ url }) => statusOf(url)));
    expect(statuses).toEqual([503, 503, 503]);
    await database.start();
    const back = performance.now();
    await eventually(async () => {
      expect(await Promise.all(nodes.map(({ url }) => statusOf(url)))).toEqual([200, 200, 200]);
    });
    report(`all serve ${Math.round(performance.now() - back)} ms after PostgreSQL`);
    await untilAcked(50);
    expect(refused().filter((status) => status !== 503)).toEqual([]);
    const gaps = [...senders, ...listeners].flatMap((client) => client.gaps).toSorted((a, b) => a - b);
    report(`without a connection: median ${gaps[gaps.length >> 1]} ms, most ${gaps.at(-1)} ms`);
    await expectEverythingKept();
  }));

/** What a server answers to one who needs the database. */
async function statusOf(url: string): Promise<number> {
  const { headers } = senders[0]?.options ?? expect.unreachable();
  const reply = await fetch(`${url}/api/v1/widget/ws-token`, { method: 'POST', headers });
  await reply.arrayBuffer();
  return reply.status;
}
