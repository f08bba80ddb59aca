// How many mails go to an address and of an organization: answers and transcripts together, and what members are told. Who
// typed an address need not own it, so nothing that a visitor or an admin can bring about may flood it.
import type { LimitCheck } from '../../engine/engine.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import type { LimitCause } from '../../protocol/codes.ts';
import type { EffectOutcome } from '../outbox/effects.ts';
import type { ReadTx, Service } from '../service.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import { mailAddressDigest } from './mail-addresses.ts';

/** As many to a visitor, and as many to a member. */
const addressWindow = { limit: 20, windowMs: 3_600_000 };
const dayMs = 86_400_000;

/** Something that a mail counts against. */
export interface MailLimit {
  readonly check: LimitCheck;
  readonly cause: LimitCause;
  /** Said where it is reached. */
  readonly why: string;
}

const addressText = (service: Service, organizationId: string, address: string): string =>
  Buffer.from(mailAddressDigest(service, organizationId, address)).toString('base64');

/** What every mail to a visitor counts against: its address, then its organization where that has a bound. */
export async function mailLimits(
  { repositories }: ReadTx,
  service: Service,
  organizationId: string,
  address: string,
): Promise<readonly MailLimit[]> {
  const organization = await repositories.organizations.byId(organizationId);
  const digest = addressText(service, organizationId, address);
  return [
    {
      check: { key: `mail:address:${digest}`, windows: [addressWindow] },
      cause: 'per_visitor',
      why: `this address has had ${addressWindow.limit} mails in an hour`,
    },
    ...dayLimit(organizationId, organization),
  ];
}

/**
 * What a mail to a member counts against. By the address, not by the member: one who was removed and added again is no
 * other person.
 */
export function memberMailLimits(
  service: Service,
  organization: OrganizationRow,
  address: string,
): readonly MailLimit[] {
  const digest = addressText(service, organization.id, address);
  return [
    {
      check: { key: `mail:member:${digest}`, windows: [addressWindow] },
      cause: 'per_address',
      why: `the member has had ${addressWindow.limit} mails in an hour`,
    },
    ...dayLimit(organization.id, organization),
  ];
}

/** The organization's mails of a day. @param row left out: it is gone, and sends none */
function dayLimit(id: string, row: OrganizationRow | undefined): readonly MailLimit[] {
  const limit = row === undefined ? 0 : organizationQuotas(row).mailsPerDay;
  if (limit === null) return [];
  return [
    {
      check: { key: `mail:organization:${id}`, windows: [{ limit, windowMs: dayMs }] },
      cause: 'per_organization',
      why: `the organization has sent its ${limit} mails of this day`,
    },
  ];
}

/** Counts a mail that is about to be sent, or counts nothing. @returns null: it may go; otherwise it waits */
export async function takeMailLimits(
  { engine: { clock, limiter } }: Service,
  limits: readonly MailLimit[],
): Promise<EffectOutcome | null> {
  const verdict = await limiter.take(limits.map(({ check }) => check));
  if (verdict.ok) return null;
  const why = limits[verdict.failed]?.why ?? 'a limit of mails';
  return { state: 'later', at: clock.now() + verdict.retryAfterMs, why };
}
