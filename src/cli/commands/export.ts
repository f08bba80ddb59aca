// deskbell export: what is kept about one visitor, or a whole organization to take to
// another server. Holds no rule.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { sizeLimits } from '../../protocol/codes.ts';
import { counted } from '../../text/text.ts';
import type { WrapHandler, Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { exportAll } from '../installation-folder.ts';
import { runLocal, withLocal } from '../local.ts';
import { writeNew } from '../new-file.ts';

interface ExportFlags {
  readonly visitor?: string;
  readonly app?: string;
  readonly mode?: string;
  readonly org?: string;
  readonly all?: true;
}

export function addExportCommand(program: Command, act: WrapHandler): void {
  program
    .command('export')
    .description("export a visitor's data, a whole organization, or all of them, to import elsewhere")
    .argument('[FILE]', 'where to, for --all a folder; a visitor goes to stdout without one')
    .option('--visitor <ID>', 'everything of this visitor, as JSON')
    .option('--app <ID>', 'the application that the visitor belongs to, where several know the id')
    .option('--mode <live|test>', 'which of the two, where both know the id')
    .option('--org <S>', 'everything of this organization (slug or id), for deskbell import')
    .option('--all', 'every organization, each to a file of its own, for deskbell import')
    .action(act<ExportFlags>(exportData));
}

async function exportData(
  context: Context,
  flags: ExportFlags,
  [file]: readonly (string | undefined)[],
): Promise<void> {
  const given = [flags.visitor, flags.org, flags.all].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError('Give one of --visitor ID, --org S and --all.');
  if (flags.all === true) {
    if (file === undefined)
      throw new UsageError('Name a folder to write the organizations to: deskbell export --all DIR');
    return exportAll(context, file);
  }
  if (flags.org !== undefined) return exportOrganization(context, flags.org, file);
  const { visitor: visitorId = '', app: applicationId } = flags;
  // The schemas are loaded here and not before: they take longer than most commands.
  const { mode: modes } = await import('../../protocol/entities.ts');
  const mode = flags.mode === undefined ? undefined : modes.safeParse(flags.mode);
  if (mode?.success === false) throw new UsageError('--mode must be live or test.');
  const data = await runLocal(context, 'visitors.export', { visitorId, applicationId, mode: mode?.data });
  if (file === undefined) return context.print.document(data);
  await writeNew(file, async (put) => put(JSON.stringify(data, null, 2)));
  if (context.print.json)
    context.print.document({ file: resolve(file), conversations: data.conversations.length });
  else context.print.line(`Wrote ${counted(data.conversations.length, 'conversation')} to ${resolve(file)}.`);
}

async function exportOrganization(
  context: Context,
  reference: string,
  file: string | undefined,
): Promise<void> {
  if (file === undefined)
    throw new UsageError('Name a file to write the organization to: deskbell export --org S FILE');
  const { exportOrganization: exportRows } = await import('../../services/data/export.ts');
  const done = await withLocal(context, ({ service }) =>
    writeNew(file, (put) =>
      exportRows(
        { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
        reference,
        put,
      ),
    ),
  );
  const { print } = context;
  if (print.json)
    return print.document({
      file: resolve(file),
      organization: done.organization,
      rows: done.rows,
      holdsSecrets: true,
    });
  print.line(
    'Wrote ',
    ['bold', done.organization.slug],
    ` to ${resolve(file)}: ${counted(done.rows, 'row')}.`,
  );
  print.line('The file contains API keys and secrets in clear text. Remove it after the import.');
  print.next(`deskbell import ${file} --data OTHER-FOLDER`);
}
