// deskbell nodes and deskbell migrate: who serves on a PostgreSQL database, and bringing it to the newest schema. Both
// only with DESKBELL_DATABASE_URL.
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import type { NodeRow } from '../../engine/open-engine.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError } from '../errors.ts';
import { placeOf } from '../local.ts';

export function addNodeCommands(program: Command, act: WrapHandler): void {
  program
    .command('nodes')
    .description('list the servers that run on the database of DESKBELL_DATABASE_URL')
    .action(act(listNodes));
  program
    .command('migrate')
    .description('bring the database of DESKBELL_DATABASE_URL to the schema of this version')
    .action(act(migrate));
}

/** @throws CommandError without a database */
function databaseOf({ databaseUrl }: Config): string {
  if (databaseUrl === null)
    throw new CommandError(
      'This is for several servers on one PostgreSQL database: set DESKBELL_DATABASE_URL. A data folder has one server, which brings its schema up to date when it starts.',
    );
  return databaseUrl.reveal();
}

function stateOf({ connected, silentMs }: NodeRow): string {
  if (!connected) return 'gone';
  return silentMs > 5_000 ? `silent for ${Math.round(silentMs / 1_000)} s` : 'serving';
}

async function listNodes(context: Context): Promise<void> {
  const url = databaseOf(context.config());
  const { nodesOfDatabase } = await import('../../engine/open-engine.ts');
  const nodes = await nodesOfDatabase(url);
  const { print } = context;
  if (print.json)
    return print.document({
      nodes: nodes.map(({ id, host, version, schema, leads, startedAt, silentMs, connected }) => ({
        id,
        host,
        version,
        schema,
        leads: leads && connected,
        startedAt: new Date(startedAt).toISOString(),
        silentMs,
        connected,
      })),
    });
  print.table(
    ['NODE', 'HOST', 'VERSION', 'SCHEMA', 'SINCE', 'STATE', ''],
    nodes.map((node) => [
      node.id,
      node.host,
      node.version,
      String(node.schema),
      new Date(node.startedAt).toISOString(),
      stateOf(node),
      node.leads && node.connected ? 'leads' : '',
    ]),
    'No server runs on this database.',
  );
}

async function migrate(context: Context): Promise<void> {
  const config = context.config();
  const url = databaseOf(config);
  const { migrateDatabaseUrl } = await import('../../engine/open-engine.ts');
  const { before, after } = await migrateDatabaseUrl(url);
  const { print } = context;
  if (print.json) return print.document({ before, after });
  const place = await placeOf(config);
  print.line(
    before === after
      ? `The database ${place} has schema ${after}, the newest: nothing was to be done.`
      : `The database ${place} has schema ${after} now; before it was ${before}.`,
  );
}
