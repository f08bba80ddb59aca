// Owns writing: the field, its keys, what is wrong with what is written, and when it goes out. Formats, links and
// files have parts of their own. Hands out what was written; must not know where it goes.
import type { TrayOptions } from '../files/tray.ts';
import { h, icon } from '../shared/dom.ts';
import { formatOfKey, isForComposition, type FormatName } from '../shared/format-keys.ts';
import { createComposerFiles, type ComposerFiles } from './composer-files.ts';
import { createEditing, type Editing } from './editing.ts';
import { icons } from './icons.ts';
import { createLinkRow, type LinkRow } from './link-row.ts';
import { serializeContent, type ComposedContent } from './serialize.ts';
import { createToolbar, type Toolbar } from './toolbar.ts';
import type { I18n } from './i18n.ts';

export interface ComposerOptions {
  readonly speech: I18n;
  readonly root: ShadowRoot;
  readonly maxLength: number;
  send(written: ComposedContent): void;
  /**
   * What stands in the field has changed; null: nothing does. Not told of a message that is changed.
   * @param typed by the visitor, just now
   */
  wrote(written: ComposedContent | null, typed: boolean): void;
  cancel(): void;
  /** Where files go. */
  readonly target: TrayOptions['target'];
}

export class Composer {
  readonly element: HTMLElement;
  readonly #options: ComposerOptions;
  readonly #field: HTMLElement;
  readonly #editing: Editing;
  readonly #toolbar: Toolbar;
  readonly #linkRow: LinkRow;
  readonly #files: ComposerFiles;
  readonly #long = h('span', { class: 'long', role: 'status' });
  readonly #sendButton: HTMLElement;
  readonly #editRow: HTMLElement;
  #putAside: readonly Node[] = [];
  /** A message is changed; what was being written is put aside. */
  #changing = false;
  /** A browser tells twice of each line that is pasted: a look at all of them each time would take minutes. */
  #pasting = false;
  /** It was filled, and not written in since. */
  #filled = false;
  /** Send was pressed: it goes out when the files are uploaded. */
  #waiting = false;

