// The tables that nodes share and no export holds: who lives, who is present, which places are taken, how often what was
// used. No index has what changes with each use: PostgreSQL could not leave a row's versions in one page then, and beside a
// transaction that stays open each use would look at all of them. Unlogged: a database that has crashed has none of it, and
// each node tells its part again.
import type { Link } from './link.ts';

const tables = `
create unlogged table if not exists nodes (
  id text collate "C" primary key, lock bigint not null, host text not null, version text not null,
  schema bigint not null, leads boolean not null, started_at timestamptz not null default now(),
  seen_at timestamptz not null default now());
create unlogged table if not exists presence (
  node text collate "C" not null, organization_id text collate "C" not null, member_id text collate "C" not null,
  primary key (node, organization_id, member_id));
create unlogged table if not exists seats (
  node text collate "C" not null, key text collate "C" not null, held bigint not null, primary key (key, node));
create index if not exists seats_node on seats (node);
create unlogged table if not exists limits (
  key text collate "C" primary key, uses text not null, ends_at bigint not null);
drop index if exists limits_ends_at;`;

/** Whether the tables are there: a role that may not make any needs them to be. */
export async function hasNodeTables(link: Link): Promise<boolean> {
  const { rows } = await link.query<{ found: number }>({
    text: "select (to_regclass('limits') is not null)::int as found",
  });
  return rows[0]?.found === 1;
}

/** Makes the tables that are missing. */
export async function makeNodeTables(link: Link): Promise<void> {
  for (const text of tables.split(';')) if (text.trim() !== '') await link.query({ text });
}
