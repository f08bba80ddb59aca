// What rows say that `deskbell doctor` tells of, whichever database they lie in. Decides nothing about what is good enough.
import type { Repositories } from '../../repositories.ts';

/** How many files are stored, wait for the scanner, and could not be removed. */
export interface FilesReport {
  readonly files: number;
  readonly bytes: number;
  readonly scanning: number;
  readonly removals: number;
  readonly failing: number;
}

export interface RowsReport {
  /** Files that are stored, and what waits; null: the schema is older than files. */
  readonly files: FilesReport | null;
  /** The keys for pushes as they are stored, and how many browsers have each; null: the schema is older than they. */
  readonly push: {
    readonly keys: string | null;
    readonly counts: readonly { key_id: string; devices: number; failing: number }[];
  } | null;
  /** The note on mails that led nowhere, as it is stored. */
  readonly mailsAstray: string | undefined;
}

/** Of a database whose schema is older than this program’s. */
export const nothingKnown: RowsReport = { files: null, push: null, mailsAstray: undefined };

/** @param repositories of a database with the newest schema */
export async function reportRows({
  files,
  meta,
  pushDevices,
}: Pick<Repositories, 'files' | 'meta' | 'pushDevices'>): Promise<RowsReport> {
  return {
    files: await files.overview(),
    push: { keys: (await meta.get('push_keys')) ?? null, counts: await pushDevices.countByKey() },
    mailsAstray: await meta.get('mails_astray'),
  };
}
