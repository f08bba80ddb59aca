// Attacks the data commands as a person uses them: real processes on a real folder,
// beside a server under load, and killed in the middle.
import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import {
  deskbell,
  deskbellJson,
  deskbellProcessJson,
  ensureBuilt,
  serve,
  start,
  temporaryFolder,
  type ServeProcess,
} from '../helpers/cli.ts';
import { request } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { usualPriority } from '../helpers/idle-class.ts';

const day = 86_400_000;
const off = {
  DESKBELL_LIMIT_VISITOR: 'off',
  DESKBELL_LIMIT_APPLICATION: 'off',
  DESKBELL_LIMIT_ADDRESS: 'off',
  DESKBELL_LIMIT_ADDRESS_NEW: 'off',
};
let folder: string;
let remove: () => Promise<void>;
let names = 0;
const fresh = (): string => join(folder, `data-${(names += 1)}`);

beforeAll(async () => {
  await ensureBuilt();
  ({ folder, remove } = await temporaryFolder());
});
afterAll(() => remove());

/** Runs SQL on a folder's database, as a person with the file in hands would. */
function inFolder(data: string, sql: string, ...values: readonly unknown[]): Record<string, unknown>[] {
  const connection = openConnection(join(data, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 5_000 });
  try {
    const statement = connection.prepare(sql);
    if (statement.reader) return statement.all(...values) as Record<string, unknown>[];
    statement.run(...values);
    return [];
  } finally {
    connection.close();
  }
}

const numberOf = (data: string, table: string): number =>
  Number(inFolder(data, `select count(*) as n from ${table}`)[0]?.['n']);
const everyMessage = 'select * from messages order by conversation_id, seq';

interface Shop {
  readonly slug: string;
  readonly appId: string;
  readonly key: string;
}

async function aShop(data: string, slug = 'acme', plan = 'enterprise'): Promise<Shop> {
  await deskbellJson(['org', 'create', slug, '--data', data]);
  await deskbellJson(['org', 'plan', slug, plan, '--data', data]);
  const { appId } = await deskbellJson([
    'app',
    'create',
    'Shop',
    '--org',
    slug,
    '--domain',
    `${slug}.example`,
    '--data',
    data,
  ]);
  const { key } = await deskbellJson(['key', 'create', '--app', appId, '--data', data]);
  return { slug, appId, key };
}

const lexical = JSON.stringify({
  root: {
    type: 'root',
    version: 1,
    children: [
      { type: 'paragraph', version: 1, children: [{ type: 'text', version: 1, text: 'bold', format: 1 }] },
    ],
  },
});

/** A visitor by API key, with one conversation. */
async function aTalk(url: string, { appId, key }: Shop) {
  const headers = { authorization: `Bearer ${key}`, 'x-app-id': appId, 'x-visitor-id': randomUUID() };
  const opened = await request(url, 'POST', '/api/v1/conversations', headers, { subject: 'a talk' });
  const path = `/api/v1/conversations/${opened.body.conversation.id as string}/messages`;
  return {
    visitorId: headers['x-visitor-id'],
    send: (content: string, contentFormat = 'plain') =>
      request(url, 'POST', path, headers, { content, contentFormat }),
    history: async () => (await request(url, 'GET', `${path}?limit=100`, headers)).body.messages as unknown[],
    historyAt: async (other: string) =>
      (await request(other, 'GET', `${path}?limit=100`, headers)).body.messages as unknown[],
  };
}

