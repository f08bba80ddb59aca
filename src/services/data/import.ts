// An organization that comes from another server: the rows of its file, checked like input, with its secrets sealed anew
// under this server's key. It comes in slices, and is found once all of it is there (arrivals.ts). For commands only.
import { queueLimits } from '../../protocol/codes.ts';
import type { AnyRow, ExportedTable } from '../../engine/repositories/export-import.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import { indexAllAnew } from '../chat/search.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { rechunkStaleDocuments } from '../assistant/knowledge/documents.ts';
import { clearRemoved, removeDueBytes } from '../files/file-job.ts';
import { objectName } from '../files/links.ts';
import { writeSlice } from '../core/slices.ts';
import {
  beginArrival,
  continueArrival,
  removeAbandonedArrivals,
  removeArrival,
  type Arrival,
} from './arrivals.ts';
import { createIncomingBytes, type IncomingBytes } from './file-bytes.ts';
import { checkFileRow, createFileSchemas, type FileSchemas } from './imported-rows.ts';
import {
  importError,
  parseLine,
  sealedColumns,
  secretLocation,
  verifyFile,
  type ExportSummary,
  type Header,
  type Lines,
  type VerifiedFile,
} from './organization-file.ts';
import { markAddress } from '../mail/mail-addresses.ts';
import { assertInboxFree } from '../mail/mail-settings.ts';
import { escalationWithout } from '../notifications/escalation-steps.ts';
import { readSettings } from '../tenants/settings.ts';
import { maxWebhooks } from '../webhooks/webhooks.ts';
import type { Call, ReadTx, Service, Tx } from '../service.ts';

/** Where it is noted which file an organization came from. */
const importedFrom = (organizationId: string): string => `imported_${organizationId}`;

/** The sha256 of the file that an organization of this server came from; null: it did not come by an import. */
export async function importedFile(tx: ReadTx, organizationId: string): Promise<string | null> {
  return (await tx.repositories.meta.get(importedFrom(organizationId))) ?? null;
}

/**
 * Takes an organization in, all of it or nothing: in slices, beside others' work. It is found once its last row is there.
 * @throws ServiceError bad_request (no such file, cut off, changed, or of another schema); conflict (its slug, an id or an
 * inbox address is taken, or it is being imported)
 */
export async function importOrganization(call: Call, lines: Lines): Promise<ExportSummary> {
  const { service } = call;
  const { header, sha256 } = await verifyFile(lines);
  await removeAbandonedArrivals(service);
  const state = await beginImport(call, header);
  let done: ExportSummary;
  try {
    done = await completeImport(call, state, { header, sha256 }, await importRows(state, lines()));
  } catch (error) {
    await state.bytes.drop();
    if (state.organization.row !== null) {
      await removeArrival(service, state.arrival);
      await removeDueBytes(service);
    }
    throw error;
  }
  // Whatever is left of it, were this to end or to fail now, the server makes: the organization is there.
  await rechunkStaleDocuments(service).catch(() => undefined);
  await clearRemoved(service);
  return done;
}

/** The moment at which all of it is there. */
function completeImport(
  call: Call,
  { organization: { row }, arrival, ids }: Import,
  { header, sha256 }: VerifiedFile,
  rows: number,
): Promise<ExportSummary> {
  if (row === null) throw importError('there is no organization in it');
  return call.service.engine.store.alone('server', async (tx) => {
    // One of this name may have been made since.
    await assertNotPresent(tx, header);
    await continueArrival(tx, arrival, call.service.engine.clock.now());
    const escalation = escalationWithout(row, (id) => ids.get('members')?.has(id) !== true) ?? row.escalation;
    await tx.repositories.exportImport.completeArrival({ ...row, escalation }, arrival.token);
    // The index of the search is made anew, through all messages, by the server.
    await indexAllAnew(tx);
    await tx.repositories.meta.set(importedFrom(row.id), sha256);
    tx.configurationChanged(row.id);
    await audit(tx, call, {
      organizationId: row.id,
      action: 'organizations.import',
      subject: `organization:${row.id}`,
      detail: { rows },
    });
    return { organization: header.organization, rows, sha256 };
  });
}

async function assertNotPresent(tx: ReadTx, { organization: { id, slug } }: Header): Promise<void> {
  const taken =
    (await tx.repositories.organizations.bySlug(slug)) ?? (await tx.repositories.organizations.byId(id));
  if (taken !== undefined)
    throw new ServiceError(
      'conflict',
      `There is an organization ${taken.slug} here already${taken.id === id ? ', the same one' : ''}. Nothing was changed.`,
    );
}

