// deskbell restore: puts a backup's database and key into a data folder. What it
// replaces and what it refuses is src/data-folder.ts; this only asks and tells.
import type { Command } from 'commander';
import type { RestoreResult } from '../../data-folder.ts';
import type { WrapHandler, Context } from '../context.ts';
import { assertFolder, assertOwnFolder } from '../local.ts';
import {
  addPassphraseOptions,
  askPassphrase,
  givenPassphrase,
  type PassphraseOptions,
} from '../passphrase.ts';

interface RestoreOptions extends PassphraseOptions {
  readonly force?: boolean;
}

const attempts = 3;

export function addRestoreCommand(program: Command, act: WrapHandler): void {
  addPassphraseOptions(
    program
      .command('restore')
      .description('restore a backup into the data folder; no server may run on it')
      .argument('<FILE>')
      .option('--force', 'replace an existing database; the old one is kept'),
  ).action(act<RestoreOptions>(restore));
}

async function restore(
  context: Context,
  { force = false, ...options }: RestoreOptions,
  [file = '']: readonly string[],
): Promise<void> {
  const config = context.config();
  assertFolder(
    config,
    'The data is in a PostgreSQL database, which its own tools restore: stop all servers, then pg_restore --clean --if-exists --dbname NAME deskbell.dump, with the password in ~/.pgpass. A backup of a data folder is restored without DESKBELL_DATABASE_URL, and taken over with deskbell export and deskbell import.',
  );
  await assertOwnFolder(config);
  const {
    isSealedBackup,
    PassphraseError,
    restoreDataFolder: restoreFolder,
  } = await import('../../data-folder.ts');
  const given = await givenPassphrase(context, options);
  const asked = given === null && (await isSealedBackup(file));
  const attempt = (passphrase: string | null): Promise<RestoreResult> =>
    restoreFolder(config, file, force, Date.now(), passphrase);
  let restored: RestoreResult | null = null;
  for (let left = attempts; restored === null; left -= 1)
    try {
      restored = await attempt(asked ? await askPassphrase(context) : given);
    } catch (error) {
      if (!asked || left === 1 || !(error instanceof PassphraseError)) throw error;
      context.print.note(`${error.message} Once again, please.`);
    }
  const { facts, before } = restored;
  const madeAt = new Date(facts.madeAt).toISOString();
  const { print } = context;
  if (print.json) return print.document({ data: config.data, madeAt, schema: facts.schema, before });
  print.line(`Restored ${config.data} to what it was at ${madeAt}.`);
  if (before !== null) print.line(`The earlier data is in ${before}. It is removed after 30 days.`);
  print.line('What was erased after the backup is there again. Erase it again.');
  // The log that is restored ends with the backup.
  if (before !== null) print.line('  ', ['cyan', context.command('audit --action visitors.erase', before)]);
  print.next(context.command('doctor'), context.command('serve'));
}
