// Looking for viruses: before a file can be sent. Where the scanner does not answer, the file waits, and a job asks again.
import { createReadStream } from 'node:fs';
import type { FileRow } from '../../engine/rows.ts';
import { ServiceError } from '../core/errors.ts';
import type { Service } from '../service.ts';

/**
 * Has bytes on this machine's disk looked at.
 * @returns `scanning` where the scanner does not answer: it is asked again later
 * @throws ServiceError file_rejected
 */
export async function scanBytes({ files }: Service, path: string): Promise<FileRow['state']> {
  const { scanner } = files;
  if (scanner === null) return 'ready';
  const verdict = await scanner.scan(createReadStream(path)).catch(() => null);
  if (verdict === null) return 'scanning';
  if (!verdict.clean)
    throw new ServiceError(
      'file_rejected',
      `The scanner found ${verdict.found} in the file. It was not kept.`,
    );
  return 'ready';
}

const scannedAtOnce = 20;

/**
 * Asks the scanner about files that wait for it, oldest first.
 * @returns how many were looked at, and what was wrong with the scanner; null: nothing
 */
export async function scanWaiting(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<{ readonly scanned: number; readonly problem: string | null }> {
  const { engine, files } = service;
  let scanned = 0;
  while (!stopped()) {
    const rows = await engine.store.read(({ repositories }) => repositories.files.toScan(scannedAtOnce));
    for (const row of rows) {
      const problem = await scanOne(service, row);
      if (problem !== null) return { scanned, problem };
      scanned += 1;
    }
    if (rows.length < scannedAtOnce || files.scanner === null) break;
  }
  return { scanned, problem: null };
}

async function scanOne({ engine, files }: Service, row: FileRow): Promise<string | null> {
  const scope = { organization: row.organization_id, part: `row:${row.id}` } as const;
  // No scanner any more: the operator has decided so.
  let clean = files.scanner === null;
  if (files.scanner !== null) {
    try {
      const bytes = await files.store.open(row.object);
      clean = bytes !== null && (await files.scanner.scan(bytes)).clean;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  await engine.store.write(scope, ({ repositories }) =>
    clean ? repositories.files.setReady(row.id) : repositories.files.remove(row.id),
  );
  return null;
}
