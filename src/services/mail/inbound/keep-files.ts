// The files of a mail that comes in, as files of the visitor who sent it: the same checks, limits and scanner.
import { fileLimits } from '../../../protocol/codes.ts';
import type { FileRow, VisitorRow } from '../../../engine/rows.ts';
import { ServiceError } from '../../core/errors.ts';
import { assertNameAllowed, cleanFileName } from '../../files/names.ts';
import { readThrough, takeIn } from '../../files/spool.ts';
import { storeFile } from '../../files/store-file.ts';
import type { ReadTx, Service } from '../../service.ts';
import { assertFileQuota } from '../../tenants/quotas.ts';
import type { MailFile, ParsedMail } from './parsed-mail.ts';

const maxFiles = fileLimits.perMessage;

/** How the files of a mail are called where it is told of them: as many as one message has. */
export const namesOf = (files: readonly Pick<MailFile, 'name'>[]): string[] =>
  files.map(({ name }) => cleanFileName(name)).slice(0, maxFiles);

/** For how long a mail waits for the scanner. Afterwards it comes without the file that nothing has looked at. */
const scannerWaitMs = 2 * 3_600_000;

/** The files of a mail that can be sent with its message, and the names of those that were not taken. */
export interface KeptFiles {
  readonly files: readonly FileRow[];
  readonly refused: readonly string[];
}

/**
 * Stores the files of a mail, as those that a visitor uploads are.
 * @throws ServiceError unavailable while the scanner has not looked at one of them: the mail should come again
 */
export async function keepFiles(
  service: Service,
  visitor: VisitorRow,
  mail: ParsedMail,
  key: string,
): Promise<KeptFiles> {
  const files: FileRow[] = [];
  const refused: string[] = namesOf(mail.files.slice(maxFiles));
  const latest = service.engine.clock.now() - scannerWaitMs;
  let waits = false;
  for (const [index, file] of mail.files.slice(0, maxFiles).entries())
    try {
      const row = await keepFile(service, visitor, file, `${key}:${index}`);
      // One that the scanner has not looked at can't be sent.
      if (row.state === 'ready') files.push(row);
      else if (row.created_at > latest) waits = true;
      else refused.push(row.name);
    } catch (error) {
      // A file that may not be taken is named, and the mail comes all the same.
      if (!(error instanceof ServiceError) || error.code === 'unavailable') throw error;
      refused.push(cleanFileName(file.name));
    }
  if (waits)
    throw new ServiceError(
      'unavailable',
      'The scanner has not looked at a file of the mail. Hand it in again later.',
    );
  return { files, refused };
}

async function keepFile(
  service: Service,
  visitor: VisitorRow,
  { name: given, type, bytes }: MailFile,
  key: string,
): Promise<FileRow> {
  const name = cleanFileName(given);
  assertNameAllowed(name);
  const findEarlier = ({ repositories }: ReadTx): Promise<FileRow | undefined> =>
    repositories.files.byIdempotencyKey(visitor.id, key);
  const earlier = await service.engine.store.read(findEarlier);
  if (earlier !== undefined) return earlier;
  const incoming = {
    bytes: 'path' in bytes ? readThrough(bytes.path) : stretches(bytes),
    claimed: type,
    maxBytes: fileLimits.visitorBytes,
  };
  return takeIn(service.files.incomingFolder, incoming, (file) =>
    storeFile(service, visitor.organization_id, { name, file }, (insert) =>
      service.engine.store.write({ organization: visitor.organization_id }, async (tx) => {
        const organization = await tx.repositories.organizations.byId(visitor.organization_id);
        if (organization === undefined) throw new ServiceError('not_found', 'No such organization.');
        assertFileQuota(organization, (await tx.repositories.files.totals(organization.id)).bytes, file.size);
        return (
          (await findEarlier(tx)) ??
          insert(tx, { uploader: visitor.id, visitorKey: visitor.id, idempotencyKey: key })
        );
      }),
    ),
  );
}

/** Bytes in stretches, so that writing them holds nothing up. */
async function* stretches(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536)
    yield await Promise.resolve(bytes.subarray(at, at + 65_536));
}
