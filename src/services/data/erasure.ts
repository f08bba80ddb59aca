// The erasure of a visitor: everything that is kept about one person goes from every row, file and live connection.
import type { Input, Output } from '../../protocol/operations.ts';
import type { VisitorRow } from '../../engine/rows.ts';
import { writeAs } from '../auth/standing.ts';
import { audit } from '../core/audit.ts';
import { notFound } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import { removeInSlices, walkLogInSlices } from '../core/slices.ts';
import type { OwnerCall, Tx } from '../service.ts';
import { completeBegun, noteBegun, noteDone, slicesOf, type Removal } from './begun-removals.ts';
import { copyRetentionMs } from './retention.ts';
import { accessVisitorData, auditSubject } from './visitor-data.ts';

/**
 * Removes a visitor with everything that is kept about them, notes included, ends their live connections, and empties
 * the database's log, so that no file holds a word of them; copies made before changes of the schema are listed with
 * the day on which they go. The audit log keeps that it was begun and done, by whom and when, and nothing of whom.
 * @throws ServiceError not_found, bad_request; unauthorized, forbidden once the right is withdrawn: it then ends
 */
export async function eraseVisitor(
  call: OwnerCall,
  input: Input<'visitors.erase'>,
): Promise<Output<'visitors.erase'>> {
  const { store, maintenance } = call.service.engine;
  const visitor = await store.read((tx) => accessVisitorData(tx, call, input));
  const removal = removalOf(visitor);
  await writeAs(call, scopeOf(visitor), async (tx, current) => {
    await noteBegun(tx, current, removal);
    await audit(tx, current, {
      organizationId: visitor.organization_id,
      action: 'visitors.eraseBegun',
      subject: auditSubject(visitor),
    });
  });
  const storageCleared = await completeBegun(call, removal, completeErasure);
  const copies = await maintenance.copies();
  return {
    success: true,
    storageCleared,
    backups: copies.map(({ name, madeAt }) => ({ name, expiresAt: isoTime(madeAt + copyRetentionMs) })),
  };
}

const scopeOf = (visitor: VisitorRow) => ({ organization: visitor.organization_id, removes: true }) as const;

function removalOf({ id, organization_id }: VisitorRow): Removal {
  return { kind: 'visitor', id, organizationId: organization_id };
}

/** Removes what is left of a visitor whose erasure was begun. @throws ServiceError not_found: nothing is */
export async function completeErasure(
  call: OwnerCall,
  { id, organizationId }: Removal,
  assertGoesOn: () => void,
): Promise<void> {
  const [visitor] = await call.service.engine.store.read(({ repositories }) =>
    repositories.visitorData.find({ visitorId: id, organizationId }),
  );
  if (visitor === undefined) throw notFound('visitor');
  await removeVisitor(call, visitor, assertGoesOn);
}

async function removeVisitor(call: OwnerCall, visitor: VisitorRow, assertGoesOn: () => void): Promise<void> {
  const scope = scopeOf(visitor);
  // A long history goes in slices, each if the right to erase still holds.
  const slices = slicesOf(call, removalOf(visitor), assertGoesOn);
  for (const remove of ['removeMessages', 'removeDeliveries', 'removeEffects'] as const)
    await removeInSlices(slices, scope, ({ repositories }, most) =>
      repositories.visitorData[remove](visitor.id, most),
    );
  const walkedThrough = await walkLogInSlices(slices, scope, ({ repositories }, after, through) =>
    repositories.events.removeOfVisitor(visitor.id, after, through),
  );
  // What happened since: once a conversation is removed, its events could not be told from others.
  const removeLateEvents = ({ repositories }: Tx): Promise<number> =>
    repositories.events.removeOfVisitor(visitor.id, walkedThrough, Number.MAX_SAFE_INTEGER);
  await removeInSlices(slices, scope, async (tx, most) => {
    await removeLateEvents(tx);
    return tx.repositories.visitorData.removeConversations(visitor.id, most);
  });
  await writeAs(call, scope, async (tx) => {
    await removeLateEvents(tx);
    await tx.repositories.visitorData.removeConversations(visitor.id, Number.MAX_SAFE_INTEGER);
    if ((await tx.repositories.visitorData.remove(visitor.id)) === 0) throw notFound('visitor');
    await tx.repositories.views.removeNaming(visitor.organization_id, visitor.visitor_id);
    await tx.repositories.visitorData.countErasure();
    await noteDone(tx, removalOf(visitor));
    // Live connections prove again that they may stay: those of this visitor can't.
    tx.configurationChanged(visitor.organization_id);
    await audit(tx, call, {
      organizationId: visitor.organization_id,
      action: 'visitors.erase',
      subject: auditSubject(visitor),
    });
  });
}
