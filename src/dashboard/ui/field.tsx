// Owns fields of forms: a label, what is written, a hint, and what is wrong, tied together for everybody who reads them.
import './form-look.ts';
import { createElement, type ComponentChildren, type JSX } from 'preact';
import { useId } from 'preact/hooks';

interface Labelled {
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with what was written. */
  readonly error?: string | undefined;
  readonly name?: string;
  readonly required?: boolean;
  readonly disabled?: boolean;
}

export interface FieldProps extends Labelled {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'time' | 'date' | 'color' | 'search';
  readonly autocomplete?: AutoFill;
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly min?: number;
  readonly max?: number;
  readonly autofocus?: boolean;
  /** For codes and addresses: left to right in every language. */
  readonly machine?: boolean;
}

function Frame({
  id,
  label,
  hint,
  error,
  children,
}: Labelled & { readonly id: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error === undefined || error === '' ? null : (
        <p class="problem" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

function isWrong({ error }: Pick<Labelled, 'error'>): true | undefined {
  return error === undefined || error === '' ? undefined : true;
}

function describedBy(id: string, { hint, error }: Labelled): string | undefined {
  const ids = [
    hint === undefined ? '' : `${id}-hint`,
    isWrong({ error }) === true ? `${id}-error` : '',
  ].filter((one) => one !== '');
  return ids.length === 0 ? undefined : ids.join(' ');
}

/** One line. */
export function Field(props: FieldProps): JSX.Element {
  const id = useId();
  const { value, onInput, type = 'text', machine = false, autofocus = false } = props;
  return (
    <Frame {...props} id={id}>
      {createElement('input', {
        id,
        name: props.name,
        type,
        value,
        required: props.required,
        disabled: props.disabled,
        placeholder: props.placeholder,
        maxLength: props.maxLength,
        min: props.min,
        max: props.max,
        autocomplete: props.autocomplete ?? 'off',
        autofocus,
        spellcheck: machine ? false : undefined,
        dir: machine ? 'ltr' : undefined,
        'aria-invalid': isWrong(props),
        'aria-describedby': describedBy(id, props),
        onInput: ({ target }: Event) => {
          if (target instanceof HTMLInputElement) onInput(target.value);
        },
      })}
    </Frame>
  );
}

export interface TextAreaProps extends Labelled {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly machine?: boolean;
}

/** Several lines. */
export function TextArea(props: TextAreaProps): JSX.Element {
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <textarea
        id={id}
        name={props.name}
        rows={props.rows ?? 4}
        value={props.value}
        required={props.required}
        disabled={props.disabled}
        maxLength={props.maxLength}
        placeholder={props.placeholder}
        dir={props.machine === true ? 'ltr' : 'auto'}
        spellcheck={props.machine === true ? false : undefined}
        aria-invalid={isWrong(props)}
        aria-describedby={describedBy(id, props)}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </Frame>
  );
}

export interface SelectProps<T extends string> extends Labelled {
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly onChange: (value: T) => void;
}

/** One of a few. */
export function Select<T extends string>(props: SelectProps<T>): JSX.Element {
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <select
        id={id}
        name={props.name}
        value={props.value}
        disabled={props.disabled}
        aria-invalid={isWrong(props)}
        aria-describedby={describedBy(id, props)}
        onChange={(event) => {
          const chosen = props.options[event.currentTarget.selectedIndex];
          if (chosen !== undefined) props.onChange(chosen.value);
        }}
      >
        {props.options.map(({ value, label }) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export interface CheckboxProps extends Labelled {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** On or off. */
export function Checkbox(props: CheckboxProps): JSX.Element {
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        name={props.name}
        checked={props.checked}
        disabled={props.disabled}
        aria-describedby={describedBy(id, props)}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <label for={id}>{props.label}</label>
      {props.hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
    </div>
  );
}
