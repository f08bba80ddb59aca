// The first schema: tenants, people, conversations, messages, events, audit.
// Times are ms since the epoch; every table that one organization owns falls with it.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('meta')
    .addColumn('key', 'text', (c) => c.primaryKey())
    .addColumn('value', 'text', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('organizations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('slug', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('requests_per_minute', 'integer')
    .addColumn('retention_days', 'integer')
    .addColumn('max_applications', 'integer')
    .addColumn('max_seats', 'integer')
    .addColumn('plan_changed_at', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('applications')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('settings', 'text', (c) => c.notNull())
    .addColumn('identity_secret', 'blob', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('applications_by_organization')
    .on('applications')
    .column('organization_id')
    .execute();

  await db.schema
    .createTable('domains')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('domain', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addUniqueConstraint('domains_once', ['application_id', 'domain'])
    .execute();

  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('mode', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('public_id', 'text', (c) => c.notNull().unique())
    .addColumn('digest', 'blob', (c) => c.notNull().unique())
    .addColumn('sealed', 'blob', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('last_used_at', 'integer')
    .addColumn('expires_at', 'integer')
    .addColumn('revoked_at', 'integer')
    .execute();
  await db.schema.createIndex('api_keys_by_application').on('api_keys').column('application_id').execute();

  await db.schema
    .createTable('members')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('password_hash', 'text', (c) => c.notNull())
    .addColumn('disabled_at', 'integer')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addUniqueConstraint('members_once', ['organization_id', 'email'])
    .execute();

  await db.schema
    .createTable('staff_sessions')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .addColumn('digest', 'blob', (c) => c.notNull().unique())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('last_seen_at', 'integer', (c) => c.notNull())
    .addColumn('expires_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('staff_sessions_by_member').on('staff_sessions').column('member_id').execute();

  await db.schema
    .createTable('visitors')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('visitor_id', 'text', (c) => c.notNull())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('mode', 'text', (c) => c.notNull())
    .addColumn('name', 'text')
    .addColumn('email', 'text')
    .addColumn('verified', 'integer', (c) => c.notNull())
    .addColumn('attributes', 'text', (c) => c.notNull())
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addUniqueConstraint('visitors_once', ['application_id', 'mode', 'visitor_id'])
    .execute();

  await db.schema
    .createTable('conversations')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('application_id', 'text', (c) => c.notNull().references('applications.id').onDelete('cascade'))
    .addColumn('visitor_key', 'text', (c) => c.notNull().references('visitors.id').onDelete('cascade'))
    .addColumn('mode', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('subject', 'text')
    .addColumn('assigned_to', 'text')
    .addColumn('resolved_by', 'text')
    .addColumn('resolved_at', 'integer')
    .addColumn('last_seq', 'integer', (c) => c.notNull())
    .addColumn('waiting_since', 'integer')
    .addColumn('first_response_at', 'integer')
    .addColumn('idempotency_key', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('updated_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('conversations_by_visitor')
    .on('conversations')
    .columns(['visitor_key', 'created_at'])
    .execute();
  await db.schema
    .createIndex('conversations_by_queue')
    .on('conversations')
    .columns(['organization_id', 'mode', 'status'])
    .execute();
  await db.schema
    .createIndex('conversations_by_application')
    .on('conversations')
    .column('application_id')
    .execute();
  await db.schema
    .createIndex('conversations_by_idempotency_key')
    .on('conversations')
    .columns(['visitor_key', 'idempotency_key'])
    .unique()
    .where(sql.ref('idempotency_key'), 'is not', null)
    .execute();

  await db.schema
    .createTable('participants')
    .addColumn('conversation_id', 'text', (c) =>
      c.notNull().references('conversations.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull())
    .addColumn('joined_at', 'integer', (c) => c.notNull())
    .addColumn('left_at', 'integer')
    .addColumn('last_read_message_id', 'text')
    .addColumn('last_read_seq', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('participants_once', ['conversation_id', 'user_id'])
    .execute();

  await db.schema
    .createTable('messages')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('conversation_id', 'text', (c) =>
      c.notNull().references('conversations.id').onDelete('cascade'),
    )
    .addColumn('organization_id', 'text', (c) => c.notNull())
    .addColumn('seq', 'integer', (c) => c.notNull())
    .addColumn('changed_seq', 'integer', (c) => c.notNull())
    .addColumn('sender_id', 'text', (c) => c.notNull())
    .addColumn('sender_role', 'text', (c) => c.notNull())
    .addColumn('sender_label', 'text')
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('content_format', 'text', (c) => c.notNull())
    .addColumn('content_html', 'text')
    .addColumn('content_text', 'text')
    .addColumn('internal', 'integer', (c) => c.notNull())
    .addColumn('client_message_id', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('edited_at', 'integer')
    .addColumn('deleted_at', 'integer')
    .addUniqueConstraint('messages_in_order', ['conversation_id', 'seq'])
    .execute();
  await db.schema
    .createIndex('messages_by_client_id')
    .on('messages')
    .columns(['conversation_id', 'sender_id', 'client_message_id'])
    .unique()
    .where(sql.ref('client_message_id'), 'is not', null)
    .execute();
  // No foreign key and one index only: every message writes here, rows hold no text, and all go within days.
  await db.schema
    .createTable('events')
    .addColumn('seq', 'integer', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) => c.notNull())
    .addColumn('conversation_id', 'text', (c) => c.notNull())
    .addColumn('mode', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('audience', 'text', (c) => c.notNull())
    .addColumn('actor_id', 'text', (c) => c.notNull())
    .addColumn('message_id', 'text')
    .addColumn('member_id', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('audit')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text')
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('detail', 'text', (c) => c.notNull())
    .addColumn('address', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('audit_by_organization')
    .on('audit')
    .columns(['organization_id', 'created_at'])
    .execute();
}
