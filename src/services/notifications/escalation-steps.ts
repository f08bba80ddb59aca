// What an organization does when no member accepts a conversation, as it is stored with the organization.
import { escalation, type EscalationStep } from '../../protocol/notifications.ts';
import type { MemberRow, OrganizationRow } from '../../engine/rows.ts';
import { badField } from '../core/errors.ts';
import type { ReadTx } from '../service.ts';

/** The steps, in the order in which they come due. */
export function readEscalation(row: Pick<OrganizationRow, 'escalation'>): EscalationStep[] {
  return escalation.parse(JSON.parse(row.escalation));
}

/**
 * The text that is stored: in the order in which the steps come due, each way once.
 * @throws ServiceError bad_request (a member that the organization does not have)
 */
export async function storedEscalation(
  tx: ReadTx,
  { id }: Pick<OrganizationRow, 'id'>,
  steps: readonly EscalationStep[],
): Promise<string> {
  for (const [index, { to }] of steps.entries()) {
    if (to === 'available' || to === 'all') continue;
    const member = await tx.repositories.members.byId(to);
    if (member?.organization_id !== id)
      throw badField(`escalation.${index}.to`, 'must be available, all or the id of a member');
  }
  return JSON.stringify(
    steps
      .map(({ afterMinutes, to, ways }) => ({ afterMinutes, to, ways: [...new Set(ways)] }))
      .toSorted((one, other) => one.afterMinutes - other.afterMinutes),
  );
}

/** The step as it is taken: where the member whom it names is gone or disabled, all are told. */
export function stepFor(step: EscalationStep, members: readonly MemberRow[]): EscalationStep {
  const { to } = step;
  if (to === 'available' || to === 'all') return step;
  return members.some(({ id, disabled_at: disabled }) => id === to && disabled === null)
    ? step
    : { ...step, to: 'all' };
}

/**
 * The text that is stored where members are gone: the steps that named one of them tell all.
 * @param isGone of the id of a member whom a step names
 * @returns null: no step did
 */
export function escalationWithout(
  row: Pick<OrganizationRow, 'escalation'>,
  isGone: (memberId: string) => boolean,
): string | null {
  const steps = readEscalation(row);
  const namesOneGone = ({ to }: EscalationStep): boolean => to !== 'available' && to !== 'all' && isGone(to);
  if (!steps.some(namesOneGone)) return null;
  return JSON.stringify(steps.map((step) => (namesOneGone(step) ? { ...step, to: 'all' } : step)));
}
