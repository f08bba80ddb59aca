// Whether it is open at an instant, and when it opens next. The wall clock of the zone decides,
// read through Intl; no clock of this process is read here. The shape of the hours is in the protocol.
import { weekdays } from '../../protocol/enums.ts';
import type { BusinessHours, OpeningInterval, Weekday } from '../../protocol/application-settings.ts';

export interface OpenState {
  readonly isOpen: boolean;
  /** ISO 8601 with milliseconds; null while open, and when it opens nowhere in the next 366 days. */
  readonly nextOpenAt: string | null;
}

const dayMs = 86_400_000;
const minuteMs = 60_000;
const maxLookaheadDays = 366;
const maxFormatters = 1000;

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterFor(timezone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timezone);
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    // Zone names are accepted in any letter case, so outsiders could fill this without end.
    if (formatters.size >= maxFormatters) formatters.clear();
    formatters.set(timezone, formatter);
  }
  return formatter;
}

/** What the wall clock shows at an instant, as the UTC milliseconds at which a clock in UTC shows the same. */
function wallTime(timezone: string, ms: number): number {
  const fields: Record<string, number> = {};
  for (const { type, value } of formatterFor(timezone).formatToParts(ms)) fields[type] = Number(value);
  const seconds = Date.UTC(
    fields['year'] ?? 0,
    (fields['month'] ?? 1) - 1,
    fields['day'] ?? 1,
    fields['hour'] ?? 0,
    fields['minute'] ?? 0,
    fields['second'] ?? 0,
  );
  return seconds + (((ms % 1000) + 1000) % 1000);
}

const offsetAt = (timezone: string, ms: number): number => wallTime(timezone, ms) - ms;

const minutes = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

interface Calendar {
  readonly week: Readonly<Partial<Record<Weekday, readonly OpeningInterval[] | undefined>>>;
  readonly exceptions: ReadonlyMap<string, readonly OpeningInterval[]>;
}

/** The hours that begin on the day of a wall-clock midnight; an exception replaces the weekday altogether. */
function hoursOf(calendar: Calendar, midnight: number): readonly OpeningInterval[] {
  const date = new Date(midnight);
  if (Number.isNaN(date.getTime())) return [];
  return (
    calendar.exceptions.get(date.toISOString().slice(0, 10)) ??
    // Monday comes first there, and Sunday here.
    calendar.week[weekdays.at(date.getUTCDay() - 1) ?? 'sunday'] ??
    []
  );
}

/** Whether the wall clock at this reading shows opening hours, of the same day or begun the day before. */
function isOpenAtWall(calendar: Calendar, wall: number): boolean {
  const midnight = Math.floor(wall / dayMs) * dayMs;
  const minute = (wall - midnight) / minuteMs;
  return (
    hoursOf(calendar, midnight).some(
      ({ open, close }) =>
        minute >= minutes(open) && (minute < minutes(close) || minutes(close) < minutes(open)),
    ) ||
    hoursOf(calendar, midnight - dayMs).some(
      ({ open, close }) => minutes(close) < minutes(open) && minute < minutes(close),
    )
  );
}

/** The instant at which the zone's offset changes between two instants that differ in it. */
function transitionBetween(timezone: string, from: number, to: number): number {
  const before = offsetAt(timezone, from);
  let low = from;
  let high = to;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(timezone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Every instant of one wall-clock day at which it can begin to be open: its openings, and its jumps of the clock. */
function openingCandidates(calendar: Calendar, timezone: string, midnight: number): readonly number[] {
  const intervals = hoursOf(calendar, midnight);
  const spill = hoursOf(calendar, midnight - dayMs).some(({ open, close }) => minutes(close) < minutes(open));
  if (intervals.length === 0 && !spill) return [];
  const from = midnight - dayMs;
  const to = midnight + 2 * dayMs;
  const offsets = new Set([offsetAt(timezone, from), offsetAt(timezone, to)]);
  const instants: number[] = [];
  if (offsets.size > 1) {
    const jump = transitionBetween(timezone, from, to);
    if (Math.floor(wallTime(timezone, jump) / dayMs) * dayMs === midnight) instants.push(jump);
  }
  for (const offset of offsets)
    for (const { open } of intervals) instants.push(midnight + minutes(open) * minuteMs - offset);
  return instants;
}

function nextOpening(calendar: Calendar, timezone: string, nowMs: number): number | null {
  const everOpen =
    Object.values(calendar.week).some((hours) => hours !== undefined && hours.length > 0) ||
    [...calendar.exceptions.values()].some((hours) => hours.length > 0);
  if (!everOpen) return null;
  const today = Math.floor(wallTime(timezone, nowMs) / dayMs) * dayMs;
  const firstOf = (day: number): number =>
    Math.min(
      ...openingCandidates(calendar, timezone, today + day * dayMs).filter(
        (ms) => ms > nowMs && isOpenAtWall(calendar, wallTime(timezone, ms)),
      ),
    );
  // A clock set back across midnight shows the day before again, so a day is compared with its follower.
  for (let day = -1; day <= maxLookaheadDays; day++) {
    const found = firstOf(day);
    if (found !== Infinity) return Math.min(found, firstOf(day + 1));
  }
  return null;
}

/**
 * Whether it is open, and if not, when it opens.
 *
 * @param hours null: always open
 * @param timezone a name of the IANA database
 * @param nowMs milliseconds since 1970
 * @throws RangeError for an unknown zone or an instant outside the range of Date
 *
 * It is open exactly while a clock on the wall of that zone shows a time inside the hours:
 * an hour that daylight saving skips is skipped, one that it repeats counts twice. Hours past midnight belong to the
 * day on which they began, whatever the next day says. Returns {@link OpenState}. Throws RangeError for an unknown zone
 * or an instant outside the range of Date.
 */
export function openState(hours: BusinessHours, timezone: string, nowMs: number): OpenState {
  if (hours === null) return { isOpen: true, nextOpenAt: null };
  const calendar: Calendar = {
    week: hours.week,
    exceptions: new Map((hours.exceptions ?? []).map(({ date, hours: own }) => [date, own])),
  };
  if (isOpenAtWall(calendar, wallTime(timezone, nowMs))) return { isOpen: true, nextOpenAt: null };
  const next = nextOpening(calendar, timezone, nowMs);
  return { isOpen: false, nextOpenAt: next === null ? null : new Date(next).toISOString() };
}
