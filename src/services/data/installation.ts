// The rules of moving all organizations of a server to another: a file for each (export.ts, import.ts), and a list of them
// that is written last, so that a folder without one is known as cut off. For commands only.
import { z } from 'zod';
import { organization } from '../../protocol/entities.ts';
import { ServiceError } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import { exportOrganization } from './export.ts';
import { importedFile, importOrganization } from './import.ts';
import { verifyFile, type ExportSummary, type Lines } from './organization-file.ts';
import type { Call, OwnerCall } from '../service.ts';

const format = 'deskbell-installation';
const version = 1;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** What the list says of one organization. */
const listed = z.object({
  ...organization.pick({ id: true, name: true }).shape,
  // It names the file, which must lie in the folder.
  slug: z.string().regex(/^[a-z0-9-]+$/),
  rows: z.number().int(),
  sha256,
});
const list = z.object({
  format: z.literal(format),
  version: z.literal(version),
  exportedAt: z.string(),
  organizations: z.array(listed),
});

export type ListedOrganization = z.infer<typeof listed>;
export type InstallationList = z.infer<typeof list>;

/** The name of the list in its folder. */
export const listName = 'installation.json';

/** The name of an organization's file in the folder. */
export const fileName = (slug: string): string => `${slug}.jsonl`;

/**
 * Exports every organization, each as of one commit of its own.
 * @param writeFile makes the file of an organization; `work` is given how to write its lines
 * @returns the list, to be written when all files are there
 */
export async function exportInstallation(
  call: OwnerCall,
  writeFile: (
    slug: string,
    work: (write: (line: string) => Promise<void>) => Promise<ExportSummary>,
  ) => Promise<ExportSummary>,
): Promise<InstallationList> {
  const { store, clock } = call.service.engine;
  const exportedAt = isoTime(clock.now());
  const all = await store.read(({ repositories }) => repositories.organizations.list());
  const organizations: ListedOrganization[] = [];
  for (const { id, slug } of all) {
    const done = await writeFile(slug, (write) => exportOrganization(call, id, write));
    organizations.push({ ...done.organization, rows: done.rows, sha256: done.sha256 });
  }
  return { format, version, exportedAt, organizations };
}

/** @throws ServiceError bad_request for what is no list of an export */
export function readList(text: string): InstallationList {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Told below.
  }
  const read = list.safeParse(value);
  if (!read.success)
    throw new ServiceError(
      'bad_request',
      `The folder can't be imported: ${listName} is no list of deskbell export --all. Nothing was changed.`,
    );
  return read.data;
}

/**
 * Imports every organization of a list that has not come from the same file before: an import that was cut off is
 * repeated. All files are read, and what is here is looked at, before anything is changed.
 * @param linesOf reads the file of an organization
 * @param told called after each; `rows` null: it was here already, from this file
 * @throws ServiceError bad_request (a file is not as it was written); conflict (an organization is here, and not from it)
 */
export async function importInstallation(
  call: Call,
  { organizations }: InstallationList,
  linesOf: (slug: string) => Lines,
  told: (one: ListedOrganization, rows: number | null) => void,
): Promise<void> {
  const missing: ListedOrganization[] = [];
  for (const one of organizations) if (!(await isHere(call, one))) missing.push(one);
  for (const one of missing) {
    const { header, sha256: found } = await verifyFile(linesOf(one.slug));
    if (header.organization.id !== one.id || found !== one.sha256)
      throw new ServiceError(
        'bad_request',
        `The folder can't be imported: ${fileName(one.slug)} is of another export than ${listName}. Nothing was changed.`,
      );
  }
  for (const one of organizations)
    told(one, missing.includes(one) ? (await importOne(call, one, linesOf(one.slug))).rows : null);
}

/** @throws ServiceError conflict */
function isHere({ service }: Call, { id, slug, sha256: wanted }: ListedOrganization): Promise<boolean> {
  return service.engine.store.read(async (tx) => {
    const { organizations } = tx.repositories;
    const found = (await organizations.byId(id)) ?? (await organizations.bySlug(slug));
    if (found === undefined) return false;
    if (found.id === id && (await importedFile(tx, id)) === wanted) return true;
    throw new ServiceError(
      'conflict',
      found.id === id
        ? `The organization ${slug} is here already, and not from this export: it would lose what either has. Remove it first (deskbell org delete ${slug}), or import into an empty place. Nothing was changed.`
        : `There is another organization ${slug} here already. Import into an empty place. Nothing was changed.`,
    );
  });
}

async function importOne(call: Call, { slug }: ListedOrganization, lines: Lines): Promise<ExportSummary> {
  try {
    return await importOrganization(call, lines);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(
      error.code,
      `${fileName(slug)}: ${error.message} The organizations before it are here: the same command goes on from there.`,
      error.context,
    );
  }
}
