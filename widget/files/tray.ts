// Owns the files that a visitor has chosen: made smaller, uploaded one after another, shown with how far they are, taken
// out again. Loaded with the first file; it takes the panel's means as arguments, so that it shares no file with it.
import type { FileRefusal, FileRules } from '../../src/sdk/attachments.ts';
import { newKey, refusalOf, textOfNames } from '../../src/sdk/attachments.ts';
import { sizeText } from '../../src/sdk/shown-files.ts';
import type { SdkFile } from '../../src/sdk/types.ts';
import type { I18n } from '../panel/i18n.ts';
import type { h as makeElement, icon as makeIcon } from '../shared/dom.ts';
import { drawThumbnail, mayShrink, shrinkPicture } from '../shared/shrink-picture.ts';
import { uploadFile, type FileTarget } from '../../src/sdk/files.ts';

export type TrayState = 'empty' | 'busy' | 'failed' | 'ready';

export interface Tray {
  readonly element: HTMLElement;
  add(files: readonly File[]): void;
  /** `failed` where something can't be sent, even while other files are on their way. */
  state(): TrayState;
  /** The files as they were chosen, to carry them over. */
  chosen(): readonly File[];
  /** What was uploaded, to be sent; the tray is empty afterwards. */
  take(): readonly SdkFile[];
  /** Takes everything out. */
  clear(): void;
  /** The text of a message that is files alone. */
  textOf(files: readonly SdkFile[]): string;
  /** Shows it where there is something in it. */
  show(): void;
  /** Says again what stands in the way, and brings it into focus. */
  explain(): void;
}

export interface TrayOptions {
  readonly speech: I18n;
  readonly h: typeof makeElement;
  readonly icon: typeof makeIcon;
  readonly rules: FileRules;
  readonly icons: { readonly close: string };
  /** Where files go; waits for what has to come first. */
  target(): Promise<FileTarget>;
  /** What is in the tray, or how far it is, has changed. */
  onChange(): void;
  /** The tray's buttons are gone: where the focus goes. */
  focus(): void;
}

interface Chosen {
  readonly original: File;
  readonly key: string;
  readonly life: AbortController;
  readonly element: HTMLElement;
  readonly about: HTMLElement;
  readonly bar: HTMLProgressElement;
  readonly again: HTMLButtonElement;
  readonly out: HTMLButtonElement;
  /** Made smaller, where that helped. */
  file: File | null;
  uploaded: SdkFile | null;
  problem: string;
}

const thumbnailSide = 72;

export function createTray(options: TrayOptions): Tray {
  const { speech, h, rules, onChange, focus } = options;
  const { words } = speech;
  const list = h('ul', { role: 'list', 'aria-label': words.files });
  const status = h('p', { class: 'unseen', role: 'status' });
  const trouble = h('p', { class: 'trouble', hidden: true });
  const element = h('div', { class: 'tray', hidden: true }, list, trouble, status);
  let entries: readonly Chosen[] = [];
  let busy = false;

  function add(files: readonly File[]): void {
    const refused: string[] = [];
    for (const file of files) {
      const { name } = file;
      const size = mayShrink(file) ? Math.min(file.size, 1) : file.size;
      const why = refusalOf({ name, size }, entries.length, rules);
      if (why === null) {
        const entry = drawEntry(file, options, { retry, remove });
        list.append(entry.element);
        entries = [...entries, entry];
      } else refused.push(refusalText(why, file.name, options));
    }
    // One sentence where ten say the same.
    say([...new Set(refused)].join(' '));
    changed();
    void pump();
  }

  async function pump(): Promise<void> {
    if (busy) return;
    busy = true;
    // One at a time: each is sooner there, and a slow line is not shared.
    for (;;) {
      const entry = entries.find(({ uploaded, problem }) => uploaded === null && problem === '');
      if (entry === undefined) break;
      await carry(entry, options, say);
      changed();
    }
    busy = false;
  }

  function retry(entry: Chosen): void {
    entry.problem = '';
    entry.element.className = '';
    entry.about.textContent = sizeText((entry.file ?? entry.original).size, speech.tag);
    entry.bar.value = 0;
    entry.bar.hidden = false;
    entry.again.hidden = true;
    entry.out.focus();
    say('');
    changed();
    void pump();
  }

  function remove(entry: Chosen): void {
    const at = entries.indexOf(entry);
    entry.life.abort();
    entry.element.remove();
    entries = entries.filter((one) => one !== entry);
    const next = entries[at] ?? entries.at(-1);
    if (next === undefined) focus();
    else next.out.focus();
    say('');
    changed();
  }

  /** @param unseen for who can't see it: others see it beside the file */
  function say(text: string, unseen = false): void {
    status.textContent = text;
    if (unseen) return;
    trouble.textContent = text;
    trouble.hidden = text === '';
  }

  function changed(): void {
    element.hidden = entries.length === 0 && trouble.hidden !== false;
    list.hidden = entries.length === 0;
    onChange();
  }

  function clear(): void {
    for (const { life, element: shown } of entries) {
      life.abort();
      shown.remove();
    }
    entries = [];
    say('');
    changed();
  }

  return {
    element,
    add,
    state: () => stateOf(entries),
    chosen: () => entries.map(({ original }) => original),
    take: () => {
      const files = entries.flatMap(({ uploaded }) => (uploaded === null ? [] : [uploaded]));
      clear();
      return files;
    },
    clear,
    textOf: (files) => textOfNames(files.map(({ name }) => name)),
    show: changed,
    explain: () => {
      const failed = entries.find(({ problem }) => problem !== '');
      if (failed === undefined) return;
      say(`${failed.original.name}: ${failed.problem}`, true);
      (failed.again.hidden === true ? failed.out : failed.again).focus();
    },
  };
}

