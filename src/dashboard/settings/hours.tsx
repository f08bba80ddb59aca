// Owns the editor of business hours: a week, and days that are different.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BusinessHours, OpeningInterval } from '../../protocol/application-settings.ts';
import { weekdays } from '../../protocol/enums.ts';
import { Button } from '../ui/button.tsx';
import { Checkbox, Field } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import { locale } from '../words.ts';
import { useFirstWrong } from './first-wrong.ts';
import { fieldTexts, problemOf } from './rest.ts';
import { useUnsavedGuard } from './unsaved.tsx';
import { s } from './words.ts';

type Hours = NonNullable<BusinessHours>;

/** Where they are in an application's settings. */
const place = 'behavior.businessHours';
const usual: OpeningInterval = { open: '09:00', close: '17:00' };
const firstWeek: Hours = {
  week: Object.fromEntries(weekdays.slice(0, 5).map((day) => [day, [usual]])),
  exceptions: [],
};

/** A weekday's name in the reader's language. The first of January 2024 was a Monday. */
function dayName(index: number): string {
  return new Intl.DateTimeFormat(locale.tag, { weekday: 'long', timeZone: 'UTC' }).format(
    new Date(Date.UTC(2024, 0, 1 + index)),
  );
}

/** A day in the reader's language. @param date as `2026-12-24` */
function dateName(date: string): string {
  return new Intl.DateTimeFormat(locale.tag, { dateStyle: 'full', timeZone: 'UTC' }).format(new Date(date));
}

/** What is wrong with the fields, by their paths below what the editor changes. */
type Errors = Readonly<Record<string, string>>;

export interface HoursEditorProps {
  readonly initial: BusinessHours;
  readonly onSave: (hours: BusinessHours) => Promise<unknown>;
}

export function HoursEditor({ initial, onSave }: HoursEditorProps): JSX.Element {
  const [saved, setSaved] = useState<BusinessHours>(initial);
  const [hours, setHours] = useState<BusinessHours>(initial);
  const [problem, setProblem] = useState('');
  const [errors, setErrors] = useState<Errors>({});
  const [busy, setBusy] = useState(false);
  const ref = useFirstWrong<HTMLDivElement>(errors);
  const unsaved = JSON.stringify(hours) !== JSON.stringify(saved);
  useUnsavedGuard(unsaved);
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem('');
    setErrors({});
    try {
      await onSave(hours);
      setSaved(hours);
      toast(s('saved'), 'good');
    } catch (error) {
      const texts = fieldTexts(error);
      setErrors(texts);
      if (Object.keys(texts).length === 0) setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="hours" ref={ref}>
      <Checkbox
        label={s('alwaysOpen')}
        checked={hours === null}
        onChange={(always) => setHours(always ? null : (saved ?? firstWeek))}
      />
      {hours === null ? null : <Week hours={hours} errors={errors} onChange={setHours} />}
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="form-end">
        <Button kind="main" busy={busy} onClick={() => void save()}>
          {s('save')}
        </Button>
        {unsaved ? <span class="hint">{s('unsaved')}</span> : null}
      </div>
    </div>
  );
}

function Week({
  hours,
  errors,
  onChange,
}: {
  readonly hours: Hours;
  readonly errors: Errors;
  readonly onChange: (hours: Hours) => void;
}): JSX.Element {
  const exceptions = hours.exceptions ?? [];
  const [date, setDate] = useState('');
  return (
    <>
      {weekdays.map((day, index) => (
        <Intervals
          key={day}
          legend={dayName(index)}
          intervals={hours.week[day] ?? []}
          path={`${place}.week.${day}`}
          errors={errors}
          onChange={(intervals) => onChange({ ...hours, week: { ...hours.week, [day]: intervals } })}
        />
      ))}
      <h3>{s('exceptions')}</h3>
      {exceptions.map((one, index) => (
        <div key={one.date} class="exception">
          <Intervals
            legend={dateName(one.date)}
            intervals={one.hours}
            path={`${place}.exceptions.${index}.hours`}
            errors={errors}
            onChange={(intervals) =>
              onChange({
                ...hours,
                exceptions: exceptions.map((other) =>
                  other.date === one.date ? { ...one, hours: intervals } : other,
                ),
              })
            }
          />
          <Button
            onClick={() =>
              onChange({ ...hours, exceptions: exceptions.filter((other) => other.date !== one.date) })
            }
          >
            {s('remove')}
          </Button>
        </div>
      ))}
      <div class="form-end">
        <Field label={s('day')} type="date" value={date} onInput={setDate} />
        <Button
          disabled={date === '' || exceptions.some((one) => one.date === date)}
          onClick={() => {
            onChange({ ...hours, exceptions: [...exceptions, { date, hours: [] }] });
            setDate('');
          }}
        >
          {s('addException')}
        </Button>
      </div>
    </>
  );
}

interface IntervalsProps {
  readonly legend: string;
  readonly intervals: readonly OpeningInterval[];
  /** Where they are in what is sent. */
  readonly path: string;
  readonly errors: Errors;
  readonly onChange: (intervals: OpeningInterval[]) => void;
}

function Intervals({ legend, intervals, path, errors, onChange }: IntervalsProps): JSX.Element {
  const set = (index: number, change: Partial<OpeningInterval>): void =>
    onChange(intervals.map((one, at) => (at === index ? { ...one, ...change } : one)));
  return (
    <fieldset class="intervals">
      <legend>{legend}</legend>
      {intervals.length === 0 ? <span class="hint">{s('closed')}</span> : null}
      {intervals.map(({ open, close }, index) => (
        <div key={index} class="interval">
          <Field
            label={s('opens')}
            error={errors[`${path}.${index}.open`]}
            machine
            value={open}
            onInput={(value) => set(index, { open: value })}
          />
          <Field
            label={s('closes')}
            error={errors[`${path}.${index}.close`]}
            machine
            value={close}
            onInput={(value) => set(index, { close: value })}
          />
          <Button onClick={() => onChange(intervals.filter((_, at) => at !== index))}>{s('remove')}</Button>
        </div>
      ))}
      <Button icon="plus" onClick={() => onChange([...intervals, usual])}>
        {s('addHours')}
      </Button>
    </fieldset>
  );
}
