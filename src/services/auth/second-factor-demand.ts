// The rule by which an organization demands a second factor of its members.
import type { MemberRow, OrganizationRow, StaffSessionRow } from '../../engine/rows.ts';

/** Whether an organization lets a member in with a second factor only. */
export function demandsSecondFactor(
  { second_factor: demand }: Pick<OrganizationRow, 'second_factor'>,
  { role }: Pick<MemberRow, 'role'>,
): boolean {
  return demand === 'all' || (demand === 'admins' && role === 'admin');
}

/** Whether a session has what the organization demands of its member. */
export function hasDemandedFactor(
  session: Pick<StaffSessionRow, 'second_factor'>,
  organization: Pick<OrganizationRow, 'second_factor'>,
  member: Pick<MemberRow, 'role'>,
): boolean {
  return session.second_factor === 1 || !demandsSecondFactor(organization, member);
}