function stateOf(entries: readonly Chosen[]): TrayState {
  if (entries.length === 0) return 'empty';
  if (entries.some(({ problem }) => problem !== '')) return 'failed';
  return entries.some(({ uploaded }) => uploaded === null) ? 'busy' : 'ready';
}

/** Makes a file smaller where that helps, and uploads it. @param say tells it to who can't see it */
async function carry(
  entry: Chosen,
  options: TrayOptions,
  say: (text: string, unseen: boolean) => void,
): Promise<void> {
  const { speech, target } = options;
  const { key, life, bar, original } = entry;
  const { signal } = life;
  const gone = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('removed')));
  });
  // Taken out after it was uploaded: then no one waits for it.
  gone.catch(() => undefined);
  try {
    const file = entry.file ?? (await shrinkPicture(original));
    entry.file = file;
    if (signal.aborted) return;
    entry.about.textContent = sizeText(file.size, speech.tag);
    if (file.size > options.rules.maxBytes) throw new TooLarge();
    const sent = target().then((found) =>
      uploadFile(found, file, {
        key,
        signal,
        onProgress: (share) => {
          bar.value = share;
        },
      }),
    );
    entry.uploaded = await Promise.race([gone, sent]);
    bar.hidden = true;
    say(speech.interpolate(speech.words.uploaded, { name: original.name }), true);
  } catch (error) {
    if (signal.aborted) return;
    entry.problem = problemText(error, original.name, options);
    entry.element.className = 'failed';
    entry.about.textContent = entry.problem;
    bar.hidden = true;
    entry.again.hidden = isFinal(error);
    say(`${original.name}: ${entry.problem}`, true);
  }
}

interface EntryActs {
  retry(entry: Chosen): void;
  remove(entry: Chosen): void;
}

/** One file as it stands in the tray. */
function drawEntry(original: File, { speech, h, icon, icons }: TrayOptions, acts: EntryActs): Chosen {
  const { words } = speech;
  const { name, size } = original;
  const about = h('small', {}, sizeText(size, speech.tag));
  const bar = h('progress', { max: 1, value: 0, 'aria-label': speech.interpolate(words.uploads, { name }) });
  const again = h(
    'button',
    { type: 'button', class: 'plain', hidden: true, click: () => acts.retry(entry) },
    words.retry,
  );
  const label = speech.interpolate(words.takeOut, { name });
  const out = h(
    'button',
    { type: 'button', class: 'tool', 'aria-label': label, title: label, click: () => acts.remove(entry) },
    icon(icons.close),
  );
  const picture = h('span', { class: 'thumb', 'aria-hidden': 'true' });
  const entry: Chosen = {
    original,
    key: newKey(),
    life: new AbortController(),
    element: h(
      'li',
      {},
      picture,
      h('span', { class: 'what' }, h('b', {}, h('bdi', {}, name)), about, bar),
      again,
      out,
    ),
    about,
    bar,
    again,
    out,
    file: null,
    uploaded: null,
    problem: '',
  };
  void drawThumbnail(original, thumbnailSide).then((drawn) => drawn !== null && picture.append(drawn));
  return entry;
}

function refusalText(why: FileRefusal, name: string, { speech, rules }: TrayOptions): string {
  return speech.interpolate(speech.words[why], {
    name,
    size: sizeText(rules.maxBytes, speech.tag),
    n: String(rules.maxFiles),
  });
}

function problemText(error: unknown, name: string, options: TrayOptions): string {
  const { words } = options.speech;
  const code = codeOf(error);
  if (code === 'payload_too_large') return refusalText('tooLarge', name, options);
  if (code === 'file_rejected') return words.rejected;
  if (code === 'plan_limit') return words.noSpace;
  if (code === 'network') return words.notUploaded;
  return code === 'rate_limit_exceeded' ? words.later : words.wrong;
}

/** Too large even after it was made smaller: the service need not be asked. */
class TooLarge extends Error {
  readonly code = 'payload_too_large';
}

/** What the service said; `network`: it was not reached. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'network';
}

/** What is refused for what it is, is refused again. */
function isFinal(error: unknown): boolean {
  return ['payload_too_large', 'file_rejected', 'bad_request', 'forbidden'].includes(codeOf(error));
}
