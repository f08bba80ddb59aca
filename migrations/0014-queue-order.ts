// Order in the queue: tags, priority, snooze, saved views, and the number of the visitor's newest message, by which
// unread conversations are found without counting messages.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('conversations')
    .addColumn('priority', 'text', (c) => c.notNull().defaultTo('normal'))
    .execute();
  await db.schema.alterTable('conversations').addColumn('snoozed_until', 'integer').execute();
  await db.schema
    .alterTable('conversations')
    .addColumn('last_visitor_seq', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await sql`update conversations set last_visitor_seq = coalesce((
    select max(m.seq) from messages as m
      where m.conversation_id = conversations.id and m.sender_role = 'visitor' and m.deleted_at is null), 0)`.execute(
    db,
  );
  await db.schema
    .createIndex('conversations_by_snooze')
    .on('conversations')
    .column('snoozed_until')
    .where(sql.ref('snoozed_until'), 'is not', null)
    .execute();

  await db.schema
    .createTable('tags')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    // The name in lower case, under which it is found.
    .addColumn('folded', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addUniqueConstraint('tags_once', ['organization_id', 'folded'])
    .execute();
  // Two indexes and no rows of their own: the table is read from both sides.
  await db.schema
    .createTable('conversation_tags')
    .addColumn('conversation_id', 'text', (c) =>
      c.notNull().references('conversations.id').onDelete('cascade'),
    )
    .addColumn('tag_id', 'text', (c) => c.notNull().references('tags.id').onDelete('cascade'))
    .addPrimaryKeyConstraint('conversation_tags_once', ['conversation_id', 'tag_id'])
    .modifyEnd(sql`without rowid`)
    .execute();
  await db.schema
    .createIndex('conversation_tags_by_tag')
    .on('conversation_tags')
    .columns(['tag_id', 'conversation_id'])
    .execute();

  await db.schema
    .createTable('views')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    // 1: for every member; 0: for its maker alone.
    .addColumn('shared', 'integer', (c) => c.notNull())
    // JSON of the protocol's queueQuery.
    .addColumn('query', 'text', (c) => c.notNull())
    .addColumn('created_by', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('updated_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('views_by_organization')
    .on('views')
    .columns(['organization_id', 'created_at'])
    .execute();
}
