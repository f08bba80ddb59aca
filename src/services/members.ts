// The rules of members: seats, roles, passwords. An organization that has an
// admin never loses its last one.
import type { Input, Output } from '../protocol/operations.ts';
import type { MemberRow } from '../engine/rows.ts';
import { accessMember, accessOrganization } from './access.ts';
import { releaseConversationsOf } from './absence.ts';
import { audit } from './audit.ts';
import { Failure } from './failure.ts';
import { assertRoom, organizationLimits } from './plans.ts';
import { pageOf } from './paging.ts';
import { presentMember } from './present.ts';
import type { MemberCall, OwnerCall, ReadTx, Tx } from './service.ts';

/** @param passwordHash made outside the transaction: hashing takes a fifth of a second
 * @throws Failure not_found, plan_limit, conflict (address taken) */
export async function addMember(
  tx: Tx,
  call: OwnerCall,
  input: Omit<Input<'members.add'>, 'password'>,
  passwordHash: string,
): Promise<Output<'members.add'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  if ((await tx.tables.members.byEmail(organization.id, input.email)) !== undefined)
    throw new Failure('conflict', `There is a member ${input.email} in this organization already.`);
  const counts = await tx.tables.organizations.counts(organization.id);
  assertRoom(organization, counts.members, organizationLimits(organization).seats, 'seats');
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
  };
  await tx.tables.members.insert(row);
  await changed(tx, call, row, 'members.add', { role: row.role });
  return presentMember(row);
}

export async function listMembers(tx: ReadTx, call: OwnerCall, input: Input<'members.list'>): Promise<Output<'members.list'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const { page, ...counts } = pageOf(await tx.tables.members.byOrganization(organization.id), input);
  return { members: page.map(presentMember), ...counts };
}

/** The members that are not disabled, for any member: no address, only whom one works with. */
export async function listColleagues(tx: ReadTx, { actor, service }: MemberCall): Promise<Output<'staff.members.list'>> {
  const rows = await tx.tables.members.byOrganization(actor.organizationId);
  const { presence } = service.engine;
  return {
    members: rows
      .filter((row) => row.disabled_at === null)
      .map(({ id, name, role }) => ({ id, name, role, online: presence.awaySince(id) === null })),
  };
}

/** @throws Failure not_found, conflict (the last admin) */
export async function setRole(tx: Tx, call: OwnerCall, input: Input<'members.setRole'>): Promise<Output<'members.setRole'>> {
  const row = await accessMember(tx, call.actor, input.memberId);
  if (input.role !== 'admin') await assertNotLastAdmin(tx, row);
  await tx.tables.members.setRole(row.id, input.role);
  await changed(tx, call, row, 'members.setRole', { from: row.role, to: input.role });
  return presentMember({ ...row, role: input.role });
}

/** A new password ends every session of the member. */
export async function setPassword(
  tx: Tx,
  call: OwnerCall,
  input: Input<'members.setPassword'>,
  passwordHash: string,
): Promise<Output<'members.setPassword'>> {
  const row = await accessMember(tx, call.actor, input.memberId);
  await tx.tables.members.setPassword(row.id, passwordHash);
  await tx.tables.members.removeSessionsOf(row.id);
  await changed(tx, call, row, 'members.setPassword');
  return presentMember(row);
}

/** Ends every session of the member and gives their conversations back to the queue. */
export async function disableMember(tx: Tx, call: OwnerCall, input: Input<'members.disable'>): Promise<Output<'members.disable'>> {
  const row = await accessMember(tx, call.actor, input.memberId);
  if (row.disabled_at !== null) return presentMember(row);
  await assertNotLastAdmin(tx, row);
  const disabled = { ...row, disabled_at: call.service.engine.clock.now() };
  await tx.tables.members.setDisabled(row.id, disabled.disabled_at);
  await tx.tables.members.removeSessionsOf(row.id);
  await releaseConversationsOf(tx, call.service, row.organization_id, row.id);
  await changed(tx, call, row, 'members.disable');
  return presentMember(disabled);
}

/** @throws Failure not_found, plan_limit (no seat left) */
export async function enableMember(tx: Tx, call: OwnerCall, input: Input<'members.enable'>): Promise<Output<'members.enable'>> {
  const row = await accessMember(tx, call.actor, input.memberId);
  if (row.disabled_at === null) return presentMember(row);
  const organization = await accessOrganization(tx, { kind: 'local' }, row.organization_id);
  const counts = await tx.tables.organizations.counts(organization.id);
  assertRoom(organization, counts.members, organizationLimits(organization).seats, 'seats');
  await tx.tables.members.setDisabled(row.id, null);
  await changed(tx, call, row, 'members.enable');
  return presentMember({ ...row, disabled_at: null });
}

/** Removes a member; what they wrote stays. */
export async function removeMember(tx: Tx, call: OwnerCall, input: Input<'members.remove'>): Promise<{ success: true }> {
  const row = await accessMember(tx, call.actor, input.memberId);
  await assertNotLastAdmin(tx, row);
  await releaseConversationsOf(tx, call.service, row.organization_id, row.id);
  await tx.tables.members.remove(row.id);
  await changed(tx, call, row, 'members.remove');
  return { success: true };
}

async function assertNotLastAdmin(tx: ReadTx, row: MemberRow): Promise<void> {
  if (row.role !== 'admin' || row.disabled_at !== null) return;
  if ((await tx.tables.members.otherAdmins(row.organization_id, row.id)) === 0)
    throw new Failure('conflict', 'This is the last admin of the organization. Make somebody else an admin first.');
}

async function changed(
  tx: Tx,
  call: OwnerCall,
  row: MemberRow,
  action: string,
  detail: Readonly<Record<string, string>> = {},
): Promise<void> {
  tx.configurationChanged();
  await audit(tx, call, { organizationId: row.organization_id, action, subject: `member:${row.id}`, detail });
}

/**
 * Changes any of role, access and password at once.
 * @param passwordHash of the new password, null where it stays
 * @throws Failure not_found, conflict (the last admin), plan_limit (no seat left)
 */
export async function updateMember(
  tx: Tx,
  call: OwnerCall,
  input: Input<'members.update'>,
  passwordHash: string | null,
): Promise<Output<'members.update'>> {
  const { memberId, role, disabled, password } = input;
  let member = presentMember(await accessMember(tx, call.actor, memberId));
  if (role !== undefined) member = await setRole(tx, call, { memberId, role });
  if (password !== undefined && passwordHash !== null) member = await setPassword(tx, call, { memberId, password }, passwordHash);
  if (disabled !== undefined) member = await (disabled ? disableMember : enableMember)(tx, call, { memberId });
  return member;
}
