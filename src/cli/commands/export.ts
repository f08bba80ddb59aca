// deskbell export: what is kept about one visitor, or a whole organization to take to
// another server. Holds no rule.
import { open, rm, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { sizeLimits } from '../../protocol/codes.ts';
import type { WrapHandler, Context } from '../context.ts';
import { CommandError, UsageError, messageOf } from '../errors.ts';
import { runLocal, withLocal } from '../local.ts';
import { errorCode } from '../../net/network-errors.ts';

interface ExportFlags {
  readonly visitor?: string;
  readonly app?: string;
  readonly mode?: string;
  readonly org?: string;
}

export function addExportCommand(program: Command, act: WrapHandler): void {
  program
    .command('export')
    .description("export a visitor's data, or a whole organization to import elsewhere")
    .argument('[FILE]', 'where to; a visitor goes to stdout without one')
    .option('--visitor <ID>', 'everything of this visitor, as JSON')
    .option('--app <ID>', 'the application that the visitor belongs to, where several know the id')
    .option('--mode <live|test>', 'which of the two, where both know the id')
    .option('--org <S>', 'everything of this organization (slug or id), for deskbell import')
    .action(act<ExportFlags>(exportData));
}

async function exportData(
  context: Context,
  flags: ExportFlags,
  [file]: readonly (string | undefined)[],
): Promise<void> {
  if ((flags.visitor === undefined) === (flags.org === undefined))
    throw new UsageError('Give either --visitor ID or --org S.');
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
  else context.print.line(`Wrote ${data.conversations.length} conversations to ${resolve(file)}.`);
}

async function exportOrganization(
  context: Context,
  reference: string,
  file: string | undefined,
): Promise<void> {
  if (file === undefined)
    throw new UsageError('Name a file to write the organization to: deskbell export --org S FILE');
  const { exportOrganization: exportRows } = await import('../../services/data/export-import.ts');
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
  print.line('Wrote ', ['bold', done.organization.slug], ` to ${resolve(file)}: ${done.rows} rows.`);
  print.line('The file contains API keys and secrets in clear text. Remove it after the import.');
  print.next(`deskbell import ${file} --data OTHER-FOLDER`);
}

async function openNew(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    throw new CommandError(
      errorCode(error) === 'EEXIST'
        ? `${file} exists already. Choose another file, or remove it.`
        : `${file} can't be written: ${messageOf(error)}.`,
      { cause: error },
    );
  }
}

/** Buffered so much before it goes to the file, in characters. */
const chunk = 262_144;

/** Writes lines into a new file that only its owner may read; none is left when it fails. */
async function writeNew<T>(
  file: string,
  work: (put: (line: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const handle = await openNew(file);
  try {
    let waiting = '';
    const value = await work(async (line) => {
      waiting += `${line}\n`;
      if (waiting.length < chunk) return;
      await handle.write(waiting);
      waiting = '';
    });
    await handle.write(waiting);
    await handle.sync();
    await handle.close();
    return value;
  } catch (error) {
    await handle.close();
    await rm(file, { force: true });
    throw error;
  }
}
