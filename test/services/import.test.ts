// Attacks `import` with files whose end fits and whose rows could not have been typed in: each is refused with its line,
// and nothing of it stays. What a good file brings is in test/cli/data-commands.test.ts.
import { createHash } from 'node:crypto';
import { supportedMimeTypes } from 'file-type';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { checkFileRow, createFileSchemas } from '../../src/services/data/imported-rows.ts';
import { parseMail } from '../../src/services/mail/inbound/parse-mail.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { setByPath } from '../helpers/settings.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestMember,
} from '../helpers/fixtures.ts';

type Row = Record<string, unknown>;

let from: TestApp;
let to: TestApp;
let lines: string[];
let stranger: TestMember;

const year9999 = Date.UTC(9999, 0, 1);
const callOn = ({ service }: TestApp) =>
  ({ service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest }) as const;

beforeAll(async () => {
  from = await startApp();
  to = await startApp();
  await createOrganization(to, 'other');
  stranger = await createMember(to, 'other', 'operator', 'Otto Other');
  const { application } = await createOrganization(from, 'acme');
  const admin = await createMember(from, 'acme', 'admin');
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${from.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const visitor = createVisitor(from, application);
  const conversation = await createConversation(visitor, 'A subject');
  await createMessage(visitor, conversation, 'hello');
  await createMessage(visitor, conversation, 'hello again');
  for (const [path, body] of [
    ['/staff/canned-replies', { shortcut: 'hi', content: 'Hello!' }],
    ['/admin/webhooks', { url: 'https://hooks.example/a', events: ['message:new'] }],
    [
      '/admin/knowledge',
      { applicationId: application.id, source: 'a.md', title: 'A', content: 'Some text to be found.' },
    ],
  ] as const)
    if ((await call('POST', path, body)).status !== 201) throw new Error(path);
  await call('PUT', `/admin/applications/${application.id}/synonyms`, { synonyms: [['a', 'b']] });
  await call('PUT', `/staff/visitors/${visitor.id}/block`, {});
  // No column of the organization's own row is as it begins.
  await from.local('organizations.update', {
    organization: 'acme',
    limits: { requestsPerMinute: 5_000, retentionDays: 700, applications: 7, seats: 8, fileBytes: 9_000_000 },
  });
  const shorter = await call('PATCH', '/admin/organization', { limits: { retentionDays: 600 } });
  if (shorter.status !== 200) throw new Error(`${shorter.status}`);
  await from.local('organizations.update', {
    organization: 'acme',
    name: 'Acme & Sons',
    releaseAfterMinutes: 30,
    signIn: { secondFactor: 'admins' },
    escalation: [
      { afterMinutes: 5, to: 'available', ways: ['bell'] },
      { afterMinutes: 9, to: admin.id, ways: ['email', 'push'] },
    ],
  });
  lines = await exported(from);
});

async function exported(app: TestApp): Promise<string[]> {
  const read: string[] = [];
  await exportOrganization(callOn(app), 'acme', async (line) => void read.push(line));
  return read;
}

afterAll(async () => {
  await from.stop();
  await to.stop();
});

/** The file with the rows of a table changed, and its end made to fit, as a forger would. */
function forged(table: string, change: (row: Row, index: number) => unknown): string[] {
  let index = 0;
  const body = lines.slice(0, -1).map((line) => {
    const value = JSON.parse(line) as { table?: string; row: Row };
    if (value.table !== table) return line;
    return JSON.stringify({ table, row: change(value.row, index++) });
  });
  expect(index, `rows of ${table}`).toBeGreaterThan(0);
  const sha256 = createHash('sha256')
    .update(body.map((line) => `${line}\n`).join(''))
    .digest('hex');
  return [...body, JSON.stringify({ end: true, rows: body.length - 1, sha256 })];
}

async function* asLines(file: readonly string[]): AsyncIterable<string> {
  yield* file;
}

const importInto = (app: TestApp, file: readonly string[]) =>
  importOrganization(callOn(app), () => asLines(file));

const numbers = async (): Promise<unknown[]> =>
  Promise.all(
    ['organizations', 'applications', 'domains', 'members', 'visitors', 'messages', 'audit', 'webhooks'].map(
      async (table) => (await rowsOf(to, `select count(*) as n from ${table}`))[0]?.['n'],
    ),
  );

/** What a forged file changes, and the column that its refusal names. */
const cases: Readonly<
  Record<string, readonly [table: string, change: (row: Row) => unknown, named: RegExp]>
> = {
  'a plan that there is not': ['organizations', (row) => ({ ...row, plan: 'platinum' }), /plan/],
  'a slug that no address has': ['organizations', (row) => ({ ...row, slug: 'Not A Slug' }), /slug/],
  'a limit below one': [
    'organizations',
    (row) => ({ ...row, requests_per_minute: 0 }),
    /requests_per_minute/,
  ],
  'a retention of no days': ['organizations', (row) => ({ ...row, retention_days: 0 }), /retention_days/],
  'a plan that changes in the year 9999': [
    'organizations',
    (row) => ({ ...row, plan_changed_at: year9999 }),
    /plan_changed_at/,
  ],
  'foreign settings': [
    'applications',
    (row) => ({ ...row, settings: JSON.stringify({ behavior: { script: 'https://evil.example' } }) }),
    /settings\.behavior/,
  ],
  'a colour that is none': [
    'applications',
    (row) => ({ ...row, settings: JSON.stringify({ appearance: { colors: { primary: 'red;}' } } }) }),
    /settings\.appearance\.colors\.primary/,
  ],
  'settings that are no JSON': ['applications', (row) => ({ ...row, settings: '{' }), /settings/],
  'an identity secret of one letter': [
    'applications',
    (row) => ({ ...row, identity_secret: 'a' }),
    /identity_secret/,
  ],
  'a name too long': ['applications', (row) => ({ ...row, name: 'x'.repeat(101) }), /name/],
  'the domain *.com': ['domains', (row) => ({ ...row, domain: '*.com' }), /domain/],
  'the domain null': ['domains', (row) => ({ ...row, domain: 'null' }), /domain/],
  'an API key that is another': ['api_keys', (row) => ({ ...row, public_id: 'abcdefghijkl' }), /sealed/],
  'an API key of another mode': [
    'api_keys',
    (row) => ({ ...row, mode: row['mode'] === 'live' ? 'test' : 'live' }),
    /sealed/,
  ],
  'a key that ends in the year 9999': ['api_keys', (row) => ({ ...row, expires_at: year9999 }), /expires_at/],
  'a password at a cost of 2^21': [
    'members',
    (row) => ({ ...row, password_hash: String(row['password_hash']).replace(/^scrypt\$\d+/, 'scrypt$21') }),
    /password_hash/,
  ],
  'a password in many rounds': [
    'members',
    (row) => ({ ...row, password_hash: String(row['password_hash']).replace('$8$3$', '$8$4000$') }),
    /password_hash/,
  ],
  'a role that there is not': ['members', (row) => ({ ...row, role: 'owner' }), /role/],
  'an address that is none': ['members', (row) => ({ ...row, email: 'not an address' }), /email/],
  'two addresses in one': ['visitors', (row) => ({ ...row, email: 'a@example.net,b@example.net' }), /email/],
  'a shortcut with blanks': ['canned_replies', (row) => ({ ...row, shortcut: 'a b' }), /shortcut/],
  'a canned reply of any length': [
    'canned_replies',
    (row) => ({ ...row, content: 'x'.repeat(20_000) }),
    /content/,
  ],
  'a webhook into the private network': [
    'webhooks',
    (row) => ({ ...row, url: 'http://169.254.169.254/latest' }),
    /url/,
  ],
  'a webhook of an unknown event': [
    'webhooks',
    (row) => ({ ...row, events: '["message:everything"]' }),
    /events/,
  ],
  'a webhook with a short secret': ['webhooks', (row) => ({ ...row, sealed: 'whsec_YQ==' }), /sealed/],
  'a visitor id that is no random UUID': [
    'visitors',
    (row) => ({ ...row, visitor_id: '00000000-0000-0000-0000-000000000000' }),
    /visitor_id/,
  ],
  'attributes of any depth': [
    'visitors',
    (row) => ({ ...row, attributes: '{"a":{"b":1}}' }),
    /attributes\.a/,
  ],
  'an address digest of its own': [
    'visitors',
    (row) => ({ ...row, address_digest: 'abc' }),
    /address_digest/,
  ],
  'a subject too long': [
    'conversations',
    (row) => ({ ...row, subject: 'x'.repeat(sizeLimits.subject + 1) }),
    /subject/,
  ],
  'a conversation from the year 9999': [
    'conversations',
    (row) => ({ ...row, created_at: year9999 }),
    /created_at/,
  ],
  'a status that there is not': ['conversations', (row) => ({ ...row, status: 'open' }), /status/],
  'an active conversation of no one': [
    'conversations',
    (row) => ({ ...row, status: 'active' }),
    /assigned_to/,
  ],
  'numbers that end too early': ['conversations', (row) => ({ ...row, last_seq: 1 }), /beyond the last/],
  'half a character': ['messages', (row) => ({ ...row, content: 'a\ud800' }), /content/],
  'a message of any length': ['messages', (row) => ({ ...row, content: 'x'.repeat(20_000) }), /content/],
  'a message from the year 9999': ['messages', (row) => ({ ...row, created_at: year9999 }), /created_at/],
  'a role of a sender that there is not': [
    'messages',
    (row) => ({ ...row, sender_role: 'root' }),
    /sender_role/,
  ],
  'a rich text that is none': [
    'messages',
    (row) => ({ ...row, content_format: 'lexical', content: '{"root":1}' }),
    /content/,
  ],
  'choices that no assistant offers': [
    'messages',
    (row) => ({ ...row, choices: '[{"id":"1","title":"x"}]' }),
    /choices/,
  ],
  'a number that is text': ['messages', (row) => ({ ...row, seq: '1' }), /seq/],
  'a document with a script for an address': [
    'knowledge_documents',
    (row) => ({ ...row, url: 'javascript:alert(1)' }),
    /url/,
  ],
  'a document whose source is longer than an index can hold': [
    'knowledge_documents',
    (row) => ({ ...row, source: '文'.repeat(801) }),
    /source.*must have at most 2400 bytes in UTF-8: give it a shorter name/,
  ],
  'synonyms that are none': ['knowledge_synonyms', (row) => ({ ...row, synonyms: '[["one"]]' }), /synonyms/],
  'a row of the audit log with a tree in it': [
    'audit',
    (row) => ({ ...row, detail: '{"a":{"b":1}}' }),
    /detail/,
  ],
  'a column too many': ['visitors', (row) => ({ ...row, is_admin: 1 }), /is_admin/],
  'a place read beyond the last message': [
    'participants',
    (row) => ({ ...row, last_read_seq: 1_000 }),
    /beyond the last/,
  ],
  'a row that is a list': ['visitors', () => [1, 2], /visitors/],
  'no row': ['visitors', () => null, /visitors/],
};

describe('a file is refused with the line and the column, and leaves nothing', () => {
  it.each(Object.keys(cases))('%s', async (name) => {
    const [table, change, named] = cases[name]!;
    const before = await numbers();
    const refusal = await importInto(to, forged(table, change)).then(
      () => 'imported',
      (error: unknown) => String(error),
    );
    expect(refusal).toMatch(
      new RegExp(
        `line \\d+ \\(${table === 'conversations' && name.startsWith('numbers') ? 'messages' : table}\\)`,
      ),
    );
    expect(refusal).toMatch(named);
    expect(refusal).toContain('Nothing was changed.');
    expect(await numbers()).toEqual(before);
  });

  it('a message in the name of another organization’s member', async () => {
    const file = forged('messages', (row) => ({ ...row, sender_role: 'operator', sender_id: stranger.id }));
    await expect(importInto(to, file)).rejects.toThrow(/line \d+ \(messages\) names a member of another/);
  });

  it('an application with the inbox address of another', async () => {
    const before = await numbers();
    const email = { mode: 'inbox', address: 'help@inbox.example' };
    const [other] = (await to.local('applications.list', { organization: 'other' })).applications;
    const { id } = other!;
    await setByPath(to, id, { 'email.mode': email.mode, 'email.address': email.address });
    const file = forged('applications', (row) => ({
      ...row,
      settings: JSON.stringify({ ...(JSON.parse(String(row['settings'])) as object), email }),
    }));
    await expect(importInto(to, file)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('help@inbox.example belongs to another application'),
    });
    await setByPath(to, id, { 'email.mode': 'off', 'email.address': null });
    expect((await numbers()).slice(0, -2)).toEqual(before.slice(0, -2));
  });

  it('two messages in one place of a conversation', async () => {
    const before = await numbers();
    const file = forged('messages', (row) => ({ ...row, seq: 1, changed_seq: 1 }));
    await expect(importInto(to, file)).rejects.toMatchObject({ code: 'conflict' });
    expect(await numbers()).toEqual(before);
  });

  it('more webhooks than an organization may have', async () => {
    const [{ row = {} } = {}] = lines
      .map((line) => JSON.parse(line) as { table?: string; row?: Row })
      .filter(({ table }) => table === 'webhooks');
    const more = Array.from({ length: 20 }, (_, index) =>
      JSON.stringify({
        table: 'webhooks',
        row: { ...row, id: `0193a000-0000-7000-8000-0000000000${String(index).padStart(2, '0')}` },
      }),
    );
    const at = lines.findIndex((line) => line.startsWith('{"table":"webhooks"'));
    const good = lines;
    lines = [...good.slice(0, at), ...more, ...good.slice(at)];
    try {
      await expect(
        importInto(
          to,
          forged('webhooks', (one) => one),
        ),
      ).rejects.toThrow(/more than the 20 webhooks/);
    } finally {
      lines = good;
    }
  });
});

