// Owns buttons. Must not know what they do.
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps {
  readonly kind?: 'main' | 'plain' | 'quiet' | 'danger';
  readonly icon?: IconName;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** Something is under way: it can't be pressed again. */
  readonly busy?: boolean;
  readonly title?: string;
  readonly class?: string;
  readonly onClick?: (event: MouseEvent) => void;
  readonly children?: ComponentChildren;
}

/** A button with words. `main` once in a view at most; `danger` for what can't be undone. */
export function Button({
  kind = 'plain',
  icon,
  type = 'button',
  disabled = false,
  busy = false,
  title,
  class: more = '',
  onClick,
  children,
}: ButtonProps): JSX.Element {
  return (
    <button
      type={type}
      class={`button ${kind} ${more}`}
      disabled={disabled || busy}
      aria-busy={busy}
      title={title}
      onClick={onClick}
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
  readonly onClick: (event: MouseEvent) => void;
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
      disabled={disabled || busy}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