/** What an import knows while its rows come in, parents before children. */
interface Import {
  readonly service: Service;
  readonly organizationId: string;
  readonly arrival: Arrival;
  readonly schemas: FileSchemas;
  readonly tables: ReadonlyMap<
    string,
    { readonly table: ExportedTable; readonly columns: readonly string[] }
  >;
  /** The ids of the rows that came in, by table. */
  readonly ids: ReadonlyMap<string, Set<unknown>>;
  /** The last number of each conversation. */
  readonly lastSeqs: Map<unknown, unknown>;
  /** Where a webhook goes on: the end of the log that it finds here. */
  readonly logEnd: number;
  /** The row that it has once all of it is there; null: none of it is there. */
  readonly organization: { row: OrganizationRow | null };
  /** Takes the bytes of files in. */
  readonly bytes: IncomingBytes;
}

/** Looks whether the file can be imported here. */
function beginImport({ service }: Call, header: Header): Promise<Import> {
  return service.engine.store.read(async (tx) => {
    const schema = await tx.repositories.exportImport.schema();
    if (header.schema !== schema)
      throw importError(
        `it comes from a server with schema ${header.schema}, and this one has ${schema}. Bring both to the same version of deskbell`,
      );
    await assertNotPresent(tx, header);
    return createImport(tx, service, header);
  });
}

async function createImport(tx: ReadTx, service: Service, { organization }: Header): Promise<Import> {
  const { exportImport, events } = tx.repositories;
  const tables = new Map<string, { table: ExportedTable; columns: readonly string[] }>();
  for (const table of exportImport.tables)
    tables.set(table.name, { table, columns: await exportImport.columns(table.name) });
  return {
    service,
    organizationId: organization.id,
    arrival: { id: organization.id, token: service.engine.clock.newId() },
    schemas: createFileSchemas(service),
    tables,
    ids: new Map([...tables.keys()].map((table) => [table, new Set()])),
    lastSeqs: new Map(),
    logEnd: await events.lastSeq(),
    organization: { row: null },
    bytes: createIncomingBytes(service),
  };
}

/** A row that has been checked, and its place in the file. */
interface CheckedRow {
  readonly table: ExportedTable;
  readonly columns: readonly string[];
  /** As the file has it. */
  readonly row: AnyRow;
  /** The line, from 1. */
  readonly number: number;
}

/** Checked before they are written, so that no lock is held while they are. */
const checkedRows = 200;

/** A line of the file. */
interface FileLine {
  readonly table?: string;
  readonly row?: unknown;
  /** Bytes of the file whose row came before, in base64. */
  readonly bytes?: unknown;
  readonly end?: unknown;
}

const wrongBytes =
  (number: number) =>
  (problem: string): ServiceError =>
    importError(`line ${number} ${problem}`);

/** Puts the rows in. @returns how many */
async function importRows(state: Import, lines: AsyncIterable<string>): Promise<number> {
  let number = 0;
  let checked: CheckedRow[] = [];
  for await (const line of lines) {
    number += 1;
    if (number === 1) continue;
    const parsed: FileLine = parseLine(line);
    if (parsed.bytes !== undefined) {
      // The row of the file first: were this to end now, its bytes would go with it.
      await writeRows(state, checked);
      checked = [];
      await state.bytes.add(parsed.bytes, wrongBytes(number));
      continue;
    }
    await state.bytes.end(wrongBytes(number));
    const row = checkLine(state, parsed, number);
    if (row === null) continue;
    checked.push(row);
    if (row.table.name === 'files') state.bytes.begin(state.schemas.files.parse(row.row));
    if (checked.length < checkedRows) continue;
    await writeRows(state, checked);
    checked = [];
  }
  await writeRows(state, checked);
  // Without the first line and the last.
  return number - 2;
}

/**
 * The row of a line; null for the last line, which is none.
 * @throws ServiceError bad_request for a row that could not have been made here
 */
function checkLine(state: Import, parsed: FileLine, number: number): CheckedRow | null {
  const { table: name, row: incoming, end } = parsed;
  if (end === true) return null;
  const entry = state.tables.get(name ?? '');
  if (entry === undefined) throw importError(`line ${number} names no table of an organization`);
  const { table, columns } = entry;
  const row = checkFileRow(state.schemas, table.name, incoming, (problem) =>
    importError(`line ${number} (${table.name}) ${problem}`),
  );
  const wrong = findRowProblem(state, table, row);
  if (wrong !== null) throw importError(`line ${number} (${table.name}) ${wrong}`);
  state.ids.get(table.name)?.add(row['id']);
  if (table.name === 'conversations') state.lastSeqs.set(row['id'], row['last_seq']);
  return { table, columns, row, number };
}

/**
 * Writes rows in as many slices as they take.
 * @throws ServiceError conflict for one that is here already
 */
async function writeRows(state: Import, rows: readonly CheckedRow[]): Promise<void> {
  const { service, arrival, organization } = state;
  for (let done = 0; done < rows.length;) {
    const from = done;
    done = await writeSlice(service, 'server', async (tx, full) => {
      const now = service.engine.clock.now();
      if (organization.row !== null) await continueArrival(tx, arrival, now);
      let at = from;
      while (at < rows.length) {
        const row = rows[at];
        if (row !== undefined) await insertRow(tx, state, row, now);
        at += 1;
        if (full(1)) break;
      }
      return at;
    });
    // Set once it is committed: what the rows before it wrote must be removed where a later one is refused.
    organization.row ??= organizationRow(state, rows);
  }
}

