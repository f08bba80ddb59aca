// A removal that is ended by kill -9: the audit log says what was begun and by whom, not that it was done, and the same
// call goes on with what is left.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { deskbell, start } from '../helpers/cli.ts';
import { request } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';

const messages = 6_000;
const password = 'correct horse battery staple';
const email = 'ann@kill.example';

let parent: string;
let folder: string;
let applicationId: string;
let organizationId: string;
let memberId: string;
let server: ServerProcess | null = null;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-removal-'));
  folder = join(parent, 'data');
  const config = readConfig({ data: folder, limitVisitor: 'off' }, {});
  const { service, close } = await openService(config, 'command', () => null, { passwordCost: 4 });
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  const organization = 'kill';
  ({ id: organizationId } = await call(local, 'organizations.create', { name: 'Kill', slug: organization }));
  ({ id: applicationId } = await call(local, 'applications.create', { organization, name: 'Site' }));
  ({ id: memberId } = await call(local, 'members.add', {
    organization,
    email,
    name: 'Ann',
    role: 'admin',
    password,
  }));
  const visitor: Actor = {
    kind: 'visitor',
    organizationId,
    applicationId,
    visitorId: randomUUID(),
    mode: 'live',
    via: 'key',
    origin: null,
  };
  const { conversation } = await call(visitor, 'conversations.create', {});
  await call(visitor, 'messages.send', { conversationId: conversation.id, content: 'hello' });
  await close();
  inDatabase((database) => {
    database.exec(
      `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
       with recursive n(i) as (select 2 union all select i + 1 from n where i < ${messages})
       select lower(printf('%08x-0000-4000-8000-000000000000', i)), conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1`,
    );
    database.exec(`update conversations set last_seq = ${messages}`);
  }, false);
});

afterEach(async () => {
  await server?.kill();
  server = null;
  await rm(parent, { recursive: true, force: true });
});

/** Looks into the database as it is on disk. */
function inDatabase<T>(work: (database: Database.Database) => T, readonly = true): T {
  const database = new Database(databaseFile(folder), { readonly, timeout: 5_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const stored = (): number =>
  inDatabase((database) => Number(database.prepare('select count(*) from messages').pluck().get()));

const audited = (subject: string): unknown[] =>
  inDatabase((database) =>
    database
      .prepare('select action, actor from audit where subject = ? and action like ? order by created_at, id')
      .raw()
      .all(subject, '%.delete%'),
  );

async function halfRemoved(): Promise<void> {
  await eventually(() => expect(stored()).toBeLessThan(messages));
}

it('of an application, by an admin', async () => {
  server = await serve(folder);
  const signIn = { organization: 'kill', email, password };
  const session = async () => {
    const { body } = await request(`${server?.url}/api/v1/staff`, 'POST', '/session', {}, signIn);
    return { authorization: `Bearer ${body.token as string}` };
  };
  const path = `/api/v1/admin/applications/${applicationId}`;
  const removing = request(server.url, 'DELETE', path, await session()).catch(() => null);
  await halfRemoved();
  await server.kill();
  expect(await removing).toBe(null);
  expect(stored()).toBeGreaterThan(0);
  const begun = ['applications.deleteBegun', expect.stringContaining(memberId)];
  expect(audited(`application:${applicationId}`)).toEqual([begun]);
  server = await serve(folder);
  const headers = await session();
  expect((await request(server.url, 'GET', path, headers)).status).toBe(200);
  expect((await request(server.url, 'DELETE', path, headers)).status).toBe(200);
  expect(stored()).toBe(0);
  const done = ['applications.delete', expect.stringContaining(memberId)];
  expect(audited(`application:${applicationId}`)).toEqual([begun, begun, done]);
});

it('of an organization, by the command line', async () => {
  const command = ['org', 'delete', 'kill', '--yes', '--data', folder];
  const removing = start(command);
  await halfRemoved();
  await removing.stop('SIGKILL');
  expect(stored()).toBeGreaterThan(0);
  const begun = ['organizations.deleteBegun', 'local'];
  expect(audited(`organization:${organizationId}`)).toEqual([begun]);
  const log = await deskbell(['audit', '--action', 'organizations.delete', '--data', folder]);
  expect(log.stdout).toContain('organizations.deleteBegun');
  expect((await deskbell(command)).code).toBe(0);
  expect(stored()).toBe(0);
  expect(audited(`organization:${organizationId}`)).toEqual([
    begun,
    begun,
    ['organizations.delete', 'local'],
  ]);
});