it.each(['a=b@x.com', 'user/dept@x.com', 'jörg@x.de', 'root@localhost', `${'long'.repeat(20)}@x.com`])(
  'a visitor’s address that a mail or a page may have brought comes along: %s',
  async (address) => {
    const row = lines
      .map((line) => JSON.parse(line) as { table?: string; row: Row })
      .find(({ table }) => table === 'visitors')?.row;
    const refusal = (problem: string) => new Error(problem);
    const read = checkFileRow(createFileSchemas(to.service), 'visitors', { ...row, email: address }, refusal);
    expect(read['email']).toBe(address);
    const { from: sender } = await parseMail(Buffer.from(`From: <${address}>\r\n\r\nhello`));
    // The local part of a page's may be longer than a mail has it.
    expect(sender).toBe(address.startsWith('long') ? null : address);
  },
);

it('a file of every type that an upload may find comes along', () => {
  const { files } = createFileSchemas(to.service);
  const id = '0193a000-0000-7000-8000-000000000000';
  const row = {
    id,
    organization_id: id,
    uploader: id,
    visitor_key: null,
    message_id: id,
    name: 'a',
    size: 1,
    width: null,
    height: null,
    digest: '0'.repeat(64),
    state: 'ready',
    idempotency_key: null,
    created_at: 0,
  };
  const types = [...supportedMimeTypes, 'text/plain', 'application/octet-stream'];
  expect(types).toContain('audio/ogg; codecs=opus');
  expect(types.filter((type) => !files.safeParse({ ...row, type }).success)).toEqual([]);
  for (const type of ['text/plain\r\nX: y', 'text', 'a/b; c="d"', 'a/b; c', 'a/b/c'])
    expect(files.safeParse({ ...row, type }).success, type).toBe(false);
});

