// Attacks opening hours: clock changes, midnight, leap days, odd offsets, and shapes that are no hours.
// The property walks a zone minute by minute with a formatter of its own and expects the same answers.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  businessHours,
  timezone,
  type BusinessHours,
  type OpeningInterval,
  type Weekday,
} from '../../src/protocol/application-settings.ts';
import { openState } from '../../src/services/tenants/business-hours.ts';

const at = (iso: string): number => Date.parse(iso);
const span = (open: string, close: string): OpeningInterval => ({ open, close });
const days: readonly Weekday[] = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
];
const daily = (...hours: OpeningInterval[]) => Object.fromEntries(days.map((day) => [day, hours]));
const office: BusinessHours = {
  week: Object.fromEntries(days.slice(0, 5).map((day) => [day, [span('09:00', '17:30')]])),
  exceptions: [
    { date: '2026-12-24', hours: [] },
    { date: '2026-12-26', hours: [span('10:00', '12:00')] },
  ],
};

describe('openState', () => {
  it.each([
    ['begins on the minute', '2026-12-23T08:00:00.000Z', null],
    ['not a millisecond sooner', '2026-12-23T07:59:59.999Z', '2026-12-23T08:00:00.000Z'],
    ['the last millisecond', '2026-12-23T16:29:59.999Z', null],
    [
      'ends on the minute; a closed exception follows',
      '2026-12-23T16:30:00.000Z',
      '2026-12-25T08:00:00.000Z',
    ],
    ['an exception closes a weekday', '2026-12-24T10:00:00.000Z', '2026-12-25T08:00:00.000Z'],
    ['an exception opens a Saturday', '2026-12-26T09:30:00.000Z', null],
    ['over the weekend', '2026-12-26T11:00:00.000Z', '2026-12-28T08:00:00.000Z'],
  ])('office in Berlin: %s', (_, now, next) => {
    expect(openState(office, 'Europe/Berlin', at(now))).toEqual({ isOpen: next === null, nextOpenAt: next });
  });

  it('is always open without hours, and never with empty ones', () => {
    expect(openState(null, 'UTC', 0)).toEqual({ isOpen: true, nextOpenAt: null });
    expect(openState({ week: {} }, 'UTC', 0)).toEqual({ isOpen: false, nextOpenAt: null });
    expect(
      openState({ week: { monday: [] }, exceptions: [{ date: '1990-01-01', hours: [] }] }, 'UTC', 0),
    ).toEqual({
      isOpen: false,
      nextOpenAt: null,
    });
  });

  it('looks a year ahead and no further', () => {
    const once: BusinessHours = {
      week: {},
      exceptions: [{ date: '2027-06-01', hours: [span('10:00', '11:00')] }],
    };
    expect(openState(once, 'UTC', at('2026-06-01T10:30:00.000Z')).nextOpenAt).toBe(
      '2027-06-01T10:00:00.000Z',
    );
    expect(openState(once, 'UTC', at('2026-04-01T00:00:00.000Z')).nextOpenAt).toBeNull();
    expect(openState(once, 'UTC', at('2027-06-01T11:00:00.000Z')).nextOpenAt).toBeNull();
  });

  it('gives hours past midnight to the day they began, whatever the next day says', () => {
    const night: BusinessHours = {
      week: { thursday: [span('22:00', '02:00')], friday: [span('12:00', '13:00')] },
      exceptions: [
        { date: '2026-12-25', hours: [] },
        { date: '2026-12-31', hours: [] },
      ],
    };
    expect(openState(night, 'Europe/Berlin', at('2026-12-25T00:59:59.999Z')).isOpen).toBe(true);
    expect(openState(night, 'Europe/Berlin', at('2026-12-25T01:00:00.000Z')).isOpen).toBe(false);
    expect(openState(night, 'Europe/Berlin', at('2026-12-31T23:30:00.000Z'))).toEqual({
      isOpen: false,
      nextOpenAt: '2027-01-01T11:00:00.000Z',
    });
    const single: BusinessHours = {
      week: {},
      exceptions: [{ date: '2026-12-31', hours: [span('20:00', '00:00')] }],
    };
    expect(openState(single, 'UTC', at('2026-12-31T23:59:59.999Z')).isOpen).toBe(true);
    expect(openState(single, 'UTC', at('2027-01-01T00:00:00.000Z')).isOpen).toBe(false);
  });

  it('goes without a seam through 24:00 to 00:00', () => {
    expect(
      openState({ week: daily(span('00:00', '24:00')) }, 'Asia/Kathmandu', at('2026-05-05T18:14:59.999Z'))
        .isOpen,
    ).toBe(true);
    expect(
      openState({ week: daily(span('00:00', '24:00')) }, 'Asia/Kathmandu', at('2026-05-05T18:15:00.000Z'))
        .isOpen,
    ).toBe(true);
  });

  it('skips what the spring skips and repeats what the autumn repeats', () => {
    const early: BusinessHours = { week: { sunday: [span('02:30', '10:00')] } };
    expect(openState(early, 'Europe/Berlin', at('2026-03-29T00:30:00.000Z')).nextOpenAt).toBe(
      '2026-03-29T01:00:00.000Z',
    );
    const gone: BusinessHours = { week: { sunday: [span('02:00', '03:00')] } };
    expect(openState(gone, 'Europe/Berlin', at('2026-03-29T00:30:00.000Z')).nextOpenAt).toBe(
      '2026-04-05T00:00:00.000Z',
    );
    const twice: BusinessHours = { week: { sunday: [span('02:00', '02:30')] } };
    expect(openState(twice, 'Europe/Berlin', at('2026-10-25T00:15:00.000Z')).isOpen).toBe(true);
    expect(openState(twice, 'Europe/Berlin', at('2026-10-25T00:30:00.000Z'))).toEqual({
      isOpen: false,
      nextOpenAt: '2026-10-25T01:00:00.000Z',
    });
  });

  it('finds the right opening where a clock set back at 00:01 shows the day before again', () => {
    const late = { saturday: [span('23:30', '23:40')] };
    expect(
      openState(
        { week: { ...late, sunday: [span('00:00', '00:01')] } },
        'America/St_Johns',
        at('2009-11-01T02:15:00.000Z'),
      ).nextOpenAt,
    ).toBe('2009-11-01T02:30:00.000Z');
    expect(openState({ week: late }, 'America/St_Johns', at('2009-11-01T02:30:30.000Z')).nextOpenAt).toBe(
      '2009-11-01T03:00:00.000Z',
    );
  });

  it.each([
    ['leap day', 'UTC', '2028-02-28T23:00:00.000Z', '2028-02-29T09:00:00.000Z'],
    ['45 minutes', 'Asia/Kathmandu', '2026-01-01T00:00:00.000Z', '2026-01-01T03:15:00.000Z'],
    [
      '45 minutes with daylight saving',
      'Pacific/Chatham',
      '2026-01-01T04:00:00.000Z',
      '2026-01-01T19:15:00.000Z',
    ],
    ['14 hours ahead', 'Pacific/Kiritimati', '2026-01-01T09:59:59.999Z', '2026-01-01T19:00:00.000Z'],
    ['year 2038', 'UTC', '2038-01-19T03:14:08.000Z', '2038-01-19T09:00:00.000Z'],
    ['year 9999', 'UTC', '9999-12-31T18:00:00.000Z', '+010000-01-01T09:00:00.000Z'],
    ['before 1970', 'UTC', '1969-12-31T08:59:59.999Z', '1969-12-31T09:00:00.000Z'],
  ])('%s', (_, zone, now, next) => {
    expect(openState({ week: daily(span('09:00', '17:00')) }, zone, at(now))).toEqual({
      isOpen: false,
      nextOpenAt: next,
    });
  });

  it('gives a leap day exception its own hours', () => {
    const leap: BusinessHours = {
      week: {},
      exceptions: [{ date: '2028-02-29', hours: [span('23:00', '01:00')] }],
    };
    expect(openState(leap, 'UTC', at('2028-03-01T00:59:00.000Z')).isOpen).toBe(true);
    expect(openState(leap, 'UTC', at('2028-02-28T23:30:00.000Z')).nextOpenAt).toBe(
      '2028-02-29T23:00:00.000Z',
    );
  });
});

