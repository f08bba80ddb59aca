// Owns the second stage: the frame with its composer, in the visitor's language. Then sends for the third, the
// engine and the conversation. Loaded when a visitor reaches for the launcher, not before.
import type { DrawnShell, PanelModule, RoomModule, Shell } from '../launcher/shell.ts';
import { sheet } from '../shared/dom.ts';
import { chooseLanguage, isRightToLeft } from '../shared/languages.ts';
import { createFrame, type Frame } from './frame.ts';
import css from './panel.css';
import { learn } from './speech.ts';

let attempt = 0;
let frames: WeakMap<Shell, Promise<Frame>> | null = null;

export const start: PanelModule['start'] = async (shell, open) => {
  frames ??= new WeakMap();
  const frame = isDrawn(shell) ? await (frames.get(shell) ?? keep(shell, makeFrame(shell, null, []))) : null;
  if (open) frame?.setOpen(true);
  // A file that once failed to load is asked for under another address: browsers remember the failure.
  const room = (await import(new URL(`${ROOM_FILE}${attempt === 0 ? '' : `?${attempt}`}`, import.meta.url).href).catch((error: unknown) => {
    attempt++;
    throw error;
  })) as RoomModule;
  if (shell.signal.aborted) {
    frame?.remove();
    throw new Error('The widget was destroyed.');
  }
  return room.enter(shell, frame, (locale, draft) => makeFrame(shell as DrawnShell, locale, draft));
};

function keep(shell: Shell, made: Promise<Frame>): Promise<Frame> {
  frames?.set(shell, made);
  return made;
}

function isDrawn(shell: Shell): shell is DrawnShell {
  return shell.box !== null;
}

/** The frame in the language of the locale, or of the site or the browser where there is none. */
async function makeFrame(shell: DrawnShell, locale: string | null, draft: readonly Node[]): Promise<Frame> {
  const { options, config, root } = shell;
  const { language, tag } = chooseLanguage([locale, options.locale, config?.locale, document.documentElement.lang, navigator.language]);
  const speech = await learn(language, tag);
  shell.setLanguage(speech.tag, isRightToLeft(language));
  if (root.adoptedStyleSheets.length === 1) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet(css)];
  return createFrame(shell, speech, draft);
}
