// Tags: words that staff put on conversations. Adding and taking off are acts of their own, so that two people who tag
// at once lose nothing; the word itself belongs to the organization, so that renaming it is one row.
import { queueLimits } from '../../protocol/codes.ts';
import { viewQuery, type Tag } from '../../protocol/queue.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { TagRow } from '../../engine/rows.ts';
import { accessConversation, accessTag } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import { removedRows, removeInSlices } from '../core/slices.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';
import { whileAllowed, writeAs } from '../auth/standing.ts';
import { organizationScope } from '../core/scopes.ts';
import { emitChanged } from './conversation-events.ts';
import { getStaffConversation } from './conversations.ts';
import { foldTag } from './tag-names.ts';

export async function listTags(
  tx: ReadTx,
  { actor }: MemberCall,
  { limit, offset }: Input<'tags.list'>,
): Promise<Output<'tags.list'>> {
  const { tags } = tx.repositories;
  return {
    tags: (await tags.page(actor.organizationId, limit, offset)).map(serializeTag),
    total: await tags.count(actor.organizationId),
    limit,
    offset,
  };
}

/** @throws ServiceError conflict: there is one of this name, or there are too many */
export async function createTag(
  tx: Tx,
  call: MemberCall,
  { name }: Input<'tags.create'>,
): Promise<Output<'tags.create'>> {
  await assertFree(tx, call, name);
  const row = await insertTag(tx, call, name);
  await changed(tx, call, row, 'tags.create');
  return { tag: serializeTag(row) };
}

/** The name alone changes: conversations keep the tag, and views follow it. @throws ServiceError not_found, conflict */
export async function renameTag(
  call: MemberCall,
  input: Input<'tags.update'>,
): Promise<Output<'tags.update'>> {
  const { row, renamed } = await writeAs(call, organizationScope(call), (tx, current) =>
    renameRow(tx, current, input),
  );
  tellStaff(call, row, renamed.name);
  return { tag: serializeTag(renamed) };
}

/** Queues are shown what became of a tag; one that misses it learns of it when it asks again. */
function tellStaff({ service }: MemberCall, { name, organization_id }: TagRow, renamed: string | null): void {
  service.engine.signals.send({ type: 'tag', organizationId: organization_id, tag: name, renamed });
}

async function renameRow(
  tx: Tx,
  call: MemberCall,
  { tagId, name }: Input<'tags.update'>,
): Promise<{ readonly row: TagRow; readonly renamed: TagRow }> {
  const row = await accessTag(tx, call.actor, tagId);
  await assertFree(tx, call, name, row);
  const renamed: TagRow = { ...row, name, folded: foldTag(name) };
  await tx.repositories.tags.rename(renamed);
  await renameInViews(tx, call, row, name);
  await changed(tx, call, renamed, 'tags.update');
  return { row, renamed };
}

async function renameInViews(tx: Tx, { actor }: MemberCall, old: TagRow, name: string): Promise<void> {
  for (const view of await tx.repositories.views.withTags(actor.organizationId)) {
    const query = viewQuery.parse(JSON.parse(view.query));
    if (query.tag?.some((one) => foldTag(one) === old.folded) !== true) continue;
    const tag = query.tag.map((one) => (foldTag(one) === old.folded ? name : one));
    await tx.repositories.views.update({ ...view, query: JSON.stringify({ ...query, tag }) });
  }
}

/**
 * Takes the tag off every conversation, in slices, and then away. Cut off in the middle, the same call goes on, and the
 * audit log says who began.
 * @throws ServiceError not_found; unauthorized, forbidden when the right was withdrawn
 */
