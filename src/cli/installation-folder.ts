// A folder with all organizations of a server: `deskbell export --all` makes it, `deskbell import` takes it in.
// Holds no rule.
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode } from '../net/network-errors.ts';
import { sizeLimits } from '../protocol/codes.ts';
import { counted } from '../text/text.ts';
import type { Context } from './context.ts';
import { CommandError, messageOf } from './errors.ts';
import { readFileLines } from './file-lines.ts';
import { withLocal } from './local.ts';
import { writeNew } from './new-file.ts';

/** @throws CommandError for a folder that holds anything but an export that was cut off */
async function prepareFolder(folder: string, listName: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST')
      throw new CommandError(`${folder} can't be made: ${messageOf(error)}.`, { cause: error });
    if (!(await stat(folder)).isDirectory())
      throw new CommandError(`${folder} is a file. Name a folder for the organizations.`);
  }
  const names = await readdir(folder);
  if (names.includes(listName))
    throw new CommandError(`${folder} holds a complete export already. Choose another folder, or remove it.`);
  const strange = names.find(
    (name) => !/^[a-z0-9-]+\.jsonl(?:\..+\.partial)?$/.test(name) && !isPartOf(listName, name),
  );
  if (strange !== undefined)
    throw new CommandError(`${folder} holds ${strange}. Name a folder that is empty, or a new one.`);
  // Of an export that was cut off: all of it is written anew, because the service may have gone on since.
  for (const name of names) await rm(join(folder, name));
}

function isPartOf(file: string, name: string): boolean {
  return name.startsWith(`${file}.`) && name.endsWith('.partial');
}

/** Writes every organization into a folder. @throws CommandError, ServiceError */
export async function exportAll(context: Context, folder: string): Promise<void> {
  const { exportInstallation, fileName, listName } = await import('../services/data/installation.ts');
  const list = await withLocal(context, async ({ service }) => {
    await prepareFolder(folder, listName);
    const made = await exportInstallation(
      { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
      (slug, work) => writeNew(join(folder, fileName(slug)), work),
    );
    await writeNew(join(folder, listName), (put) => put(JSON.stringify(made, null, 2)));
    return made;
  });
  const { print } = context;
  const { organizations } = list;
  if (print.json)
    return print.document({
      folder: resolve(folder),
      organizations: organizations.map(({ id, slug, name, rows }) => ({ id, slug, name, rows })),
      holdsSecrets: true,
    });
  for (const { slug, rows } of organizations)
    print.line('Wrote ', ['bold', slug], `: ${counted(rows, 'row')}.`);
  print.line(
    `${counted(organizations.length, 'organization is', 'organizations are')} in ${resolve(folder)}, each as of the moment it was written.`,
  );
  print.line('The files contain API keys and secrets in clear text. Remove them after the import.');
  print.next(`deskbell import ${folder} --data OTHER-FOLDER`);
}

/** Takes in every organization of a folder. @throws CommandError, ServiceError */
export async function importAll(context: Context, folder: string): Promise<void> {
  const { fileName, importInstallation, listName, readList } =
    await import('../services/data/installation.ts');
  const list = readList(await readListFile(folder, listName));
  for (const { slug } of list.organizations)
    if ((await stat(join(folder, fileName(slug))).catch(() => null))?.isFile() !== true)
      throw new CommandError(`${fileName(slug)} is missing in ${folder}. Nothing was changed.`);
  const { print } = context;
  const done: { id: string; slug: string; name: string; rows: number | null }[] = [];
  await withLocal(
    context,
    ({ service }) =>
      importInstallation(
        { service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest },
        list,
        (slug) => () => readFileLines(join(folder, fileName(slug))),
        ({ id, slug, name }, rows) => {
          done.push({ id, slug, name, rows });
          if (!print.json)
            print.line(
              rows === null ? '' : 'Imported ',
              ['bold', slug],
              rows === null
                ? ' was here already, from this export.'
                : `: ${counted(rows, 'row')}, with their ids.`,
            );
        },
      ),
    'may be new',
  );
  if (print.json) return print.document({ organizations: done });
  print.line(`Members must sign in again. Remove ${folder}: it contains secrets.`);
  print.next(context.command('org list'));
}

/** @throws CommandError where the export was cut off */
async function readListFile(folder: string, listName: string): Promise<string> {
  try {
    return await readFile(join(folder, listName), 'utf8');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new CommandError(
      `There is no ${listName} in ${folder}: it is no export of deskbell export --all, or one that was cut off. Repeat the export. Nothing was changed.`,
      { cause: error },
    );
  }
}
