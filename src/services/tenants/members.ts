// Members: seats, roles, passwords. An organization that has an admin never loses its
// last one.
import type { Input, Output } from '../../protocol/operations.ts';
import type { MemberRow } from '../../engine/rows.ts';
import { accessMember, accessOrganization } from '../core/access.ts';
import { isDisabled, releaseFirst, releaseRest } from '../chat/auto-release.ts';
import { writeAs } from '../auth/standing.ts';
import { removedRows, removeInSlices } from '../core/slices.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { assertQuota, organizationQuotas } from './quotas.ts';
import { paginate } from '../core/pagination.ts';
import { serializeMember } from '../core/serializers.ts';
import { escalationWithout } from '../notifications/escalation-steps.ts';
import { organizationScope } from '../core/scopes.ts';
import { shownFactors } from '../auth/second-factor.ts';
import type { MemberCall, OwnerCall, ReadTx, Tx } from '../service.ts';

/** The hash of a member who has not accepted the invitation. No password has it, so no sign-in succeeds before. */
export const noPassword = 'invited';

/**
 * Adds a member.
 * @param passwordHash made outside the transaction: hashing takes a fifth of a second
 * @throws ServiceError not_found, plan_limit, conflict (address taken)
 */
export async function addMember(
  tx: Tx,
  call: OwnerCall,
  input: Omit<Input<'members.add'>, 'password'>,
  passwordHash: string,
): Promise<Output<'members.add'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  if ((await tx.repositories.members.byEmail(organization.id, input.email)) !== undefined)
    throw new ServiceError('conflict', `There is a member ${input.email} in this organization already.`);
  const counts = await tx.repositories.organizations.counts(organization.id);
  assertQuota(organization, counts.members, organizationQuotas(organization).seats, 'seats');
  const { clock } = call.service.engine;
  const row: MemberRow = {
    id: clock.newId(),
    organization_id: organization.id,
    email: input.email,
    name: input.name,
    role: input.role,
    password_hash: passwordHash,
    disabled_at: null,
    created_at: clock.now(),
    locale: null,
    timezone: null,
    signature: '',
    notifications: '{}',
  };
  await tx.repositories.members.insert(row);
  await auditMember(tx, call, row, 'members.add', { role: row.role });
  return serializeMember(row);
}

export async function listMembers(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'members.list'>,
): Promise<Output<'members.list'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const { page, ...counts } = paginate(await tx.repositories.members.byOrganization(organization.id), input);
  const members = [];
  for (const row of page)
    members.push({ ...serializeMember(row), secondFactors: await shownFactors(tx, row.id) });
  return { members, ...counts };
}

/** The members that are not disabled, for any member: no address, only whom one works with. */
export async function listColleagues(
  { actor, service }: MemberCall,
  input: Input<'staff.members.list'>,
): Promise<Output<'staff.members.list'>> {
  const { store, presence } = service.engine;
  const all = await store.read(({ repositories }) =>
    repositories.members.byOrganization(actor.organizationId),
  );
  const { page, ...counts } = paginate(
    all.filter((row) => row.disabled_at === null),
    input,
  );
  const present = await presence.present(page.map(({ id }) => id));
  return {
    members: page.map(({ id, name, role }) => ({ id, name, role, online: present.has(id) })),
    ...counts,
  };
}

/**
 * Changes any of role, access and password at once. A new password or a lock-out ends every session of the member and
 * their invitation; a lock-out also
 * gives their conversations back to the queue: many of them in slices, which the automatic release goes on with where they
 * are cut off.
 * @param passwordHash of the new password, made outside the transaction; null where it stays
 * @throws ServiceError not_found, conflict (the last admin), plan_limit (no seat left)
 */
export async function updateMember(
  call: OwnerCall,
  input: Input<'members.update'>,
  passwordHash: string | null,
): Promise<Output<'members.update'>> {
  const { service } = call;
  const { member, leftOf } = await writeAs(call, organizationScope(call), (tx, current) =>
    changeMember(tx, current, input, passwordHash),
  );
  // No right is asked for any more: the member is disabled, who may be the caller.
  if (leftOf !== null) await releaseRest(service, leftOf, (tx) => isDisabled(tx, leftOf.memberId));
  return member;
}

/** Whose conversations are still to be released; null: none. */
type LeftOf = { readonly organizationId: string; readonly memberId: string } | null;

