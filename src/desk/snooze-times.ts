// When a snoozed conversation comes back: the times that are offered, and one that was written by hand. Pure; local time of
// the machine that the desk runs on.
import { queueLimits } from '../protocol/codes.ts';

const hourMs = 3_600_000;
/** Where only a day is named. */
const morning = 9;

export const snoozeChoices = ['hour', 'four', 'tomorrow', 'week'] as const;
export type SnoozeChoice = (typeof snoozeChoices)[number];

function atMorning(now: number, days: number): number {
  const date = new Date(now);
  date.setDate(date.getDate() + days);
  date.setHours(morning, 0, 0, 0);
  return date.getTime();
}

/**
 * When a choice ends. `week` is the next Monday.
 * @param now ms since the epoch; @returns the same
 */
export function snoozeEnd(choice: SnoozeChoice, now: number): number {
  switch (choice) {
    case 'hour':
      return now + hourMs;
    case 'four':
      return now + 4 * hourMs;
    case 'tomorrow':
      return atMorning(now, 1);
    case 'week':
      return atMorning(now, (8 - new Date(now).getDay()) % 7 || 7);
  }
}

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  min: 60_000,
  h: hourMs,
  d: 24 * hourMs,
  w: 7 * 24 * hourMs,
};

/**
 * A time as it was written: `90m`, `2h`, `3d`, `1w` from now; `18:30`, the next time it is that; `2026-11-24` at nine, or
 * `2026-11-24 18:30`.
 * @param now ms since the epoch
 * @returns the same; null: it is none, is over, or lies more than a year ahead
 */
export function parseSnoozeEnd(written: string, now: number): number | null {
  const end = readTime(written.trim().toLowerCase(), now);
  return end !== null && end > now && end <= now + queueLimits.snoozeMs ? end : null;
}

function readTime(text: string, now: number): number | null {
  const span = /^(\d{1,5})\s*(m|min|h|d|w)$/.exec(text);
  if (span !== null) return now + Number(span[1]) * (unitMs[span[2] ?? ''] ?? Number.NaN);
  const clock = /^(\d{1,2}):(\d{2})$/.exec(text);
  if (clock !== null) {
    const today = moment(new Date(now), Number(clock[1]), Number(clock[2]));
    if (today === null || today > now) return today;
    const tomorrow = new Date(now);
    tomorrow.setDate(tomorrow.getDate() + 1);
    return moment(tomorrow, Number(clock[1]), Number(clock[2]));
  }
  const dated = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ t]+(\d{1,2}):(\d{2}))?$/.exec(text);
  if (dated === null) return null;
  const [, year, month, day, hour = String(morning), minute = '0'] = dated;
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  // The 31st of a month that has none would become another day.
  return date.getMonth() === Number(month) - 1 && date.getDate() === Number(day)
    ? moment(date, Number(hour), Number(minute))
    : null;
}

function moment(date: Date, hour: number, minute: number): number | null {
  if (hour > 23 || minute > 59) return null;
  const at = new Date(date);
  at.setHours(hour, minute, 0, 0);
  return at.getTime();
}
