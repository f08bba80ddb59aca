// Queries that carry one organization's rows out of a database and into another:
// which tables travel, by what they belong to it, and in which order they must arrive.
import { sql, type RawBuilder } from 'kysely';
import type { AnyRow, ExportedTable, TransferRepository } from '../../repositories/export-import.ts';
import type { OrganizationRow } from '../../rows.ts';
import { twoFaced } from '../../../../migrations/columns.ts';
import type { LogEnd } from '../log-end.ts';
import { all, builder, prepare, run, type Runner } from '../query.ts';
import { hiddenMark, isArriving } from './found.ts';

/** Parents before children. */
export const exportedTables: readonly ExportedTable[] = [
  { name: 'organizations', owner: 'id', references: {} },
  { name: 'applications', owner: 'organization_id', references: {} },
  {
    name: 'domains',
    owner: { column: 'application_id', table: 'applications' },
    references: { application_id: 'applications' },
  },
  { name: 'api_keys', owner: 'organization_id', references: { application_id: 'applications' } },
  { name: 'members', owner: 'organization_id', references: {} },
  { name: 'member_totp', owner: 'organization_id', references: { member_id: 'members' } },
  { name: 'member_passkeys', owner: 'organization_id', references: { member_id: 'members' } },
  { name: 'canned_replies', owner: 'organization_id', references: {} },
  { name: 'tags', owner: 'organization_id', references: {} },
  { name: 'views', owner: 'organization_id', references: {} },
  { name: 'webhooks', owner: 'organization_id', references: {} },
  { name: 'visitors', owner: 'organization_id', references: { application_id: 'applications' } },
  { name: 'visitor_blocks', owner: 'organization_id', references: { visitor_key: 'visitors' } },
  {
    name: 'conversations',
    owner: 'organization_id',
    references: { application_id: 'applications', visitor_key: 'visitors' },
  },
  {
    name: 'conversation_tags',
    owner: { column: 'conversation_id', table: 'conversations' },
    references: { conversation_id: 'conversations', tag_id: 'tags' },
  },
  {
    name: 'participants',
    owner: { column: 'conversation_id', table: 'conversations' },
    references: { conversation_id: 'conversations' },
  },
  { name: 'messages', owner: 'organization_id', references: { conversation_id: 'conversations' } },
  { name: 'files', owner: 'organization_id', references: { message_id: 'messages' } },
  { name: 'knowledge_documents', owner: 'organization_id', references: { application_id: 'applications' } },
  {
    name: 'knowledge_questions',
    owner: { column: 'application_id', table: 'applications' },
    references: { application_id: 'applications', document_id: 'knowledge_documents' },
  },
  {
    name: 'knowledge_synonyms',
    owner: { column: 'application_id', table: 'applications' },
    references: { application_id: 'applications' },
  },
  { name: 'audit', owner: 'organization_id', references: {} },
];

/**
 * Tables that stay, each for a reason: facts of one server, its log and what follows it, sessions and links that its
 * key has signed or digested, and an index that the other server makes anew.
 */
export const stayingTables: readonly string[] = [
  'meta',
  'events',
  'message_events',
  'staff_sessions',
  'invitations',
  'address_blocks',
  'recovery_codes',
  'sign_in_tickets',
  'drafts',
  'application_sightings',
  'passkey_registrations',
  'push_devices',
  'password_resets',
  'webhook_deliveries',
  'search',
  'search_rows',
  'search_scopes',
  'search_vocabulary',
  'conversation_numbers',
  'search_subjects',
  'search_subjects_vocabulary',
  'search_visitors',
  'search_visitors_vocabulary',
  'message_places',
  'message_placing',
  'knowledge_passages',
  'knowledge_search',
  'knowledge_headings',
  'knowledge_scopes',
  'knowledge_vocabulary',
  'ai_log',
  'crawls',
  'queue_changes',
  'effects',
  'file_totals',
  'file_removals',
  'mail_addresses',
  'mail_settings',
  'mail_keys',
];

/** The columns of a table's primary key. */
function keyOf({ name }: ExportedTable): readonly string[] {
  if (name === 'participants') return ['conversation_id', 'user_id'];
  if (name === 'conversation_tags') return ['conversation_id', 'tag_id'];
  return name === 'knowledge_synonyms' ? ['application_id'] : ['id'];
}

function pageQuery(table: ExportedTable, organizationId: string, after: AnyRow | null, limit: number) {
  const { name, owner } = table;
  const key = keyOf(table);
  const columns = sql.join(key.map((column) => sql.ref(column)));
  const mine =
    typeof owner === 'string'
      ? sql`${sql.ref(owner)} = ${organizationId}`
      : sql`${sql.ref(owner.column)} in (select id from ${sql.table(owner.table)} where organization_id = ${organizationId})`;
  // One that was not sent stays: it goes within the hour.
  const sent = name === 'files' ? sql`message_id is not null and` : sql``;
  const rest =
    after === null ? sql`` : sql`(${columns}) > (${sql.join(key.map((column) => after[column]))}) and`;
  return sql<AnyRow>`select * from ${sql.table(name)} where ${rest} ${sent} ${mine} order by ${columns} limit ${limit}`.compile(
    builder,
  );
}

/** The number of a message is this database's: it does not travel. */
function isOwnNumber(table: string, column: string): boolean {
  return table === 'messages' && column === 'number';
}

/**
 * Inserts a message where its conversation has none in its place. On SQLite no constraint watches over that, and a message gets a
 * number of its own.
 * @param number undefined where messages have none
 */
