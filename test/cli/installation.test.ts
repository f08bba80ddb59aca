// Owns: moving all organizations from one server to another, SQLite or PostgreSQL, and back. Nothing is lost or comes twice,
// also where the move was cut off; what does not fit is refused before anything is changed.
import { copyFile, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { deskbell, deskbellProcessJson, start } from '../helpers/cli.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  signIn,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const messages = 3_000;

let parent: string;
let source: TestApp;
let shop: TestOrganization;
let admin: TestMember;
let visitorId: string;
let conversationId: string;
const apps: TestApp[] = [];

async function aServer(engine: 'sqlite' | 'postgres'): Promise<TestApp> {
  const app = await startApp({ engine });
  apps.push(app);
  return app;
}

/** Runs a command on the database of a server, beside it. */
const on = (app: TestApp, ...args: string[]): [string[], { env: Record<string, string>; cwd: string }] => [
  [...args, ...(app.database === null ? ['--data', app.folder] : [])],
  { env: app.environment, cwd: parent },
];
const exportTo = (app: TestApp, folder: string): Promise<unknown> =>
  deskbellProcessJson(...on(app, 'export', '--all', folder));
const importFrom = (
  app: TestApp,
  folder: string,
): Promise<{ organizations: { slug: string; rows: number | null }[] }> =>
  deskbellProcessJson(...on(app, 'import', folder));

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-move-'));
  source = await aServer('sqlite');
  shop = await createOrganization(source, 'acme');
  admin = await createMember(source, 'acme', 'admin', 'Ada Admin');
  const visitor = createVisitor(source, shop.application);
  visitorId = visitor.id;
  conversationId = await createConversation(visitor, 'My order');
  const first = await createMessage(visitor, conversationId, 'Where is it?');
  await visitor.call('PATCH', `/conversations/${conversationId}/messages/${first}`, {
    content: 'Where is my **order**?',
    contentFormat: 'markdown',
  });
  await admin.call('POST', `/conversations/${conversationId}/accept`);
  await admin.call('POST', `/conversations/${conversationId}/read`, { messageId: first });
  await createMessage(admin, conversationId, 'On its way.\u2028Tomorrow.');
  const made = [
    await admin.call('POST', '/canned-replies', { shortcut: 'hi', content: 'Hello!' }),
    await adminCall(source, '/webhooks', { url: 'https://hooks.example/a', events: ['message:new'] }),
    await adminCall(source, '/knowledge', {
      applicationId: shop.application.id,
      source: 'opening.md',
      title: 'Opening hours',
      content: 'The shop opens at nine in the morning and closes at six in the evening.',
    }),
  ];
  if (made.some(({ status }) => status !== 201)) throw new Error('It could not be made.');
  // A larger one behind it, so that an import can be cut off in its midst.
  const { application } = await createOrganization(source, 'beta');
  const other = createVisitor(source, application);
  await createMessage(other, await createConversation(other), 'hello');
  await rowsOf(
    source,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 2 union all select i + 1 from n where i < ${messages})
     select lower(printf('%08x-0000-4000-8000-000000000000', i)), conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1 and content = 'hello'`,
  );
  await rowsOf(
    source,
    `update conversations set last_seq = ${messages} where id = (select conversation_id from messages where content = 'hello' limit 1)`,
  );
  await exportTo(source, join(parent, 'one'));
});

afterAll(async () => {
  for (const app of apps) await app.stop();
  await rm(parent, { recursive: true, force: true });
});

/** Asks as the admin of acme. */
async function adminCall(
  app: TestApp,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const { token } = app === source ? admin : await signIn(app, 'acme', admin.email, admin.id);
  const answer = await fetch(`${app.url}/api/v1/admin${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

/** What a folder says, apart from when it was written, of its own coming and going, and where webhooks go on. */
async function linesOf(folder: string): Promise<Record<string, string[]>> {
  const said: Record<string, string[]> = {};
  for (const name of await readdir(join(parent, folder))) {
    if (!name.endsWith('.jsonl')) continue;
    const lines = (await readFile(join(parent, folder, name), 'utf8')).trimEnd().split('\n').slice(1, -1);
    said[name] = lines
      .map((line) => JSON.parse(line) as { table?: string; row?: Record<string, unknown> })
      .filter(
        ({ table, row }) =>
          table !== 'audit' || !/^organizations\.(?:ex|im)port$/.test(String(row?.['action'])),
      )
      .map(({ table, row, ...rest }) => JSON.stringify({ table, ...rest, row: { ...row, position: 0 } }))
      .toSorted();
  }
  return said;
}

describe('all organizations', () => {
  it('go from SQLite to PostgreSQL and back, and say the same everywhere', async () => {
    const cluster = await aServer('postgres');
    const back = await aServer('sqlite');
    expect((await importFrom(cluster, join(parent, 'one'))).organizations.map(({ slug }) => slug)).toEqual([
      'acme',
      'beta',
    ]);
    await exportTo(cluster, join(parent, 'two'));
    await importFrom(back, join(parent, 'two'));
    await exportTo(back, join(parent, 'three'));
    const one = await linesOf('one');
    expect(Object.keys(one)).toEqual(['acme.jsonl', 'beta.jsonl']);
    expect(one['beta.jsonl']?.length).toBeGreaterThan(messages);
    expect(await linesOf('two')).toEqual(one);
    expect(await linesOf('three')).toEqual(one);
    for (const name of await readdir(join(parent, 'two')))
      expect((await stat(join(parent, 'two', name))).mode & 0o777).toBe(0o600);
    expect((await stat(join(parent, 'two'))).mode & 0o777).toBe(0o700);

    // What they are used for: keys, passwords, read positions, edits, webhooks, answers.
    const ask = async (app: TestApp): Promise<unknown> => {
      const visitor = createVisitorByKey(app, shop.application, 'live', visitorId);
      const list = await visitor.call('GET', '/conversations');
      const talk = await visitor.call('GET', `/conversations/${conversationId}/messages`);
      const member = await signIn(app, 'acme', admin.email, admin.id);
      const queue = await member.call('GET', '/conversations');
      const hooks = await adminCall(app, '/webhooks');
      const answer = await eventually(async () => {
        const { body } = await visitor.call('POST', '/ai/answer', { question: 'When does the shop open?' });
        expect(body.answered).toBe(true);
        return body;
      });
      expect([list.status, talk.status, queue.status, hooks.status]).toEqual([200, 200, 200, 200]);
      return [list.body, talk.body, queue.body, hooks.body, { ...answer, id: null, answerId: null }];
    };
    const before = await ask(source);
    expect(JSON.stringify(before)).toMatch(/nine in the morning/);
    expect(await ask(cluster)).toEqual(before);
    expect(await ask(back)).toEqual(before);
  });

  it('are imported once, however often the import is killed and repeated', async () => {
    const cluster = await aServer('postgres');
    const count = async (table: string, where = 'true'): Promise<number> =>
      Number((await rowsOf(cluster, `select count(*) as n from ${table} where ${where}`))[0]?.['n']);
    const folder = join(parent, 'one');
    const importing = start(...([on(cluster, 'import', folder)[0], cluster.environment] as const));
    await eventually(async () => expect(await count('messages')).toBeGreaterThan(200));
    await importing.stop('SIGKILL');
    expect(await count('messages')).toBeLessThan(messages);
    expect(await count('organizations', "slug in ('acme', 'beta')")).toBe(1);
    const early = await deskbell(...on(cluster, 'import', folder));
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringMatching(/beta.jsonl: .*Try again in a minute/),
    ]);
    await rowsOf(cluster, "update organizations set plan_changed_at = 0 where slug not in ('acme', 'beta')");
    const rows = async (): Promise<number[]> =>
      Promise.all(
        ['messages', 'conversations', 'members', 'visitors', 'webhooks'].map((table) => count(table)),
      );
    expect((await importFrom(cluster, folder)).organizations).toMatchObject([
      { slug: 'acme', rows: null },
      { slug: 'beta', rows: expect.any(Number) },
    ]);
    const once = await rows();
    expect(once.slice(0, 2)).toEqual([messages + 2, 2]);
    expect((await importFrom(cluster, folder)).organizations.map((one) => one.rows)).toEqual([null, null]);
    expect(await rows()).toEqual(once);
  });

  it('are refused where the folder is cut off, damaged or of another time, and nothing is changed', async () => {
    const empty = await aServer('sqlite');
    const refused = async (folder: string, reason: RegExp, app = empty): Promise<void> => {
      const { code, stderr, stdout } = await deskbell(...on(app, 'import', folder));
      expect([code === 0, stdout, stderr]).toEqual([false, '', expect.stringMatching(reason)]);
      expect(await rowsOf(empty, 'select id from organizations')).toEqual([]);
    };
    const copy = join(parent, 'copy');
    const fresh = async (): Promise<void> => {
      await rm(copy, { recursive: true, force: true });
      await cp(join(parent, 'one'), copy, { recursive: true });
    };
    await fresh();
    await rm(join(copy, 'installation.json'));
    await refused(copy, /cut off. Repeat the export. Nothing was changed/);
    // The export goes on with such a folder, and with no other.
    await writeFile(join(copy, 'beta.jsonl.machine-1-0badcafe.partial'), '');
    await exportTo(source, copy);
    expect((await readdir(copy)).toSorted()).toEqual(['acme.jsonl', 'beta.jsonl', 'installation.json']);
    // Beside a file that was damaged, the whole ones are not imported either.
    const beta = await readFile(join(copy, 'beta.jsonl'), 'utf8');
    await writeFile(join(copy, 'beta.jsonl'), beta.replace('hello', 'hallo'));
    await refused(copy, /changed after it was written.*Nothing was changed/);
    await copyFile(join(parent, 'one', 'beta.jsonl'), join(copy, 'beta.jsonl'));
    await refused(copy, /beta.jsonl is of another export than installation.json/);
    await rm(join(copy, 'beta.jsonl'));
    await refused(copy, /beta.jsonl is missing/);
    await fresh();
    await writeFile(join(copy, 'installation.json'), '{"organizations":[{"slug":"../x"}]}');
    await refused(copy, /no list of deskbell export --all/);
    // Here already, and gone on since, or never imported.
    await refused(join(parent, 'one'), /acme is here already, and not from this export/, source);
    const taken = await aServer('sqlite');
    await createOrganization(taken, 'beta');
    await refused(join(parent, 'one'), /another organization beta here already/, taken);
    expect(await rowsOf(taken, 'select slug from organizations')).toEqual([{ slug: 'beta' }]);

    for (const [args, reason] of [
      [['export', '--all', join(parent, 'one')], /holds a complete export already/],
      [['export', '--all', parent], /holds \w+. Name a folder that is empty/],
      [['export', '--all', join(parent, 'one', 'acme.jsonl')], /is a file/],
      [['export', '--all'], /Name a folder/],
      [['export', '--all', '--org', 'acme', 'x'], /Give one of/],
    ] as const) {
      const { code, stderr } = await deskbell(...on(source, ...args));
      expect([code === 0, stderr]).toEqual([false, expect.stringMatching(reason)]);
    }
  });
});
