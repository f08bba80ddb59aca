// Owns writing: the editable field, its formatting by keys and by bar, links, and the way in for files. Hands out what was
// written; must not know where it goes.
import { fileRules } from './file-rules.ts';
import type { Tray, TrayOptions } from '../files/tray.ts';
import { h, icon } from '../shared/dom.ts';
import { formatNames, formatOfKey, type FormatName } from '../shared/format-keys.ts';
import { link, safeAddress } from '../shared/links.ts';
import { icons } from './icons.ts';
import { serializeContent, type ComposedContent } from './serialize.ts';
import type { I18n } from './i18n.ts';

export interface Composer {
  readonly element: HTMLElement;
  focus(): void;
  /** Starts changing a message; `null` ends it and brings back what was being written before. */
  edit(content: readonly Node[] | null): void;
  /** What is being written, to carry it over. */
  draft(): readonly Node[];
  fill(content: readonly Node[]): void;
  isEmpty(): boolean;
  /** Files to go with what is written. */
  attach(files: readonly File[]): void;
  /** What was chosen and has not been sent, to carry it over. */
  files(): readonly File[];
  /** Takes all files out: they are another visitor's. */
  dropFiles(): void;
}

export interface ComposerOptions {
  readonly speech: I18n;
  readonly root: ShadowRoot;
  readonly maxLength: number;
  send(written: ComposedContent): void;
  typing(): void;
  cancel(): void;
  /** Where files go. */
  readonly target: TrayOptions['target'];
}

/** The command of the browser's own editing; empty where it has none. */
const commands: Readonly<Record<FormatName, string>> = {
  bold: 'bold',
  italic: 'italic',
  underline: 'underline',
  strike: 'strikeThrough',
  code: '',
  bullets: 'insertUnorderedList',
  numbers: 'insertOrderedList',
  link: '',
};

