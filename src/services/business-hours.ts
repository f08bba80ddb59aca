// Owns opening hours: their shape, whether it is open at an instant, and when it opens next.
// The clock on the wall of the zone decides, read through Intl; no clock of this process is read here.

export interface OpeningInterval {
  /** HH:MM, 00:00 to 23:59. */
  readonly open: string;
  /** HH:MM, 00:00 to 24:00; before `open` it means the next day. */
  readonly close: string;
}
export type Weekday = 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday';
export type BusinessHours = null | {
  readonly week: Readonly<Partial<Record<Weekday, readonly OpeningInterval[]>>>;
  readonly exceptions?: readonly { readonly date: string; readonly hours: readonly OpeningInterval[] }[];
};
export interface OpenState {
  readonly isOpen: boolean;
  /** ISO 8601 with milliseconds; null while open, and when it opens nowhere in the next 366 days. */
  readonly nextOpenAt: string | null;
}

// In the order of Date.prototype.getUTCDay.
const weekdays: readonly Weekday[] = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const dayMs = 86_400_000;
const minuteMs = 60_000;
const horizonDays = 366;
const maxIntervals = 48;
const maxExceptions = 1000;
const maxFormatters = 1000;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function unknownField(value: Record<string, unknown>, known: readonly string[]): string | undefined {
  return Object.keys(value).find((key) => !known.includes(key));
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!match || match[1] === '0000') return false;
  const date = new Date(`${text}T00:00:00.000Z`);
  // Some impossible days (30 February) roll over instead of failing.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function checkIntervals(value: unknown, path: string): string | null {
  if (!Array.isArray(value)) return `${path} must be an array of {open, close}`;
  if (value.length > maxIntervals) return `${path} has more than ${maxIntervals} entries`;
  for (const [i, item] of (value as readonly unknown[]).entries()) {
    const at = `${path}[${i}]`;
    if (!isObject(item)) return `${at} must be an object {open, close}`;
    const extra = unknownField(item, ['open', 'close']);
    if (extra !== undefined) return `${at} has an unknown field ${JSON.stringify(extra)}: only open and close are known`;
    const { open, close } = item;
    if (typeof open !== 'string' || !/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(open))
      return `${at}.open must be a time from 00:00 to 23:59, written HH:MM`;
    if (typeof close !== 'string' || !/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/.test(close))
      return `${at}.close must be a time from 00:00 to 24:00, written HH:MM`;
    if (open === close) return `${at}.close is the same as open: write 00:00 to 24:00 for a whole day, and leave the entry out for none`;
  }
  return null;
}

/**
 * Checks opening hours that come from outside.
 *
 * Takes any value. Returns null when it is {@link BusinessHours}, else one sentence that begins with the path of the
 * fault (`week.monday[0].open …`). Unknown fields and a date with two exceptions are faults, since a misspelt day would
 * silently be closed; entries of a day may overlap and then count together. Throws nothing.
 */
export function checkBusinessHours(value: unknown): string | null {
  if (value === null) return null;
  if (!isObject(value)) return 'businessHours must be null (always open) or an object with week';
  const extra = unknownField(value, ['week', 'exceptions']);
  if (extra !== undefined) return `businessHours has an unknown field ${JSON.stringify(extra)}: only week and exceptions are known`;
  const { week, exceptions } = value;
  if (!isObject(week)) return 'week must be an object with days from monday to sunday';
  const extraDay = unknownField(week, weekdays);
  if (extraDay !== undefined) return `week has an unknown day ${JSON.stringify(extraDay)}: days are monday to sunday, in lower case`;
  for (const [day, intervals] of Object.entries(week)) {
    const problem = checkIntervals(intervals, `week.${day}`);
    if (problem !== null) return problem;
  }
  if (exceptions === undefined) return null;
  if (!Array.isArray(exceptions)) return 'exceptions must be an array of {date, hours}';
  if (exceptions.length > maxExceptions) return `exceptions has more than ${maxExceptions} entries`;
  const dates = new Set<string>();
  for (const [i, item] of (exceptions as readonly unknown[]).entries()) {
    const at = `exceptions[${i}]`;
    if (!isObject(item)) return `${at} must be an object {date, hours}`;
    const extraField = unknownField(item, ['date', 'hours']);
    if (extraField !== undefined) return `${at} has an unknown field ${JSON.stringify(extraField)}: only date and hours are known`;
    const { date, hours } = item;
    if (typeof date !== 'string' || !isDate(date)) return `${at}.date must be a day of the calendar, written YYYY-MM-DD`;
    if (dates.has(date)) return `${at}.date ${date} has an exception already: put all its hours into one`;
    dates.add(date);
    const problem = checkIntervals(hours, `${at}.hours`);
    if (problem !== null) return problem;
  }
  return null;
}