  constructor(options: ComposerOptions) {
    const { speech, root, target } = options;
    const { words } = speech;
    const changed = (): void => this.#changed();
    this.#options = options;
    const field = this.#drawField();
    this.#field = field;
    this.#editing = createEditing(field, root);
    this.#toolbar = createToolbar(words, root, this.#editing, (name) => this.#act(name));
    this.#linkRow = createLinkRow({ words, field, editing: this.#editing, onChange: changed });
    this.#files = createComposerFiles({
      speech,
      field,
      target,
      onChange: () => {
        if (this.#waiting && this.#files.state() !== 'busy') this.#submit();
        changed();
      },
      onFailed: () => {
        changed();
        this.#long.textContent = words.wrong;
      },
    });
    this.#sendButton = h(
      'button',
      {
        type: 'button',
        class: 'send',
        'aria-label': words.send,
        title: words.send,
        click: () => this.#submit(),
      },
      icon(icons.send),
    );
    this.#editRow = h(
      'div',
      { class: 'row', hidden: true },
      words.editing,
      h('button', { type: 'button', class: 'plain', click: () => options.cancel() }, words.cancel),
    );
    const { clip, picker } = this.#files;
    this.element = h(
      'div',
      { class: 'composer' },
      this.#editRow,
      this.#linkRow.element,
      field,
      h('div', { class: 'bar' }, clip, picker, this.#toolbar.element, this.#long, this.#sendButton),
    );
    changed();
  }

  focus(): void {
    this.#field.focus();
  }

  /** Starts changing a message; `null` ends it and brings back what was being written before. */
  edit(content: readonly Node[] | null): void {
    const { words } = this.#options.speech;
    if (content !== null && !this.#changing) this.#putAside = [...this.#field.childNodes];
    this.#changing = content !== null;
    this.fill(content ?? this.#putAside);
    if (content === null) this.#putAside = [];
    this.#editRow.hidden = !this.#changing;
    this.#files.clip.hidden = this.#changing;
    this.#waiting = false;
    const tray = this.#files.tray();
    if (tray !== null && this.#changing) tray.element.hidden = true;
    else tray?.show();
    const label = this.#changing ? words.save : words.send;
    this.#sendButton.setAttribute('aria-label', label);
    this.#sendButton.title = label;
    this.#field.focus();
  }

  /** What was to go out with its files does not go out by itself any more; it stays, and so do they. */
  stopWaiting(): void {
    this.#waiting = false;
    this.#changed();
  }

  /** What is being written, to carry it over. */
  draft(): readonly Node[] {
    return this.#changing ? this.#putAside : [...this.#field.childNodes];
  }

  fill(content: readonly Node[]): void {
    this.#field.replaceChildren(...content);
    this.#filled = content.length > 0;
    if (this.#options.root.activeElement === this.#field) this.#toEnd();
    this.#changed();
  }

  /** What stands in the field. */
  written(): ComposedContent | null {
    return serializeContent(this.#field);
  }

  /** Empties it altogether: what follows is another visitor's. */
  clear(): void {
    this.#putAside = [];
    if (this.#changing) this.edit(null);
    else this.fill([]);
    this.dropFiles();
  }

  /** Who goes on with what was written before goes on at its end. */
  #toEnd(): void {
    if (this.#filled) this.#editing.caretIn(this.#field, this.#field.childNodes.length);
    this.#filled = false;
  }

  isEmpty(): boolean {
    return serializeContent(this.#field) === null && this.#files.state() === 'empty';
  }

  /** Files to go with what is written. */
  attach(files: readonly File[]): void {
    this.#files.attach(files);
  }

  /** What was chosen and has not been sent, to carry it over. */
  files(): readonly File[] {
    return this.#files.chosen();
  }

  /** Takes all files out: they are another visitor's. */
  dropFiles(): void {
    this.#files.tray()?.clear();
  }

  #drawField(): HTMLElement {
    const { words } = this.#options.speech;
    const showMarks = (): void => this.#toolbar.showMarks();
    return h('div', {
      class: 'field',
      contenteditable: 'true',
      role: 'textbox',
      'aria-multiline': 'true',
      'aria-label': words.message,
      'data-hint': words.write,
      spellcheck: 'true',
      enterkeyhint: coarse() ? 'enter' : 'send',
      input: () => {
        if (this.#pasting) return;
        // What is still being written must not leave by itself.
        this.#waiting = false;
        this.#changed(true);
      },
      focus: () => this.#toEnd(),
      keydown: (event: KeyboardEvent) => this.#keydown(event),
      keyup: showMarks,
      pointerup: showMarks,
      paste: (event: ClipboardEvent) => this.#insertPlain(event, event.clipboardData),
      drop: (event: DragEvent) => this.#insertPlain(event, event.dataTransfer),
    });
  }

  /** @param typed by the visitor, just now */
  #changed(typed = false): void {
    const written = serializeContent(this.#field);
    const over = (written?.content.length ?? 0) - this.#options.maxLength;
    const empty = this.#field.textContent === '' && this.#field.querySelector('li') === null;
    this.#field.toggleAttribute('data-empty', empty);
    // The hint goes with the widget's direction, what is written with its own.
    this.#field.dir = empty ? '' : 'auto';
    this.#long.textContent =
      over > 0
        ? this.#options.speech.plural(this.#options.speech.words.long, over)
        : this.#waiting && this.#files.state() === 'busy'
          ? this.#options.speech.words.uploadWaits
          : '';
    this.#sendButton.setAttribute(
      'aria-disabled',
      String((written === null && (this.#changing || this.#files.state() === 'empty')) || over > 0),
    );
    this.#toolbar.showMarks();
    if (!this.#changing) this.#options.wrote(written, typed);
  }

  #submit(): void {
    const written = serializeContent(this.#field);
    const upload = this.#changing ? 'empty' : this.#files.state();
    this.#waiting = false;
    if ((written === null && upload === 'empty') || (written?.content.length ?? 0) > this.#options.maxLength)
      return;
    if (upload === 'failed') {
      this.#files.tray()?.explain();
      return;
    }
    if (upload === 'busy') {
      this.#waiting = true;
      this.#changed();
      return;
    }
    const taken = upload === 'ready' ? (this.#files.tray()?.take() ?? []) : [];
    this.#field.replaceChildren();
    this.#changed();
    this.#options.send({
      ...(written ?? { content: this.#files.tray()?.textOf(taken) ?? '', contentFormat: 'plain' }),
      ...(taken.length > 0 && { attachments: taken.map(({ id }) => id) }),
    });
    this.#field.focus();
  }

  #keydown(event: KeyboardEvent): void {
    if (isForComposition(event)) return;
    if (event.key === 'Enter') {
      if (event.shiftKey) {
        // A line of its own in a list, a new line anywhere else.
        event.preventDefault();
        document.execCommand(this.#editing.inside('li') === null ? 'insertLineBreak' : 'insertParagraph');
      } else if (!coarse()) {
        event.preventDefault();
        this.#submit();
      }
      return;
    }
    if (event.key === 'Escape' && this.#changing) {
      event.stopPropagation();
      this.#options.cancel();
      return;
    }
    const name = formatOfKey(event);
    if (name === undefined) return;
    event.preventDefault();
    this.#act(name);
  }

  #act(name: FormatName): void {
    this.#field.focus();
    if (name === 'link') this.#linkRow.start();
    else this.#editing.toggle(name);
    this.#changed(true);
  }

  #insertPlain(event: Event, data: DataTransfer | null): void {
    event.preventDefault();
    const text = data?.getData('text/plain') ?? '';
    // A text that was copied may bring a picture of itself along.
    if (text === '') this.#files.attach([...(data?.files ?? [])]);
    else {
      this.#waiting = false;
      this.#pasting = true;
      this.#editing.insert(text);
      this.#pasting = false;
      this.#changed(true);
    }
  }
}

/** Touch screens have no Shift at hand: there Enter makes a new line, and the button sends. */
function coarse(): boolean {
  return matchMedia('(pointer: coarse)').matches;
}
