// Owns the open panel's frame: header, composer, focus, keys, phone layout. Stands before the engine has come;
// until then what is done here waits in the launcher's queue.
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { VisibleHost } from '../launcher/host.ts';
import { h, icon, isShown } from '../shared/dom.ts';
import { isForComposition } from '../shared/format-keys.ts';
import { Composer, type ComposerOptions } from './composer.ts';
import { icons } from './icons.ts';
import { createPhoneLayout, trapFocus } from './phone-layout.ts';
import type { ComposedContent } from './serialize.ts';
import type { I18n } from './i18n.ts';

export interface PanelHandlers {
  close(): void;
  back(): void;
  sound(): void;
  send(written: ComposedContent): void;
  wrote: ComposerOptions['wrote'];
  /** No more editing of a message. */
  cancel(): void;
  /** Where files go; waits until they may. */
  target: ComposerOptions['target'];
}

export interface Panel {
  readonly i18n: I18n;
  readonly element: HTMLElement;
  /** The view with the composer: the transcript goes before it. */
  readonly chat: HTMLElement;
  readonly composer: Composer;
  readonly backButton: HTMLButtonElement;
  readonly soundButton: HTMLButtonElement;
  readonly presence: HTMLElement;
  /** Written before the engine came, where a visitor may first have to say who they are. */
  readonly queued: ComposedContent[];
  isOpen(): boolean;
  /** Shows or hides the panel and moves the focus accordingly. */
  setOpen(open: boolean): void;
  setHandlers(next: PanelHandlers): void;
  /** Focus on what the visitor will most likely use. */
  focus(): void;
  remove(): void;
}

/** What was being written, to carry it over. */
export interface PanelDraft {
  readonly content: readonly Node[];
  readonly files: readonly File[];
}

export function createPanel(shell: VisibleHost, i18n: I18n, draft: PanelDraft): Panel {
  const { words } = i18n;
  const { config } = shell;
  const life = new AbortController();
  const { signal } = life;
  const queued: ComposedContent[] = [];
  const asks = (config?.behavior.contactForm ?? 'off') !== 'off';
  let handlers: PanelHandlers = {
    close: () => {
      setOpen(false);
      void shell.call('close', []);
    },
    back: () => undefined,
    sound: () => undefined,
    send: (written) => {
      // Whether anything must be asked first, only the engine knows.
      if (asks) queued.push(written);
      else void shell.call('sendMessage', [written]);
    },
    wrote: () => undefined,
    cancel: () => undefined,
    target: async () => {
      await engine;
      return handlers.target();
    },
  };
  let engineCame = (): void => undefined;
  const engine = new Promise<void>((resolve) => {
    engineCame = resolve;
  });

  const composer = new Composer({
    speech: i18n,
    root: shell.root,
    maxLength: sizeLimits.contentRest,
    send: (written) => handlers.send(written),
    wrote: (written, typed) => handlers.wrote(written, typed),
    cancel: () => handlers.cancel(),
    target: () => handlers.target(),
  });
  const chat = drawChat(composer, words);
  const backButton = button(words.back, icons.back, () => handlers.back());
  backButton.classList.add('back');
  backButton.hidden = true;
  const soundButton = button(words.soundOn, icons.sound, () => handlers.sound());
  const presence = drawPresence(config?.online === true, words);
  const header = h(
    'header',
    {},
    backButton,
    drawLogo(config?.appearance.logo ?? null),
    h('div', { class: 'who' }, h('h2', { id: 'title' }, config?.name ?? words.chat), presence),
    soundButton,
    button(words.close, icons.close, () => handlers.close()),
  );
  const element = h(
    'div',
    { class: 'panel', role: 'dialog', 'aria-labelledby': 'title', tabindex: -1, hidden: true, keydown: keys },
    header,
    chat,
  );
  shell.box.append(element);
  keepKeys(element, signal);
  const { isPhone, fit } = createPhoneLayout(element, isOpen, signal);
  composer.fill(draft.content);
  composer.attach(draft.files);

  function isOpen(): boolean {
    return element.hidden === false;
  }

  function setOpen(open: boolean): void {
    if (isOpen() === open) return;
    const focused = element.contains(shell.root.activeElement);
    element.hidden = !open;
    shell.setOpen(open);
    fit();
    if (open) focus();
    else if (focused) shell.launcher.focus();
  }

  function focus(): void {
    focusLikely(element, composer);
  }

  function keys(event: KeyboardEvent): void {
    if (isForComposition(event)) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      handlers.close();
    }
    // Where the panel covers the page, Tab must not lead behind it.
    if (event.key === 'Tab' && isPhone()) trapFocus(element, shell.root, event);
  }

  return {
    i18n,
    element,
    chat,
    composer,
    backButton,
    soundButton,
    presence,
    queued,
    isOpen,
    setOpen,
    setHandlers: (next) => {
      handlers = next;
      engineCame();
    },
    focus,
    remove: () => {
      element.hidden = true;
      fit();
      life.abort();
      element.remove();
    },
  };
}

/** Focus on what the visitor will most likely use. */
function focusLikely(panel: HTMLElement, composer: Composer): void {
  const question = panel.querySelector<HTMLElement>('.chat form input');
  // On touch screens the keyboard would hide what there is to read.
  if (matchMedia('(pointer: coarse)').matches) panel.focus();
  else if (question !== null && isShown(question)) question.focus();
  else if (isShown(composer.element)) composer.focus();
  else panel.focus();
}

/** A page's keyboard shortcuts are not meant for what is typed in here. */
function keepKeys(element: HTMLElement, signal: AbortSignal): void {
  for (const type of ['keydown', 'keypress', 'keyup'])
    element.addEventListener(type, (event) => event.stopPropagation(), { signal });
}

function button(label: string, path: string, click: () => void): HTMLButtonElement {
  return h('button', { type: 'button', class: 'icon', 'aria-label': label, title: label, click }, icon(path));
}

/** The chat's view. Files that are dropped on it go to the composer. */
function drawChat(composer: Composer, words: I18n['words']): HTMLElement {
  /** Files over the chat, where they can be taken. A browser that opened them would leave the page. */
  const dragged = (event: DragEvent): boolean => {
    if (event.defaultPrevented || event.dataTransfer?.types.includes('Files') !== true) return false;
    event.preventDefault();
    const taken = isShown(composer.element);
    chat.toggleAttribute('data-over', taken);
    return taken;
  };
  const chat = h(
    'div',
    {
      class: 'chat',
      'data-drop': words.dropHere,
      dragover: dragged,
      dragleave: ({ relatedTarget }: DragEvent) =>
        chat.toggleAttribute('data-over', relatedTarget instanceof Node && chat.contains(relatedTarget)),
      drop: (event: DragEvent) => {
        const taken = dragged(event);
        chat.removeAttribute('data-over');
        if (taken) composer.attach([...(event.dataTransfer?.files ?? [])]);
      },
    },
    composer.element,
  );
  return chat;
}

/** Whether a member of the staff is there, when the panel opens. */
function drawPresence(online: boolean, words: I18n['words']): HTMLElement {
  const presence = h('p', { class: 'presence' }, online ? words.online : words.away);
  presence.classList.toggle('on', online);
  return presence;
}

/** The organization's picture; nothing where it has none, or where it does not load. */
function drawLogo(src: string | null): HTMLElement {
  const logo = h('span', { class: 'logo' });
  if (src !== null)
    logo.append(
      h('img', { src, alt: '', referrerpolicy: 'no-referrer', error: () => logo.replaceChildren() }),
    );
  return logo;
}
