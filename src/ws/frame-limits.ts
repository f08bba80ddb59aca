// How many frames that are no messages are taken: of a connection, of a user, and of a visitor's address. Messages count
// as requests do, and what is caught up on has limits of its own (sync-limits.ts).
import type { LimitCheck, LimitWindow } from '../engine/engine.ts';
import { addressKey } from '../net/ip-ranges.ts';
import type { Service } from '../services/service.ts';
import { FrameError } from './frames.ts';
import { userKey, type Syncing } from './sync-limits.ts';

const windows = (perSecond: number, perMinute: number): readonly LimitWindow[] => [
  { limit: perSecond, windowMs: 1_000 },
  { limit: perMinute, windowMs: 60_000 },
];
const ofConnection = windows(300, 3_000);
/** A join is checked by queries; a user may have twenty connections, and an address two hundred. */
const ofUser = windows(600, 6_000);
const ofAddress = windows(3_000, 30_000);

/**
 * Counts a frame that is no message.
 * @param connection which one, and whose
 * @throws FrameError RATE_LIMITED after too many
 */
export function countFrame({
  id,
  service,
  actor,
  address,
}: Syncing & { readonly id: string; readonly service: Service }): void {
  const checks: LimitCheck[] = [
    { key: `c:frames:${id}`, windows: ofConnection },
    { key: `u:frames:${userKey({ actor })}`, windows: ofUser },
  ];
  if (actor.kind === 'visitor') checks.push({ key: `r:frames:${addressKey(address)}`, windows: ofAddress });
  const verdict = service.engine.localLimiter.take(checks);
  if (!verdict.ok)
    throw new FrameError(
      'RATE_LIMITED',
      `Too many frames; wait ${Math.ceil(verdict.retryAfterMs / 1000)} s.`,
    );
}
