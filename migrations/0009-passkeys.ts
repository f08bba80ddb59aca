// Passkeys of members: public keys with which they show a second factor, and registrations that wait for an
// authenticator's answer.
import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('member_passkeys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    // What the authenticator calls it, in base64url: one belongs to one member of the whole server.
    .addColumn('credential_id', 'text', (c) => c.notNull().unique())
    // COSE, in base64url.
    .addColumn('public_key', 'text', (c) => c.notNull())
    // How often the authenticator says that it has signed: a clone is known by one that does not grow.
    .addColumn('counter', 'integer', (c) => c.notNull())
    // How a browser reaches the authenticator, separated by blanks.
    .addColumn('transports', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('last_used_at', 'integer')
    .execute();
  await db.schema
    .createIndex('member_passkeys_by_member')
    .on('member_passkeys')
    .column('member_id')
    .execute();
  await db.schema
    .createTable('passkey_registrations')
    .addColumn('member_id', 'text', (c) => c.primaryKey().references('members.id').onDelete('cascade'))
    // The session that asked; with its end the registration ends.
    .addColumn('session_id', 'text', (c) => c.notNull().references('staff_sessions.id').onDelete('cascade'))
    .addColumn('challenge', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('passkey_registrations_by_session')
    .on('passkey_registrations')
    .column('session_id')
    .execute();
}
