// A removal that is ended by kill -9: the audit log says what was begun and by whom, not that it was done, and what is
// left of an application or an organization is not found. The server goes on with it, and so does the same call.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { deskbell, start } from '../helpers/cli.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
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
let visitorId: string;
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
  visitorId = randomUUID();
  const visitor: Actor = {
    kind: 'visitor',
    organizationId,
    applicationId,
    visitorId,
    mode: 'live',
    via: 'key',
    origin: null,
  };
  const { conversation } = await call(visitor, 'conversations.create', {});
  await call(visitor, 'messages.send', { conversationId: conversation.id, content: 'hello' });
  await close();
  await rowsOf(
    { folder },
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 2 union all select i + 1 from n where i < ${messages})
     select lower(printf('%08x-0000-4000-8000-000000000000', i)), conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1`,
  );
  await rowsOf({ folder }, `update conversations set last_seq = ${messages}`);
});

afterEach(async () => {
  await server?.kill();
  server = null;
  await rm(parent, { recursive: true, force: true });
});

async function stored(): Promise<number> {
  const [row] = await rowsOf({ folder }, 'select count(*) as messages from messages');
  return Number(row?.['messages']);
}

async function audited(subject: string): Promise<unknown[]> {
  const rows = await rowsOf(
    { folder },
    "select action, actor from audit where subject = ? and (action like '%.delete%' or action like '%.erase%') order by created_at, id",
    subject,
  );
  return rows.map(({ action, actor }) => [action, actor]);
}

async function halfRemoved(): Promise<void> {
  await eventually(async () => expect(await stored()).toBeLessThan(messages));
}

async function session(): Promise<{ authorization: string }> {
  const signIn = { organization: 'kill', email, password };
  const { body } = await request(`${server?.url}/api/v1/staff`, 'POST', '/session', {}, signIn);
  return { authorization: `Bearer ${body.token as string}` };
}

/** As a minute later. */
async function letMinutePass(): Promise<void> {
  await rowsOf(
    { folder },
    "update meta set value = json_set(value, '$.workedAt', ?) where key like 'erasing%' or key like 'deleting%'",
    Date.now() - 61_000,
  );
}

it('of an application, by an admin', async () => {
  server = await serve(folder);
  const path = `/api/v1/admin/applications/${applicationId}`;
  const removing = request(server.url, 'DELETE', path, await session()).catch(() => null);
  await halfRemoved();
  await server.kill();
  expect(await removing).toBe(null);
  expect(await stored()).toBeGreaterThan(0);
  const begun = ['applications.deleteBegun', `member:${memberId}`];
  expect(await audited(`application:${applicationId}`)).toEqual([begun]);
  await letMinutePass();
  server = await serve(folder);
  expect((await request(server.url, 'GET', path, await session())).status).toBe(404);
  await eventually(async () =>
    expect(await audited(`application:${applicationId}`)).toEqual([
      begun,
      ['applications.delete', `member:${memberId}`],
    ]),
  );
  expect(await stored()).toBe(0);
});

it('of an application, by an admin, whom the server does not keep waiting for the same call', async () => {
  server = await serve(folder);
  const path = `/api/v1/admin/applications/${applicationId}`;
  const removing = request(server.url, 'DELETE', path, await session()).catch(() => null);
  await halfRemoved();
  await server.kill();
  expect(await removing).toBe(null);
  const left = await stored();
  expect(left).toBeGreaterThan(0);
  server = await serve(folder);
  expect((await request(server.url, 'DELETE', path, await session())).status).toBe(200);
  expect(await stored()).toBe(0);
});

it('of an organization, by the command line', async () => {
  const command = ['org', 'delete', 'kill', '--yes', '--data', folder];
  const removing = start(command);
  await halfRemoved();
  await removing.stop('SIGKILL');
  expect(await stored()).toBeGreaterThan(0);
  const begun = ['organizations.deleteBegun', 'local'];
  expect(await audited(`organization:${organizationId}`)).toEqual([begun]);
  const log = await deskbell(['audit', '--action', 'organizations.delete', '--data', folder]);
  expect(log.stdout).toContain('organizations.deleteBegun');
  expect((await deskbell(['org', 'list', '--data', folder])).stdout).not.toContain('kill');
  expect((await deskbell(command)).code).toBe(0);
  expect(await stored()).toBe(0);
  const done = ['organizations.delete', 'local'];
  expect(await audited(`organization:${organizationId}`)).toEqual([begun, begun, done]);
});

it('of an organization, by the command line, whom the server relieves of it', async () => {
  const removing = start(['org', 'delete', 'kill', '--yes', '--data', folder]);
  await halfRemoved();
  await removing.stop('SIGKILL');
  expect(await stored()).toBeGreaterThan(0);
  await letMinutePass();
  server = await serve(folder);
  const rows = [
    ['organizations.deleteBegun', 'local'],
    ['organizations.delete', 'local'],
  ];
  await eventually(async () => expect(await audited(`organization:${organizationId}`)).toEqual(rows));
  expect(await stored()).toBe(0);
});

it('of a visitor, by an admin, whom the server does not keep waiting for the same call', async () => {
  const [visitor] = await rowsOf({ folder }, 'select id from visitors');
  const subject = `visitor:${String(visitor?.['id'])}`;
  server = await serve(folder);
  const path = `/api/v1/admin/visitors/${visitorId}`;
  const removing = request(server.url, 'DELETE', path, await session()).catch(() => null);
  await halfRemoved();
  await server.kill();
  expect(await removing).toBe(null);
  expect(await stored()).toBeGreaterThan(0);
  const begun = ['visitors.eraseBegun', `member:${memberId}`];
  expect(await audited(subject)).toEqual([begun]);
  await letMinutePass();
  server = await serve(folder);
  await eventually(async () =>
    expect(await audited(subject)).toEqual([begun, ['visitors.erase', `member:${memberId}`]]),
  );
  expect(await stored()).toBe(0);
  expect((await request(server.url, 'GET', path, await session())).status).toBe(404);
});
