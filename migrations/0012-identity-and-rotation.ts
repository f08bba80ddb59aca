// Which fields of a visitor were verified one by one, the webhook secret before a rotation, and an index by which old
// rows of the audit log are found.
import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Which of name, email and attributes were verified, with commas between. How older ones were named is not known.
  await db.schema
    .alterTable('visitors')
    .addColumn('verified_fields', 'text', (c) => c.notNull().defaultTo(''))
    .execute();
  // The signing secret before the last rotation, sealed, and until when it signs too. Null: there is none.
  await db.schema.alterTable('webhooks').addColumn('previous_sealed', 'blob').execute();
  await db.schema.alterTable('webhooks').addColumn('previous_until', 'integer').execute();
  await db.schema.createIndex('audit_by_time').on('audit').column('created_at').execute();
}
