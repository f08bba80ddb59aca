// The files of messages as they go with a mail: as many as a mail may carry, the rest by name.
import type { FileRow, MessageWithSender } from '../../engine/rows.ts';
import type { MailAttachment } from '../../net/smtp-client.ts';
import type { ReadTx, Service } from '../service.ts';

/** What goes with one mail; other servers refuse mails that are much larger. */
const maxBytes = 10 * 1024 * 1024;

/** The names of the files of each message that has some, by the message's id. */
export async function fileNames(
  { repositories }: ReadTx,
  messages: readonly MessageWithSender[],
): Promise<ReadonlyMap<string, readonly FileRow[]>> {
  const found = new Map<string, readonly FileRow[]>();
  for (const { id, attachments } of messages)
    if (attachments !== null) found.set(id, await repositories.files.ofMessage(id));
  return found;
}

/** Files as a mail carries them, in their order; one that is too large for what is left, or gone, stays out. */
export async function mailAttachments(
  { files }: Pick<Service, 'files'>,
  rows: readonly FileRow[],
): Promise<MailAttachment[]> {
  const attachments: MailAttachment[] = [];
  let left = maxBytes;
  for (const { name, type, size, object } of rows) {
    if (size > left) continue;
    const bytes = await files.store.open(object);
    if (bytes === null) continue;
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    left -= size;
    attachments.push({ filename: name, contentType: type, content: Buffer.concat(chunks) });
  }
  return attachments;
}