function importMessage(
  columns: readonly string[],
  names: RawBuilder<unknown>,
  values: RawBuilder<unknown>,
  number: number | undefined,
): RawBuilder<unknown> {
  if (number === undefined)
    return sql`insert into messages (${names}) values (${values}) on conflict do nothing`;
  const own = (column: string) => sql.ref(`new.column${columns.indexOf(column) + 1}`);
  return sql`insert into messages (${names}, number) select *, ${number} from (values (${values})) as new
    where not exists (select 1 from ordered_messages as other
      where other.conversation_id = ${own('conversation_id')} and other.seq = ${own('seq')})
    on conflict do nothing`;
}

// An organization whose rows are still to come: its slug begins with a mark, `plan_changed_at` says when it was last
// worked on, and nothing of it runs by itself.
const beginArrival = prepare<OrganizationRow>()((db, p) =>
  db
    .insertInto('organizations')
    .values({
      id: p.id,
      slug: p.slug,
      name: p.name,
      plan: p.plan,
      requests_per_minute: p.requests_per_minute,
      retention_days: p.retention_days,
      own_retention_days: p.own_retention_days,
      max_applications: p.max_applications,
      max_seats: p.max_seats,
      max_file_bytes: p.max_file_bytes,
      release_after_minutes: null,
      escalation: '[]',
      second_factor: p.second_factor,
      plan_changed_at: p.plan_changed_at,
      created_at: p.created_at,
    })
    .onConflict((conflict) => conflict.doNothing()),
);
const arrivals = prepare<object>()((db) =>
  db
    .selectFrom('organizations')
    .select(['id', 'plan_changed_at as workedAt'])
    .where(isArriving)
    .orderBy('id'),
);
const workOnArrival = prepare<{ id: string; slug: string; now: number }>()((db, p) =>
  db
    .updateTable('organizations')
    .set({ plan_changed_at: p.now })
    .where('id', '=', p.id)
    .where('slug', '=', p.slug),
);
type Completed = {
  id: string;
  arriving: string;
  slug: string;
  release_after_minutes: number | null;
  escalation: string;
  plan_changed_at: number;
};
const giveUpArrival = prepare<{ id: string; slug: string; given_up: string }>()((db, p) =>
  db.updateTable('organizations').set({ slug: p.given_up }).where('id', '=', p.id).where('slug', '=', p.slug),
);
const giveUpOldArrival = prepare<{ id: string; before: number; given_up: string }>()((db, p) =>
  db
    .updateTable('organizations')
    .set({ slug: p.given_up })
    .where('id', '=', p.id)
    .where(isArriving)
    .where('plan_changed_at', '<', p.before),
);
const completeArrival = prepare<Completed>()((db, p) =>
  db
    .updateTable('organizations')
    .set({
      slug: p.slug,
      release_after_minutes: p.release_after_minutes,
      escalation: p.escalation,
      plan_changed_at: p.plan_changed_at,
    })
    .where('id', '=', p.id)
    .where('slug', '=', p.arriving),
);

const columnsOf = (table: string) =>
  twoFaced({
    sqlite: sql<{ name: string }>`select name from pragma_table_info(${table})`,
    postgres: sql<{ name: string }>`select column_name::text as name from information_schema.columns
      where table_schema = current_schema() and table_name = ${table} and column_name <> 'rowid'
      order by ordinal_position`,
  });
const schemaNumber = twoFaced({
  sqlite: sql<{ user_version: number }>`pragma user_version`,
  postgres: sql<{ user_version: number }>`select max(number) as user_version from schema_migrations`,
});

/** @param log numbers the messages, where they have numbers */
export function createExportImportRepository(runner: Runner, log?: LogEnd): TransferRepository {
  return {
    tables: exportedTables,
    page: async (table, organizationId, after, limit) => {
      const rows = (await runner.all(pageQuery(table, organizationId, after, limit))).map((row) =>
        Object.fromEntries(Object.entries(row).filter(([column]) => !isOwnNumber(table.name, column))),
      );
      return { rows, next: rows.length < limit ? null : (rows.at(-1) ?? null) };
    },
    columns: async (name) =>
      (await runner.all(columnsOf(name).compile(builder)))
        .map((one) => one.name)
        .filter((column) => !isOwnNumber(name, column)),
    insert: (name, columns, row) => {
      const names = sql.join(columns.map((column) => sql.ref(column)));
      const values = sql.join(columns.map((column) => row[column]));
      const query =
        name === 'messages'
          ? importMessage(columns, names, values, log?.takeMessage())
          : sql`insert into ${sql.table(name)} (${names}) values (${values}) on conflict do nothing`;
      return runner.run(query.compile(builder));
    },
    beginArrival: (row, token, now) =>
      run(runner, beginArrival, { ...row, slug: hiddenMark + token, plan_changed_at: now }),
    arrivals: () => all(runner, arrivals, {}),
    workOnArrival: (id, token, now) => run(runner, workOnArrival, { id, slug: hiddenMark + token, now }),
    giveUpArrival: (id, which) => {
      const given_up = `${hiddenMark}${hiddenMark}${id}`;
      return 'token' in which
        ? run(runner, giveUpArrival, { id, slug: hiddenMark + which.token, given_up })
        : run(runner, giveUpOldArrival, { id, before: which.workedBefore, given_up });
    },
    completeArrival: (row, token) =>
      run(runner, completeArrival, {
        id: row.id,
        arriving: hiddenMark + token,
        slug: row.slug,
        release_after_minutes: row.release_after_minutes,
        escalation: row.escalation,
        plan_changed_at: row.plan_changed_at,
      }),
    schema: async () => (await runner.first(schemaNumber.compile(builder)))?.user_version ?? 0,
  };
}
