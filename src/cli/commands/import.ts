// deskbell import: takes in an organization that deskbell export has written on
// another server. Holds no rule.
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { sizeLimits } from '../../protocol/codes.ts';
import { counted } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError } from '../errors.ts';
import { readFileLines } from '../file-lines.ts';
import { importAll } from '../installation-folder.ts';
import { assertOwnFolder, withLocal } from '../local.ts';

export function addImportCommand(program: Command, act: WrapHandler): void {
  program
    .command('import')
    .description('import an organization from a file of deskbell export --org, or all from a folder of --all')
    .argument('<FILE>')
    .action(act(importData));
}

async function importData(context: Context, _options: object, [file = '']: readonly string[]): Promise<void> {
  const found = await stat(file).catch(() => null);
  await assertOwnFolder(context.config());
  if (found?.isDirectory() === true) return importAll(context, file);
  if (found?.isFile() !== true) throw new CommandError(`There is no file ${file}.`);
  const { importOrganization } = await import('../../services/data/import.ts');
  const lines = (): AsyncIterable<string> => readFileLines(file);
  const { organization, rows } = await withLocal(
    context,
    ({ service }) =>
      importOrganization(
        { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
        lines,
      ),
    'may be new',
  );
  const { print } = context;
  if (print.json) return print.document({ organization, rows });
  print.line(
    'Imported ',
    ['bold', organization.slug],
    `: ${counted(rows, 'row')}, with their ids. Its API keys work here now.`,
  );
  print.line(`Members must sign in again. Remove ${file}: it contains secrets.`);
  print.next(context.command(`org show ${organization.slug}`));
}