export function createComposer(options: ComposerOptions): Composer {
  const { speech, root, maxLength, send, typing, cancel } = options;
  const { words } = speech;
  const field = h('div', {
    class: 'field',
    contenteditable: 'true',
    role: 'textbox',
    'aria-multiline': 'true',
    'aria-label': words.message,
    'data-hint': words.write,
    spellcheck: 'true',
    enterkeyhint: coarse() ? 'enter' : 'send',
    input: () => {
      // What is still being written must not leave by itself.
      waiting = false;
      changed();
    },
    keydown,
    keyup: showMarks,
    pointerup: showMarks,
    paste: (event: ClipboardEvent) => insertPlain(event, event.clipboardData),
    drop: (event: DragEvent) => insertPlain(event, event.dataTransfer),
  });
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
  const tools = h(
    'div',
    { class: 'tools', role: 'toolbar', 'aria-label': words.format, keydown: walkTools },
    ...buttons,
  );
  const picker = h('input', {
    type: 'file',
    multiple: true,
    hidden: true,
    change: () => {
      attach([...(picker.files ?? [])]);
      // The same file can be chosen again after it was taken out.
      picker.value = '';
    },
  });
  const clip = h(
    'button',
    {
      type: 'button',
      class: 'tool clip',
      'aria-label': words.attach,
      title: words.attach,
      click: () => picker.click(),
    },
    icon(icons.clip),
  );
  const long = h('span', { class: 'long', role: 'status' });
  const sendButton = h(
    'button',
    { type: 'button', class: 'send', 'aria-label': words.send, title: words.send, click: submit },
    icon(icons.send),
  );
  const address = h('input', {
    type: 'url',
    'aria-label': words.address,
    placeholder: 'https://',
    keydown: (event: KeyboardEvent) => {
      if (event.key === 'Enter') addLink(event);
      if (event.key === 'Escape') {
        event.stopPropagation();
        endLink();
      }
    },
  });
  const linkRow = h(
    'div',
    { class: 'row', hidden: true },
    address,
    h('button', { type: 'button', class: 'plain', click: addLink }, words.save),
    h('button', { type: 'button', class: 'plain', click: endLink }, words.cancel),
  );
  const editRow = h(
    'div',
    { class: 'row', hidden: true },
    words.editing,
    h('button', { type: 'button', class: 'plain', click: () => cancel() }, words.cancel),
  );
  const element = h(
    'div',
    { class: 'composer' },
    editRow,
    linkRow,
    field,
    h('div', { class: 'bar' }, clip, picker, tools, long, sendButton),
  );
  let kept: Range | null = null;
  let putAside: readonly Node[] = [];
  let editing = false;
  let tray: Tray | null = null;
  /** Chosen while the tray's file is on its way. */
  const early: File[] = [];
  /** Send was pressed: it goes out when the files are uploaded. */
  let waiting = false;
  changed();

  function changed(): void {
    const written = serializeContent(field);
    const over = (written?.content.length ?? 0) - maxLength;
    const empty = field.textContent === '' && field.querySelector('li') === null;
    field.toggleAttribute('data-empty', empty);
    // The hint goes with the widget's direction, what is written with its own.
    field.dir = empty ? '' : 'auto';
    long.textContent =
      over > 0 ? speech.plural(words.long, over) : waiting && trayState() === 'busy' ? words.uploadWaits : '';
    sendButton.setAttribute(
      'aria-disabled',
      String((written === null && (editing || trayState() === 'empty')) || over > 0),
    );
    showMarks();
    if (written !== null && !editing) typing();
  }

  function submit(): void {
    const written = serializeContent(field);
    const files = editing ? 'empty' : trayState();
    waiting = false;
    if ((written === null && files === 'empty') || (written?.content.length ?? 0) > maxLength) return;
    if (files === 'failed') {
      tray?.explain();
      return;
    }
    if (files === 'busy') {
      waiting = true;
      changed();
      return;
    }
    const taken = files === 'ready' ? (tray?.take() ?? []) : [];
    field.replaceChildren();
    changed();
    send({
      ...(written ?? { content: tray?.textOf(taken) ?? '', contentFormat: 'plain' }),
      ...(taken.length > 0 && { attachments: taken.map(({ id }) => id) }),
    });
    field.focus();
  }

  function trayState(): ReturnType<Tray['state']> {
    return tray?.state() ?? (early.length > 0 ? 'busy' : 'empty');
  }

  function attach(files: readonly File[]): void {
    if (files.length === 0 || editing) return;
    if (tray !== null) return tray.add(files);
    early.push(...files);
    if (early.length > files.length) return undefined;
    changed();
    // What it needs of this file is handed to it: it shares none with it, so nothing is loaded twice or too early.
    void import('../files/tray.ts')
      .then(({ createTray }) => {
        tray = createTray({
          speech,
          h,
          icon,
          icons,
          rules: fileRules,
          target: options.target,
          onChange: () => {
            if (waiting && tray?.state() !== 'busy') submit();
            changed();
          },
          focus: () => field.focus(),
        });
        field.before(tray.element);
        tray.add(early.splice(0));
      })
      .catch(() => {
        early.length = 0;
        changed();
        long.textContent = words.wrong;
      });
    return undefined;
  }

  function keydown(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === 'Enter') {
      if (event.shiftKey) {
        // A line of its own in a list, a new line anywhere else.
        event.preventDefault();
        document.execCommand(inside('li') === null ? 'insertLineBreak' : 'insertParagraph');
      } else if (!coarse()) {
        event.preventDefault();
        submit();
      }
      return;
    }
    if (event.key === 'Escape' && editing) {
      event.stopPropagation();
      cancel();
      return;
    }
    const name = formatOfKey(event);
    if (name === undefined) return;
    event.preventDefault();
    act(name);
  }

  function act(name: FormatName): void {
    field.focus();
    const command = commands[name];
    if (command !== '') document.execCommand(command);
    else if (name === 'code') toggleCode();
    else startLink();
    changed();
  }

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

  function inside(selector: string): Element | null {
    const at = range()?.commonAncestorContainer;
    const found = (at instanceof Element ? at : at?.parentElement)?.closest(selector) ?? null;
    return field.contains(found) ? found : null;
  }

  function caretIn(node: Node, offset: number): void {
    selection()?.collapse(node, offset);
  }

  function toggleCode(): void {
    const at = range();
    const code = inside('code');
    if (at === null) return;
    if (code !== null && at.collapsed) {
      const after = document.createTextNode('\u200b');
      code.after(after);
      caretIn(after, 1);
    } else if (code !== null) {
      code.replaceWith(...code.childNodes);
    } else {
      const made = h('code', {}, at.toString() || '\u200b');
      at.deleteContents();
      at.insertNode(made);
      caretIn(made.firstChild ?? made, made.textContent.length);
    }
  }

  function startLink(): void {
    kept = range()?.cloneRange() ?? null;
    const existing = inside('a');
    address.value = existing instanceof HTMLAnchorElement ? existing.href : '';
    linkRow.hidden = false;
    address.focus();
  }

  function endLink(): void {
    linkRow.hidden = true;
    address.removeAttribute('aria-invalid');
    field.focus();
    if (kept !== null) {
      selection()?.removeAllRanges();
      selection()?.addRange(kept);
    }
    kept = null;
  }

  function addLink(event: Event): void {
    event.preventDefault();
    const typed = address.value.trim();
    const url = typed.includes(':') ? typed : `https://${typed}`;
    const at = kept;
    if (safeAddress(url) === null || typed === '') {
      address.setAttribute('aria-invalid', 'true');
      return;
    }
    endLink();
    const made = link(url, [document.createTextNode(at === null || at.collapsed ? typed : at.toString())]);
    if (made === null) return;
    if (at === null) field.append(made);
    else {
      at.deleteContents();
      at.insertNode(made);
    }
    const after = document.createTextNode('\u200b');
    made.after(after);
    caretIn(after, 1);
    changed();
  }

  function showMarks(): void {
    const active = range() !== null;
    formatNames.forEach((name, index) => {
      const command = commands[name];
      if (name === 'link') return;
      const on = active && (command === '' ? inside('code') !== null : document.queryCommandState(command));
      buttons[index]?.setAttribute('aria-pressed', String(on));
    });
  }

  function walkTools(event: KeyboardEvent): void {
    const forward =
      document.dir === 'rtl' || getComputedStyle(tools).direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    const backward = forward === 'ArrowRight' ? 'ArrowLeft' : 'ArrowRight';
    if (event.key !== forward && event.key !== backward) return;
    const from = buttons.findIndex((button) => button === root.activeElement);
    const to = buttons.at((from + (event.key === forward ? 1 : -1)) % buttons.length);
    for (const button of buttons) button.tabIndex = button === to ? 0 : -1;
    to?.focus();
    event.preventDefault();
  }

  function insertPlain(event: Event, data: DataTransfer | null): void {
    event.preventDefault();
    const text = data?.getData('text/plain') ?? '';
    // A text that was copied may bring a picture of itself along.
    if (text === '') attach([...(data?.files ?? [])]);
    else document.execCommand('insertText', false, text);
  }

  function fill(content: readonly Node[]): void {
    field.replaceChildren(...content);
    changed();
  }

  return {
    element,
    focus: () => field.focus(),
    edit: (content) => {
      if (content !== null && !editing) putAside = [...field.childNodes];
      editing = content !== null;
      fill(content ?? putAside);
      if (content === null) putAside = [];
      editRow.hidden = !editing;
      clip.hidden = editing;
      waiting = false;
      if (tray !== null && editing) tray.element.hidden = true;
      else tray?.show();
      const label = editing ? words.save : words.send;
      sendButton.setAttribute('aria-label', label);
      sendButton.title = label;
      field.focus();
      caretIn(field, field.childNodes.length);
    },
    draft: () => (editing ? putAside : [...field.childNodes]),
    fill,
    isEmpty: () => serializeContent(field) === null && trayState() === 'empty',
    attach,
    files: () => tray?.chosen() ?? early,
    dropFiles: () => tray?.clear(),
  };
}

/** Touch screens have no Shift at hand: there Enter makes a new line, and the button sends. */
function coarse(): boolean {
  return matchMedia('(pointer: coarse)').matches;
}
