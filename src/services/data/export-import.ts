// The rules of moving an organization to another server: its rows as lines of JSON,
// same ids, its secrets sealed anew under the other server's key. For
// commands only: a whole organization in one transaction is nothing for a server.
import { createHash, type Hash } from 'node:crypto';
import { message } from '../../protocol/entities.ts';
import type { AnyRow, ExportedTable } from '../../engine/repositories.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import { accessOrganization } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { sanitize } from '../content/html.ts';
import { ServiceError } from '../core/errors.ts';
import { rechunkStaleDocuments, isWebAddress } from '../assistant/knowledge/documents.ts';
import { isoTime } from '../core/serializers.ts';
import type { Call, OwnerCall, Service, Tx } from '../service.ts';

const format = 'deskbell-organization';
const version = 1;
const pageRows = 500;

/** Columns that are sealed under a server's key; their text travels, so the file holds secrets. */
const sealedColumns: Readonly<Partial<Record<ExportedTable['name'], string>>> = {
  applications: 'identity_secret',
  api_keys: 'sealed',
  webhooks: 'sealed',
  member_totp: 'sealed',
};

interface Header {
  readonly format: string;
  readonly version: number;
  readonly schema: number;
  readonly exportedAt: string;
  readonly organization: Pick<OrganizationRow, 'id' | 'slug' | 'name'>;
}

export interface ExportSummary {
  readonly organization: Header['organization'];
  readonly rows: number;
}

/**
 * Writes an organization as lines of JSON, as of one commit.
 * @param reference slug or id
 * @param write takes one line, without its end
 * @throws Failure not_found
 */
export async function exportOrganization(
  call: OwnerCall,
  reference: string,
  write: (line: string) => Promise<void>,
): Promise<ExportSummary> {
  const { service } = call;
  const { store, clock } = service.engine;
  const hash = createHash('sha256');
  const put = async (value: object): Promise<void> => {
    const line = JSON.stringify(value);
    hash.update(`${line}\n`);
    await write(line);
  };
  const done = await store.readAlone(async (tx) => {
    const { id, slug, name } = await accessOrganization(tx, call.actor, reference);
    const { exportImport } = tx.repositories;
    const header: Header = {
      format,
      version,
      schema: await exportImport.schema(),
      exportedAt: isoTime(clock.now()),
      organization: { id, slug, name },
    };
    await put(header);
    let rows = 0;
    for (const table of exportImport.tables) {
      for (let after: AnyRow | null = null; ;) {
        const page: { rows: AnyRow[]; next: AnyRow | null } = await exportImport.page(
          table,
          id,
          after,
          pageRows,
        );
        for (const row of page.rows)
          await put({ table: table.name, row: unsealRow(service, table, row, id) });
        rows += page.rows.length;
        after = page.next;
        if (after === null) break;
      }
    }
    return { organization: header.organization, rows };
  });
  await write(JSON.stringify({ end: true, rows: done.rows, sha256: hash.digest('hex') }));
  await store.write({ organization: done.organization.id }, (tx) =>
    audit(tx, call, {
      organizationId: done.organization.id,
      action: 'organizations.export',
      subject: `organization:${done.organization.id}`,
      detail: { rows: done.rows },
    }),
  );
  return done;
}

function secretLocation({ name }: ExportedTable, column: string, row: AnyRow, organizationId: string) {
  return { table: `${name}.${column}`, row: String(row['id']), organizationId };
}

function unsealRow({ secrets }: Service, table: ExportedTable, row: AnyRow, organizationId: string): AnyRow {
  // Made with a key of this server: it says nothing on another.
  if (table.name === 'visitors') return { ...row, address_digest: null };
  const column = sealedColumns[table.name];
  if (column === undefined) return row;
  const { digest: _keyed, ...rest } = row;
  return {
    ...rest,
    [column]: secrets.open(row[column] as Uint8Array, secretLocation(table, column, row, organizationId)),
  };
}

/** What came in: its lines, each time from the beginning. */
export type Lines = () => AsyncIterable<string>;

/**
 * Takes an organization in, all of it or nothing.
 * @throws Failure bad_request (no such file, cut off, changed, or of another schema); conflict (its slug or an id is taken)
 */
export async function importOrganization(call: Call, lines: Lines): Promise<ExportSummary> {
  const { store, maintenance } = call.service.engine;
  const header = await verifyFile(lines);
  const done = await store.alone('server', async (tx) => {
    const schema = await tx.repositories.exportImport.schema();
    if (header.schema !== schema)
      throw importError(
        `it comes from a server with schema ${header.schema}, and this one has ${schema}. Bring both to the same version of deskbell`,
      );
    await assertNotPresent(tx, header);
    const rows = await importRows(tx, call, header, lines());
    // The index of the search is made anew, through all messages, by the server.
    await tx.repositories.meta.remove('search_cursor');
    tx.configurationChanged(header.organization.id);
    await audit(tx, call, {
      organizationId: header.organization.id,
      action: 'organizations.import',
      subject: `organization:${header.organization.id}`,
      detail: { rows },
    });
    return { organization: header.organization, rows };
  });
  // Whatever is left of it, were this to end now, the server makes.
  await rechunkStaleDocuments(call.service);
  await maintenance.clearRemoved();
  return done;
}

function importError(why: string): ServiceError {
  return new ServiceError('bad_request', `The file can't be imported: ${why}. Nothing was changed.`);
}

/** Reads the whole file once before anything is touched. */
async function verifyFile(lines: Lines): Promise<Header> {
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
  assertEnd(held, rows, hash);
  return header;
}