/** Null when the text names a time zone of the IANA database that this Node knows, else a sentence. Throws nothing. */
export function checkTimezone(timezone: string): string | null {
  const problem = `timezone must be a name of the IANA database, for example Europe/Berlin or UTC, not ${JSON.stringify(timezone.slice(0, 64))}`;
  // Intl takes plain offsets too, but those know no daylight saving and are seldom what was meant.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(timezone)) return problem;
  try {
    formatterFor(timezone);
    return null;
  } catch {
    return problem;
  }
}

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
  readonly week: Readonly<Partial<Record<Weekday, readonly OpeningInterval[]>>>;
  readonly exceptions: ReadonlyMap<string, readonly OpeningInterval[]>;
}

/** The hours that begin on the day of a wall-clock midnight; an exception replaces the weekday altogether. */
function hoursOf(calendar: Calendar, midnight: number): readonly OpeningInterval[] {
  const date = new Date(midnight);
  if (Number.isNaN(date.getTime())) return [];
  return calendar.exceptions.get(date.toISOString().slice(0, 10)) ?? calendar.week[weekdays[date.getUTCDay()] ?? 'sunday'] ?? [];
}

/** Whether the wall clock at this reading shows opening hours, of the same day or begun the day before. */
function isOpenAtWall(calendar: Calendar, wall: number): boolean {
  const midnight = Math.floor(wall / dayMs) * dayMs;
  const minute = (wall - midnight) / minuteMs;
  return (
    hoursOf(calendar, midnight).some(
      ({ open, close }) => minute >= minutes(open) && (minute < minutes(close) || minutes(close) < minutes(open)),
    ) || hoursOf(calendar, midnight - dayMs).some(({ open, close }) => minutes(close) < minutes(open) && minute < minutes(close))
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
function candidates(calendar: Calendar, timezone: string, midnight: number): readonly number[] {
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
  for (const offset of offsets) for (const { open } of intervals) instants.push(midnight + minutes(open) * minuteMs - offset);
  return instants;
}

function nextOpening(calendar: Calendar, timezone: string, nowMs: number): number | null {
  const everOpen =
    Object.values(calendar.week).some((hours) => hours.length > 0) || [...calendar.exceptions.values()].some((hours) => hours.length > 0);
  if (!everOpen) return null;
  const today = Math.floor(wallTime(timezone, nowMs) / dayMs) * dayMs;
  const firstOf = (day: number): number =>
    Math.min(
      ...candidates(calendar, timezone, today + day * dayMs).filter((ms) => ms > nowMs && isOpenAtWall(calendar, wallTime(timezone, ms))),
    );
  // A clock set back across midnight shows the day before again, so a day is compared with its follower.
  for (let day = -1; day <= horizonDays; day++) {
    const found = firstOf(day);
    if (found !== Infinity) return Math.min(found, firstOf(day + 1));
  }
  return null;
}

/**
 * Whether it is open, and if not, when it opens.
 *
 * Takes hours that {@link checkBusinessHours} accepts, a zone that {@link checkTimezone} accepts, and an instant in
 * milliseconds since 1970. It is open exactly while a clock on the wall of that zone shows a time inside the hours:
 * an hour that daylight saving skips is skipped, one that it repeats counts twice. Hours past midnight belong to the
 * day on which they began, whatever the next day says. Returns {@link OpenState}. Throws RangeError for an unknown zone
 * or an instant outside the range of Date.
 */
export function openState(hours: BusinessHours, timezone: string, nowMs: number): OpenState {
  if (hours === null) return { isOpen: true, nextOpenAt: null };
  const calendar: Calendar = { week: hours.week, exceptions: new Map((hours.exceptions ?? []).map(({ date, hours: own }) => [date, own])) };
  if (isOpenAtWall(calendar, wallTime(timezone, nowMs))) return { isOpen: true, nextOpenAt: null };
  const next = nextOpening(calendar, timezone, nowMs);
  return { isOpen: false, nextOpenAt: next === null ? null : new Date(next).toISOString() };
}
