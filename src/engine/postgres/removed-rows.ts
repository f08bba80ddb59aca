// Takes removed rows out of the tables' files. A transaction that began before may still read them, and then they stay.
import { isWorthRepeating, schemaName, type Link, type Statement } from './link.ts';

/** Transactions that began earlier are waited for: those of the service take milliseconds. */
const olderTimeoutMs = 2_000;
const lookAgainMs = 20;

// What every role may see: each open transaction holds a lock on its own number.
const openTransactions: Statement = {
  name: 'open_transactions',
  text: `select virtualxid as id from pg_locks join pg_stat_activity using (pid)
      where locktype = 'virtualxid' and mode = 'ExclusiveLock' and pid <> pg_backend_pid()
        and datname = current_database() and coalesce(backend_type, 'client backend') = 'client backend'
    union all select gid from pg_prepared_xacts where database = current_database()`,
};
/** Another who analyses a table, vacuums it or makes an index of it may take hours, and a caller waits for the answer here. */
const briefLocks: Statement = { text: "set lock_timeout = '2s'" };
const tables: Statement = {
  name: 'own_tables',
  text: `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname = '${schemaName}'`,
};

/**
 * Vacuums the service's tables.
 * @param link waits as long as it takes
 * @returns false when a transaction that began before is still open: what it may read has been kept; or when another holds
 *   a table for work of this kind
 */
export async function clearRemovedRows(link: Link): Promise<boolean> {
  const ended = await waitForOlder(link);
  const { rows } = await link.query<{ name: string }>(tables);
  await link.query(briefLocks);
  try {
    await link.query({ text: `vacuum ${rows.map(({ name }) => name).join(', ')}` });
  } catch (error) {
    if (!isWorthRepeating(error)) throw error;
    return false;
  }
  return ended;
}

async function waitForOlder(link: Link): Promise<boolean> {
  const read = async (): Promise<string[]> =>
    (await link.query<{ id: string }>(openTransactions)).rows.map(({ id }) => id);
  const older = new Set(await read());
  const until = performance.now() + olderTimeoutMs;
  while (older.size > 0) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    const open = new Set(await read());
    for (const id of older) if (!open.has(id)) older.delete(id);
  }
  return true;
}