async function changeMember(
  tx: Tx,
  call: OwnerCall,
  input: Input<'members.update'>,
  passwordHash: string | null,
): Promise<{ member: Output<'members.update'>; leftOf: LeftOf }> {
  const { members } = tx.repositories;
  let leftOf: LeftOf = null;
  const row = await accessMember(tx, call.actor, input.memberId);
  const wasDisabled = row.disabled_at !== null;
  const { role = row.role, disabled = wasDisabled } = input;
  if (role !== 'admin' || disabled) await assertNotLastAdmin(tx, row);
  if (wasDisabled && !disabled) await assertFreeSeat(tx, row.organization_id);

  const changes: Record<string, string | boolean> = {};
  if (role !== row.role) {
    await members.setRole(row.id, role);
    Object.assign(changes, { role, previousRole: row.role });
  }
  if (passwordHash !== null) {
    await members.setPassword(row.id, passwordHash);
    await tx.repositories.invitations.remove(row.id);
    changes['password'] = true;
  }
  const disabledAt = disabled ? (row.disabled_at ?? call.service.engine.clock.now()) : null;
  if (disabled !== wasDisabled) {
    await members.setDisabled(row.id, disabledAt);
    if (disabled) {
      const owner = { organizationId: row.organization_id, memberId: row.id };
      if (await releaseFirst(tx, call.service, owner)) leftOf = owner;
      await tx.repositories.invitations.remove(row.id);
    }
    changes['disabled'] = disabled;
  }
  if (changes['password'] === true || changes['disabled'] === true) await members.removeSessionsOf(row.id);
  const fields = Object.keys(changes).filter((name) => name !== 'previousRole');
  if (fields.length > 0)
    await auditMember(tx, call, row, 'members.update', { fields: fields.join(','), ...changes });
  return { member: serializeMember({ ...row, role, disabled_at: disabledAt }), leftOf };
}

/** @throws ServiceError plan_limit */
async function assertFreeSeat(tx: ReadTx, organizationId: string): Promise<void> {
  const organization = await accessOrganization(tx, { kind: 'local' }, organizationId);
  const { members } = await tx.repositories.organizations.counts(organizationId);
  assertQuota(organization, members, organizationQuotas(organization).seats, 'seats');
}

/**
 * Removes a member; what they sent stays. Steps of the escalation that named them tell all. One who has many conversations
 * or drafts is disabled first, until the former are back in the queue and the latter gone: cut off in between, they are
 * removed by the same call again.
 * @throws ServiceError not_found, conflict (the last admin; one who is admitted again in between)
 */
export async function removeMember(
  call: OwnerCall,
  input: Input<'members.remove'>,
): Promise<{ success: true }> {
  const { service } = call;
  const leftOf = await writeAs(call, organizationScope(call), (tx, current) =>
    beginRemoval(tx, current, input),
  );
  if (leftOf === null) return { success: true };
  // No right is asked for any more: the member is disabled, who may be the caller.
  const { memberId } = leftOf;
  const scope = { organization: leftOf.organizationId };
  await releaseRest(service, leftOf, (tx) => isDisabled(tx, memberId));
  await removeInSlices(service, scope, async (tx, most) =>
    (await isDisabled(tx, memberId)) ? tx.repositories.drafts.removeSomeOf(memberId, most) : 0,
  );
  await service.engine.store.write(scope, async (tx) => {
    const row = await tx.repositories.members.byId(memberId);
    if (row === undefined) return;
    // Their conversations have stayed with them.
    if (row.disabled_at === null)
      throw new ServiceError('conflict', 'The member was admitted again in the meantime and is not removed.');
    await endRemoval(tx, call, row);
  });
  return { success: true };
}

/** @returns whose conversations are left; null: the member is removed */
async function beginRemoval(tx: Tx, call: OwnerCall, input: Input<'members.remove'>): Promise<LeftOf> {
  const { members } = tx.repositories;
  const row = await accessMember(tx, call.actor, input.memberId);
  await assertNotLastAdmin(tx, row);
  const owner = { organizationId: row.organization_id, memberId: row.id };
  const isHolding = await releaseFirst(tx, call.service, owner);
  const removedDrafts = await tx.repositories.drafts.removeSomeOf(row.id, removedRows);
  if (!isHolding && removedDrafts < removedRows) {
    await endRemoval(tx, call, row);
    return null;
  }
  await members.setDisabled(row.id, row.disabled_at ?? call.service.engine.clock.now());
  await members.removeSessionsOf(row.id);
  await tx.repositories.invitations.remove(row.id);
  await auditMember(tx, call, row, 'members.removeBegun');
  return owner;
}

async function endRemoval(tx: Tx, call: OwnerCall, row: MemberRow): Promise<void> {
  await tx.repositories.members.remove(row.id);
  await tx.repositories.views.removeOwnOf(row.id);
  const organization = await accessOrganization(tx, { kind: 'local' }, row.organization_id);
  const escalation = escalationWithout(organization, (id) => id === row.id);
  if (escalation !== null) await tx.repositories.organizations.setEscalation(row.organization_id, escalation);
  await auditMember(
    tx,
    call,
    row,
    'members.remove',
    escalation === null ? {} : { fields: 'escalation', escalation },
  );
}

async function assertNotLastAdmin(tx: ReadTx, row: MemberRow): Promise<void> {
  if (row.role !== 'admin' || row.disabled_at !== null) return;
  // One who has not accepted the invitation can't sign in.
  if ((await tx.repositories.members.otherAdmins(row.organization_id, row.id, noPassword)) === 0)
    throw new ServiceError(
      'conflict',
      'This is the last admin of the organization. Make another member an admin first.',
    );
}

async function auditMember(
  tx: Tx,
  call: OwnerCall,
  row: MemberRow,
  action: string,
  detail: Readonly<Record<string, string | boolean>> = {},
): Promise<void> {
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, { organizationId: row.organization_id, action, subject: `member:${row.id}`, detail });
}