function readHeader(line: string): Header {
  const value = parseLine(line) as Partial<Header>;
  const { organization } = value;
  if (
    value.format !== format ||
    typeof organization?.id !== 'string' ||
    typeof organization.slug !== 'string' ||
    typeof organization.name !== 'string'
  )
    throw importError('it is no export of an organization');
  if (value.version !== version || typeof value.schema !== 'number')
    throw importError('it was written by another version of deskbell');
  return { format, version, schema: value.schema, exportedAt: String(value.exportedAt), organization };
}

function assertEnd(line: string, rows: number, hash: Hash): void {
  const end = parseLine(line) as { end?: unknown; rows?: unknown; sha256?: unknown };
  if (end.end !== true) throw importError('its end is missing');
  if (end.rows !== rows || end.sha256 !== hash.digest('hex'))
    throw importError('it was changed after it was written');
}

function parseLine(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw importError('it is no export of an organization');
}

async function assertNotPresent(tx: Tx, { organization: { id, slug } }: Header): Promise<void> {
  const taken =
    (await tx.repositories.organizations.bySlug(slug)) ?? (await tx.repositories.organizations.byId(id));
  if (taken !== undefined)
    throw new ServiceError(
      'conflict',
      `There is an organization ${taken.slug} here already${taken.id === id ? ', the same one' : ''}. Nothing was changed.`,
    );
}

/** Puts the rows in, each held against its table and against the rows before it: a file must not reach into another organization. */
async function importRows(
  tx: Tx,
  call: Call,
  { organization }: Header,
  lines: AsyncIterable<string>,
): Promise<number> {
  const { exportImport } = tx.repositories;
  const known = new Map<string, { table: ExportedTable; columns: readonly string[]; ids: Set<unknown> }>();
  for (const table of exportImport.tables)
    known.set(table.name, { table, columns: await exportImport.columns(table.name), ids: new Set() });
  const logEnd = await tx.repositories.events.lastSeq();
  let rows = -1;
  for await (const line of lines) {
    rows += 1;
    const {
      table: name,
      row: incoming,
      end,
    } = parseLine(line) as { table?: string; row?: AnyRow; end?: unknown };
    if (rows === 0 || end === true) continue;
    const entry = known.get(name ?? '');
    if (entry === undefined || incoming === undefined || incoming === null)
      throw importError(`line ${rows + 1} names no table of an organization`);
    const { table, columns, ids } = entry;
    const row = sealRow(call.service, table, incoming, organization.id, logEnd);
    const wrong = findRowProblem(row, columns, table, organization.id, (parent) => known.get(parent)?.ids);
    if (wrong !== null) throw importError(`line ${rows + 1} ${wrong}`);
    if ((await exportImport.insert(table.name, columns, row)) === 0)
      throw new ServiceError(
        'conflict',
        `A row of the file is here already (${table.name}, line ${rows + 1}). Nothing was changed.`,
      );
    if (typeof row['id'] === 'string') ids.add(row['id']);
  }
  return rows - 1;
}

function sealRow(
  { secrets }: Service,
  table: ExportedTable,
  row: AnyRow,
  organizationId: string,
  logEnd: number,
): AnyRow {
  // Its passages are cut here.
  if (table.name === 'knowledge_documents') return { ...row, edition: 0 };
  if (table.name === 'visitors') return { ...row, address_digest: null };
  const column = sealedColumns[table.name];
  if (column === undefined) return row;
  const secret = row[column];
  if (typeof secret !== 'string') throw importError(`a secret of ${table.name} is missing`);
  return {
    ...row,
    [column]: secrets.seal(secret, secretLocation(table, column, row, organizationId)),
    ...(table.name === 'api_keys' ? { digest: secrets.digest(secret) } : {}),
    // A webhook goes on from the end of the log that it finds here.
    ...(table.name === 'webhooks' ? { position: logEnd } : {}),
  };
}

function findRowProblem(
  row: AnyRow,
  columns: readonly string[],
  { name, owner, references }: ExportedTable,
  organizationId: string,
  idsOf: (table: string) => ReadonlySet<unknown> | undefined,
): string | null {
  if (columns.length !== Object.keys(row).length || !columns.every((column) => Object.hasOwn(row, column)))
    return `has not the columns of ${name}`;
  if (
    !Object.values(row).every(
      (value) =>
        value === null ||
        typeof value === 'string' ||
        typeof value === 'number' ||
        value instanceof Uint8Array,
    )
  )
    return 'holds something that no column takes';
  if (typeof owner === 'string' && row[owner] !== organizationId) return 'belongs to another organization';
  for (const [column, parent] of Object.entries(references))
    if (idsOf(parent)?.has(row[column]) !== true) return `belongs to no row of ${parent} in this file`;
  const url = row['url'];
  if (name === 'knowledge_documents' && typeof url === 'string' && !isWebAddress(url))
    return 'holds an address that no document has';
  const choices = row['choices'];
  if (name === 'messages' && typeof choices === 'string' && !isChoices(choices))
    return 'offers something that no assistant offers';
  // HTML goes to browsers as it is: what our own rendering can't have made is not let in.
  const html = row['content_html'];
  if (typeof html === 'string' && sanitize(html) !== html) return 'holds HTML that a message must not have';
  return null;
}

function isChoices(stored: string): boolean {
  try {
    return message.shape.choices.safeParse(JSON.parse(stored)).success;
  } catch {
    return false;
  }
}
