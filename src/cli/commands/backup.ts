// deskbell backup: one file with everything, beside a running server. How it is made
// is src/data-folder.ts; this only asks and tells.
import type { Command } from 'commander';
import type { WrapHandler, Context } from '../context.ts';
import { assertDatabase } from '../local.ts';

export function addBackupCommand(program: Command, act: WrapHandler): void {
  program
    .command('backup')
    .description('copy the database and the secret key into one file, also while the server runs')
    .argument('<FILE>')
    .option('--force', 'replace the file if it exists')
    .action(act<{ force?: boolean }>(backUp));
}

async function backUp(
  context: Context,
  { force = false }: { force?: boolean },
  [file = '']: readonly string[],
): Promise<void> {
  const config = context.config();
  await assertDatabase(context, config);
  const { backUpDataFolder: backUpFolder } = await import('../../data-folder.ts');
  const { file: path, facts } = await backUpFolder(config, file, force, Date.now());
  const { madeAt, schema, bytes, sha256 } = facts;
  const { print } = context;
  if (print.json)
    return print.document({
      file: path,
      madeAt: new Date(madeAt).toISOString(),
      schema,
      databaseBytes: bytes,
      sha256,
      holdsSecretKey: true,
    });
  print.line('Backed up to ', ['bold', path], `: ${(bytes / 1_048_576).toFixed(1)} MiB, checked.`);
  print.line('The file contains the secret key, so every API key in it can be read. Keep it private.');
  print.next(context.command(`restore ${file}`));
}
