// From a complete file on this machine's disk to one that can be sent: the scanner, the bytes, the row. A row in
// file_removals names the bytes before they are in the store, so that what is cut off in between does not stay there.
import type { FileRow } from '../../engine/rows.ts';
import type { Service, Tx } from '../service.ts';
import { objectName } from './links.ts';
import { scanBytes } from './scanning.ts';
import type { TakenFile } from './spool.ts';

/** Longer than the bytes of a file are on their way into the store. */
export const storingMs = 2 * 3_600_000;

/** Who may send a file. */
export interface FileOwner {
  /** VisitorRow.id, or a member's id. */
  readonly uploader: string;
  /** VisitorRow.id; null: a member's. */
  readonly visitorKey: string | null;
  readonly idempotencyKey: string | null;
}

/** Writes the row of the file, in the transaction that knows whose it is. */
export type InsertFile = (tx: Tx, owner: FileOwner) => Promise<FileRow>;

/**
 * Stores a file that was taken in.
 * @param write runs a transaction that answers the row that `insert` has written; or an earlier one of the same
 *   upload: then these bytes go
 * @throws ServiceError file_rejected; and what `write` throws: then the bytes go
 */
export async function storeFile(
  service: Service,
  organizationId: string,
  { name, file }: { readonly name: string; readonly file: TakenFile },
  write: (insert: InsertFile) => Promise<FileRow>,
): Promise<FileRow> {
  const { engine, files, secrets } = service;
  const { store, clock } = engine;
  const id = clock.newId();
  const object = objectName(secrets, id);
  const scope = { organization: organizationId, part: `row:${id}` } as const;
  const state = await scanBytes(service, file.path);
  await store.write(scope, ({ repositories }) =>
    repositories.files.planRemoval(object, clock.now() + storingMs),
  );
  const insert: InsertFile = async (tx, { uploader, visitorKey, idempotencyKey }) => {
    const { type, size, width, height, digest } = file;
    const row: FileRow = {
      id,
      organization_id: organizationId,
      uploader,
      visitor_key: visitorKey,
      message_id: null,
      object,
      name,
      type,
      size,
      width,
      height,
      digest,
      state,
      idempotency_key: idempotencyKey,
      created_at: clock.now(),
    };
    if ((await tx.repositories.files.insert(row)) === 0)
      throw new Error('A file of the same key was not looked for.');
    await tx.repositories.files.forgetRemoval(object);
    return row;
  };
  let stored: FileRow | undefined;
  try {
    await files.store.put(object, file);
    stored = await write(insert);
    return stored;
  } finally {
    if (stored?.id !== id)
      await store.write({ ...scope, removes: true }, ({ repositories }) =>
        repositories.files.planRemoval(object, clock.now()),
      );
  }
}