describe('a walk minute by minute', () => {
  // Spring and autumn of several zones: half hours (Lord Howe), at midnight (Beirut, Havana, Azores), 00:01 (St John's 2009), none.
  const scenes: readonly (readonly [string, string])[] = [
    ['Europe/Berlin', '2026-03-28'],
    ['Europe/Berlin', '2026-10-24'],
    ['America/New_York', '2026-03-07'],
    ['America/New_York', '2026-10-31'],
    ['Australia/Lord_Howe', '2026-04-04'],
    ['Australia/Lord_Howe', '2026-10-03'],
    ['Pacific/Chatham', '2026-04-04'],
    ['Asia/Beirut', '2026-03-28'],
    ['Asia/Beirut', '2026-10-24'],
    ['America/Havana', '2026-03-07'],
    ['America/Havana', '2026-10-31'],
    ['Atlantic/Azores', '2026-10-24'],
    ['America/St_Johns', '2009-03-07'],
    ['America/St_Johns', '2009-10-31'],
    ['Asia/Kathmandu', '2028-02-28'],
    ['Africa/Cairo', '2026-10-29'],
  ];
  const minutesWalked = 4 * 1440;

  function wallClock(zone: string, from: number): readonly string[] {
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'short',
    });
    return Array.from({ length: minutesWalked }, (_, i) => format.format(from + i * 60_000));
  }
  const walls = new Map(
    scenes.map(([zone, date]) => [`${zone} ${date}`, wallClock(zone, at(`${date}T00:00:00.000Z`))]),
  );
  const shift = (date: string, by: number): string =>
    new Date(at(`${date}T00:00:00.000Z`) + by * 86_400_000).toISOString().slice(0, 10);

  function openOnWall(hours: NonNullable<BusinessHours>, wall: string): boolean {
    const [date = '', time = ''] = wall.split(' ');
    const of = (day: string) =>
      hours.exceptions?.find((exception) => exception.date === day)?.hours ??
      hours.week[days[(new Date(`${day}T12:00:00.000Z`).getUTCDay() + 6) % 7]!] ??
      [];
    return (
      of(date).some(({ open, close }) => time >= open && (time < close || close < open)) ||
      of(shift(date, -1)).some(({ open, close }) => close < open && time < close)
    );
  }

  const clock = fc
    .oneof(
      fc.integer({ min: 0, max: 1439 }),
      fc.integer({ min: 0, max: 16 }).map((n) => n * 15),
      fc.constantFrom(1410, 1380, 0, 1, 60, 120, 150, 180),
    )
    .map((n) => `${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`);
  const interval = fc
    .tuple(clock, fc.oneof(clock, fc.constant('24:00')))
    .filter(([open, close]) => open !== close)
    .map(([open, close]) => span(open, close));
  const intervals = fc.array(interval, { maxLength: 2 });

  it('gives the same answer at every instant', () => {
    const scene = fc.constantFrom(...scenes);
    const week = fc
      .tuple(...days.map(() => intervals))
      .map((lists) => Object.fromEntries(days.map((day, i) => [day, lists[i] ?? []])));
    const exceptions = fc.uniqueArray(fc.tuple(fc.integer({ min: -1, max: 4 }), intervals), {
      selector: ([day]) => day,
      maxLength: 3,
    });
    fc.assert(
      fc.property(
        scene,
        week,
        exceptions,
        fc.array(fc.integer({ min: 0, max: 2 * 1440 }), { minLength: 20, maxLength: 20 }),
        fc.integer({ min: 0, max: 59_999 }),
        ([zone, date], ownWeek, own, starts, ms) => {
          const hours = {
            week: ownWeek,
            exceptions: own.map(([day, list]) => ({ date: shift(date, day), hours: list })),
          };
          expect(firstFault(hours)).toBeNull();
          const from = at(`${date}T00:00:00.000Z`);
          const open = walls.get(`${zone} ${date}`)!.map((wall) => openOnWall(hours, wall));
          for (const start of starts) {
            const state = openState(hours, zone, from + start * 60_000 + ms);
            expect(state.isOpen).toBe(open[start]);
            const next = open[start] ? -1 : open.indexOf(true, start);
            if (next > 0) expect(state.nextOpenAt).toBe(new Date(from + next * 60_000).toISOString());
            else if (state.nextOpenAt !== null)
              expect(at(state.nextOpenAt)).toBeGreaterThanOrEqual(from + minutesWalked * 60_000);
            if (open[start]) expect(state.nextOpenAt).toBeNull();
          }
        },
      ),
      { numRuns: 250 },
    );
  });
});

