// Owns a button that opens a short list of acts: arrows walk it, Escape and a press beside it close it.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  /** The key that does the same. */
  readonly hint?: string | undefined;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

export interface MenuProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly items: readonly MenuItem[];
  readonly class?: string;
  /** On the button, in the place of the drawing. */
  readonly children?: ComponentChildren;
}

export function Menu({ label, icon = 'more', items, class: more = '', children }: MenuProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const outside = (event: Event): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    root.current?.querySelector<HTMLElement>('[role=menuitem]:not([disabled])')?.focus();
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  const keydown = (event: KeyboardEvent): void => {
    if (!open) return;
    const all = [...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not([disabled])') ?? [])];
    const at = all.findIndex((one) => one === document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') return setOpen(false);
    else if (to !== undefined) all.at(to % all.length)?.focus();
    else if (event.key !== 'Enter' && event.key !== ' ') return undefined;
    event.stopPropagation();
    if (event.key !== 'Enter' && event.key !== ' ') event.preventDefault();
    return undefined;
  };
  return (
    <div class={`menu ${more}`} ref={root} onKeyDown={keydown}>
      <button
        type="button"
        class={children === undefined ? 'icon-button' : 'button quiet'}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {children ?? <Icon name={icon} />}
      </button>
      {open ? (
        <div class="menu-list" role="menu" id={id} aria-label={label}>
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.danger === true ? 'danger' : undefined}
              disabled={item.disabled}
              onClick={() => {
                close();
                item.onClick();
              }}
            >
              {item.icon === undefined ? null : <Icon name={item.icon} />}
              <span>{item.label}</span>
              {item.hint === undefined ? null : <kbd>{item.hint}</kbd>}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
