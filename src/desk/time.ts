// Times as an operator reads them: how long a visitor waits, the time of day, the day. Pure;
// local time of the machine that the desk runs on.

/** @param ms how long; @returns at most 3 columns up to 99 days: `8s`, `12m`, `3h`, `2d` */
export function shortDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** @returns such as `1 h 05 min`; for titles, where there is room */
export function longDuration(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 1) return 'less than a minute';
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  const days = Math.floor(minutes / 1_440);
  return days === 1 ? '1 day' : `${days} days`;
}

/** @param iso ISO 8601; @returns `14:05` */
export function timeOfDay(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? '--:--'
    : `${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`;
}

/** The same for all moments of one local day. */
export function dayOf(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}

/** Whether a moment is of the local day before, which may have 23 hours or 25. @param ms since the epoch, as `now` */
export function isYesterday(ms: number, now: number): boolean {
  const yesterday = new Date(now);
  yesterday.setDate(yesterday.getDate() - 1);
  return dayOf(ms) === dayOf(yesterday.getTime());
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** `Today`, `Yesterday`, `Monday 16 November`, or with the year where it is another one. */
export function dayLabel(iso: string, now: number): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  if (dayOf(date.getTime()) === dayOf(now)) return 'Today';
  if (isYesterday(date.getTime(), now)) return 'Yesterday';
  const year = date.getFullYear() === new Date(now).getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${weekdays[date.getDay()] ?? ''} ${date.getDate()} ${months[date.getMonth()] ?? ''}${year}`;
}

/** A moment in a list: the hour today, else the day as `16 Nov`. */
export function shortTimestamp(iso: string, now: number): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  if (dayOf(date.getTime()) === dayOf(now)) return timeOfDay(iso);
  const year = date.getFullYear() === new Date(now).getFullYear() ? '' : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${(months[date.getMonth()] ?? '').slice(0, 3)}${year}`;
}

/** A time as every language reads it: `18:30` today, else `2026-11-24 18:30`. @param ms since the epoch, as `now` */
export function untilLabel(ms: number, now: number): string {
  const date = new Date(ms);
  const time = timeOfDay(date.toISOString());
  if (dayOf(ms) === dayOf(now)) return time;
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}
