// Webhooks and the log of their deliveries. A delivery holds no text: what it tells is
// read from the message's own row, and an erased conversation takes its deliveries along.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhooks')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('events', 'text')
    .addColumn('sealed', 'blob', (c) => c.notNull())
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('position', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('webhooks_by_organization').on('webhooks').column('organization_id').execute();

  await db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('webhook_id', 'text', (c) => c.notNull().references('webhooks.id').onDelete('cascade'))
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('event_seq', 'integer')
    .addColumn('event_at', 'integer', (c) => c.notNull())
    .addColumn('conversation_id', 'text', (c) => c.references('conversations.id').onDelete('cascade'))
    .addColumn('actor_id', 'text')
    .addColumn('message_id', 'text')
    .addColumn('member_id', 'text')
    .addColumn('in_turn', 'integer', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('next_attempt_at', 'integer')
    .addColumn('give_up_at', 'integer', (c) => c.notNull())
    .addColumn('last_attempt_at', 'integer')
    .addColumn('duration_ms', 'integer')
    .addColumn('response_status', 'integer')
    .addColumn('error', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    // An event is handed to a webhook once, however often the log is read.
    .addUniqueConstraint('webhook_deliveries_once', ['webhook_id', 'event_seq'])
    .execute();
  await db.schema
    .createIndex('webhook_deliveries_by_webhook')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'created_at'])
    .execute();
  await db.schema
    .createIndex('webhook_deliveries_by_age')
    .on('webhook_deliveries')
    .column('created_at')
    .execute();
  // For the erasure of a conversation, and for what waits in one.
  await db.schema
    .createIndex('webhook_deliveries_by_conversation')
    .on('webhook_deliveries')
    .columns(['conversation_id', 'webhook_id', 'event_seq'])
    .execute();
  await db.schema
    .createIndex('webhook_deliveries_due')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'next_attempt_at'])
    .where(sql.ref('status'), '=', 'waiting')
    .execute();
}
