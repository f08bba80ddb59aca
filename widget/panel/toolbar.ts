// Owns the bar of formats: a button for each, which of them are on, and walking it by arrows.
import { h, icon } from '../shared/dom.ts';
import { formatNames, type FormatName } from '../shared/format-keys.ts';
import type { Editing } from './editing.ts';
import { icons } from './icons.ts';
import type { I18n } from './i18n.ts';

export interface Toolbar {
  readonly element: HTMLElement;
  /** Shows which formats the selection has. */
  showMarks(): void;
}

/** @param act a format's button was pressed */
export function createToolbar(
  words: I18n['words'],
  root: ShadowRoot,
  editing: Editing,
  act: (name: FormatName) => void,
): Toolbar {
  const buttons = formatNames.map((name, index) =>
    h(
      'button',
      {
        type: 'button',
        class: 'tool',
        'aria-label': words[name],
        title: words[name],
        'aria-pressed': name === 'link' ? null : 'false',
        tabindex: index === 0 ? 0 : -1,
        // The field must keep the selection that the button acts on.
        pointerdown: (event: Event) => event.preventDefault(),
        click: () => act(name),
      },
      icon(icons[name]),
    ),
  );
  const element = h(
    'div',
    { class: 'tools', role: 'toolbar', 'aria-label': words.format, keydown: walk },
    ...buttons,
  );

  function walk(event: KeyboardEvent): void {
    const forward =
      document.dir === 'rtl' || getComputedStyle(element).direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    const backward = forward === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight';
    if (event.key !== forward && event.key !== backward) return;
    const from = buttons.findIndex((button) => button === root.activeElement);
    const to = buttons.at((from + (event.key === forward ? 1 : -1)) % buttons.length);
    for (const button of buttons) button.tabIndex = button === to ? 0 : -1;
    to?.focus();
    event.preventDefault();
  }

  return {
    element,
    showMarks: () => {
      formatNames.forEach((name, index) => {
        if (name !== 'link') buttons[index]?.setAttribute('aria-pressed', String(editing.isOn(name)));
      });
    },
  };
}