/** Old conversations put straight into the tables, as years would have. */
function age(data: string, conversations: number, each: number, days: number): void {
  const then = Date.now() - days * day;
  const [application] = inFolder(data, 'select id, organization_id from applications limit 1');
  const connection = openConnection(join(data, 'deskbell.db'), { durability: 'full', lockTimeoutMs: 5_000 });
  try {
    connection.exec('begin');
    const visitor = randomUUID();
    connection
      .prepare(
        "insert into visitors (id, visitor_id, organization_id, application_id, mode, verified, attributes, created_at) values (?, ?, ?, ?, 'live', 0, '{}', ?)",
      )
      .run(visitor, visitor, application?.['organization_id'], application?.['id'], then);
    const addConversation = connection.prepare(
      "insert into conversations (id, organization_id, application_id, visitor_key, mode, status, last_seq, created_at, updated_at) values (?, ?, ?, ?, 'live', 'closed', ?, ?, ?)",
    );
    const addMessage = connection.prepare(
      "insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at) values (?, ?, ?, ?, ?, ?, 'visitor', 'old', 'plain', 0, ?)",
    );
    for (let index = 0; index < conversations; index += 1) {
      const id = randomUUID();
      addConversation.run(
        id,
        application?.['organization_id'],
        application?.['id'],
        visitor,
        each,
        then,
        then,
      );
      for (let seq = 1; seq <= each; seq += 1)
        addMessage.run(randomUUID(), id, application?.['organization_id'], seq, seq, visitor, then);
    }
    connection.exec('commit');
  } finally {
    connection.close();
  }
}

/**
 * Kills a purge in the middle of its work. One that was done before the test looked is followed by another, with more
 * to remove.
 * @param kept messages that are not to be removed
 * @returns how many are still to be removed
 */
async function killedPurge(data: string, kept: number): Promise<number> {
  for (let conversations = 120; ; conversations *= 2) {
    const before = numberOf(data, 'messages');
    const running = start(['purge', '--data', data]);
    await eventually(() => expect(numberOf(data, 'messages')).toBeLessThan(before));
    await running.stop('SIGKILL');
    const left = numberOf(data, 'messages') - kept;
    if (left > 0) return left;
    age(data, conversations, 100, 40);
  }
}

