// How members are told of what happens: what each wants, the browsers that are sent pushes, what is done when no member
// accepts a conversation, and links with which a forgotten password is replaced.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // JSON of what a member has chosen; what is not in it is as by default.
  await db.schema
    .alterTable('members')
    .addColumn('notifications', 'text', (c) => c.notNull().defaultTo('{}'))
    .execute();
  // JSON array of steps.
  await db.schema
    .alterTable('organizations')
    .addColumn('escalation', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute();
  await db.schema
    .createTable('push_devices')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    // The session in which the browser asked for pushes: they end with it.
    .addColumn('session_id', 'text', (c) => c.notNull().references('staff_sessions.id').onDelete('cascade'))
    // Keyed digest of the address: a browser has one subscription.
    .addColumn('endpoint_digest', 'blob', (c) => c.notNull().unique())
    // Address and keys, sealed: who has them can send pushes.
    .addColumn('sealed', 'blob', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('label', 'text', (c) => c.notNull())
    // The language that it is told in, as a language tag.
    .addColumn('locale', 'text', (c) => c.notNull())
    // The server's key that the browser was given.
    .addColumn('key_id', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('last_sent_at', 'integer')
    // Why the last push did not arrive; null: it did, or there was none.
    .addColumn('problem', 'text')
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema
    .createIndex('push_devices_by_member')
    .on('push_devices')
    .columns(['member_id', 'created_at'])
    .execute();
  await db.schema.createIndex('push_devices_by_session').on('push_devices').column('session_id').execute();
  await db.schema
    .createIndex('push_devices_by_organization')
    .on('push_devices')
    .column('organization_id')
    .execute();
  await db.schema
    .createTable('password_resets')
    .addColumn('digest', 'blob', (c) => c.primaryKey())
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'integer', (c) => c.notNull())
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema
    .createIndex('password_resets_by_member')
    .on('password_resets')
    .column('member_id')
    .execute();
}
