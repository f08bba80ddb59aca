// A second factor for members, sessions that can be told apart, staff tokens, and blocks of visitors and addresses.
import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Which members must show a second factor: off, admins or all.
  await db.schema
    .alterTable('organizations')
    .addColumn('second_factor', 'text', (c) => c.notNull().defaultTo('off'))
    .execute();
  // Null: a session by sign-in. A staff token is a session with a name, scopes and a fixed end.
  await db.schema.alterTable('staff_sessions').addColumn('name', 'text').execute();
  await db.schema.alterTable('staff_sessions').addColumn('scopes', 'text').execute();
  await db.schema
    .alterTable('staff_sessions')
    .addColumn('second_factor', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('staff_sessions').addColumn('address', 'text').execute();

  await db.schema
    .createTable('member_totp')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('member_id', 'text', (c) => c.notNull().unique().references('members.id').onDelete('cascade'))
    .addColumn('sealed', 'blob', (c) => c.notNull())
    // The newest time step whose code was taken: no code counts twice.
    .addColumn('last_step', 'integer', (c) => c.notNull())
    // Null until a first code has shown that the authenticator has the secret.
    .addColumn('confirmed_at', 'integer')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('recovery_codes')
    .addColumn('digest', 'blob', (c) => c.primaryKey())
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .execute();
  await db.schema.createIndex('recovery_codes_by_member').on('recovery_codes').column('member_id').execute();
  await db.schema
    .createTable('sign_in_tickets')
    .addColumn('digest', 'blob', (c) => c.primaryKey())
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    // Keyed digest of the address that knew the password.
    .addColumn('address', 'blob', (c) => c.notNull())
    .addColumn('tries', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('sign_in_tickets_by_member')
    .on('sign_in_tickets')
    .column('member_id')
    .execute();
  await db.schema
    .createIndex('sign_in_tickets_by_expiry')
    .on('sign_in_tickets')
    .column('expires_at')
    .execute();

  // Keyed digest of the address from which the visitor wrote last; null: by API key only. For blocking it.
  await db.schema.alterTable('visitors').addColumn('address_digest', 'blob').execute();
  await db.schema
    .createTable('visitor_blocks')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('visitor_key', 'text', (c) =>
      c.notNull().unique().references('visitors.id').onDelete('cascade'),
    )
    // Null: until it is lifted.
    .addColumn('expires_at', 'integer')
    .addColumn('created_by', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('visitor_blocks_by_organization')
    .on('visitor_blocks')
    .column('organization_id')
    .execute();
  await db.schema
    .createTable('address_blocks')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    // Keyed digest; the address itself is never kept.
    .addColumn('digest', 'blob', (c) => c.notNull())
    // With whom it was blocked.
    .addColumn('visitor_key', 'text', (c) => c.references('visitors.id').onDelete('cascade'))
    .addColumn('expires_at', 'integer', (c) => c.notNull())
    .addColumn('created_by', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addUniqueConstraint('address_blocks_once', ['organization_id', 'digest'])
    .execute();
  await db.schema
    .createIndex('address_blocks_by_visitor')
    .on('address_blocks')
    .column('visitor_key')
    .execute();
}
