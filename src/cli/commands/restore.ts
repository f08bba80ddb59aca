// deskbell restore: puts a backup's database and key into a data folder. What it
// replaces and what it refuses is src/data-folder.ts; this only asks and tells.
import type { Command } from 'commander';
import type { WrapHandler, Context } from '../context.ts';

export function addRestoreCommand(program: Command, act: WrapHandler): void {
  program
    .command('restore')
    .description('restore a backup into the data folder; no server may run on it')
    .argument('<FILE>')
    .option('--force', 'replace an existing database; the old one is kept')
    .action(act<{ force?: boolean }>(restore));
}

async function restore(
  context: Context,
  { force = false }: { force?: boolean },
  [file = '']: readonly string[],
): Promise<void> {
  const config = context.config();
  const { restoreDataFolder: restoreFolder } = await import('../../data-folder.ts');
  const { facts, before } = await restoreFolder(config, file, force, Date.now());
  const madeAt = new Date(facts.madeAt).toISOString();
  const { print } = context;
  if (print.json) return print.document({ data: config.data, madeAt, schema: facts.schema, before });
  print.line(`Restored ${config.data} to what it was at ${madeAt}.`);
  if (before !== null) print.line(`The earlier data is in ${before}. It is removed after 30 days.`);
  print.line('What was erased after the backup is there again. Look into deskbell audit and erase it again.');
  print.next(context.command('doctor'), context.command('serve'));
}
