// Owns: three servers on one PostgreSQL database, all on this machine with the load, against three processes of a bare store
// on the same database server in the same rounds. Must not leave a process or a folder behind.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serve, type ServeProcess } from '../test/helpers/cli.ts';
import { LoadSender, makeTalks, noLimits } from '../test/helpers/cluster-load.ts';
import { steadyCost, type SteadyCost } from './cluster-steady.ts';
import { stopServer } from '../test/helpers/postgres-end.ts';

export interface ClusterFigures {
  /** Messages a second in each round. */
  readonly servers: readonly number[];
  readonly bare: readonly number[];
  readonly steady: SteadyCost;
}

/** Messages a second of the steady part, and for how many seconds. */
const steadyRate = { perSecond: 300, seconds: 20 };

export interface ClusterOptions {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  /** Conversations, each with four messages under way. */
  readonly pairs: number;
}

/** What the bare store has. */
const tables = [
  'create table public.conversations (id text collate "C" primary key, last_seq bigint not null, updated_at bigint not null)',
  `create table public.messages (id text collate "C" primary key, conversation_id text collate "C" not null, seq bigint not null,
    client_message_id text collate "C" not null, content text collate "C" not null, created_at bigint not null,
    unique (conversation_id, seq), unique (client_message_id, conversation_id))`,
  `create table public.events (seq bigint primary key, conversation_id text collate "C" not null, type text collate "C" not null,
    message_id text collate "C" not null, created_at bigint not null)`,
];

/** Messages a second that a bare store takes in three processes. */
async function runBare(url: string, seconds: number): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: 3 }, () => {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'peer-cluster.ts'), url, String(seconds)],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      return new Promise<number>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', () => resolve(Number(text)));
      });
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0) / seconds;
}

/** Runs both in turn. */
export async function clusterCost({
  folder,
  rounds,
  seconds,
  pairs,
}: ClusterOptions): Promise<ClusterFigures> {
  const run = await mkdtemp(join(folder, 'deskbell-bench-'));
  await chmod(run, 0o711);
  process.env['TEST_RUN_FOLDER'] = run;
  process.env['TMPDIR'] = run;
  const { askDatabase, OwnServer } = await import('../test/helpers/postgres.ts');
  const database = await OwnServer.start({
    fsync: 'on',
    full_page_writes: 'on',
    max_connections: '100',
    autovacuum: 'on',
  });
  const nodes: ServeProcess[] = [];
  const senders: LoadSender[] = [];
  try {
    for (const name of ['deskbell', 'bare'])
      await askDatabase({ url: database.url('postgres') }, `create database ${name}`);
    for (const text of tables) await askDatabase({ url: database.url('bare') }, text);
    const environment = {
      DESKBELL_DATABASE_URL: database.url('deskbell'),
      DESKBELL_SECRET_KEY: randomBytes(32).toString('base64'),
      DESKBELL_FILES: pathToFileURL(join(run, 'files')).href,
      DESKBELL_LOG_LEVEL: 'warn',
      ...noLimits,
    };
    const talks = await makeTalks(environment, pairs);
    for (let index = 0; index < 3; index += 1) nodes.push(await serve([], environment));
    const acked = (): number => senders.reduce((sum, sender) => sum + sender.acked.size, 0);
    const servers: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await runBare(database.url('bare'), seconds));
      senders.length = 0;
      for (const [index, talk] of talks.entries())
        senders.push(new LoadSender({ ...talk, pick: () => nodes[index % nodes.length]?.url ?? null }));
      for (const sender of senders) sender.start();
      while (acked() < pairs * 4) await new Promise((resolve) => setTimeout(resolve, 5));
      const [before, began] = [acked(), performance.now()];
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      servers.push(((acked() - before) / (performance.now() - began)) * 1_000);
      await Promise.all(senders.map((sender) => sender.stop()));
    }
    const steady = await steadyCost({
      talks: talks.slice(0, 30),
      servers: nodes.map(({ url }) => url),
      database: database.url('deskbell'),
      ...steadyRate,
    });
    return { servers, bare, steady };
  } finally {
    await Promise.all(senders.map((sender) => sender.stop()));
    await Promise.all(nodes.map(({ running }) => running.stop('SIGTERM')));
    await database.remove();
    await stopServer(run);
    await rm(run, { recursive: true, force: true });
  }
}
