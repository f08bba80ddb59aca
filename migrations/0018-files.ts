// Files that are sent with messages. Their bytes are in a store beside the database: what the database removes, however
// it does, leaves a row here that says which bytes are to go.
import { sql, type Kysely } from 'kysely';
import { onPostgres, twoFaced } from './columns.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  // null: what the plan says.
  await db.schema.alterTable('organizations').addColumn('max_file_bytes', 'integer').execute();
  // JSON array of id, name, type, size, width and height; null: none.
  await db.schema.alterTable('messages').addColumn('attachments', 'text').execute();

  await db.schema
    .createTable('files')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    // Who may send it: visitors.id, or a member's id.
    .addColumn('uploader', 'text', (c) => c.notNull())
    .addColumn('visitor_key', 'text', (c) => c.references('visitors.id').onDelete('cascade'))
    // null: it waits to be sent.
    .addColumn('message_id', 'text', (c) => c.references('messages.id').onDelete('cascade'))
    // Its name in the store.
    .addColumn('object', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('size', 'integer', (c) => c.notNull())
    .addColumn('width', 'integer')
    .addColumn('height', 'integer')
    // SHA-256 of the stored bytes, in hex.
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('idempotency_key', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('files_by_organization')
    .on('files')
    .columns(['organization_id', 'id'])
    .execute();
  await db.schema.createIndex('files_by_visitor').on('files').column('visitor_key').execute();
  await db.schema.createIndex('files_by_message').on('files').column('message_id').execute();
  await db.schema
    .createIndex('files_unused')
    .on('files')
    .column('created_at')
    .where(sql.ref('message_id'), 'is', null)
    .execute();
  await db.schema
    .createIndex('files_to_scan')
    .on('files')
    .column('created_at')
    .where(sql.ref('state'), '=', sql.lit('scanning'))
    .execute();
  await db.schema
    .createIndex('files_once')
    .unique()
    .on('files')
    .columns(['uploader', 'idempotency_key'])
    .where(sql.ref('idempotency_key'), 'is not', null)
    .execute();

  await db.schema
    .createTable('file_totals')
    .addColumn('organization_id', 'text', (c) =>
      c.primaryKey().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('files', 'integer', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .execute();

  // Objects of the store that are to go. An upload has a row from its first byte until its file's row is there.
  await db.schema
    .createTable('file_removals')
    .addColumn('object', 'text', (c) => c.primaryKey())
    .addColumn('due_at', 'integer', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull())
    .addColumn('error', 'text')
    .execute();
  await db.schema.createIndex('file_removals_by_due').on('file_removals').column('due_at').execute();

  for (const [name, when, body] of [
    [
      'file_added',
      'after insert on files',
      `insert into file_totals (organization_id, files, bytes) values (new.organization_id, 1, new.size)
         on conflict (organization_id) do update set files = file_totals.files + 1, bytes = file_totals.bytes + new.size;`,
    ],
    [
      'file_removed',
      'after delete on files',
      `update file_totals set files = files - 1, bytes = bytes - old.size
         where organization_id = old.organization_id;
       insert into file_removals (object, due_at, attempts, error) values (old.object, 0, 0, null)
         on conflict (object) do update set due_at = 0;`,
    ],
  ] as const)
    await createTrigger(db, name, when, body);
}

async function createTrigger(db: Kysely<unknown>, name: string, when: string, body: string): Promise<void> {
  await onPostgres(
    sql.raw(
      `create function ${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`,
    ),
  ).execute(db);
  await twoFaced({
    sqlite: sql.raw(`create trigger ${name} ${when} begin ${body} end`),
    postgres: sql.raw(`create trigger ${name} ${when} for each row execute function ${name}()`),
  }).execute(db);
}
