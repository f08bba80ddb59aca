// Owns the row for a link's address: it opens for what is selected, and makes a link of that.
import { h } from '../shared/dom.ts';
import { isForComposition } from '../shared/format-keys.ts';
import { safeAddress } from '../shared/links.ts';
import type { Editing } from './editing.ts';
import type { I18n } from './i18n.ts';

export interface LinkRow {
  readonly element: HTMLElement;
  /** Asks for the address of what is selected. */
  start(): void;
}

export interface LinkRowOptions {
  readonly words: I18n['words'];
  readonly field: HTMLElement;
  readonly editing: Editing;
  /** A link was made. */
  onChange(): void;
}

export function createLinkRow({ words, field, editing, onChange }: LinkRowOptions): LinkRow {
  let kept: Range | null = null;
  const address = h('input', {
    type: 'url',
    // An address is read from the left in every language.
    dir: 'ltr',
    'aria-label': words.address,
    placeholder: 'https://',
    keydown: (event: KeyboardEvent) => {
      if (isForComposition(event)) return;
      if (event.key === 'Enter') add(event);
      if (event.key === 'Escape') {
        event.stopPropagation();
        end();
      }
    },
  });
  const element = h(
    'div',
    { class: 'row', hidden: true },
    address,
    h('button', { type: 'button', class: 'plain', click: add }, words.save),
    h('button', { type: 'button', class: 'plain', click: end }, words.cancel),
  );

  function end(): void {
    element.hidden = true;
    address.removeAttribute('aria-invalid');
    field.focus();
    if (kept !== null) editing.select(kept);
    kept = null;
  }

  function add(event: Event): void {
    event.preventDefault();
    const typed = address.value.trim();
    const url = typed.includes(':') ? typed : `https://${typed}`;
    const at = kept;
    if (safeAddress(url) === null || typed === '') {
      address.setAttribute('aria-invalid', 'true');
      return;
    }
    end();
    if (editing.addLink(url, typed, at)) onChange();
  }

  return {
    element,
    start: () => {
      kept = editing.range()?.cloneRange() ?? null;
      const existing = editing.inside('a');
      address.value = existing instanceof HTMLAnchorElement ? existing.href : '';
      element.hidden = false;
      address.focus();
    },
  };
}