export async function deleteTag(
  call: MemberCall,
  { tagId }: Input<'tags.delete'>,
): Promise<{ success: true }> {
  const scope = organizationScope(call);
  // The right to do it is read before anything goes, in each slice, and once more at the end.
  const row = await writeAs(call, scope, async (tx, current) => {
    const found = await accessTag(tx, current.actor, tagId);
    const taken = await tx.repositories.tags.takeOffSome(found.id, removedRows);
    // What this leaves may be cut off.
    if (taken === removedRows) await changed(tx, current, found, 'tags.deleteBegun');
    return found;
  });
  await removeInSlices(whileAllowed(call), { organization: row.organization_id }, ({ repositories }, most) =>
    repositories.tags.takeOffSome(row.id, most),
  );
  await writeAs(call, scope, async (tx, current) => {
    await accessTag(tx, current.actor, tagId);
    await tx.repositories.tags.remove(row.id);
    await changed(tx, current, row, 'tags.delete');
  });
  tellStaff(call, row, null);
  return { success: true };
}

/**
 * Adds a tag. One that the conversation has already changes nothing, and no event tells of it.
 * @throws ServiceError not_found, conflict (too many), forbidden (a new name, by a token without settings:write)
 */
export async function tagConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.tag'>,
): Promise<Output<'staff.conversations.tag'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const { tags } = tx.repositories;
  const tag =
    (await tags.byName(call.actor.organizationId, foldTag(input.tag))) ?? (await newTag(tx, call, input.tag));
  if ((await tags.add(conversation.id, tag.id)) > 0) {
    const names = await tags.ofConversation(conversation.id);
    if (names.length > queueLimits.tagsPerConversation)
      throw new ServiceError(
        'conflict',
        `A conversation has at most ${queueLimits.tagsPerConversation} tags. Take one off first.`,
      );
    await emitChanged(tx, conversation, call.actor.memberId, {}, names);
  }
  return getStaffConversation(tx, call, input);
}

/** A name that is no tag yet. @throws ServiceError forbidden: a token that may act, but change no settings; conflict */
async function newTag(tx: Tx, call: MemberCall, name: string): Promise<TagRow> {
  const { scopes } = call.actor;
  if (scopes !== null && !scopes.includes('settings:write'))
    throw new ServiceError(
      'forbidden',
      `There is no tag ${name}, and this token may not make one: it lacks the scope settings:write. Use a tag of GET /staff/tags.`,
    );
  const row = await insertTag(tx, call, name);
  await changed(tx, call, row, 'tags.create');
  return row;
}

/** Takes a tag off. One that the conversation does not have changes nothing. @throws ServiceError not_found */
export async function untagConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.untag'>,
): Promise<Output<'staff.conversations.untag'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const { tags } = tx.repositories;
  const tag = await tags.byName(call.actor.organizationId, foldTag(input.tag));
  if (tag !== undefined && (await tags.take(conversation.id, tag.id)) > 0)
    await emitChanged(tx, conversation, call.actor.memberId);
  return getStaffConversation(tx, call, input);
}

async function insertTag(tx: Tx, { actor, service }: MemberCall, name: string): Promise<TagRow> {
  const { tags } = tx.repositories;
  if ((await tags.count(actor.organizationId)) >= queueLimits.tags)
    throw new ServiceError(
      'conflict',
      `An organization has at most ${queueLimits.tags} tags. Delete one, or use another.`,
    );
  const { clock } = service.engine;
  const row: TagRow = {
    id: clock.newId(),
    organization_id: actor.organizationId,
    name,
    folded: foldTag(name),
    created_at: clock.now(),
  };
  await tags.insert(row);
  return row;
}

/** @param own the tag that may have the name already, in other letters */
async function assertFree(tx: ReadTx, { actor }: MemberCall, name: string, own?: TagRow): Promise<void> {
  const other = await tx.repositories.tags.byName(actor.organizationId, foldTag(name));
  if (other !== undefined && other.id !== own?.id)
    throw new ServiceError('conflict', `There is a tag ${other.name} already. Choose another name.`);
}

function changed(tx: Tx, call: MemberCall, row: TagRow, action: string): Promise<void> {
  return audit(tx, call, {
    organizationId: row.organization_id,
    action,
    subject: `tag:${row.id}`,
    detail: { name: row.name },
  });
}

function serializeTag(row: TagRow): Tag {
  return { id: row.id, name: row.name, createdAt: isoTime(row.created_at) };
}
