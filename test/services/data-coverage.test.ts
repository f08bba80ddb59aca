// Every table that holds text, and every file, is in erasure, retention, export and backup, or says why not. A table that
// is added and forgotten in one of them fails here.
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openConnection, writeBackup } from '../../src/engine/open-engine.ts';
import { exportedTables } from '../../src/engine/sqlite/repositories/export-import.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { uploadFile } from '../helpers/files.ts';
import { createMember, createOrganization } from '../helpers/fixtures.ts';

let app: TestApp;

beforeAll(async () => {
  // Both databases have the same tables and columns (test/engine/postgres.test.ts), and this one lists them all.
  app = await startApp({ engine: 'sqlite' });
  await createOrganization(app, 'acme');
});
afterAll(() => app.stop());

/** Indexes that SQLite keeps in tables of their own, by the table whose words they hold. */
const isShadow = (name: string): boolean =>
  /^(?:search|search_subjects|search_visitors|knowledge_search|knowledge_headings)_(?:data|idx|content|docsize|config)$/.test(
    name,
  );

/**
 * Tables that no foreign key clears, and by what they are: each is done in the transaction that removes what it belongs to,
 * which the tests of erasure look for in the files themselves.
 */
const clearedByHand: Readonly<Record<string, string>> = {
  meta: 'of the server, not of an organization',
  events: 'events.removeOfOrganization; text is in the message, the newest one of a visitor is blanked',
  audit:
    'audit.removeOfOrganization, and after DESKBELL_AUDIT_DAYS; names no visitor but by a key that dies with them',
  queue_changes: 'ids only, taken in and removed by the index of the queue',
  file_removals: 'ids of bytes that are to go, gone with them',
  search: 'with search_rows, in the same statement',
  search_vocabulary: 'words of search, a view of it',
  search_subjects: 'with conversations, in the same statement',
  search_subjects_vocabulary: 'words of search_subjects, a view of it',
  search_visitors: 'with visitors, in the same statement',
  search_visitors_vocabulary: 'words of search_visitors, a view of it',
  knowledge_search: 'with knowledge_passages, in the same statement',
  knowledge_headings: 'with knowledge_passages, in the same statement',
  knowledge_vocabulary: 'words of knowledge_search, a view of it',
};

/** Tables that do not fall with a conversation, and how long they are kept. */
const windows: Readonly<Record<string, string>> = {
  meta: 'the server',
  organizations: 'the organization',
  applications: 'the organization',
  domains: 'the organization',
  api_keys: 'the organization',
  members: 'the organization',
  member_totp: 'the member',
  member_passkeys: 'the member',
  recovery_codes: 'the member',
  staff_sessions: 'until they expire',
  sign_in_tickets: 'until they expire',
  passkey_registrations: 'until they expire',
  password_resets: 'until they expire',
  invitations: 'the member',
  push_devices: 'the session',
  canned_replies: 'the organization',
  tags: 'the organization',
  views: 'the organization',
  webhooks: 'the organization',
  visitors: 'retention.removeVisitor, once no conversation of theirs is left',
  visitor_blocks: 'the visitor',
  address_blocks: 'until it expires, or is lifted; a digest',
  events: 'events.prune',
  audit: 'DESKBELL_AUDIT_DAYS',
  queue_changes: 'minutes',
  file_totals: 'the organization; numbers',
  file_removals: 'until the bytes are gone',
  knowledge_documents: 'the organization',
  knowledge_passages: 'the document',
  knowledge_questions: 'the document',
  knowledge_synonyms: 'the application',
  knowledge_scopes: 'the application',
  knowledge_search: 'the document',
  knowledge_headings: 'the document',
  knowledge_vocabulary: 'the document',
  application_sightings: 'the application',
  search: 'the message',
  search_scopes: 'the organization',
  search_vocabulary: 'the message',
  search_subjects: 'the conversation',
  search_subjects_vocabulary: 'the conversation',
  search_visitors: 'the visitor',
  search_visitors_vocabulary: 'the visitor',
  crawls: 'the application',
  mail_addresses: 'mail.removeBounces; digests',
  mail_settings: 'the organization',
  mail_keys: 'the application',
};

/** Tables that an organization does not take along to another server, and why. */
const stays: Readonly<Record<string, string>> = {
  meta: 'of the server',
  staff_sessions: 'members sign in again',
  sign_in_tickets: 'members sign in again',
  passkey_registrations: 'members begin again',
  password_resets: 'members ask again',
  recovery_codes: 'digests under the key of this server',
  invitations: 'digests under the key of this server',
  push_devices: 'browsers subscribe to one server',
  address_blocks: 'digests under the key of this server',
  mail_addresses: 'digests under the key of this server; what they say goes with the visitors',
  mail_keys: 'digests under the key of this server',
  mail_settings: 'the mail server is set anew, with its password',
  events: 'the log of this server',
  message_events: 'the log of this server',
  effects: 'what is to be sent is sent once, by this server',
  webhook_deliveries: 'sent once, by this server',
  queue_changes: 'ids for the index of this server',
  search: 'made anew from the messages',
  search_rows: 'made anew from the messages',
  search_scopes: 'made anew from the messages',
  search_vocabulary: 'made anew from the messages',
  conversation_numbers: 'made anew with the conversations',
  search_subjects: 'made anew with the conversations',
  search_subjects_vocabulary: 'made anew with the conversations',
  search_visitors: 'made anew with the visitors',
  search_visitors_vocabulary: 'made anew with the visitors',
  message_places: 'made anew from the messages',
  knowledge_passages: 'made anew from the documents',
  knowledge_search: 'made anew from the documents',
  knowledge_headings: 'made anew from the documents',
  knowledge_vocabulary: 'made anew from the documents',
  knowledge_scopes: 'made anew from the documents',
  file_totals: 'counted anew',
  file_removals: 'bytes of this server',
  application_sightings: 'seen by this server',
  crawls: 'the documents travel',
  drafts: 'unsent, of members who sign in again',
  ai_log: 'a log of this server; the questions kept from it travel',
};

