// What each plan allows, an organization's own numbers, and the refusals that a
// plan causes. The numbers of the plans are in plans.ts.
import type { OrganizationRow } from '../../engine/rows.ts';
import type { Plan } from '../../protocol/entities.ts';
import type { Input } from '../../protocol/operations.ts';
import { ServiceError } from '../core/errors.ts';
import { formatBytes } from '../../text/text.ts';
import { planLimits } from './plans.ts';

export interface OrganizationQuotas {
  readonly requestsPerMinute: number;
  /** null: unlimited. */
  readonly retentionDays: number | null;
  readonly applications: number | null;
  readonly seats: number | null;
  readonly fileBytes: number | null;
  readonly ai: boolean;
  /** Mails to visitors; null: any number. */
  readonly mailsPerDay: number | null;
}

/** The numbers in force: the organization's own where it has some, else its plan's. */
export function organizationQuotas(organization: OrganizationRow): OrganizationQuotas {
  const plan = planLimits[organization.plan];
  return {
    requestsPerMinute: organization.requests_per_minute ?? plan.requestsPerMinute,
    retentionDays: leastDays(mostRetentionDays(organization), storedDays(organization.own_retention_days)),
    applications: organization.max_applications ?? plan.applications,
    seats: organization.max_seats ?? plan.seats,
    fileBytes: organization.max_file_bytes ?? plan.fileBytes,
    ai: plan.ai,
    mailsPerDay: plan.mailsPerDay,
  };
}

/** Days as a column has them. @returns null: unlimited, or not said */
function storedDays(days: number | null): number | null {
  return days === null || days < 0 ? null : days;
}

function leastDays(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** How long the server's owner lets data be kept, or the plan where the owner says nothing. null: without end */
function mostRetentionDays({ plan, retention_days }: OrganizationRow): number | null {
  return retention_days === null ? planLimits[plan].retentionDays : storedDays(retention_days);
}

/**
 * @param have how many there are now
 * @param most how many may be; null: any number
 * @param what in the plural, as `applications`
 * @throws ServiceError plan_limit, naming the plan that has more
 */
export function assertQuota(
  organization: OrganizationRow,
  have: number,
  most: number | null,
  what: 'applications' | 'seats',
): void {
  if (most === null || have < most) return;
  const better = organization.plan === 'free' ? 'premium' : 'enterprise';
  const advice =
    organization.plan === 'enterprise'
      ? `Raise it: deskbell org limits ${organization.slug} --${what} N`
      : `The ${better} plan has more: deskbell org plan ${organization.slug} ${better}`;
  throw new ServiceError(
    'plan_limit',
    `The organization has as many ${what} as it may have: ${most}. ${advice}`,
  );
}

/**
 * @param have bytes of files that are stored now
 * @param more bytes that are to come
 * @throws ServiceError plan_limit, naming the plan that has more
 */
export function assertFileQuota(organization: OrganizationRow, have: number, more: number): void {
  const { fileBytes } = organizationQuotas(organization);
  if (fileBytes === null || have + more <= fileBytes) return;
  const advice =
    organization.plan === 'enterprise'
      ? `Raise it: deskbell org limits ${organization.slug} --file-storage GiB`
      : `The ${organization.plan === 'free' ? 'premium' : 'enterprise'} plan has more.`;
  throw new ServiceError(
    'plan_limit',
    `The organization's files take all the ${formatBytes(fileBytes)} that they may. ${advice}`,
  );
}

/** Whether data is kept for no longer than a plan says: every plan allows that. @param retentionDays of one's own */
export function isRetentionWithin(plan: Plan, retentionDays: number | 'unlimited' | null): boolean {
  const most = planLimits[plan].retentionDays;
  return typeof retentionDays === 'number' && retentionDays > 0 && most !== null && retentionDays <= most;
}

/**
 * A tenant may have its data kept for a shorter time than the owner of the server lets it, and for no longer.
 * @param organization with the plan under which it is to hold
 * @throws ServiceError plan_limit
 */
export function assertOwnRetention(
  organization: OrganizationRow,
  retentionDays: number | 'unlimited' | null | undefined,
): void {
  const most = mostRetentionDays(organization);
  if (most === null || retentionDays === null || retentionDays === undefined) return;
  if (retentionDays !== 'unlimited' && retentionDays <= most) return;
  throw new ServiceError(
    'plan_limit',
    `Data may be kept for 1 to ${most} days. Only the server's owner sets a longer time, with deskbell org limits and deskbell org plan.`,
  );
}

/**
 * Limits of its own are the enterprise plan's, but for a shorter retention.
 * @param plan under which they are to hold
 * @throws ServiceError plan_limit
 */
export function assertOwnLimits(
  { slug }: OrganizationRow,
  plan: Plan,
  { retentionDays = null, ...others }: NonNullable<Input<'organizations.update'>['limits']> = {},
): void {
  const setsOthers = Object.values(others).some((limit) => typeof limit === 'number');
  if (
    plan === 'enterprise' ||
    (!setsOthers && (retentionDays === null || isRetentionWithin(plan, retentionDays)))
  )
    return;
  throw new ServiceError(
    'plan_limit',
    `Under the ${plan} plan data is kept for 1 to ${planLimits[plan].retentionDays} days, and no other limit can be set. Under the enterprise plan all can: deskbell org plan ${slug} enterprise`,
  );
}
