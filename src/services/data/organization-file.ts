// The file of an organization that moves: lines of JSON, of which the first says what it is and the last that all of them
// are there. Must not know what the rows mean.
import { createHash, type Hash } from 'node:crypto';
import { organization } from '../../protocol/entities.ts';
import type { AnyRow, ExportedTable } from '../../engine/repositories/export-import.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import { ServiceError } from '../core/errors.ts';

export const format = 'deskbell-organization';
export const version = 1;

/** Columns that are sealed under a server's key; their text travels, so the file holds secrets. */
export const sealedColumns: Readonly<Partial<Record<ExportedTable['name'], string>>> = {
  applications: 'identity_secret',
  api_keys: 'sealed',
  webhooks: 'sealed',
  member_totp: 'sealed',
};

/** Under which name a server's key seals a column. */
export function secretLocation({ name }: ExportedTable, column: string, row: AnyRow, organizationId: string) {
  return { table: `${name}.${column}`, row: String(row['id']), organizationId };
}

/** The first line. */
export interface Header {
  readonly format: string;
  readonly version: number;
  readonly schema: number;
  readonly exportedAt: string;
  readonly organization: Pick<OrganizationRow, 'id' | 'slug' | 'name'>;
}

const organizationOfHeader = organization.pick({ id: true, slug: true, name: true });

export interface ExportSummary {
  readonly organization: Header['organization'];
  readonly rows: number;
  /** Of all lines but the last, which has it: two exports have the same one where all they say is the same. */
  readonly sha256: string;
}

/** What came in: its lines, each time from the beginning. */
export type Lines = () => AsyncIterable<string>;

/** A file that is not taken. @param why a sentence, or what may end one */
export function importError(why: string): ServiceError {
  return new ServiceError(
    'bad_request',
    `The file can't be imported: ${why.replace(/\.$/, '')}. Nothing was changed.`,
  );
}

/** A file whose lines are all there, as they were written. */
export interface VerifiedFile {
  readonly header: Header;
  readonly sha256: string;
}

/**
 * Reads the whole file once before anything is touched.
 * @throws ServiceError bad_request: it is no export, is cut off or was changed
 */
export async function verifyFile(lines: Lines): Promise<VerifiedFile> {
  const hash = createHash('sha256');
  let header: Header | null = null;
  let held: string | null = null;
  let rows = -2;
  for await (const line of lines()) {
    header ??= readHeader(line);
    if (held !== null) hash.update(`${held}\n`);
    held = line;
    rows += 1;
  }
  if (header === null || held === null) throw importError('it is empty');
  return { header, sha256: assertEnd(held, rows, hash) };
}

function readHeader(line: string): Header {
  const value = parseLine(line) as Partial<Header>;
  const organization = organizationOfHeader.safeParse(value.organization);
  if (value.format !== format || !organization.success)
    throw importError('it is no export of an organization');
  if (value.version !== version || typeof value.schema !== 'number')
    throw importError('it was written by another version of deskbell');
  return {
    format,
    version,
    schema: value.schema,
    exportedAt: String(value.exportedAt),
    organization: organization.data,
  };
}

function assertEnd(line: string, rows: number, hash: Hash): string {
  const end = parseLine(line) as { end?: unknown; rows?: unknown; sha256?: unknown };
  if (end.end !== true) throw importError('its end is missing');
  const sha256 = hash.digest('hex');
  if (end.rows !== rows || end.sha256 !== sha256) throw importError('it was changed after it was written');
  return sha256;
}

/** @throws ServiceError bad_request for a line that is no object */
export function parseLine(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw importError('it is no export of an organization');
}