describe('backup and restore', () => {
  it('takes a whole, consistent copy while messages pour in, and another machine goes on from it', async () => {
    const data = fresh();
    const shop = await aShop(data);
    const server = await serve(['--data', data], off);
    const talks = await Promise.all([1, 2, 3, 4].map(() => aTalk(server.url, shop)));
    let pouring = true;
    let sent = 0;
    const pour = talks.map(async (talk) => {
      while (pouring) {
        expect((await talk.send(`message ${(sent += 1)}`)).status).toBe(201);
      }
    });
    await eventually(() => expect(sent).toBeGreaterThan(50));
    const atLeast = numberOf(data, 'messages');
    const file = join(folder, 'load.backup');
    const env = await usualPriority(fresh());
    const made = await deskbellProcessJson<{ holdsSecretKey: boolean }>(['backup', file, '--data', data], {
      env,
    });
    const atMost = numberOf(data, 'messages');
    pouring = false;
    await Promise.all(pour);
    expect(made.holdsSecretKey).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await server.running.stop('SIGTERM');

    const elsewhere = fresh();
    await deskbellProcessJson(['restore', file, '--data', elsewhere]);
    expect(inFolder(elsewhere, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const restored = inFolder(elsewhere, everyMessage);
    expect(restored.length).toBeGreaterThanOrEqual(atLeast);
    expect(restored.length).toBeLessThanOrEqual(atMost);
    // A commit point: of every conversation exactly the first messages, each as it is in the original.
    for (const { id } of inFolder(elsewhere, 'select id from conversations')) {
      const copy = inFolder(elsewhere, 'select * from messages where conversation_id = ? order by seq', id);
      expect(
        inFolder(
          data,
          'select * from messages where conversation_id = ? order by seq limit ?',
          id,
          copy.length,
        ),
      ).toEqual(copy);
    }
    // The same key is accepted, and the conversation goes on.
    const second = await serve(['--data', elsewhere], off);
    const [talk] = talks;
    expect((await talk!.historyAt(second.url)).length).toBeGreaterThan(0);
    await second.running.stop('SIGTERM');
    expect((await deskbell(['restore', file, '--data', elsewhere])).stderr).toMatch(/--force/);
    // What is typed wrong most easily.
    const nowhere = ['--data', join(elsewhere, 'never')];
    expect((await deskbell(['restore', elsewhere, ...nowhere])).stderr).toBe(
      `${elsewhere} is a folder. Name a file in it.\n`,
    );
    expect((await deskbell(['restore', `${file}x`, ...nowhere])).stderr).toBe(`There is no file ${file}x.\n`);
    // What was erased since is in the log of before, which is read as it is said.
    const { stdout } = await deskbell(['restore', file, '--data', elsewhere, '--force']);
    const [, before = ''] = /audit --action visitors\.erase --data (\S+)$/m.exec(stdout) ?? [];
    expect(before).toContain('deskbell-before-restore-');
    expect(await deskbell(['audit', '--action', 'organizations.', '--data', before])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('organizations.create'),
    });
  });

  it('killed in the middle leaves the server, the folder and the target as they were, and the next one goes through', async () => {
    const data = fresh();
    await aShop(data);
    age(data, 200, 50, 1);
    const target = join(folder, 'killed.backup');
    const env = await usualPriority(fresh());
    // One that was done before the test looked is followed by another, of more.
    let whole = 10_000;
    for (let conversations = 200; ; conversations *= 2) {
      const running = start(['backup', target, '--data', data], env);
      await eventually(async () => {
        const under = (await readdir(folder)).some((name) => name.startsWith('killed.backup.'));
        if (!under && running.child.exitCode === null) throw new Error('not begun');
      });
      if (
        (await running.stop('SIGKILL')).signal === 'SIGKILL' &&
        !(await readdir(folder)).includes('killed.backup')
      )
        break;
      await rm(target, { force: true });
      age(data, conversations, 50, 1);
      whole += conversations * 50;
    }
    await deskbellProcessJson(['backup', target, '--data', data], { env });
    expect((await readdir(folder)).filter((name) => name.startsWith('killed.backup'))).toEqual([
      'killed.backup',
    ]);
    expect(numberOf(data, 'messages')).toBe(whole);
  });

  it('says that the file holds the key', async () => {
    const data = fresh();
    await aShop(data);
    const env = await usualPriority(fresh());
    const { code, stdout } = await deskbell(['backup', join(folder, 'said.backup'), '--data', data], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining('contains the secret key')]);
    const missing = ['backup', join(folder, 'none.backup'), '--data', fresh()];
    expect((await deskbell(missing, { env })).code).toBe(1);
  });
});

describe('purge', () => {
  it('removes exactly what it said, after a kill in the middle, too', async () => {
    const data = fresh();
    await aShop(data, 'acme', 'free');
    inFolder(data, 'update organizations set plan_changed_at = created_at');
    age(data, 60, 100, 40);
    age(data, 61, 1, 1);
    type Report = { total: object; organizations: { state: string }[] };
    const said = await deskbellProcessJson<Report>(['purge', '--dry-run', '--data', data]);
    expect(said.total).toEqual({ conversations: 60, messages: 6_000, visitors: 1 });
    const left = await killedPurge(data, 61);
    const rest = await deskbellProcessJson<{ total: { messages: number } }>(['purge', '--data', data]);
    expect(rest.total.messages).toBe(left);
    expect([numberOf(data, 'messages'), numberOf(data, 'conversations'), numberOf(data, 'visitors')]).toEqual(
      [61, 61, 1],
    );
    expect(inFolder(data, 'pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect((await deskbellProcessJson<Report>(['purge', '--data', data])).total).toEqual({
      conversations: 0,
      messages: 0,
      visitors: 0,
    });
  });

  it('waits for --yes, beside a server that goes on taking messages', async () => {
    const data = fresh();
    const shop = await aShop(data, 'acme', 'free');
    inFolder(data, 'update organizations set plan_changed_at = created_at');
    age(data, 20, 100, 40);
    const server = await serve(['--data', data], off);
    const talk = await aTalk(server.url, shop);
    const held = await deskbell(['purge', '--data', data]);
    expect(held).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('waits for --yes'),
      stderr: expect.stringContaining('purge --yes'),
    });
    expect(numberOf(data, 'messages')).toBe(2_000);
    const purging = deskbellProcessJson<{ total: object }>(['purge', '--yes', '--data', data]);
    let over = false;
    void purging.finally(() => (over = true));
    let taken = 0;
    while (!over) {
      const { status, headers } = await talk.send('in between');
      // On a machine that is busy enough, the purge holds the lock for more than the 100 ms that a request waits.
      if (status === 503) expect(headers.get('retry-after')).toBe('1');
      else expect(status).toBe(201);
      if (status === 201) taken += 1;
    }
    expect(taken).toBeGreaterThan(0);
    expect((await purging).total).toEqual({ conversations: 20, messages: 2_000, visitors: 1 });
    expect((await talk.history()).length).toBeGreaterThan(0);
    await server.running.stop('SIGTERM');
  });
});