it('what came in goes out again, the same in every column', async () => {
  const first = rowsOfFile(lines);
  const columns = Object.entries(first.find(({ table }) => table === 'organizations')?.row ?? {});
  expect(columns.filter(([, value]) => value === null || value === '[]' || value === 'off')).toEqual([]);
  await importInto(to, lines);
  expect(rowsOfFile(await exported(to))).toEqual(first);
  await to.local('organizations.delete', { organization: 'acme' });
});

/** Without what is each server's own: where a webhook goes on in its log, and its entries about the move. */
function rowsOfFile(file: readonly string[]): { table: string; row: Row }[] {
  return file
    .slice(1, -1)
    .map((line) => JSON.parse(line) as { table: string; row: Row })
    .filter(({ row }) => row['action'] !== 'organizations.export' && row['action'] !== 'organizations.import')
    .map(({ table, row }) => ({ table, row: table === 'webhooks' ? { ...row, position: 0 } : row }));
}

it('a step of the escalation that names no member of the file tells all', async () => {
  const escalation = [{ afterMinutes: 5, to: stranger.id, ways: ['bell'] }];
  await importInto(
    to,
    forged('organizations', (row) => ({ ...row, escalation: JSON.stringify(escalation) })),
  );
  const { organizations } = await to.local('organizations.list', {});
  expect(organizations.find(({ slug }) => slug === 'acme')?.escalation).toEqual([
    { afterMinutes: 5, to: 'all', ways: ['bell'] },
  ]);
  await to.local('organizations.delete', { organization: 'acme' });
});

it('HTML never comes out of a file: it is made from the content', async () => {
  const html = '<img src=x onerror=alert(1)>';
  await importInto(
    to,
    forged('messages', (row) => ({ ...row, content_html: html, content_text: html })),
  );
  // All but the number, which is each database's own.
  const messages = async (app: TestApp) =>
    (await rowsOf(app, "select * from messages where content like 'hello%' order by id")).map(
      ({ number: _, ...row }) => row,
    );
  expect(await messages(to)).toEqual(await messages(from));
  expect(await messages(to)).toHaveLength(2);
});
