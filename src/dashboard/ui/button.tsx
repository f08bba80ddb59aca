// Owns buttons. Must not know what they do.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

type OnClick = (event: MouseEvent) => void;

/** A button that is busy does nothing, but keeps the focus, which one that is disabled would lose. */
function unlessBusy(busy: boolean, onClick: OnClick | undefined): OnClick | undefined {
  // It sends no form either.
  return busy ? (event) => event.preventDefault() : onClick;
}

export interface ButtonProps {
  readonly kind?: 'main' | 'plain' | 'quiet' | 'danger';
  readonly icon?: IconName;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** Something is under way: it can't be pressed again. */
  readonly busy?: boolean;
  /** In a dialog: it has the focus first. */
  readonly autofocus?: boolean;
  readonly title?: string;
  readonly class?: string;
  readonly onClick?: OnClick;
  readonly children?: ComponentChildren;
}

/** A button with words. `main` once in a view at most; `danger` for what can't be undone. */
export function Button({
  kind = 'plain',
  icon,
  type = 'button',
  disabled = false,
  busy = false,
  autofocus = false,
  title,
  class: more = '',
  onClick,
  children,
}: ButtonProps): JSX.Element {
  return (
    <button
      type={type}
      class={`button ${kind} ${more}`}
      disabled={disabled}
      aria-busy={busy}
      aria-disabled={busy ? 'true' : undefined}
      autofocus={autofocus}
      title={title}
      onClick={unlessBusy(busy, onClick)}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

/** What a button does, with the key that does the same; undefined: none does. */
export function withKey(label: string, hint: string | undefined): string {
  return hint === undefined ? label : `${label} (${hint})`;
}

export interface IconButtonProps {
  readonly icon: IconName;
  /** What it does: read out, and shown on hovering. */
  readonly label: string;
  /** The key that does the same, shown beside the label. */
  readonly hint?: string | undefined;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
  readonly busy?: boolean;
  readonly class?: string;
  readonly onClick: OnClick;
}

/** A button that is a drawing only. */
export function IconButton({
  icon,
  label,
  hint,
  pressed,
  disabled = false,
  busy = false,
  class: more = '',
  onClick,
}: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`icon-button ${more}`}
      aria-label={label}
      title={withKey(label, hint)}
      aria-pressed={pressed}
      aria-busy={busy}
      aria-disabled={busy ? 'true' : undefined}
      disabled={disabled}
      onClick={unlessBusy(busy, onClick)}
    >
      <Icon name={icon} />
    </button>
  );
}
