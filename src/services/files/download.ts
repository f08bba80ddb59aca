// Reading a file by its link. No credential comes with it: the signature is the right.
import { inlineFileTypes } from '../../protocol/codes.ts';
import { uuid } from '../../protocol/entities.ts';
import type { FileRow } from '../../engine/rows.ts';
import { notFound, ServiceError } from '../core/errors.ts';
import type { Service } from '../service.ts';
import { checkLink } from './links.ts';

export interface LinkedFile {
  readonly row: FileRow;
  /** Whether a browser may show it by itself. */
  readonly inline: boolean;
  /** Until when the link holds, ms. */
  readonly expires: number;
}

/**
 * The file that a link names.
 * @throws ServiceError forbidden for a link that is over; not_found for one that was never given out, and for a file that
 * is gone
 */
export async function findLinkedFile(
  service: Service,
  link: { readonly id: string; readonly expires: string; readonly signature: string },
): Promise<LinkedFile> {
  const id = uuid.safeParse(link.id);
  if (!id.success) throw notFound('file');
  const row = await service.engine.store.read(({ repositories }) => repositories.files.byId(id.data));
  if (row === undefined || row.message_id === null || row.state !== 'ready') throw notFound('file');
  // An organization that is being deleted.
  if ((await service.configCache.organization(row.organization_id)) === null) throw notFound('file');
  const problem = checkLink(service, { ...link, id: row.id, messageId: row.message_id });
  // As for a file that there is not: a guess learns nothing.
  if (problem === 'forged') throw notFound('file');
  if (problem === 'expired')
    throw new ServiceError('forbidden', 'This link to a file is over. Load the message again for a new one.');
  return { row, inline: inlineTypes.has(row.type), expires: Number(link.expires) * 1000 };
}

const inlineTypes: ReadonlySet<string> = new Set(inlineFileTypes);
