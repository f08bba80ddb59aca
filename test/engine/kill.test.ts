// kill -9 under load, again and again: every acknowledged message is there, once, with the id that
// was promised, in the order of each sender (cases T246). Power loss is sync-before-ack.test.ts.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor, VisitorActor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { eventually } from '../helpers/eventually.ts';
import { Sender } from '../helpers/message-sender.ts';
import { serve, startServing, type ServerProcess } from '../helpers/process.ts';
import { repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

const cycles = rounds(4, 1_000);
const random = seededRandom();
const origin = 'https://kill.example';
const environment = Object.fromEntries(
  ['VISITOR', 'APPLICATION', 'ADDRESS', 'ADDRESS_NEW', 'ADDRESS_FAILED'].map((name) => [
    `DESKBELL_LIMIT_${name}`,
    'off',
  ]),
);

let parent: string;
let folder: string;
let senders: Sender[];
let acks = 0;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-kill-'));
  folder = join(parent, 'data');
  const { service, close } = await openService(
    readConfig({ data: folder, limitAddressNew: 'off' }, {}),
    'command',
    () => null,
    {
      passwordCost: 4,
    },
  );
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  const organization = await call(local, 'organizations.create', { name: 'Kill', slug: 'kill' });
  await call(local, 'organizations.update', { organization: 'kill', plan: 'enterprise' });
  await call(local, 'organizations.update', {
    organization: 'kill',
    limits: { requestsPerMinute: 100_000_000 },
  });
  const application = await call(local, 'applications.create', {
    organization: 'kill',
    name: 'Site',
    domains: ['kill.example'],
  });
  senders = [];
  for (const transport of ['ws', 'ws', 'ws', 'ws', 'rest', 'rest', 'rest'] as const) {
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: organization.id,
      applicationId: application.id,
      visitorId: randomUUID(),
      mode: 'live',
      via: 'origin',
      origin,
    };
    const { conversation } = await call(actor, 'conversations.create', {});
    senders.push(
      new Sender({
        transport,
        headers: { origin, 'x-app-id': application.id, 'x-visitor-id': actor.visitorId },
        conversationId: conversation.id,
        onAck: () => {
          acks += 1;
        },
      }),
    );
  }
  await close();
});

afterAll(async () => {
  await rm(parent, { recursive: true, force: true });
});

it('keeps every acknowledged message, once, under its id, in its order', () =>
  repeatable('test/engine/kill.test.ts', cycles, async () => {
    await killAgainAndAgain();
    expectEverythingKept();
  }));

/** Each cycle ends a server under load, and every eighth one also ends one while it starts. */
async function killAgainAndAgain(): Promise<void> {
  let server: ServerProcess | null = null;
  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      if (cycle % 8 === 7) await killWhileStarting();
      server = await serve(folder, { environment });
      const { url } = server;
      const before = acks;
      await Promise.all(senders.map((sender) => sender.start(url)));
      // Another amount in every cycle, so that the end meets every state of a commit; each sender is in the middle of something.
      const enough = before + Math.floor(200 * random() ** 2);
      await eventually(() => expect(acks).toBeGreaterThan(enough));
      await server.kill();
      server = null;
      await Promise.all(senders.map((sender) => sender.stop()));
    }
    // What was never acknowledged is sent once more: it is there once, whether it had been stored or not.
    server = await serve(folder, { environment });
    const { url } = server;
    await Promise.all(senders.map((sender) => sender.start(url, 0)));
    await eventually(() => expect(senders.flatMap((sender) => sender.unacked)).toEqual([]));
    await Promise.all(senders.map((sender) => sender.stop()));
    expect((await server.stop()).code).toBe(0);
    server = null;
  } finally {
    await server?.kill();
  }
}

/** The moment of a kill is the one thing here that is a time: it is to meet the start anywhere. */
async function killWhileStarting(): Promise<void> {
  const starting = startServing(folder, { environment });
  await setTimeout(500 * random());
  await starting.stop('SIGKILL');
}

function expectEverythingKept(): void {
  const db = new Database(databaseFile(folder), { readonly: true });
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(db.pragma('foreign_key_check')).toEqual([]);
    for (const sender of senders) {
      expect(sender.contradictions).toEqual([]);
      const rows = db
        .prepare(
          'select client_message_id as clientId, id, content from messages where conversation_id = ? order by seq',
        )
        .all(sender.conversationId) as {
        clientId: string;
        id: string;
        content: string;
      }[];
      expect(rows.map(({ clientId, id }) => [clientId, id])).toEqual([...sender.acked]);
      expect(rows.every(({ clientId, content }) => clientId === content)).toBe(true);
    }
    const [events, distinct] = db
      .prepare("select count(*), count(distinct message_id) from event_log where type = 'message:new'")
      .raw()
      .get() as [number, number];
    expect([events, distinct]).toEqual([acksDistinct(), acksDistinct()]);
    const gaps = db
      .prepare(
        'select count(*) from conversations c where last_seq <> (select count(*) from messages m where m.conversation_id = c.id)',
      )
      .pluck()
      .get();
    expect(gaps).toBe(0);
  } finally {
    db.close();
  }
}

function acksDistinct(): number {
  return senders.reduce((sum, sender) => sum + sender.acked.size, 0);
}
