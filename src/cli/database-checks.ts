// What `deskbell doctor` looks at where the data is in a PostgreSQL database. Reads only; prints nothing.
import type { Config } from '../config.ts';
import type { SharedDatabaseReport } from '../data-folder.ts';
import type { PostgresReport } from '../engine/open-engine.ts';
import { counted } from '../text/text.ts';
import { note, ok, wrong, type Finding } from './finding.ts';
import { placeOf } from './local.ts';

/** A server takes so many. */
const connectionsOfServer = 11;
const longTransactionMs = 60_000;

/** Looks at the database of a configuration; null: none is set. */
export async function lookAtDatabase(config: Config): Promise<SharedDatabaseReport | Error | null> {
  const { databaseUrl } = config;
  if (databaseUrl === null) return null;
  const { inspectSharedDatabase: inspect } = await import('../data-folder.ts');
  return inspect(config, databaseUrl.reveal()).catch((error: unknown) =>
    error instanceof Error ? error : new Error(String(error)),
  );
}

/** @param now ms since the epoch */
export async function checkDatabase(
  config: Config,
  report: SharedDatabaseReport | Error,
  now: number,
): Promise<Finding[]> {
  if (report instanceof Error)
    return [wrong('database', report.message, 'Mend what it says, or set DESKBELL_DATABASE_URL to another')];
  return [
    ...server(report, await placeOf(config)),
    key(report.key),
    schema(report),
    ...keeps(config, report),
    ...load(report),
    skew(now, report),
    nodes(report),
  ];
}

function server(report: PostgresReport, place: string): Finding[] {
  const findings = [
    report.versionNumber >= 150_000
      ? ok('database', `${place}, PostgreSQL ${report.version}`)
      : wrong(
          'database',
          `${place} is PostgreSQL ${report.version}, and Deskbell needs 15 or newer`,
          'Upgrade it',
        ),
  ];
  if (report.encoding !== 'UTF8')
    findings.push(
      wrong(
        'encoding',
        `${report.encoding}, and Deskbell needs UTF8`,
        'Make another database: createdb --encoding UTF8 --template template0 deskbell',
      ),
    );
  if (report.isStandby)
    findings.push(wrong('standby', 'it can only be read', 'Name the primary in DESKBELL_DATABASE_URL'));
  findings.push(
    report.encrypted
      ? ok('tls', 'the connection is encrypted')
      : note(
          'tls',
          'the connection is not encrypted',
          'Add ?sslmode=verify-full to DESKBELL_DATABASE_URL where others can listen in between',
        ),
  );
  return findings;
}

/** @param right whether it is the database's; the error where it is none; null: the database has none yet */
function key(right: boolean | Error | null): Finding {
  const what = 'secret key';
  const fix = 'Set DESKBELL_SECRET_KEY to the right key';
  if (right === null) return note(what, 'the first start binds the database to DESKBELL_SECRET_KEY');
  if (right instanceof Error) return wrong(what, right.message, fix);
  return right
    ? ok(what, 'DESKBELL_SECRET_KEY is the right one')
    : wrong(what, 'it is not the one of this database', fix);
}

function schema({ schema: number, knownSchema }: PostgresReport): Finding {
  if (number === 0) return note('schema', 'there is none yet; the first start makes it');
  return number === knownSchema
    ? ok('schema', String(number))
    : note('schema', `${number}, and this version needs ${knownSchema}`, 'deskbell migrate');
}

/** Whether what is acknowledged is kept. */
function keeps({ durability }: Config, { settings, standbys }: PostgresReport): Finding[] {
  const findings: Finding[] = [];
  if (settings.fsync !== 'on' || settings.full_page_writes !== 'on')
    findings.push(
      wrong(
        'durability',
        `fsync is ${settings.fsync} and full_page_writes is ${settings.full_page_writes}: a crash of the database’s machine may ruin all of it`,
        'Set both to on in postgresql.conf',
      ),
    );
  else if (durability === 'normal')
    findings.push(
      note(
        'durability',
        'normal: a crash of the database may take acknowledged messages',
        'Serve with --durability full',
      ),
    );
  else findings.push(ok('durability', 'full: what is acknowledged survives a loss of power'));
  if (standbys > 0 && settings.synchronous_standby_names === '')
    findings.push(
      note(
        'standby',
        'its standbys follow in their own time: after a failover the last acknowledged messages may be missing',
        'Set synchronous_standby_names in postgresql.conf if none may be',
      ),
    );
  return findings;
}

function load({ connectionsLeft, notifyQueue, oldestTransactionMs }: PostgresReport): Finding[] {
  return [
    connectionsLeft < connectionsOfServer
      ? note(
          'connections',
          `${counted(connectionsLeft, 'is', 'are')} left, and a server takes ${connectionsOfServer}`,
          'Raise max_connections in postgresql.conf before another server is started',
        )
      : ok('connections', `${counted(connectionsLeft, 'is', 'are')} left`),
    notifyQueue > 0.1
      ? wrong(
          'notifications',
          `their queue is ${Math.round(notifyQueue * 100)} % full: a session listens and does not read`,
          'Find it in pg_stat_activity, among those with an old transaction, and end it',
        )
      : ok('notifications', `their queue is ${Math.round(notifyQueue * 100)} % full`),
    oldestTransactionMs > longTransactionMs
      ? note(
          'transactions',
          `one has been open for ${Math.round(oldestTransactionMs / 1_000)} s, and holds up the tidying of tables`,
          'Find it in pg_stat_activity by xact_start',
        )
      : ok('transactions', 'none is old'),
  ];
}

function skew(now: number, { clockSkewMs, clocksApart }: PostgresReport): Finding {
  return clocksApart
    ? wrong(
        'clock',
        `this machine and the database are ${(Math.abs(clockSkewMs) / 1_000).toFixed(1)} s apart`,
        'Set the clocks of all machines right (timedatectl set-ntp true)',
      )
    : ok('clock', new Date(now).toISOString());
}

function nodes({ nodes: all }: PostgresReport): Finding {
  const live = all.filter(({ connected }) => connected);
  const versions = new Set(live.map(({ version }) => version));
  if (versions.size > 1)
    return note('servers', `${live.length}, of the versions ${[...versions].toSorted().join(', ')}`);
  return ok(
    'servers',
    live.length === 0 ? 'none runs' : `${counted(live.length, 'runs', 'run')}: deskbell nodes`,
  );
}
