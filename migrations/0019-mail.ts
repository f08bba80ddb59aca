// Mail both ways: which messages came or went by mail, in which conversation a closed one goes on, addresses that take no
// mails, an organization's own mail server, and the keys under which mails are handed in.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, column, type] of [
    ['messages', 'via', 'text'],
    // The Message-ID of a mail that came in, without angle brackets.
    ['messages', 'mail_id', 'text'],
    ['messages', 'emailed', 'text'],
    ['messages', 'emailed_at', 'integer'],
    ['conversations', 'channel', 'text'],
    ['conversations', 'continues', 'text'],
    ['conversations', 'mail_stopped_at', 'integer'],
  ] as const)
    await db.schema.alterTable(table).addColumn(column, type).execute();

  await db.schema
    .createTable('mail_addresses')
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    // Keyed digest of the address.
    .addColumn('digest', 'blob', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('mail_addresses_pk', ['organization_id', 'digest'])
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema
    .createTable('mail_settings')
    .addColumn('organization_id', 'text', (c) =>
      c.primaryKey().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('sealed', 'blob', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('updated_at', 'integer', (c) => c.notNull())
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema
    .createTable('mail_keys')
    .addColumn('application_id', 'text', (c) =>
      c.primaryKey().references('applications.id').onDelete('cascade'),
    )
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('digest', 'blob', (c) => c.notNull().unique())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema
    .createIndex('mail_keys_by_organization')
    .on('mail_keys')
    .column('organization_id')
    .execute();
}