/** Where the schema finds the first fault, as `week.monday[0].open`; null where it finds none. */
function firstFault(value: unknown): string | null {
  const [issue] = businessHours.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return null;
  const path = issue.path
    .map((name) => (typeof name === 'number' ? `[${name}]` : `.${String(name)}`))
    .join('');
  return path === '' ? 'businessHours' : path.slice(1);
}

describe('the schema of business hours', () => {
  it('accepts every agreed form', () => {
    for (const value of [
      null,
      { week: {} },
      office,
      { week: { monday: [span('22:00', '02:00'), span('00:00', '24:00')] } },
      { week: {}, exceptions: [] },
      { week: {}, exceptions: [{ date: '2028-02-29', hours: [span('23:59', '00:00')] }] },
    ])
      expect(firstFault(value)).toBeNull();
  });

  const day = (open: unknown, close: unknown) => ({ week: { monday: [{ open, close }] } });
  const exception = (date: unknown) => ({ week: {}, exceptions: [{ date, hours: [] }] });
  it.each([
    [undefined, 'businessHours'],
    ['always', 'businessHours'],
    [[], 'businessHours'],
    [{}, 'week'],
    [{ week: null }, 'week'],
    [{ week: [] }, 'week'],
    [{ week: {}, extra: 1 }, 'businessHours'],
    [{ week: { Monday: [] } }, 'week'],
    [{ week: { mon: [] } }, 'week'],
    [JSON.parse('{"week":{"__proto__":[]}}'), 'week'],
    [{ week: { monday: null } }, 'week.monday'],
    [{ week: { monday: {} } }, 'week.monday'],
    [{ week: { monday: [null] } }, 'week.monday[0]'],
    [{ week: { monday: [['09:00', '10:00']] } }, 'week.monday[0]'],
    [{ week: { sunday: [span('09:00', '10:00'), { open: '1' }] } }, 'week.sunday[1].open'],
    [{ week: { monday: [{ open: '09:00', close: '10:00', note: '' }] } }, 'week.monday[0]'],
    [{ week: { monday: Array.from({ length: 49 }, () => span('09:00', '10:00')) } }, 'week.monday'],
    [day('9:00', '10:00'), 'week.monday[0].open'],
    [day('24:00', '10:00'), 'week.monday[0].open'],
    [day('09:60', '10:00'), 'week.monday[0].open'],
    [day(900, '10:00'), 'week.monday[0].open'],
    [day('09:00\n', '10:00'), 'week.monday[0].open'],
    [day('٠٩:٠٠', '10:00'), 'week.monday[0].open'],
    [day('09:00', '24:01'), 'week.monday[0].close'],
    [day('09:00', '25:00'), 'week.monday[0].close'],
    [day('09:00', '10:00:00'), 'week.monday[0].close'],
    [day('09:00', undefined), 'week.monday[0].close'],
    [day('09:00', '09:00'), 'week.monday[0].close'],
    [{ week: {}, exceptions: {} }, 'exceptions'],
    [{ week: {}, exceptions: null }, 'exceptions'],
    [{ week: {}, exceptions: [null] }, 'exceptions[0]'],
    [{ week: {}, exceptions: [{ date: '2026-01-01' }] }, 'exceptions[0].hours'],
    [{ week: {}, exceptions: [{ date: '2026-01-01', hours: [], why: 1 }] }, 'exceptions[0]'],
    [exception('2026-02-29'), 'exceptions[0].date'],
    [exception('2026-02-30'), 'exceptions[0].date'],
    [exception('2100-02-29'), 'exceptions[0].date'],
    [exception('2026-13-01'), 'exceptions[0].date'],
    [exception('2026-00-10'), 'exceptions[0].date'],
    [exception('2026-1-1'), 'exceptions[0].date'],
    [exception('0000-01-01'), 'exceptions[0].date'],
    [exception('2026-01-01T00:00'), 'exceptions[0].date'],
    [exception(20260101), 'exceptions[0].date'],
    [
      {
        week: {},
        exceptions: [
          { date: '2026-01-01', hours: [] },
          { date: '2026-01-01', hours: [] },
        ],
      },
      'exceptions[1].date',
    ],
    [{ week: {}, exceptions: Array.from({ length: 1001 }, () => null) }, 'exceptions'],
  ])('%j: names %s', (value, path) => {
    expect(firstFault(value)).toBe(path);
  });
});

describe('the schema of a time zone', () => {
  it.each([
    'UTC',
    'Europe/Berlin',
    'Asia/Kathmandu',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+5',
    'europe/berlin',
  ])('accepts %s', (zone) => {
    expect(timezone.safeParse(zone).success).toBe(true);
  });
  it.each([
    '',
    ' ',
    'Berlin',
    'Europe/Berlin ',
    '+05:30',
    '-08',
    '05:30',
    'Europe/Nowhere',
    'x'.repeat(10_000),
    '__proto__',
    'Europe/Berlin\n',
    'Éurope/Berlin',
  ])('refuses %j', (zone) => {
    expect(timezone.safeParse(zone).error?.issues[0]?.message).toMatch(/^must /);
  });
});
