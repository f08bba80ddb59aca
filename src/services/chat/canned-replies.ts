// The rules of canned replies: texts that every operator of an organization may
// keep, find by a shortcut, and send.
import type { Input, Output } from '../../protocol/operations.ts';
import type { CannedReplyRow } from '../../engine/rows.ts';
import { accessCannedReply } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { prepareStaffMessage } from './messages.ts';
import type { MessageContent } from './append-message.ts';
import { serializeCannedReply } from '../core/serializers.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';

/** The desk holds all of them, to find one while it is typed. */
const maxCannedReplies = 1_000;

export async function listCannedReplies(
  tx: ReadTx,
  { actor }: MemberCall,
  input: Input<'cannedReplies.list'>,
): Promise<Output<'cannedReplies.list'>> {
  const { limit, offset } = input;
  const rows = await tx.repositories.cannedReplies.page(actor.organizationId, limit, offset);
  const total = await tx.repositories.cannedReplies.count(actor.organizationId);
  return { cannedReplies: rows.map(serializeCannedReply), total, limit, offset };
}

/** @throws ServiceError bad_request (content), conflict (shortcut taken, or one too many) */
export async function createCannedReply(
  tx: Tx,
  call: MemberCall,
  input: Input<'cannedReplies.create'>,
  { content, content_format, content_html }: MessageContent,
): Promise<Output<'cannedReplies.create'>> {
  const { clock } = call.service.engine;
  const now = clock.now();
  const row: CannedReplyRow = {
    id: clock.newId(),
    organization_id: call.actor.organizationId,
    shortcut: input.shortcut,
    content,
    content_format,
    content_html,
    created_at: now,
    updated_at: now,
  };
  await assertFree(tx, row);
  if ((await tx.repositories.cannedReplies.count(row.organization_id)) >= maxCannedReplies)
    throw new ServiceError(
      'conflict',
      `An organization has at most ${maxCannedReplies} canned replies. Remove some that are not used first.`,
    );
  await tx.repositories.cannedReplies.insert(row);
  await changed(tx, call, row, 'cannedReplies.create');
  return { cannedReply: serializeCannedReply(row) };
}

/**
 * Checks a changed text before the transaction; null where it stays.
 * @throws ServiceError bad_request
 */
export async function prepareChange(
  call: MemberCall,
  { cannedReplyId, content, contentFormat }: Input<'cannedReplies.update'>,
): Promise<MessageContent | null> {
  if (content !== undefined)
    return prepareStaffMessage(call, { content, contentFormat: contentFormat ?? 'plain' });
  if (contentFormat === undefined) return null;
  const row = await call.service.engine.store.read((tx) => accessCannedReply(tx, call.actor, cannedReplyId));
  return prepareStaffMessage(call, { content: row.content, contentFormat });
}

/**
 * What is left out stays.
 * @throws ServiceError not_found, bad_request, conflict
 */
export async function updateCannedReply(
  tx: Tx,
  call: MemberCall,
  input: Input<'cannedReplies.update'>,
  changedContent: MessageContent | null,
): Promise<Output<'cannedReplies.update'>> {
  const row = await accessCannedReply(tx, call.actor, input.cannedReplyId);
  const content = changedContent ?? row;
  const next: CannedReplyRow = {
    ...row,
    shortcut: input.shortcut ?? row.shortcut,
    content: content.content,
    content_format: content.content_format,
    content_html: content.content_html,
    updated_at: call.service.engine.clock.now(),
  };
  await assertFree(tx, next);
  await tx.repositories.cannedReplies.update(next);
  await changed(tx, call, next, 'cannedReplies.update');
  return { cannedReply: serializeCannedReply(next) };
}

/** @throws ServiceError not_found */
export async function deleteCannedReply(
  tx: Tx,
  call: MemberCall,
  input: Input<'cannedReplies.delete'>,
): Promise<{ success: true }> {
  const row = await accessCannedReply(tx, call.actor, input.cannedReplyId);
  await tx.repositories.cannedReplies.remove(row.id);
  await changed(tx, call, row, 'cannedReplies.delete');
  return { success: true };
}

async function assertFree(tx: ReadTx, row: CannedReplyRow): Promise<void> {
  const other = await tx.repositories.cannedReplies.byShortcut(row.organization_id, row.shortcut);
  if (other !== undefined && other.id !== row.id)
    throw new ServiceError(
      'conflict',
      `There is a canned reply with the shortcut ${row.shortcut} already. Choose another.`,
    );
}

function changed(tx: Tx, call: MemberCall, row: CannedReplyRow, action: string): Promise<void> {
  return audit(tx, call, {
    organizationId: row.organization_id,
    action,
    subject: `cannedReply:${row.id}`,
    detail: { shortcut: row.shortcut },
  });
}
