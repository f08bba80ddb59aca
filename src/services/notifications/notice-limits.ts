// How many notices a member is sent: an admin adds any address as a member's, and a note is written in a moment. What is
// beyond is not kept for later, because it is news: the queue and the bell have it.
import type { EffectRow, OrganizationRow } from '../../engine/rows.ts';
import { memberMailLimits, type MailLimit } from '../mail/mail-limits.ts';
import { isSentAgain, noteCounted, type EffectOutcome } from '../outbox/effects.ts';
import type { Service } from '../service.ts';

/** To all browsers of a member together. */
const pushWindow = { limit: 120, windowMs: 3_600_000 };

/** Counts a mail to a member that is about to be sent. @returns null: it may go */
export function countNoticeMail(
  service: Service,
  row: EffectRow,
  organization: OrganizationRow,
  address: string,
): Promise<EffectOutcome | null> {
  return countNotice(service, row, memberMailLimits(service, organization, address));
}

/** Counts a push that is about to be sent. @returns null: it may go */
export function countNoticePush(
  service: Service,
  row: EffectRow,
  memberId: string,
): Promise<EffectOutcome | null> {
  return countNotice(service, row, [
    {
      check: { key: `push:member:${memberId}`, windows: [pushWindow] },
      why: `the member has had ${pushWindow.limit} pushes in an hour`,
    },
  ]);
}

/** Once for each sending: the attempts that follow one that failed, or was put off, are the same. */
async function countNotice(
  service: Service,
  row: EffectRow,
  limits: readonly Pick<MailLimit, 'check' | 'why'>[],
): Promise<EffectOutcome | null> {
  const isFirst = row.attempts === 0 && row.error === null;
  if (!isFirst && !isSentAgain(row)) return null;
  const verdict = await service.engine.limiter.take(limits.map(({ check }) => check));
  if (!verdict.ok) return { state: 'skipped', why: limits[verdict.failed]?.why ?? 'a limit of notices' };
  await noteCounted(service, row);
  return null;
}
