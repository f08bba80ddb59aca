// Owns times as an operator reads them, in the language that is spoken. Formatters are made once: they are slow to make.
import { dayOf, isYesterday } from '../../desk/time.ts';
import { locale, t } from '../words.ts';

const made = new Map<string, Intl.DateTimeFormat>();

function format(ms: number, name: string, options: Intl.DateTimeFormatOptions): string {
  if (Number.isNaN(ms)) return '';
  let formatter = made.get(name);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat(locale.tag, options);
    made.set(name, formatter);
  }
  return formatter.format(ms);
}

/** @param iso ISO 8601; @returns such as `14:05` */
export function timeOfDay(iso: string): string {
  return format(Date.parse(iso), 'time', { hour: '2-digit', minute: '2-digit' });
}

/** A moment in a list: the hour today, else the day. @param now ms since the epoch */
export function shortTime(iso: string, now: number): string {
  const ms = Date.parse(iso);
  if (dayOf(ms) === dayOf(now)) return timeOfDay(iso);
  const sameYear = new Date(ms).getFullYear() === new Date(now).getFullYear();
  return sameYear
    ? format(ms, 'day', { day: 'numeric', month: 'short' })
    : format(ms, 'year', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** A moment to come: the hour today, else weekday, day and hour. @param iso ISO 8601 */
export function timeOrDay(iso: string): string {
  const ms = Date.parse(iso);
  if (dayOf(ms) === dayOf(Date.now())) return timeOfDay(iso);
  return format(ms, 'moment', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
}

/** Day and time in full, for titles. */
export function fullTime(iso: string): string {
  return format(Date.parse(iso), 'full', { dateStyle: 'full', timeStyle: 'short' });
}

/** `Today`, `Yesterday`, or the day in words. */
export function dayLabel(iso: string, now: number): string {
  const ms = Date.parse(iso);
  if (dayOf(ms) === dayOf(now)) return t('today');
  if (isYesterday(ms, now)) return t('yesterday');
  return format(ms, 'label', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
}

const units = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const;

/** How long something has lasted, in its largest unit: `12 min`. Under a minute it is one. */
export function duration(ms: number): string {
  const [size, unit] = units.find(([one]) => ms >= one) ?? ([60_000, 'minute'] as const);
  const key = `duration-${unit}`;
  let formatter = durations.get(key);
  if (formatter === undefined) {
    formatter = new Intl.NumberFormat(locale.tag, { style: 'unit', unit, unitDisplay: 'short' });
    durations.set(key, formatter);
  }
  return formatter.format(Math.max(1, Math.floor(ms / size)));
}

const durations = new Map<string, Intl.NumberFormat>();
