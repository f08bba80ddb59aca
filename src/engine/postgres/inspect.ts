// Looks at a database on PostgreSQL for `deskbell doctor`, `nodes` and `migrate`. Decides nothing about what is good
// enough, and changes nothing but in `migrateDatabase`.
import { migrations } from '../../../migrations/index.ts';
import { nothingKnown, reportRows, type RowsReport } from '../sqlite/repositories/rows-report.ts';
import { examineDatabase, unreachable } from './examine.ts';
import { areClocksApart, measureSkew } from './clock-skew.ts';
import { Link } from './link.ts';
import { assertNoneServes, readNodes, type NodeRow } from './membership.ts';
import { migrateOn, newestSchema, readSchema } from './migrate.ts';
import { hasNodeTables } from './node-tables.ts';
import { Reads } from './reads.ts';

export type { NodeRow } from './membership.ts';

export interface PostgresReport extends RowsReport {
  /** As the server says it: `18.4`. */
  readonly version: string;
  readonly versionNumber: number;
  readonly encoding: string;
  /** 0: there is none. */
  readonly schema: number;
  /** The newest schema that this program knows. */
  readonly knownSchema: number;
  /** The database's note of which key it was made with. */
  readonly keyCheck: string | null;
  /** Whether this connection is encrypted. */
  readonly encrypted: boolean;
  readonly isStandby: boolean;
  readonly settings: {
    readonly fsync: string;
    readonly full_page_writes: string;
    readonly synchronous_commit: string;
    readonly synchronous_standby_names: string;
  };
  /** Standbys that are connected. */
  readonly standbys: number;
  readonly connectionsLeft: number;
  /** How full the queue of notifications is, 0 to 1. */
  readonly notifyQueue: number;
  /** For how long the oldest transaction has been open, ms. */
  readonly oldestTransactionMs: number;
  /** What the database's clock shows more than this machine's, ms. */
  readonly clockSkewMs: number;
  /** Whether that is too much. */
  readonly clocksApart: boolean;
  readonly sizeBytes: number;
  readonly nodes: readonly NodeRow[];
  /** When the newest row was made, ms; null where there is none. */
  readonly newestTime: number | null;
}

interface Facts {
  readonly version: string;
  readonly version_number: number;
  readonly encoding: string;
  readonly encrypted: number;
  readonly standby: number;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
  readonly standby_names: string;
  readonly standbys: number;
  readonly connections_left: number;
  readonly notify_queue: number;
  readonly oldest_ms: number;
  readonly size: number;
}

const facts = `select current_setting('server_version') as version,
  current_setting('server_version_num')::int as version_number, current_setting('server_encoding') as encoding,
  coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)::int as encrypted,
  pg_is_in_recovery()::int as standby, current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  (select reset_val from pg_settings where name = 'synchronous_commit') as synchronous_commit,
  current_setting('synchronous_standby_names') as standby_names,
  (select count(*) from pg_stat_replication) as standbys,
  current_setting('max_connections')::int - (select count(*) from pg_stat_activity where backend_type = 'client backend')
    as connections_left,
  pg_notification_queue_usage() as notify_queue,
  coalesce((select max(extract(epoch from clock_timestamp() - xact_start) * 1000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()), 0)::bigint as oldest_ms,
  pg_database_size(current_database()) as size`;

/** @throws EngineError when it can't be reached; SchemaError when it is newer than this program */
export async function inspectPostgres(url: string): Promise<PostgresReport> {
  return withLink(url, async (link) => {
    const { version: schema } = await readSchema(link);
    const { rows } = await link.query<Facts>({ text: facts });
    const [found] = rows;
    if (found === undefined) throw new Error('The database does not say what it is.');
    const { rows: keys } =
      schema === 0
        ? { rows: [] }
        : await link.query<{ value: string }>({ text: "select value from meta where key = 'key_check'" });
    const skewMs = await measureSkew(link);
    return {
      version: found.version,
      versionNumber: found.version_number,
      encoding: found.encoding,
      schema,
      knownSchema: newestSchema,
      keyCheck: keys[0]?.value ?? null,
      encrypted: found.encrypted === 1,
      isStandby: found.standby === 1,
      settings: {
        fsync: found.fsync,
        full_page_writes: found.full_page_writes,
        synchronous_commit: found.synchronous_commit,
        synchronous_standby_names: found.standby_names,
      },
      standbys: found.standbys,
      connectionsLeft: found.connections_left,
      notifyQueue: found.notify_queue,
      oldestTransactionMs: found.oldest_ms,
      clockSkewMs: skewMs,
      clocksApart: areClocksApart(skewMs),
      sizeBytes: found.size,
      nodes: (await hasNodeTables(link)) ? await readNodes(link) : [],
      ...(schema < newestSchema ? { newestTime: null, ...nothingKnown } : await readRows(url)),
    };
  });
}

async function readRows(url: string): Promise<RowsReport & Pick<PostgresReport, 'newestTime'>> {
  const reads = new Reads(() => Link.open({ url, name: 'deskbell doctor', durable: true }), 1);
  try {
    return await reads.read(async ({ repositories }) => ({
      newestTime: await repositories.retention.newestTime(),
      ...(await reportRows(repositories)),
    }));
  } finally {
    await reads.close();
  }
}

/** The number of a database's schema; 0: there is none. @throws EngineError, SchemaError */
export function schemaOf(url: string): Promise<number> {
  return withLink(url, async (link) => (await readSchema(link)).version);
}

/** Who serves. @throws EngineError, SchemaError */
export function nodesOf(url: string): Promise<readonly NodeRow[]> {
  return withLink(url, async (link) => {
    await readSchema(link);
    return (await hasNodeTables(link)) ? readNodes(link) : [];
  });
}

/**
 * Brings a database to the newest schema.
 * @returns its number before and after
 * @throws EngineError, also where servers run on the older schema; SchemaError
 */
export function migrateDatabase(url: string): Promise<{ before: number; after: number }> {
  return withLink(url, async (link) => {
    await examineDatabase(link);
    const { version: before } = await readSchema(link);
    await migrateOn(link, migrations, (found) => assertNoneServes(link, found));
    return { before, after: newestSchema };
  });
}

async function withLink<T>(url: string, work: (link: Link) => Promise<T>): Promise<T> {
  try {
    const link = await Link.open({
      url,
      name: 'deskbell',
      durable: true,
      patient: true,
      allowsStandby: true,
    });
    try {
      return await work(link);
    } finally {
      await link.close();
    }
  } catch (error) {
    throw unreachable(url, error);
  }
}