function organizationRow({ schemas }: Import, rows: readonly CheckedRow[]): OrganizationRow | null {
  const found = rows.find(({ table }) => table.name === 'organizations');
  return found === undefined ? null : schemas.organizations.parse(found.row);
}

async function insertRow(
  tx: Tx,
  state: Import,
  { table, columns, row, number }: CheckedRow,
  now: number,
): Promise<void> {
  if (table.name === 'organizations')
    return beginArrival(tx, state.schemas.organizations.parse(row), state.arrival, now);
  const stranger = await findStranger(tx, row, state.organizationId);
  if (stranger !== null) throw importError(`line ${number} (${table.name}) ${stranger}`);
  if (table.name === 'applications') {
    const application = state.schemas.applications.parse(row);
    await assertInboxFree(tx, application, readSettings(application).email.address);
  }
  if ((await tx.repositories.exportImport.insert(table.name, columns, sealRow(state, table, row))) === 0)
    throw new ServiceError(
      'conflict',
      `A row of the file is here already (${table.name}, line ${number}). Nothing was changed.`,
    );
  if (table.name === 'visitors') await noteNoMail(tx, state, row);
}

/** Who wants no mails of the organization gets none from here either. */
async function noteNoMail(tx: Tx, { service, schemas, organizationId }: Import, row: AnyRow): Promise<void> {
  if (row['no_mail'] === undefined) return;
  const { email, no_mail: noted } = schemas.visitors.parse(row);
  if (email === null || noted === undefined) return;
  await markAddress(tx, service, organizationId, email, noted.state, noted.created_at);
}

/** Seals the secrets of a row under this server's key. */
function sealRow(
  { service: { secrets }, organizationId, logEnd }: Import,
  table: ExportedTable,
  row: AnyRow,
): AnyRow {
  if (table.name === 'files') return { ...row, object: objectName(secrets, String(row['id'])) };
  const column = sealedColumns[table.name];
  if (column === undefined) return row;
  const secret = String(row[column]);
  return {
    ...row,
    [column]: secrets.seal(secret, secretLocation(table, column, row, organizationId)),
    ...(table.name === 'api_keys' ? { digest: secrets.digest(secret) } : {}),
    ...(table.name === 'webhooks' ? { position: logEnd } : {}),
  };
}

/** What is wrong with a row beside those before it: a file must not reach into another organization. */
function findRowProblem(
  { organizationId, ids, lastSeqs }: Import,
  { name, owner, references }: ExportedTable,
  row: AnyRow,
): string | null {
  if (typeof owner === 'string' && row[owner] !== organizationId) return 'belongs to another organization';
  if (name !== 'organizations' && ids.get('organizations')?.size !== 1)
    return 'comes before its organization';
  for (const [column, parent] of Object.entries(references))
    if (ids.get(parent)?.has(row[column]) !== true) return `belongs to no row of ${parent} in this file`;
  if (name === 'webhooks' && (ids.get(name)?.size ?? 0) >= maxWebhooks)
    return `is one more than the ${maxWebhooks} webhooks that an organization may have`;
  if (name === 'tags' && (ids.get(name)?.size ?? 0) >= queueLimits.tags)
    return `is one more than the ${queueLimits.tags} tags that an organization may have`;
  const viewOwners = 1 + (ids.get('members')?.size ?? 0);
  if (name === 'views' && (ids.get(name)?.size ?? 0) >= queueLimits.views * viewOwners)
    return `is one more than the ${queueLimits.views} views that everybody may have`;
  if (
    name === 'conversations' &&
    row['status'] === 'active' &&
    ids.get('members')?.has(row['assigned_to']) !== true
  )
    return 'is assigned to no member in this file';
  if (
    name === 'files' &&
    row['visitor_key'] !== null &&
    ids.get('visitors')?.has(row['visitor_key']) !== true
  )
    return 'belongs to no visitor in this file';
  const seq = { messages: row['changed_seq'], participants: row['last_read_seq'] }[name];
  if (seq !== undefined && Number(seq) > Number(lastSeqs.get(row['conversation_id'])))
    return 'has a number beyond the last of its conversation';
  return null;
}

/** The columns that may name a person who is no longer among the members. */
const personColumns = ['assigned_to', 'resolved_by', 'created_by', 'user_id', 'sender_id', 'uploader'];

/** A removed member is known by the id alone; the member of another organization would be shown by name. */
async function findStranger(tx: Tx, row: AnyRow, organizationId: string): Promise<string | null> {
  for (const column of personColumns) {
    const id = row[column];
    if (typeof id !== 'string') continue;
    const member = await tx.repositories.members.byId(id);
    if (member !== undefined && member.organization_id !== organizationId)
      return `names a member of another organization as ${column}`;
  }
  return null;
}
