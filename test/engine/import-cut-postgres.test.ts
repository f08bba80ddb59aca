// An import into PostgreSQL that is cut off inside its rows: by kill -9, by an administrator who ends its sessions, and by
// a database that is killed. What it left is not found and of no use, whatever a server does beside it, and the same
// import brings all of it.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { startApp } from '../helpers/app.ts';
import { deskbell, ensureBuilt, serve, start, type ServeProcess } from '../helpers/cli.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createConversation, createMessage, createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { askDatabase, OwnServer } from '../helpers/postgres.ts';

const messages = 5_000;
const email = 'ann@acme.example';
const password = 'correct horse battery staple';

let parent: string;
let file: string;
let applicationId: string;
let database: OwnServer;
let environment: Record<string, string>;
let server: ServeProcess;

beforeAll(async () => {
  await ensureBuilt();
  parent = await mkdtemp(join(tmpdir(), 'deskbell-import-cut-'));
  file = join(parent, 'acme.jsonl');
  const app = await startApp({ engine: 'sqlite' });
  const { application } = await createOrganization(app, 'acme');
  applicationId = application.id;
  await app.local('members.add', { organization: 'acme', email, name: 'Ann', role: 'admin', password });
  const visitor = createVisitor(app, application);
  await createMessage(visitor, await createConversation(visitor), 'hello');
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 2 union all select i + 1 from n where i < ${messages})
     select lower(printf('%08x-0000-4000-8000-000000000000', i)), conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1`,
  );
  await rowsOf(app, `update conversations set last_seq = ${messages}`);
  const lines: string[] = [];
  const local = { service: app.service, actor: { kind: 'local' }, address: null } as const;
  await exportOrganization({ ...local, contentLimit: sizeLimits.contentRest }, 'acme', async (line) => {
    lines.push(line);
  });
  await writeFile(file, `${lines.join('\n')}\n`);
  await app.stop();
  database = await OwnServer.start({ fsync: 'on', full_page_writes: 'on' });
  await askDatabase({ url: database.url('postgres') }, 'create database deskbell');
  environment = {
    DESKBELL_DATABASE_URL: database.url('deskbell'),
    DESKBELL_SECRET_KEY: randomBytes(32).toString('base64'),
    DESKBELL_FILES: pathToFileURL(join(parent, 'files')).href,
    DESKBELL_LOG_LEVEL: 'warn',
  };
  server = await serve([], environment);
});

afterAll(async () => {
  await server.running.stop('SIGKILL');
  await database.remove();
  await rm(parent, { recursive: true, force: true });
});

const ask = (sql: string): Promise<Record<string, unknown>[]> =>
  askDatabase({ url: database.url('deskbell') }, sql);
const stored = async (): Promise<number> =>
  Number((await ask('select count(*) as n from messages'))[0]?.['n']);
const command = (...args: string[]) => deskbell(args, { env: environment });
const slugs = async (): Promise<string[]> => {
  const { stdout } = await command('org', 'list', '--json');
  return (JSON.parse(stdout) as { items: { slug: string }[] }).items.map(({ slug }) => slug);
};

/** How a visitor and a member of the organization are answered, whose key and password are right. */
async function answers(): Promise<number[]> {
  const headers = { 'x-app-id': applicationId, 'x-visitor-id': randomUUID(), origin: 'https://acme.example' };
  const visitor = await fetch(`${server.url}/api/v1/conversations`, { headers });
  const member = await fetch(`${server.url}/api/v1/staff/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ organization: 'acme', email, password }),
  });
  return [visitor.status, member.status];
}

const cuts: Readonly<Record<string, (importing: ReturnType<typeof start>) => Promise<unknown>>> = {
  'is killed': (importing) => importing.stop('SIGKILL'),
  'loses its sessions': () =>
    ask(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'deskbell%' and datname = 'deskbell'",
    ),
  'loses its database': async () => {
    await database.stop('SIGKILL');
    await database.start();
  },
};

/** What a command says of a store that could not be used: why, and what to do. */
const unavailable =
  /^The database .+ \(.+\)\..* Find out with .*doctor.* what is wrong, then run the command again\.\n$/;

/** Cuts an import anywhere between its first row and its last. One that came through is removed, and followed by another. */
async function cutImport(how: string): Promise<void> {
  for (;;) {
    const importing = start(['import', file], environment);
    await eventually(async () => expect(await stored()).toBeGreaterThan(400));
    await cuts[how]?.(importing);
    const outcome = await importing.ended;
    if (outcome.code !== 0) {
      if (how !== 'is killed') expect(outcome.stderr).toMatch(unavailable);
      return;
    }
    expect((await command('org', 'delete', 'acme', '--yes')).code).toBe(0);
  }
}

it.each(Object.keys(cuts))('that %s leaves nothing that is found, and is repeated whole', async (how) => {
  await cutImport(how);
  await eventually(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(200));
  expect(await slugs()).toEqual([]);
  expect(await answers()).toEqual([401, 401]);
  // A minute later: what knows that it was cut off has removed its rows itself.
  await ask(`update organizations set plan_changed_at = ${Date.now() - 61_000}`);
  const again = await command('import', file);
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect([await stored(), await slugs()]).toEqual([messages, ['acme']]);
  expect(await answers()).toEqual([200, 201]);
  expect((await command('org', 'delete', 'acme', '--yes')).code).toBe(0);
  expect(await stored()).toBe(0);
});
