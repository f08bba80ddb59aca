// Owns forms: fields from a description, errors of the server at the field that they are about, and what was not saved.
// Nothing that was written is lost when saving fails.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../ui/button.tsx';
import { Checkbox, Field, Select, TextArea } from '../ui/field.tsx';
import { useFirstWrong } from './first-wrong.ts';
import { sayDone } from './parts.tsx';
import { fieldTexts, problemOf } from './rest.ts';
import { useUnsavedGuard } from './unsaved.tsx';
import { s, type SettingsWord } from './words.ts';

export interface FieldSpec {
  /** Where the value is in the body, as `name` or `behavior.greeting`. */
  readonly path: string;
  /** What the server calls it, where what is sent of it is put together from it. */
  readonly sentAs?: string;
  readonly label: SettingsWord;
  readonly hint?: SettingsWord;
  readonly kind?:
    | 'text'
    | 'email'
    | 'password'
    | 'url'
    | 'number'
    | 'color'
    | 'date'
    | 'area'
    | 'check'
    | 'select';
  /** For `select`; the label is a text of the settings, or stands as it is. */
  readonly options?: readonly (readonly [value: string, label: SettingsWord | { readonly as: string }])[];
  /** What an empty field is sent as; left out: as an empty text. */
  readonly empty?: 'null' | 'nothing';
  readonly required?: boolean;
  /** For codes and addresses: left to right in every language. */
  readonly machine?: boolean;
}

type Values = Readonly<Record<string, string | boolean>>;

export interface FormProps {
  readonly fields: readonly FieldSpec[];
  /** What is stored now; the fields' values are found in it by their paths. */
  readonly initial?: object;
  readonly submit?: SettingsWord;
  /** Sends the body. What it throws is shown. */
  readonly onSubmit: (body: object) => Promise<unknown>;
  /** Told the body, as it would be sent now, with every change. */
  readonly onChange?: (body: object) => void;
  /** Whether the fields are emptied afterwards. */
  readonly clears?: boolean;
  /** Sends what was changed here alone: others may change the rest beside it. */
  readonly patches?: boolean;
  /** Stands for what is written in it, where the page asks before another form takes its place (`askFirst`). */
  readonly guard?: object;
}

/** The value at a path of an object; undefined where there is none. */
function readPath(from: unknown, path: string): unknown {
  let value = from;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([key]) => key === name)?.[1];
  }
  return value;
}

/** An object with values at paths: `{'a.b': 1}` is `{a: {b: 1}}`. */
function bodyFrom(values: readonly (readonly [path: string, value: unknown])[]): object {
  const groups = new Map<string, (readonly [string, unknown])[]>();
  const body: Record<string, unknown> = {};
  for (const [path, value] of values) {
    const dot = path.indexOf('.');
    if (dot === -1) body[path] = value;
    else {
      const name = path.slice(0, dot);
      groups.set(name, [...(groups.get(name) ?? []), [path.slice(dot + 1), value]]);
    }
  }
  for (const [name, group] of groups) body[name] = bodyFrom(group);
  return body;
}

function startValues(fields: readonly FieldSpec[], initial: object): Values {
  return Object.fromEntries(
    fields.map(({ path, kind, options }): [string, string | boolean] => {
      const value = readPath(initial, path);
      if (kind === 'check') return [path, value === true];
      const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
      return [path, kind === 'select' && text === '' ? (options?.[0]?.[0] ?? '') : text];
    }),
  );
}

function toBody(fields: readonly FieldSpec[], values: Values): object {
  return bodyFrom(
    fields.flatMap(({ path, kind, empty }): (readonly [string, unknown])[] => {
      const value = values[path] ?? '';
      if (value === '' && empty === 'nothing') return [];
      if (value === '' && empty === 'null') return [[path, null]];
      // An empty number is none, and the server says what it must be.
      return [[path, kind !== 'number' ? value : value === '' ? null : Number(value)]];
    }),
  );
}

/** The field that the server's path is about, or an item of what was written in it; undefined: none of the form. */
function fieldAt(fields: readonly FieldSpec[], path: string): FieldSpec | undefined {
  return fields.find(({ path: own, sentAs = own }) => path === sentAs || path.startsWith(`${sentAs}.`));
}

export function Form(props: FormProps): JSX.Element {
  const { fields, initial = {}, submit = 'save', onSubmit, onChange, clears, patches = false, guard } = props;
  const [saved, setSaved] = useState<Values>(() => startValues(fields, initial));
  const [values, setValues] = useState<Values>(saved);
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const unsaved = fields.some(({ path }) => values[path] !== saved[path]);
  useUnsavedGuard(unsaved, guard);
  const ref = useFirstWrong<HTMLFormElement>(errors);
  const set = (path: string, value: string | boolean): void => {
    const next = { ...values, [path]: value };
    setValues(next);
    onChange?.(toBody(fields, next));
  };
  const send = async (): Promise<void> => {
    setBusy(true);
    setErrors({});
    setProblem('');
    try {
      const sent = patches ? fields.filter(({ path }) => values[path] !== saved[path]) : fields;
      if (sent.length > 0) await onSubmit(toBody(sent, values));
      if (clears === true) setValues(saved);
      else setSaved(values);
      sayDone(submit);
    } catch (error) {
      const texts = Object.entries(fieldTexts(error));
      const known = texts.flatMap(([path, text]): (readonly [string, string])[] => {
        const field = fieldAt(fields, path);
        return field === undefined ? [] : [[field.path, text]];
      });
      setErrors(Object.fromEntries(known));
      if (known.length === 0 || known.length < texts.length) setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      ref={ref}
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {fields.map((spec) => (
        <OneField
          key={spec.path}
          spec={spec}
          value={values[spec.path] ?? ''}
          error={errors[spec.path]}
          onChange={(value) => set(spec.path, value)}
        />
      ))}
      <p class="problem" role="alert">
        {problem}
      </p>
      <div class="form-end">
        <Button kind="main" type="submit" busy={busy}>
          {s(submit)}
        </Button>
        {unsaved && clears !== true ? <span class="hint">{s('unsaved')}</span> : null}
      </div>
    </form>
  );
}

interface OneFieldProps {
  readonly spec: FieldSpec;
  readonly value: string | boolean;
  readonly error: string | undefined;
  readonly onChange: (value: string | boolean) => void;
}

function OneField({ spec, value, error, onChange }: OneFieldProps): JSX.Element {
  const { path, kind = 'text', options = [], required = false, machine = false } = spec;
  const common = {
    label: s(spec.label),
    hint: spec.hint === undefined ? undefined : s(spec.hint),
    error,
    name: path,
    required,
  };
  const text = String(value);
  if (kind === 'check') return <Checkbox {...common} checked={value === true} onChange={onChange} />;
  if (kind === 'area') return <TextArea {...common} value={text} machine={machine} onInput={onChange} />;
  if (kind === 'select')
    return (
      <Select
        {...common}
        value={text}
        options={options.map(([one, label]) => ({
          value: one,
          label: typeof label === 'string' ? s(label) : label.as,
        }))}
        onChange={onChange}
      />
    );
  return (
    <Field
      {...common}
      type={kind}
      value={text}
      machine={machine || kind === 'email' || kind === 'url' || kind === 'color'}
      autocomplete={kind === 'password' ? 'new-password' : 'off'}
      onInput={onChange}
    />
  );
}
