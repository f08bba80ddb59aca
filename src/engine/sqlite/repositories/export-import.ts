// Queries that carry one organization's rows out of a database and into another:
// which tables travel, by what they belong to it, and in which order they must arrive.
import { sql } from 'kysely';
import type { Database } from '../../rows.ts';
import { builder, type Runner } from '../query.ts';

export type TableName = keyof Database;

/** How a table's rows belong to an organization: by a column of their own, or by a row of another table. */
export interface ExportedTable {
  readonly name: TableName;
  readonly owner: 'id' | 'organization_id' | { readonly column: string; readonly table: TableName };
  /** Columns that name rows of other travelling tables: they must have arrived before. */
  readonly references: Readonly<Record<string, TableName>>;
}

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
  { name: 'canned_replies', owner: 'organization_id', references: {} },
  { name: 'webhooks', owner: 'organization_id', references: {} },
  { name: 'visitors', owner: 'organization_id', references: { application_id: 'applications' } },
  {
    name: 'conversations',
    owner: 'organization_id',
    references: { application_id: 'applications', visitor_key: 'visitors' },
  },
  {
    name: 'participants',
    owner: { column: 'conversation_id', table: 'conversations' },
    references: { conversation_id: 'conversations' },
  },
  { name: 'messages', owner: 'organization_id', references: { conversation_id: 'conversations' } },
  { name: 'knowledge_documents', owner: 'organization_id', references: { application_id: 'applications' } },
  {
    name: 'knowledge_synonyms',
    owner: { column: 'application_id', table: 'applications' },
    references: { application_id: 'applications' },
  },
  { name: 'audit', owner: 'organization_id', references: {} },
];

/**
 * Tables that stay, each for a reason: facts of one server, its log and what follows it, sessions and links that its
 * key has signed, and an index that the other server makes anew.
 */
export const stayingTables: readonly string[] = [
  'meta',
  'events',
  'staff_sessions',
  'invitations',
  'webhook_deliveries',
  'search',
  'search_rows',
  'knowledge_passages',
  'knowledge_search',
  'knowledge_scopes',
  'knowledge_vocabulary',
  'ai_log',
];

/** A row as it lies in its table, by column. */
export type AnyRow = Readonly<Record<string, unknown>>;

function pageQuery({ name, owner }: ExportedTable, organizationId: string, afterRow: number, limit: number) {
  const mine =
    typeof owner === 'string'
      ? sql`${sql.ref(owner)} = ${organizationId}`
      : sql`${sql.ref(owner.column)} in (select id from ${sql.table(owner.table)} where organization_id = ${organizationId})`;
  return sql<AnyRow & { rowid_: number }>`select rowid as rowid_, * from ${sql.table(name)}
    where rowid > ${afterRow} and ${mine} order by rowid limit ${limit}`.compile(builder);
}

export function createExportImportRepository(runner: Runner) {
  return {
    /** Parents before children: the order in which rows must arrive. */
    travelling: exportedTables,
    /**
     * Rows of one table that belong to an organization, in the order in which they were stored.
     * @param afterRow where the page begins: 0, or `lastRow` of the page before
     */
    page: async (table: ExportedTable, organizationId: string, afterRow: number, limit: number) => {
      const found = await runner.all(pageQuery(table, organizationId, afterRow, limit));
      return {
        rows: found.map(({ rowid_: _place, ...row }) => row),
        lastRow: found.at(-1)?.rowid_ ?? afterRow,
      };
    },
    /** The columns of a table. */
    columns: async (name: TableName) =>
      (
        await runner.all(sql<{ name: string }>`select name from pragma_table_info(${name})`.compile(builder))
      ).map((one) => one.name),
    /**
     * Puts a row into its table; 0 when there is one like it, by id or by what must be unique.
     * @param columns all columns of the table
     */
    insert: (name: TableName, columns: readonly string[], row: AnyRow) => {
      const query = sql`insert into ${sql.table(name)} (${sql.join(columns.map((column) => sql.ref(column)))})
        values (${sql.join(columns.map((column) => row[column]))}) on conflict do nothing`;
      return runner.run(query.compile(builder));
    },
    schema: async () =>
      (await runner.first(sql<{ user_version: number }>`pragma user_version`.compile(builder)))
        ?.user_version ?? 0,
  };
}
