// Saved views: questions to the queue under a name, with counts. Own ones are their maker's alone; shared ones are seen
// by all, and changed by their maker or an admin.
import { queueLimits } from '../../protocol/codes.ts';
import { viewQuery, type View } from '../../protocol/queue.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { ViewRow } from '../../engine/rows.ts';
import { accessView } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { paginate } from '../core/pagination.ts';
import { isoTime } from '../core/serializers.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';

export async function listViews(
  tx: ReadTx,
  { actor }: MemberCall,
  input: Input<'views.list'>,
): Promise<Output<'views.list'>> {
  const rows = await tx.repositories.views.visible(actor.organizationId, actor.memberId);
  const { page, ...counts } = paginate(rows, input);
  return { views: page.map(serializeView), ...counts };
}

/** @throws ServiceError conflict: there are too many */
export async function createView(
  tx: Tx,
  call: MemberCall,
  { name, query, shared }: Input<'views.create'>,
): Promise<Output<'views.create'>> {
  await assertRoom(tx, call, shared);
  const { clock } = call.service.engine;
  const now = clock.now();
  const row: ViewRow = {
    id: clock.newId(),
    organization_id: call.actor.organizationId,
    name,
    shared: shared ? 1 : 0,
    query: JSON.stringify(query),
    created_by: call.actor.memberId,
    created_at: now,
    updated_at: now,
  };
  await tx.repositories.views.insert(row);
  await changed(tx, call, row, 'views.create');
  return { view: serializeView(row) };
}

/**
 * What is left out stays. One that is no longer shared is its maker's alone.
 * @throws ServiceError not_found, forbidden, conflict
 */
export async function updateView(
  tx: Tx,
  call: MemberCall,
  input: Input<'views.update'>,
): Promise<Output<'views.update'>> {
  const row = await accessOwnView(tx, call, input.viewId);
  const shared = input.shared ?? row.shared === 1;
  if (shared !== (row.shared === 1)) await assertRoom(tx, call, shared, row.created_by);
  const next: ViewRow = {
    ...row,
    name: input.name ?? row.name,
    shared: shared ? 1 : 0,
    query: input.query === undefined ? row.query : JSON.stringify(input.query),
    updated_at: call.service.engine.clock.now(),
  };
  await tx.repositories.views.update(next);
  await changed(tx, call, row.shared === 1 ? row : next, 'views.update');
  return { view: serializeView(next) };
}

/** @throws ServiceError not_found, forbidden */
export async function deleteView(
  tx: Tx,
  call: MemberCall,
  { viewId }: Input<'views.delete'>,
): Promise<{ success: true }> {
  const row = await accessOwnView(tx, call, viewId);
  await tx.repositories.views.remove(row.id);
  await changed(tx, call, row, 'views.delete');
  return { success: true };
}

/** A view's question, read by today's schema. */
export function readViewQuery(row: ViewRow): View['query'] {
  return viewQuery.parse(JSON.parse(row.query));
}

async function accessOwnView(tx: ReadTx, { actor }: MemberCall, id: string): Promise<ViewRow> {
  const row = await accessView(tx, actor, id);
  if (row.created_by !== actor.memberId && actor.role !== 'admin')
    throw new ServiceError('forbidden', 'Only its maker, or an admin, may change a shared view.');
  return row;
}

/** @param owner whose own one it is to be, where it is not shared */
async function assertRoom(
  tx: ReadTx,
  { actor }: MemberCall,
  shared: boolean,
  owner: string = actor.memberId,
): Promise<void> {
  if ((await tx.repositories.views.count(actor.organizationId, shared ? null : owner)) < queueLimits.views)
    return;
  throw new ServiceError(
    'conflict',
    `There are at most ${queueLimits.views} ${shared ? 'shared views' : 'views of your own'}. Delete one first.`,
  );
}

/** What everybody sees is configuration; a member's own view is a habit. */
async function changed(tx: Tx, call: MemberCall, row: ViewRow, action: string): Promise<void> {
  if (row.shared === 0) return;
  await audit(tx, call, {
    organizationId: row.organization_id,
    action,
    subject: `view:${row.id}`,
    detail: { name: row.name },
  });
}

function serializeView(row: ViewRow): View {
  return {
    id: row.id,
    name: row.name,
    shared: row.shared === 1,
    query: readViewQuery(row),
    createdBy: row.created_by,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
