// The deletion of an application or an organization with all that is in it. From its beginning on it is not found, while
// its conversations go in small steps: one transaction for them all would hold the write lock for long.
import type { Input } from '../../protocol/operations.ts';
import type { ApplicationRow } from '../../engine/rows.ts';
import { accessOrganization, ownRow } from '../core/access.ts';
import { writeAs } from '../auth/standing.ts';
import { audit } from '../core/audit.ts';
import { inParts, notFound, ServiceError } from '../core/errors.ts';
import type { OwnerCall, ReadTx, Tx } from '../service.ts';
import {
  completeBegun,
  findGoingOrganization,
  noteBegun,
  noteDone,
  slicesOf,
  type Removal,
} from './begun-removals.ts';
import { removeApplicationData, removeOrganizationData } from './retention.ts';

/**
 * Deletes an organization, or goes on with the deletion of one. The audit log says first who began it: its own rows go,
 * too.
 * @throws ServiceError not_found
 */
export async function deleteOrganization(
  call: OwnerCall,
  input: Input<'organizations.delete'>,
): Promise<{ success: true }> {
  const removal = await writeAs(call, 'server', async (tx, current) => {
    const found = await findToDelete(tx, current, input.organization);
    await noteBegun(tx, current, found.removal, found.slug);
    await audit(tx, current, {
      organizationId: null,
      action: 'organizations.deleteBegun',
      subject: `organization:${found.removal.id}`,
      detail: { slug: found.slug },
    });
    return found.removal;
  });
  await inParts(completeBegun(call, removal, completeOrganization));
  return { success: true };
}

/** The organization that a name means, which is not found by it any more. */
async function findToDelete(
  tx: Tx,
  { actor }: OwnerCall,
  name: string,
): Promise<{ readonly removal: Removal; readonly slug: string }> {
  const going = await findGoingOrganization(tx, name.toLowerCase());
  try {
    const { id, slug } = await accessOrganization(tx, actor, name);
    await tx.repositories.organizations.hide(id);
    tx.configurationChanged(id);
    return { removal: { kind: 'organization', id, organizationId: id }, slug };
  } catch (error) {
    if (going === null || !(error instanceof ServiceError)) throw error;
    return going;
  }
}

/** Removes what is left of an organization whose deletion was begun. @throws ServiceError not_found: nothing is */
export async function completeOrganization(
  call: OwnerCall,
  removal: Removal,
  assertGoesOn: () => void,
): Promise<void> {
  const { id } = removal;
  const walkedThrough = await removeOrganizationData(slicesOf(call, removal, assertGoesOn), id);
  await writeAs(call, 'server', async (tx, current) => {
    await tx.repositories.events.removeOfOrganization(id, walkedThrough, Number.MAX_SAFE_INTEGER);
    if ((await tx.repositories.organizations.remove(id)) === 0) throw notFound('organization');
    await noteDone(tx, removal);
    tx.configurationChanged(id);
    await audit(tx, current, {
      organizationId: null,
      action: 'organizations.delete',
      subject: `organization:${id}`,
    });
  });
}

/**
 * Deletes an application, or goes on with the deletion of one. It ends with the caller's right to it: what is left is
 * there again.
 * @throws ServiceError not_found; unauthorized, forbidden when the right was withdrawn
 */
export async function deleteApplication(
  call: OwnerCall,
  { applicationId }: Input<'applications.delete'>,
): Promise<{ success: true }> {
  const find = async (tx: ReadTx, { actor }: OwnerCall): Promise<ApplicationRow> =>
    ownRow(actor, await tx.repositories.applications.alsoGoing(applicationId), 'application');
  const { organization_id: organizationId } = await call.service.engine.store.read((tx) => find(tx, call));
  const removal: Removal = { kind: 'application', id: applicationId, organizationId };
  await writeAs(call, { organization: organizationId, removes: true }, async (tx, current) => {
    const { name } = await find(tx, current);
    await noteBegun(tx, current, removal);
    tx.configurationChanged(organizationId);
    await audit(tx, current, {
      organizationId,
      action: 'applications.deleteBegun',
      subject: `application:${applicationId}`,
      detail: { name },
    });
  });
  await inParts(completeBegun(call, removal, completeApplication));
  return { success: true };
}

/** Removes what is left of an application whose deletion was begun. @throws ServiceError not_found: nothing is */
export async function completeApplication(
  call: OwnerCall,
  removal: Removal,
  assertGoesOn: () => void,
): Promise<void> {
  const { id, organizationId } = removal;
  await removeApplicationData(slicesOf(call, removal, assertGoesOn), removal);
  await writeAs(call, { organization: organizationId, removes: true }, async (tx, current) => {
    if ((await tx.repositories.applications.remove(id)) === 0) throw notFound('application');
    await noteDone(tx, removal);
    tx.configurationChanged(organizationId);
    await audit(tx, current, {
      organizationId,
      action: 'applications.delete',
      subject: `application:${id}`,
    });
  });
}
