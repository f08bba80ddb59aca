// An organization as a file for another server: its rows as lines of JSON, with the same ids and its secrets in the open,
// as of one commit. For commands only: an export is one long snapshot.
import { createHash } from 'node:crypto';
import type { AnyRow, ExportedTable } from '../../engine/repositories/export-import.ts';
import { accessOrganization } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import type { OwnerCall, ReadTx, Service } from '../service.ts';
import { readAddress } from '../mail/mail-addresses.ts';
import { exportBytes } from './file-bytes.ts';
import {
  format,
  sealedColumns,
  secretLocation,
  version,
  type ExportSummary,
  type Header,
} from './organization-file.ts';

const pageRows = 500;

/** With the move, a rotated secret no longer signs. */
const noPreviousSecret = { previous_sealed: null, previous_until: null };

/**
 * Writes an organization as lines of JSON, as of one commit.
 * @param reference slug or id
 * @param write takes one line, without its end
 * @throws ServiceError not_found; conflict while an application of it is being deleted
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
    await assertWhole(tx, id);
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
        for (const row of page.rows) rows += await exportRow(tx, service, table, row, id, put);
        after = page.next;
        if (after === null) break;
      }
    }
    return { organization: header.organization, rows };
  });
  const sha256 = hash.digest('hex');
  await write(JSON.stringify({ end: true, rows: done.rows, sha256 }));
  await store.write({ organization: done.organization.id }, (tx) =>
    audit(tx, call, {
      organizationId: done.organization.id,
      action: 'organizations.export',
      subject: `organization:${done.organization.id}`,
      detail: { rows: done.rows },
    }),
  );
  return { ...done, sha256 };
}

/** What is half deleted would come back by an import. @throws ServiceError conflict */
async function assertWhole(
  { repositories: { applications } }: ReadTx,
  organizationId: string,
): Promise<void> {
  const every = await applications.everyOf(organizationId);
  if (every.length === (await applications.byOrganization(organizationId)).length) return;
  throw new ServiceError(
    'conflict',
    'An application of this organization is being deleted. Export it when the audit log says that it is (applications.delete); the server goes on with a deletion that was cut off.',
  );
}

/** Writes a row; that of a file with its bytes behind it, or not at all where they are lost. @returns how many lines */
async function exportRow(
  tx: ReadTx,
  service: Service,
  table: ExportedTable,
  row: AnyRow,
  organizationId: string,
  put: (value: object) => Promise<void>,
): Promise<number> {
  const whole = table.name === 'visitors' ? await withoutMail(tx, service, row, organizationId) : row;
  const line = { table: table.name, row: unsealRow(service, table, whole, organizationId) };
  if (table.name !== 'files') {
    await put(line);
    return 1;
  }
  let lines = 0;
  await exportBytes(service, row, async (bytes) => {
    if (lines === 0) await put(line);
    if (bytes.length > 0) await put({ bytes: bytes.toString('base64') });
    lines += (lines === 0 ? 1 : 0) + (bytes.length > 0 ? 1 : 0);
  });
  return lines;
}

/** A visitor's row, which says as well where their address takes no mails. */
async function withoutMail(
  tx: ReadTx,
  service: Service,
  row: AnyRow,
  organizationId: string,
): Promise<AnyRow> {
  const { email } = row;
  const found = typeof email === 'string' ? await readAddress(tx, service, organizationId, email) : undefined;
  return found === undefined
    ? row
    : { ...row, no_mail: { state: found.state, created_at: found.created_at } };
}

function unsealRow({ secrets }: Service, table: ExportedTable, row: AnyRow, organizationId: string): AnyRow {
  // Made with a key of this server: it says nothing on another.
  if (table.name === 'visitors') return { ...row, address_digest: null };
  if (table.name === 'files') {
    const { object: _keyed, ...rest } = row;
    return rest;
  }
  const column = sealedColumns[table.name];
  if (column === undefined) return row;
  const { digest: _keyed, ...rest } = row;
  return {
    ...rest,
    ...(table.name === 'webhooks' ? noPreviousSecret : {}),
    [column]: secrets.open(row[column] as Uint8Array, secretLocation(table, column, row, organizationId)),
  };
}
