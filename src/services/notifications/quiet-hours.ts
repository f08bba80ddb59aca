// Whether a member's quiet hours hold at an instant: every day between two times, by the clock on the wall of their zone.
import { weekdays } from '../../protocol/enums.ts';
import type { QuietHours } from '../../protocol/notifications.ts';
import { openState } from '../tenants/business-hours.ts';

/**
 * Whether it is quiet. Where a clock is set forward the hour that is left out is neither quiet nor loud; where it is set
 * back the hour that comes twice is what it is both times.
 * @param now ms since the epoch
 */
export function isQuiet(hours: QuietHours | null, now: number): boolean {
  if (hours === null) return false;
  const { from, to, timezone } = hours;
  const day = [{ open: from, close: to }];
  const week = Object.fromEntries(weekdays.map((name) => [name, day]));
  return openState({ week }, timezone, now).isOpen;
}
