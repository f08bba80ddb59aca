// Owns the files that go with what is written: chosen here, shown and uploaded by the tray, which is loaded with
// the first of them.
import type * as TrayFile from '../files/tray.ts';
import type { Tray, TrayOptions } from '../files/tray.ts';
import { h, icon } from '../shared/dom.ts';
import { fileRules } from './file-rules.ts';
import { icons } from './icons.ts';
import type { I18n } from './i18n.ts';

export interface ComposerFiles {
  /** The button that chooses files, and the field behind it. */
  readonly clip: HTMLButtonElement;
  readonly picker: HTMLElement;
  /** Null: no file was ever chosen, or the first is on its way. */
  tray(): Tray | null;
  /** How far the files have come, also before there is a tray. */
  state(): ReturnType<Tray['state']>;
  attach(files: readonly File[]): void;
  /** What was chosen and has not been sent. */
  chosen(): readonly File[];
}

export interface ComposerFilesOptions {
  readonly speech: I18n;
  readonly field: HTMLElement;
  readonly target: TrayOptions['target'];
  onChange(): void;
  /** The tray could not be loaded. */
  onFailed(): void;
}

let attempt = 0;

/** One that once failed to load is asked for under another address: browsers remember the failure. */
function loadTray(): Promise<typeof TrayFile> {
  const file = `${TRAY_FILE}${attempt === 0 ? '' : `?${attempt}`}`;
  return import(new URL(file, import.meta.url).href).catch((error: unknown) => {
    attempt++;
    throw error;
  });
}

export function createComposerFiles(options: ComposerFilesOptions): ComposerFiles {
  const { speech, field, target, onChange, onFailed } = options;
  const { words } = speech;
  let tray: Tray | null = null;
  /** Chosen while the tray's file is on its way. */
  const early: File[] = [];
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

  function attach(files: readonly File[]): void {
    // A message that is changed keeps the files that it has.
    if (files.length === 0 || clip.hidden === true) return;
    if (tray !== null) return tray.add(files);
    early.push(...files);
    if (early.length > files.length) return undefined;
    onChange();
    // What it needs of this file is handed to it: it shares none with it, so nothing is loaded twice or too early.
    void loadTray()
      .then(({ createTray }) => {
        tray = createTray({
          speech,
          h,
          icon,
          icons,
          rules: fileRules,
          target,
          onChange,
          focus: () => field.focus(),
        });
        field.before(tray.element);
        tray.add(early.splice(0));
      })
      .catch(() => {
        early.length = 0;
        onFailed();
      });
    return undefined;
  }

  return {
    clip,
    picker,
    tray: () => tray,
    state: () => tray?.state() ?? (early.length > 0 ? 'busy' : 'empty'),
    attach,
    chosen: () => tray?.chosen() ?? early,
  };
}
