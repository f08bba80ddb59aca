// Owns the selection in the editable field, and what formats do to it.
import { h } from '../shared/dom.ts';
import type { FormatName } from '../shared/format-keys.ts';
import { link, safeAddress } from '../shared/links.ts';

export interface Editing {
  /** What is selected in the field; null: nothing of it is. */
  range(): Range | null;
  select(range: Range): void;
  caretIn(node: Node, offset: number): void;
  /** The element around the selection that matches, if there is one in the field. */
  inside(selector: string): Element | null;
  /** Puts plain text in the place of the selection, or at the end. */
  insert(text: string): void;
  /** Turns a format of text or lines on or off; links have a row of their own. */
  toggle(name: Exclude<FormatName, 'link'>): void;
  isOn(name: Exclude<FormatName, 'link'>): boolean;
  /** Makes a link of a place, or gives the one that is there another address; null: at the end. @returns false: that is no address for a link */
  addLink(url: string, typed: string, at: Range | null): boolean;
}

/** The command of the browser's own editing; empty where it has none. */
const commands: Readonly<Record<Exclude<FormatName, 'link'>, string>> = {
  bold: 'bold',
  italic: 'italic',
  underline: 'underline',
  strike: 'strikeThrough',
  code: '',
  bullets: 'insertUnorderedList',
  numbers: 'insertOrderedList',
};

/** With more lines than this a browser's own editing, which can undo it, takes longer than a visitor waits. */
const maxOwnLines = 200;

export function createEditing(field: HTMLElement, root: ShadowRoot): Editing {
  function selection(): Selection | null {
    // Chromium keeps a shadow root's selection to itself.
    const own = root as ShadowRoot & { getSelection?: () => Selection | null };
    return own.getSelection?.() ?? document.getSelection();
  }

  function range(): Range | null {
    const found = selection();
    if (found === null || found.rangeCount === 0) return null;
    const first = found.getRangeAt(0);
    return field.contains(first.commonAncestorContainer) ? first : null;
  }

  function inside(selector: string, of = range()): Element | null {
    const at = of?.commonAncestorContainer;
    const found = (at instanceof Element ? at : at?.parentElement)?.closest(selector) ?? null;
    return field.contains(found) ? found : null;
  }

  function caretIn(node: Node, offset: number): void {
    selection()?.collapse(node, offset);
  }

  /** The caret behind an element, and not in it: what is typed next is plain. */
  function caretBehind(element: Element): void {
    const after = document.createTextNode('\u200b');
    element.after(after);
    caretIn(after, 1);
  }

  function toggleCode(): void {
    const at = range();
    const code = inside('code');
    if (at === null) return;
    if (code !== null && at.collapsed) caretBehind(code);
    else if (code !== null) code.replaceWith(...code.childNodes);
    else {
      const made = h('code', {}, at.toString() || '\u200b');
      at.deleteContents();
      at.insertNode(made);
      caretIn(made.firstChild ?? made, made.textContent.length);
    }
  }

  return {
    range,
    inside,
    caretIn,
    select: (wanted) => {
      selection()?.removeAllRanges();
      selection()?.addRange(wanted);
    },
    insert: (text) => {
      if (text.split('\n', maxOwnLines + 1).length <= maxOwnLines) {
        document.execCommand('insertText', false, text);
        return;
      }
      const at = range();
      const node = document.createTextNode(text.replace(/\r\n?/g, '\n'));
      at?.deleteContents();
      if (at === null) field.append(node);
      else at.insertNode(node);
      caretIn(node, node.length);
    },
    toggle: (name) => {
      if (name === 'code') toggleCode();
      else document.execCommand(commands[name]);
    },
    isOn: (name) =>
      range() !== null &&
      (name === 'code' ? inside(name) !== null : document.queryCommandState(commands[name])),
    addLink: (url, typed, at) => {
      const made = link(url, [document.createTextNode(at === null || at.collapsed ? typed : at.toString())]);
      if (made === null) return false;
      const before = inside('a', at);
      if (before instanceof HTMLAnchorElement) {
        // The address is another, and so is a text that was the address itself.
        if (safeAddress(before.textContent) === before.href) before.textContent = typed;
        before.href = made.href;
        return true;
      }
      if (at === null) field.append(made);
      else {
        at.deleteContents();
        at.insertNode(made);
      }
      caretBehind(made);
      return true;
    },
  };
}
