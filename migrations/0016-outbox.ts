// The outbox: mails and pushes that are to be sent, behind the event log. A row holds no text of a message: what it says
// is read from the message's own row when it is sent. What has no row of its own, as a link to a new password, is sealed.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('effects')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('kind', 'text', (c) => c.notNull())
    // What it is the effect of.
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('about', 'text', (c) => c.notNull())
    .addColumn('conversation_id', 'text', (c) => c.references('conversations.id').onDelete('cascade'))
    .addColumn('message_id', 'text')
    .addColumn('member_id', 'text', (c) => c.references('members.id').onDelete('cascade'))
    .addColumn('recipient', 'text')
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('sealed', 'blob')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('due_at', 'integer')
    .addColumn('give_up_at', 'integer', (c) => c.notNull())
    .addColumn('last_attempt_at', 'integer')
    .addColumn('duration_ms', 'integer')
    .addColumn('error', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    // An event has an effect once, however often the log is read.
    .addUniqueConstraint('effects_once', ['organization_id', 'kind', 'key'])
    .modifyEnd(sql`strict`)
    .execute();
  await db.schema
    .createIndex('effects_due')
    .on('effects')
    .columns(['kind', 'organization_id', 'due_at'])
    .where(sql.ref('state'), '=', 'waiting')
    .execute();
  await db.schema
    .createIndex('effects_by_organization')
    .on('effects')
    .columns(['organization_id', 'created_at'])
    .execute();
  await db.schema.createIndex('effects_by_age').on('effects').column('created_at').execute();
  await db.schema.createIndex('effects_by_conversation').on('effects').column('conversation_id').execute();
  await db.schema.createIndex('effects_by_member').on('effects').column('member_id').execute();
}
