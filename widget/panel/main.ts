// Owns the second stage: the frame with its composer, in the visitor's language. Then sends for the third, the
// engine and the conversation. Loaded when a visitor reaches for the launcher, not before.
import type { VisibleHost, PanelModule, ConversationModule, WidgetHost } from '../launcher/host.ts';
import { sheet } from '../shared/dom.ts';
import { chooseLanguage, isRightToLeft } from '../shared/languages.ts';
import { createPanel, type Panel, type PanelDraft } from './panel.ts';
import css from './panel.css';
import { loadI18n } from './i18n.ts';

let attempt = 0;
let frames: WeakMap<WidgetHost, Promise<Panel>> | null = null;

export const start: PanelModule['start'] = async (shell, open) => {
  frames ??= new WeakMap();
  const frame = isDrawn(shell)
    ? await (frames.get(shell) ?? keep(shell, makeFrame(shell, null, { content: [], files: [] })))
    : null;
  if (open) frame?.setOpen(true);
  // A file that once failed to load is asked for under another address: browsers remember the failure.
  const room = (await import(
    new URL(`${CONVERSATION_FILE}${attempt === 0 ? '' : `?${attempt}`}`, import.meta.url).href
  ).catch((error: unknown) => {
    attempt++;
    throw error;
  })) as ConversationModule;
  if (shell.signal.aborted) {
    frame?.remove();
    throw new Error('The widget was destroyed.');
  }
  return room.start(shell, frame, (locale, draft) => makeFrame(shell as VisibleHost, locale, draft));
};

function keep(shell: WidgetHost, made: Promise<Panel>): Promise<Panel> {
  frames?.set(shell, made);
  return made;
}

function isDrawn(shell: WidgetHost): shell is VisibleHost {
  return shell.box !== null;
}

/** The frame in the language of the locale, or of the site or the browser where there is none. */
async function makeFrame(shell: VisibleHost, locale: string | null, draft: PanelDraft): Promise<Panel> {
  const { options, config, root } = shell;
  const { language, tag } = chooseLanguage([
    locale,
    options.locale,
    config?.locale,
    document.documentElement.lang,
    navigator.language,
  ]);
  const speech = await loadI18n(language, tag);
  shell.setLanguage(speech.tag, isRightToLeft(language));
  if (root.adoptedStyleSheets.length === 1)
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet(css)];
  return createPanel(shell, speech, draft);
}