/** Columns by which a row belongs to a visitor. */
const ofVisitor = ['visitor_key', 'conversation_id', 'message_id'];

/** What is missing, a sentence each. */
async function findGaps(): Promise<string[]> {
  const tables = (
    await rowsOf(
      app,
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
    )
  )
    .map(({ name }) => String(name))
    .filter((name) => !isShadow(name));
  const columns = new Map<string, { name: string; type: string }[]>();
  const parents = new Map<string, string[]>();
  for (const table of tables) {
    const found = await rowsOf(app, `select name, type from pragma_table_info('${table}')`);
    columns.set(
      table,
      found.map(({ name, type }) => ({ name: String(name), type: String(type) })),
    );
    const keys = await rowsOf(
      app,
      `select "table" as parent from pragma_foreign_key_list('${table}') where on_delete = 'CASCADE'`,
    );
    parents.set(
      table,
      keys.map(({ parent }) => String(parent)),
    );
  }
  // What a trigger removes with a row of another table falls with it, too.
  for (const { parent, body } of await rowsOf(
    app,
    "select tbl_name as parent, sql as body from sqlite_master where type = 'trigger' and sql like '% delete on %'",
  ))
    for (const [, table = ''] of String(body).matchAll(/delete from (\w+)\s+where[^;]*\bold\./g))
      parents.get(table)?.push(String(parent));
  const fallsWith = (table: string, root: string): boolean =>
    table === root || (parents.get(table) ?? []).some((parent) => fallsWith(parent, root));
  const exported = new Set<string>(exportedTables.map(({ name }) => name));
  const gaps: string[] = [];
  const need = (holds: boolean, gap: string): void => void (holds || gaps.push(gap));
  const withText = tables.filter((table) =>
    columns.get(table)?.some(({ type }) => /^(?:text|blob|)$/i.test(type)),
  );
  for (const table of withText) {
    const names = columns.get(table)?.map(({ name }) => name) ?? [];
    need(
      fallsWith(table, 'organizations') || table in clearedByHand,
      `${table} does not fall with its organization`,
    );
    need(
      !names.some((name) => ofVisitor.includes(name)) ||
        fallsWith(table, 'visitors') ||
        table in clearedByHand ||
        table === 'address_blocks',
      `${table} names a visitor and does not fall with them`,
    );
    need(
      ['conversations', 'messages'].some((one) => fallsWith(table, one)) || table in windows,
      `${table} is kept for ever`,
    );
    need(exported.has(table) !== table in stays, `${table} is not in the export, and nothing says why`);
  }
  // A reason for a table that is not there any more says nothing.
  for (const table of Object.keys({ ...clearedByHand, ...windows, ...stays }))
    need(withText.includes(table) || tables.includes(table), `${table} is no table`);
  return gaps;
}

it('every table with text is erased, has an end, and travels or says why not', async () => {
  expect(await findGaps()).toEqual([]);
});

it('a table that was made up on the spot is found in all of them, and is in the backup', async () => {
  await rowsOf(app, 'create table made_up (id text primary key, conversation_id text, words text) strict');
  await rowsOf(app, "insert into made_up values ('1', '2', 'hello')");
  expect(await findGaps()).toEqual([
    'made_up does not fall with its organization',
    'made_up names a visitor and does not fall with them',
    'made_up is kept for ever',
    'made_up is not in the export, and nothing says why',
  ]);
  const target = join(app.folder, 'copy.backup');
  await writeBackup(
    join(app.folder, 'deskbell.db'),
    { target, unsealed: `${target}.clear`, folder: null },
    Buffer.alloc(32),
    app.clock.now(),
    null,
  );
  const copy = openConnection(target, { durability: 'full', lockTimeoutMs: 1_000 });
  try {
    const tables = `select name from sqlite_master where type = 'table' order by name`;
    expect(copy.prepare(tables).all()).toEqual(await rowsOf(app, tables));
    expect(copy.prepare('select words from made_up').pluck().get()).toBe('hello');
  } finally {
    copy.close();
  }
  await rowsOf(app, 'drop table made_up');
});

it('every file of the data folder is one of those that a backup takes, or that hold nothing of anyone', async () => {
  const admin = await createMember(app, 'acme', 'admin');
  const { status } = await uploadFile(app, admin, Buffer.from('hello'), {
    name: 'note.txt',
    type: 'text/plain',
  });
  expect(status).toBe(201);
  const found = (await readdir(app.folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(app.folder, join(entry.parentPath, entry.name)))
    .filter((name) => !name.startsWith('copy.backup'));
  const known = [
    // The database, and beside it what belongs to it: the backup's copy of it, and what erasing clears.
    /^deskbell\.db(?:-wal|-shm)?$/,
    // Bytes of files, by keyed names: in the backup, and gone with their rows.
    /^files\//,
    /^secret\.key$/,
    // Who serves the folder, and room for a full disk.
    /^deskbell\.lock(?:\.pid|-journal)?$/,
    /reserve/,
  ];
  expect(found.filter((name) => !known.some((one) => one.test(name)))).toEqual([]);
  expect(found.some((name) => name.startsWith('files/'))).toBe(true);
});