describe('an organization moves to another server', () => {
  let from: string;
  let file: string;
  let shop: Shop;
  let server: ServeProcess;
  let talk: Awaited<ReturnType<typeof aTalk>>;
  beforeAll(async () => {
    from = fresh();
    shop = await aShop(from);
    await aShop(from, 'stays');
    await deskbell(
      [
        'member',
        'add',
        '--org',
        'acme',
        '--email',
        'ada@acme.example',
        '--name',
        'Ada',
        '--role',
        'admin',
        '--password-stdin',
        '--data',
        from,
      ],
      { input: 'a long password' },
    );
    server = await serve(['--data', from], off);
    talk = await aTalk(server.url, shop);
    for (let index = 0; index < 5; index += 1) await talk.send(`message ${index}`);
    await talk.send(lexical, 'lexical');
    // Copied out of a web page or a text program, a message has these; JSON leaves them as they are.
    await talk.send('one line\u2028another\u2029and a paragraph\u0085more');
    file = join(folder, 'acme.export');
    await deskbellProcessJson(['export', '--org', 'acme', file, '--data', from]);
  });
  afterAll(() => server.running.stop('SIGTERM'));

  it('with the same conversations, ids, order, contentHtml, keys and passwords, and nothing of other organizations', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const to = fresh();
    await aShop(to, 'other');
    await deskbellProcessJson(['import', file, '--data', to]);
    const second = await serve(['--data', to], off);
    const there = await talk.historyAt(second.url);
    expect(there).toEqual(await talk.history());
    expect(there).toContainEqual(expect.objectContaining({ contentHtml: '<p><strong>bold</strong></p>' }));
    const session = await request(
      second.url,
      'POST',
      '/api/v1/staff/session',
      {},
      { organization: 'acme', email: 'ada@acme.example', password: 'a long password' },
    );
    expect(session.status).toBe(201);
    expect(
      (await deskbellJson<{ items: { key?: string }[] }>(['key', 'list', '--app', shop.appId, '--data', to]))
        .items,
    ).toHaveLength(1);
    await second.running.stop('SIGTERM');
    for (const table of ['conversations', 'participants', 'messages', 'visitors', 'members', 'domains']) {
      const mine = `select * from ${table} order by 1, 2`;
      expect(
        inFolder(to, mine).filter((row) => !JSON.stringify(row).includes('other.example')),
        table,
      ).toEqual(inFolder(from, mine).filter((row) => !JSON.stringify(row).includes('stays.example')));
    }
    expect(inFolder(to, 'select slug from organizations order by slug')).toEqual([
      { slug: 'acme' },
      { slug: 'other' },
    ]);
    const again = await deskbell(['import', file, '--data', to]);
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^There is an organization acme here already/),
    });
  });

  it('or not at all: nothing of a changed, cut, forged or colliding file is kept', async () => {
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    const { createHash } = await import('node:crypto');
    /** The file with its lines changed and its end made to fit, as a forger would. */
    const forged = async (change: (line: string) => string): Promise<string> => {
      const body = lines.slice(0, -1).map(change);
      const sha256 = createHash('sha256')
        .update(body.map((line) => `${line}\n`).join(''))
        .digest('hex');
      const path = join(folder, `forged-${(names += 1)}`);
      await writeFile(
        path,
        [...body, JSON.stringify({ end: true, rows: body.length - 1, sha256 }), ''].join('\n'),
      );
      return path;
    };
    const plain = async (text: string): Promise<string> => {
      const path = join(folder, `plain-${(names += 1)}`);
      await writeFile(path, text);
      return path;
    };
    const to = fresh();
    const other = await aShop(to, 'other');
    const before = ['organizations', 'applications', 'messages', 'audit', 'domains'].map((table) =>
      numberOf(to, table),
    );
    const messageId = (
      JSON.parse(lines.find((line) => line.startsWith('{"table":"messages"'))!) as { row: { id: string } }
    ).row.id;
    const cases: Record<string, string> = {
      'cut off': await plain(lines.slice(0, -1).join('\n')),
      changed: await plain(lines.join('\n').replace('message 3', 'message X')),
      'no export': await plain('{"hello":"world"}\n'),
      empty: await plain(''),
      'another schema': await forged((line) => line.replace(/"schema":\d+/, '"schema":999')),
      "a domain of another organization's application": await forged((line) =>
        line.startsWith('{"table":"domains"') ? line.replace(shop.appId, other.appId) : line,
      ),
      'a row of another organization': await forged((line) =>
        line.startsWith('{"table":"members"')
          ? line.replace(/"organization_id":"[^"]+"/, `"organization_id":"${randomUUID()}"`)
          : line,
      ),
      'a column too many': await forged((line) =>
        line.startsWith('{"table":"visitors"') ? line.replace('"row":{', '"row":{"x":1,') : line,
      ),
      'a table of the server': await forged((line) => line.replace('{"table":"members"', '{"table":"meta"')),
      'a message twice': await forged((line) =>
        line.startsWith('{"table":"messages"') ? line.replace(/"id":"[^"]+"/, `"id":"${messageId}"`) : line,
      ),
    };
    for (const [name, path] of Object.entries(cases)) {
      const { code, stderr } = await deskbell(['import', path, '--data', to]);
      expect([name, code, stderr]).toEqual([
        name,
        expect.any(Number),
        expect.stringContaining('Nothing was changed'),
      ]);
      expect(code, name).not.toBe(0);
    }
    expect(
      ['organizations', 'applications', 'messages', 'audit', 'domains'].map((table) => numberOf(to, table)),
    ).toEqual(before);
  });

  it('and every table either travels or is known to stay', async () => {
    const { stayingTables, exportedTables: travellingTables } =
      await import('../../src/engine/sqlite/repositories/export-import.ts');
    const tables = inFolder(
      from,
      // A full-text table's own tables go with it.
      "select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual') and name not like 'sqlite%'",
    ).map(({ name }) => String(name));
    expect([...stayingTables, ...travellingTables.map(({ name }) => name as string)].toSorted()).toEqual(
      tables.toSorted(),
    );
  });

  it('and a visitor is exported to stdout or a file', async () => {
    const data = await deskbellProcessJson<{ conversations: { messages: unknown[] }[] }>([
      'export',
      '--visitor',
      talk.visitorId,
      '--app',
      shop.appId,
      '--data',
      from,
    ]);
    expect(data.conversations[0]?.messages).toHaveLength(7);
    const path = join(folder, 'visitor.json');
    await deskbellProcessJson(['export', '--visitor', talk.visitorId, path, '--data', from]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await deskbell(['export', '--data', from])).code).toBe(2);
    const { items } = await deskbellJson<{ items: { action: string }[] }>([
      'audit',
      '--org',
      'acme',
      '--limit',
      '3',
      '--data',
      from,
    ]);
    expect(items.map(({ action }) => action)).toEqual([
      'visitors.export',
      'visitors.export',
      'organizations.export',
    ]);
  });
});
