// deskbell backup: one file with everything, beside a running server. How it is made
// is src/data-folder.ts; this only asks and tells.
import type { Command } from 'commander';
import { helperEnvironment } from '../../config/user-environment.ts';
import { formatBytes } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { assertDatabase, assertFolder } from '../local.ts';
import { addPassphraseOptions, newPassphrase, type PassphraseOptions } from '../passphrase.ts';

interface BackupOptions extends PassphraseOptions {
  readonly force?: boolean;
  readonly encrypt?: boolean;
}

export function addBackupCommand(program: Command, act: WrapHandler): void {
  addPassphraseOptions(
    program
      .command('backup')
      .description('copy the database and the secret key into one file, also while the server runs')
      .argument('<FILE>')
      .option('--force', 'replace the file if it exists')
      .option('--encrypt', 'encrypt the file with a passphrase, which is asked for'),
  ).action(act<BackupOptions>(backUp));
}

async function backUp(
  context: Context,
  { force = false, encrypt = false, ...given }: BackupOptions,
  [file = '']: readonly string[],
): Promise<void> {
  const config = context.config();
  assertFolder(
    config,
    'The data is in a PostgreSQL database, which its own tools back up: pg_dump --format custom --file deskbell.dump, with the password in ~/.pgpass. Keep DESKBELL_SECRET_KEY apart from it, and back up what DESKBELL_FILES names.',
  );
  await assertDatabase(context, config);
  const encrypted = encrypt || given.passphraseStdin === true || given.passphraseFile !== undefined;
  const passphrase = encrypted ? await newPassphrase(context, given) : null;
  const { backUpDataFolder: backUpFolder } = await import('../../data-folder.ts');
  const { writeIdleBackup } = await import('../../engine/open-engine.ts');
  const { file: path, facts } = await backUpFolder(config, file, force, Date.now(), passphrase, (...work) =>
    writeIdleBackup(helperEnvironment(), ...work),
  );
  const { madeAt, schema, bytes, sha256, files } = facts;
  const { print } = context;
  if (print.json)
    return print.document({
      file: path,
      madeAt: new Date(madeAt).toISOString(),
      schema,
      databaseBytes: bytes,
      files: files?.count ?? null,
      fileBytes: files?.bytes ?? null,
      sha256,
      holdsSecretKey: true,
      encrypted,
    });
  print.line('Backed up to ', ['bold', path], `: ${formatBytes(bytes)}, checked.`);
  if (files === undefined)
    print.line(
      'The files of messages are in a bucket, and not in this backup. Protect the bucket by its own means.',
    );
  else if (files.count > 0)
    print.line(`Files of messages in it: ${files.count}, ${formatBytes(files.bytes)}.`);
  if (encrypted)
    print.line('The file is encrypted, the secret key in it too. Without its passphrase it is lost.');
  else print.line('The file contains the secret key, so every API key in it can be read. Keep it private.');
  print.next(context.command(`restore ${file}`));
}
