// The settings of an application: how the widget looks, when it is open, what the assistant does.
// Stored, answered by `widget/config` and changed by `applications.update` under the same paths.
import { z } from 'zod';
import { exactText, text } from './text.ts';

/** An object that refuses fields it does not know: a misspelt setting or day must not be ignored in silence. */
function strict<S extends z.core.$ZodLooseShape>(shape: S, problem: string): z.ZodObject<S, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? problem : undefined),
  });
}

/** A list that is refused by its length before its items are looked at, so that the answer stays short. */
function shortList<T extends z.ZodType>(item: T, max: number, problem: string) {
  return z
    .array(z.unknown(), problem)
    .max(max, `must have at most ${max} entries`)
    .pipe(z.array(item).max(max));
}

const maxIntervals = 48;
const maxExceptions = 1000;

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!match || match[1] === '0000') return false;
  const date = new Date(`${text}T00:00:00.000Z`);
  // Some impossible days (30 February) roll over instead of failing.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

const timeText = 'must be a time from 00:00 to 23:59, written HH:MM';
/** A reading of the clock on the wall. */
export const timeOfDay = z.string(timeText).regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, timeText);
const closingTime = 'must be a time from 00:00 to 24:00, written HH:MM';

/** `close` before `open` means the next day. */
const openingInterval = strict(
  {
    open: timeOfDay,
    close: z.string(closingTime).regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, closingTime),
  },
  'is not known: an interval has open and close',
).refine(({ open, close }) => open !== close, {
  path: ['close'],
  error: 'is the same as open: write 00:00 to 24:00 for a whole day, and leave the entry out for none',
});
export type OpeningInterval = z.infer<typeof openingInterval>;

/** The intervals of a day; they may overlap and then count together. */
const openingHours = shortList(openingInterval, maxIntervals, 'must be an array of {open, close}');

const weekday = openingHours.optional();

const exceptionDay = strict(
  {
    date: z
      .string('must be a day of the calendar, written YYYY-MM-DD')
      .refine(isDate, 'must be a day of the calendar, written YYYY-MM-DD'),
    hours: openingHours,
  },
  'is not known: an exception has date and hours',
);

const exceptionDays = shortList(exceptionDay, maxExceptions, 'must be an array of {date, hours}').superRefine(
  (days, context) => {
    const dates = new Set<string>();
    for (const [index, { date }] of days.entries()) {
      if (dates.has(date))
        context.addIssue({
          code: 'custom',
          path: [index, 'date'],
          message: `${date} has an exception already: put all its hours into one`,
        });
      dates.add(date);
    }
  },
);

/** null: always open. A day that is missing or empty is closed; an exception replaces its weekday. */
export const businessHours = strict(
  {
    week: strict(
      {
        monday: weekday,
        tuesday: weekday,
        wednesday: weekday,
        thursday: weekday,
        friday: weekday,
        saturday: weekday,
        sunday: weekday,
      },
      'is not a day: days are monday to sunday, in lower case',
    ),
    exceptions: exceptionDays.optional(),
  },
  'is not known: business hours have week and exceptions',
).nullable();
export type BusinessHours = z.infer<typeof businessHours>;
export type Weekday = keyof NonNullable<BusinessHours>['week'];

// Intl takes plain offsets too, but those know no daylight saving and are seldom what was meant.
const timezoneName = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;

/** Names that were found to be right: asking takes a tenth of a millisecond, as long as a whole call. */
const knownTimezones = new Set<string>();
const maxKnownTimezones = 1_000;

function isTimezone(name: string): boolean {
  if (knownTimezones.has(name)) return true;
  if (!timezoneName.test(name)) return false;
  try {
    Intl.DateTimeFormat('en-US', { timeZone: name });
    if (knownTimezones.size < maxKnownTimezones) knownTimezones.add(name);
    return true;
  } catch {
    return false;
  }
}

export const timezone = exactText(1, 100).refine(
  isTimezone,
  'must be a name of the IANA database, for example Europe/Berlin or UTC',
);

const colour = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour written #rrggbb')
  .toLowerCase();

/** A text that the widget shows; null: none. */
const widgetText = text(1, 1000).nullable();

/** An address as it stands in a header: without a name, in lower case. */
const mailAddress = text(3, 254).toLowerCase().pipe(z.email('must be an e-mail address'));

/** Whether the widget asks for name and address before the first message. */
const contactForm = z.enum(['off', 'optional', 'required']);

/** `required`: through a page only visitors are served whose identity a backend has signed. */
const identity = z.enum(['optional', 'required']);

const colors = { primary: colour, background: colour, text: colour };

const appearance = {
  logo: exactText(1, 2000)
    .pipe(z.url({ protocol: /^https$/, error: 'must be an https URL' }))
    .nullable(),
  position: z.enum(['bottom-right', 'bottom-left']),
  launcherIcon: z.enum(['chat', 'question', 'message']),
};

const behavior = {
  timezone,
  businessHours,
  greeting: widgetText,
  outsideHours: widgetText,
};

/** What goes to visitors by mail, and comes from them. */
const email = {
  mode: z.enum(['off', 'replies', 'inbox']),
  address: mailAddress.nullable(),
  fromName: text(1, 100).nullable(),
  afterMinutes: z.int('must be a whole number').min(0).max(1440, 'must be at most 1440: a day'),
  signature: text(1, 1000).nullable(),
};

/** What an application has that says nothing of mail. */
const defaultEmail = {
  mode: 'replies',
  address: null,
  fromName: null,
  afterMinutes: 2,
  signature: null,
} as const;

const ai = {
  mode: z.enum(['off', 'assist', 'auto']),
  name: text(1, 100),
};

export const locale = z
  .string()
  .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a language tag such as en or pt-BR')
  .nullable();

/** All settings of an application, as they are stored and answered. */
export const applicationSettings = z.object({
  appearance: z.object({ colors: z.object(colors), ...appearance }),
  // What was stored before these existed has no such fields.
  behavior: z.object({
    ...behavior,
    contactForm: contactForm.default('off'),
    identity: identity.default('optional'),
  }),
  ai: z.object(ai),
  email: z.object(email).default(defaultEmail),
  locale,
});
export type ApplicationSettings = z.infer<typeof applicationSettings>;

const unknownSetting = 'is not a setting; see: deskbell app config ID';

/** Any part of the settings; what is left out stays. */
export const applicationSettingsPatch = z.object({
  appearance: strict(
    {
      colors: strict(z.object(colors).partial().shape, unknownSetting).optional(),
      ...z.object(appearance).partial().shape,
    },
    unknownSetting,
  ).optional(),
  behavior: strict(
    z.object({ ...behavior, contactForm, identity }).partial().shape,
    unknownSetting,
  ).optional(),
  ai: strict(z.object(ai).partial().shape, unknownSetting).optional(),
  email: strict(z.object(email).partial().shape, unknownSetting).optional(),
  locale: locale.optional(),
});
export type ApplicationSettingsPatch = z.infer<typeof applicationSettingsPatch>;
