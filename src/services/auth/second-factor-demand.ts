// The rule by which an organization demands a second factor of its members.
import type { MemberRow, OrganizationRow } from '../../engine/rows.ts';

/** Whether an organization lets a member in with a second factor only. */
export function demandsSecondFactor(
  { second_factor: demand }: Pick<OrganizationRow, 'second_factor'>,
  { role }: Pick<MemberRow, 'role'>,
): boolean {
  return demand === 'all' || (demand === 'admins' && role === 'admin');
}
