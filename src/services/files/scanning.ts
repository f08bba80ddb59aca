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
/** Before the first file that waits. */
const beforeAll = { created_at: -1, id: '' };

/**
 * Asks the scanner about files that wait for it, oldest first. One that it can't judge, or that can't be read, holds up
 * none of the others; where scanner or store do not answer at all, the rest waits for another time.
 * @returns how many were looked at, and what was wrong with the first that was not; null: nothing
 */
export async function scanWaiting(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<{ readonly scanned: number; readonly problem: string | null }> {
  const { engine, files } = service;
  let scanned = 0;
  let problem: string | null = null;
  let after = beforeAll;
  while (!stopped()) {
    const from = after;
    const rows = await engine.store.read(({ repositories }) =>
      repositories.files.toScan(from, scannedAtOnce),
    );
    for (const row of rows) {
      after = row;
      const wrong = await scanOne(service, row);
      problem ??= wrong;
      if (wrong === null) scanned += 1;
      else if (!(await areThere(files))) return { scanned, problem };
    }
    if (rows.length < scannedAtOnce || files.scanner === null) break;
  }
  return { scanned, problem };
}

/** Whether scanner and store answer: then what was wrong is a file's own. */
async function areThere({ scanner, store }: Service['files']): Promise<boolean> {
  try {
    await scanner?.check();
    await store.check();
    return true;
  } catch {
    return false;
  }
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
    clean ? repositories.files.setReady(row.id, engine.clock.now()) : repositories.files.remove(row.id),
  );
  return null;
}
