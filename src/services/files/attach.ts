// Files on messages: a file is sent once, by who uploaded it. Asked inside the transaction that stores the message.
import type { FileRow, MessageRow } from '../../engine/rows.ts';
import type { MemberActor, VisitorActor } from '../core/actor.ts';
import { badField } from '../core/errors.ts';
import type { ReadTx, Tx } from '../service.ts';
import { readAttachments } from './links.ts';
import { isUploader } from './upload.ts';

/**
 * The files that a new message names, in its order.
 * @throws ServiceError bad_request for one that the sender has not uploaded, that was sent already, or waits for the scanner
 */
export async function readOwnFiles(
  tx: ReadTx,
  actor: VisitorActor | MemberActor,
  ids: readonly string[],
): Promise<readonly FileRow[]> {
  if (new Set(ids).size < ids.length) throw badField('attachments', 'names a file twice');
  const rows: FileRow[] = [];
  for (const [index, id] of ids.entries()) {
    const row = await tx.repositories.files.byId(id);
    if (row === undefined || row.message_id !== null || !(await isUploader(tx, actor, row)))
      throw badField(
        `attachments.${index}`,
        'names no file that you have uploaded and not sent yet; one that is not sent within an hour goes: upload it again',
      );
    if (row.state === 'scanning')
      throw badField(`attachments.${index}`, 'is still being checked for viruses; send it again in a moment');
    rows.push(row);
  }
  return rows;
}

/** Gives files to the message that was stored. */
export async function attachFiles(tx: Tx, messageId: string, files: readonly FileRow[]): Promise<void> {
  for (const [index, { id }] of files.entries())
    if ((await tx.repositories.files.attach(id, messageId)) === 0)
      throw badField(`attachments.${index}`, 'was sent already');
}

/**
 * The files that an edited message keeps: those that are left out go, with their bytes.
 * @param ids those that stay; undefined: all
 * @returns what the message's row says of them
 * @throws ServiceError bad_request for one that the message does not have
 */
export async function keepFiles(
  tx: Tx,
  message: Pick<MessageRow, 'id' | 'attachments'>,
  ids: readonly string[] | undefined,
): Promise<string | null> {
  if (ids === undefined) return message.attachments;
  const have = readAttachments(message);
  for (const [index, id] of ids.entries())
    if (!have.some((one) => one.id === id))
      throw badField(`attachments.${index}`, 'names no file of this message; an edit only takes files away');
  const kept = have.filter(({ id }) => ids.includes(id));
  for (const { id } of have) if (!ids.includes(id)) await tx.repositories.files.remove(id);
  return kept.length === 0 ? null : JSON.stringify(kept);
}
