// A bulk act that is cut off by kill -9: each conversation was done whole, with its event, or not at all; what was
// answered is there; and the same call again does the rest.
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
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { request, type Reply } from '../helpers/client.ts';
import { serve } from '../helpers/process.ts';
import { repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

const cycles = rounds(3, 100);
const random = seededRandom();
const password = 'correct horse battery staple';
const email = 'ann@kill.example';

let parent: string;
let folder: string;
const ids: string[] = [];

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-bulk-'));
  folder = join(parent, 'data');
  const { service, close } = await openService(
    readConfig({ data: folder, limitVisitor: 'off' }, {}),
    'command',
    () => null,
    {
      passwordCost: 4,
    },
  );
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  const { id: organizationId } = await call(local, 'organizations.create', { name: 'Kill', slug: 'kill' });
  await call(local, 'organizations.update', { organization: 'kill', plan: 'enterprise' });
  const { id: applicationId } = await call(local, 'applications.create', {
    organization: 'kill',
    name: 'Site',
    domains: ['kill.example'],
  });
  await call(local, 'members.add', { organization: 'kill', email, name: 'Ann', role: 'admin', password });
  const visitor = {
    kind: 'visitor',
    organizationId,
    applicationId,
    visitorId: randomUUID(),
    mode: 'live',
  } as const;
  for (let index = 0; index < 100; index += 1)
    ids.push(
      (await call({ ...visitor, via: 'key', origin: null }, 'conversations.create', {})).conversation.id,
    );
  await close();
});

afterAll(() => rm(parent, { recursive: true, force: true }));

/** Of each tag: the conversations that have it, and those of which an event says that something changed. */
function stored(tag: string): { tagged: string[]; told: Map<string, number> } {
  const db = new Database(databaseFile(folder), { readonly: true });
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    const tagged = db
      .prepare<[string], string>(
        'select conversation_id from conversation_tags join tags on tags.id = tag_id where folded = ?',
      )
      .pluck()
      .all(tag);
    const told = db
      .prepare<[], [string, number]>(
        "select conversation_id, count(*) from events where type = 'conversation:changed' group by 1",
      )
      .raw()
      .all();
    return { tagged, told: new Map(told) };
  } finally {
    db.close();
  }
}

it('leaves no conversation half done, and nothing that was answered undone', () =>
  repeatable('test/engine/bulk-kill.test.ts', cycles, async () => {
    const tags: string[] = [];
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const tag = `cycle-${cycle}`;
      tags.push(tag);
      const server = await serve(folder, {});
      let answered: Reply | null = null;
      try {
        const api = `${server.url}/api/v1/staff`;
        const signIn = { organization: 'kill', email, password };
        const { body } = await request(api, 'POST', '/session', {}, signIn);
        const headers = { authorization: `Bearer ${body.token as string}` };
        const bulk = request(api, 'POST', '/conversations/bulk', headers, { ids, act: 'tag', tag }).then(
          (reply) => {
            answered = reply;
          },
          () => undefined,
        );
        // The moment of a kill is the one thing here that is a time.
        await setTimeout(60 * random());
        await server.kill();
        await bulk;
      } finally {
        await server.kill();
      }
      const { tagged, told } = stored(tag);
      if (answered !== null) expect(tagged).toHaveLength(100);
      // One event for each tag that a conversation has, and none without.
      const held = tags.flatMap((one) => stored(one).tagged);
      for (const id of ids) expect(told.get(id) ?? 0, id).toBe(held.filter((one) => one === id).length);
    }
  }));
