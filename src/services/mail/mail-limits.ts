// How many mails go to an address and of an organization, answers and transcripts together: who typed an address need not
// own it, so nothing that a visitor can bring about may flood it.
import type { LimitCheck } from '../../engine/engine.ts';
import type { LimitCause } from '../../protocol/codes.ts';
import type { EffectOutcome } from '../outbox/effects.ts';
import type { ReadTx, Service } from '../service.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import { mailAddressDigest } from './mail-addresses.ts';

const addressWindow = { limit: 20, windowMs: 3_600_000 };
const dayMs = 86_400_000;

/** Something that a mail counts against. */
export interface MailLimit {
  readonly check: LimitCheck;
  readonly cause: LimitCause;
  /** Said where it is reached. */
  readonly why: string;
}

/** What every mail to a visitor counts against: its address, then its organization where that has a bound. */
export async function mailLimits(
  { repositories }: ReadTx,
  service: Service,
  organizationId: string,
  address: string,
): Promise<readonly MailLimit[]> {
  const organization = await repositories.organizations.byId(organizationId);
  const perDay = organization === undefined ? 0 : organizationQuotas(organization).mailsPerDay;
  const digest = Buffer.from(mailAddressDigest(service, organizationId, address)).toString('base64');
  return [
    {
      check: { key: `mail:address:${digest}`, windows: [addressWindow] },
      cause: 'per_visitor',
      why: `this address has had ${addressWindow.limit} mails in an hour`,
    },
    ...(perDay === null
      ? []
      : [
          {
            check: {
              key: `mail:organization:${organizationId}`,
              windows: [{ limit: perDay, windowMs: dayMs }],
            },
            cause: 'per_organization' as const,
            why: `the organization has sent its ${perDay} mails of this day`,
          },
        ]),
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
