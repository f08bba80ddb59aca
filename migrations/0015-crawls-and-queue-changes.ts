// Crawls of a site that an admin has begun, and which conversations have changed what the queue asks of them, so that
// what is known of a queue can be brought up to date without being read again.
import { sql, type Kysely } from 'kysely';

/** The newest changes that are kept: who has fallen further behind begins anew. */
const keptChanges = 20_000;

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('crawls')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('max_pages', 'integer', (c) => c.notNull())
    .addColumn('depth', 'integer', (c) => c.notNull())
    .addColumn('below', 'integer', (c) => c.notNull())
    .addColumn('prune', 'integer', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('problem', 'text')
    .addColumn('pages', 'integer', (c) => c.notNull())
    .addColumn('added', 'integer', (c) => c.notNull())
    .addColumn('updated', 'integer', (c) => c.notNull())
    .addColumn('unchanged', 'integer', (c) => c.notNull())
    .addColumn('skipped', 'integer', (c) => c.notNull())
    .addColumn('failed', 'integer', (c) => c.notNull())
    .addColumn('removed', 'integer', (c) => c.notNull())
    // Addresses that were found and not looked at; null: none that is known.
    .addColumn('remaining', 'integer')
    // JSON array of {url, problem}.
    .addColumn('problems', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('started_at', 'integer')
    .addColumn('ended_at', 'integer')
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema
    .createIndex('crawls_by_organization')
    .on('crawls')
    .columns(['organization_id', 'created_at'])
    .execute();
  await db.schema.createIndex('crawls_by_application').on('crawls').column('application_id').execute();
  await db.schema
    .createIndex('crawls_under_way')
    .on('crawls')
    .column('created_at')
    .where(sql.ref('status'), 'in', ['waiting', 'running'])
    .execute();

  // A ring: a row's number rises, and the oldest rows go. `place` is the conversation's rowid. No foreign key: a
  // conversation that went is a change, too.
  await sql`create table queue_changes (
    number integer primary key autoincrement, organization_id text not null, place integer not null) strict`.execute(
    db,
  );
  const ring = `delete from queue_changes where number <= (select max(number) from queue_changes) - ${keptChanges};`;
  const ofConversation = (row: 'new' | 'old'): string =>
    `insert into queue_changes (organization_id, place) values (${row}.organization_id, ${row}.rowid); ${ring}`;
  // Of a message nothing is written here: the event log tells of it.
  for (const [name, when, body] of [
    ['queue_conversation_added', 'after insert on conversations', ofConversation('new')],
    ['queue_conversation_removed', 'after delete on conversations', ofConversation('old')],
    [
      'queue_conversation_changed',
      'after update of status, assigned_to, priority, snoozed_until, application_id on conversations',
      ofConversation('new'),
    ],
  ] as const)
    await sql.raw(`create trigger ${name} ${when} begin ${body} end`).execute(db);
  const byConversation = (row: 'new' | 'old'): string =>
    `insert into queue_changes (organization_id, place)
       select organization_id, rowid from conversations where id = ${row}.conversation_id; ${ring}`;
  for (const [name, when, body] of [
    ['queue_tag_added', 'after insert on conversation_tags', byConversation('new')],
    ['queue_tag_removed', 'after delete on conversation_tags', byConversation('old')],
    [
      'queue_reader_added',
      "after insert on participants when new.role <> 'visitor' and new.last_read_seq > 0",
      byConversation('new'),
    ],
    [
      'queue_reader_moved',
      "after update of last_read_seq on participants when new.role <> 'visitor'",
      byConversation('new'),
    ],
    [
      'queue_reader_removed',
      "after delete on participants when old.role <> 'visitor'",
      byConversation('old'),
    ],
  ] as const)
    await sql.raw(`create trigger ${name} ${when} begin ${body} end`).execute(db);
}
