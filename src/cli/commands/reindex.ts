// deskbell reindex: makes the full-text indexes of the data folder anew. What that is and
// what it refuses is src/data-folder.ts; this only tells.
import type { Command } from 'commander';
import type { WrapHandler, Context } from '../context.ts';
import { assertDatabase, assertFolder } from '../local.ts';

export function addReindexCommand(program: Command, act: WrapHandler): void {
  program
    .command('reindex')
    .description('make the indexes of the search anew, when they are damaged; no server may run')
    .action(act(reindex));
}

async function reindex(context: Context): Promise<void> {
  const config = context.config();
  assertFolder(
    config,
    'The data is in a PostgreSQL database, which makes its own indexes anew, also while servers run: REINDEX DATABASE CONCURRENTLY NAME.',
  );
  await assertDatabase(context, config);
  const { reindexDataFolder: makeAnew } = await import('../../data-folder.ts');
  await makeAnew(config);
  const { print } = context;
  if (print.json) return print.document({ data: config.data });
  print.line(`Made the indexes of ${config.data} anew.`);
  print.line(
    'The server puts the messages into theirs from its next start on. Until all are in it, a search finds a part of them.',
  );
  print.next(context.command('doctor'), context.command('serve'));
}
