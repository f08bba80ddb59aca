// Owns the conversation in the frame: which view is shown, what is sent, edited and read. Everything it knows
// comes from the engine's state; everything it does goes through the engine's methods.
import { visitorApiPrefix } from '../../src/protocol/codes.ts';
import { attachmentIn, newestPage } from '../../src/sdk/attachments.ts';
import type { SdkApi, SdkAttachment, SdkMessage, SdkState } from '../../src/sdk/types.ts';
import type { VisibleHost } from '../launcher/host.ts';
import type { Panel, PanelDraft } from '../panel/panel.ts';
import { icons } from '../panel/icons.ts';
import type { ComposedContent } from '../panel/serialize.ts';
import { h, icon } from '../shared/dom.ts';
import { createLiveRegion } from './live-region.ts';
import { createContactForm } from './contact-form.ts';
import type { Contact } from './contact.ts';
import { createConversationList } from './conversation-list.ts';
import { createNotices } from './notices.ts';
import { renderContent } from './rich-text.ts';
import { createTranscript } from './transcript.ts';

export interface Conversation {
  update(state: SdkState): void;
  /** What is being written, to carry over into another language. */
  draft(): PanelDraft;
  remove(): void;
}

export interface ConversationOptions {
  readonly api: SdkApi;
  readonly shell: VisibleHost;
  readonly frame: Panel;
  readonly sound: { isOn(): boolean; toggle(): void };
  readonly contact: Contact;
}

export function createConversation({ api, shell, frame, sound, contact }: ConversationOptions): Conversation {
  const { i18n, composer, chat, backButton, soundButton, presence } = frame;
  const { words } = i18n;
  const life = new AbortController();
  const announcer = createLiveRegion(life.signal);
  const notices = createNotices(i18n);
  const transcript = createTranscript({
    api,
    speech: i18n,
    onEdit,
    onError,
    onSeen: markRead,
    renew,
    base: shell.options.apiBaseUrl ?? location.href,
  });
  const list = createConversationList({ api, speech: i18n, onSelect: (id) => void choose(id), onError });
  const again = h(
    'button',
    { type: 'button', class: 'primary', click: () => void choose(null) },
    words.again,
  );
  const ended = h('div', { class: 'ended', hidden: true }, h('p', {}, words.ended), again);
  const form = createContactForm({ api, speech: i18n, contact });
  let asking = false;
  /** Files that wait until the visitor has said who they are. */
  const uploads: (() => void)[] = [];
  let view: 'chat' | 'list' = 'chat';
  let editing: SdkMessage | null = null;
  let state = api.getState();
  let caughtUp = false;
  /** Its messages have just come, and how many of them are unread is not known yet: to mark them is to know. */
  let justLoaded = false;

  chat.prepend(transcript.element, notices.element, ended, form.element);
  frame.element.append(list.element);
  shell.box.append(announcer.element);
  frame.setHandlers({
    close: () => api.close(),
    back: () => show('list'),
    sound: () => {
      sound.toggle();
      showSound();
    },
    send,
    typing: () => api.setTyping(),
    cancel: () => onEdit(null),
    target: async () => {
      if (contact.shouldAsk(state))
        await new Promise<void>((resolve) => {
          uploads.push(resolve);
          update(state);
        });
      // The first file makes a visitor, as the first message does.
      const visitorId = state.visitorId ?? (await api.identify(shell.options.user ?? {})).id;
      const { appId, apiBaseUrl = '' } = shell.options;
      return {
        address: `${apiBaseUrl}${visitorApiPrefix}/files`,
        headers: { 'X-App-Id': appId, 'X-Visitor-Id': visitorId },
      };
    },
  });
  document.addEventListener('visibilitychange', markRead, { signal: life.signal });
  // The browser knows of a lost network long before a connection does.
  for (const type of ['online', 'offline'])
    window.addEventListener(type, () => notices.update(state), { signal: life.signal });
  const undo = api.on('message', (message) => {
    if (state.open)
      announcer.announce(
        i18n.interpolate(words.said, {
          name: message.own ? words.you : message.senderName,
          text: textOf(message),
        }),
      );
  });
  showSound();
  contact.pending.push(...frame.queued.splice(0));
  contact.onChange = () => update(api.getState());

  function update(next: SdkState): void {
    if (state.visitorId !== null && next.visitorId === null) {
      contact.clear();
      composer.dropFiles();
    }
    const { connection, online, conversations, conversationId, open } = next;
    if (conversationId !== state.conversationId) justLoaded = false;
    else if (next.loaded && !state.loaded) justLoaded = next.messages.some(({ own }) => !own);
    state = next;
    presence.textContent =
      connection === 'connecting' ? words.connecting : online ? words.online : words.away;
    presence.classList.toggle('on', online);
    backButton.hidden = view === 'list' || conversations.length === 0;
    chat.hidden = view === 'list';
    list.element.hidden = view === 'chat';
    const closed = conversations.find(({ id }) => id === conversationId)?.status === 'closed';
    const focused = composer.element.contains(shell.root.activeElement);
    if (closed && ended.hidden === true && open) announcer.announce(words.ended);
    ended.hidden = !closed;
    // No visitor is interrupted in the middle of a sentence: then the form comes when it is to be sent.
    const due = contact.shouldAsk(next);
    asking = due && (asking || contact.pending.length > 0 || uploads.length > 0 || composer.isEmpty());
    const answering = form.element.contains(shell.root.activeElement);
    composer.element.hidden = asking || (closed && editing === null);
    form.update(asking);
    if (focused && asking) form.focus();
    else if (focused && composer.element.hidden) again.focus();
    else if (answering && !asking) frame.focus();
    if (!due) for (const go of uploads.splice(0)) go();
    // Through the launcher's queue, behind whatever the page itself has asked for before.
    if (!due)
      for (const written of contact.pending.splice(0))
        shell.call('sendMessage', [written]).catch(() => undefined);
    if (open && !caughtUp) {
      caughtUp = true;
      catchUp().catch(onError);
    }
    if (view === 'chat' && open) transcript.update(next);
    notices.update(next);
    list.update(next);
    markRead();
  }

  function showSound(): void {
    const label = sound.isOn() ? words.soundOn : words.soundOff;
    soundButton.replaceChildren(icon(sound.isOn() ? icons.sound : icons.mute));
    soundButton.setAttribute('aria-label', label);
    soundButton.title = label;
  }

  function markRead(): void {
    const unread = state.conversations.find(({ id }) => id === state.conversationId)?.unread ?? 0;
    if (
      (unread === 0 && !justLoaded) ||
      !state.loaded ||
      !state.open ||
      view !== 'chat' ||
      !transcript.atEnd() ||
      document.visibilityState !== 'visible'
    )
      return;
    justLoaded = false;
    api.markRead().catch(() => undefined);
  }

  function show(next: 'chat' | 'list'): void {
    view = next;
    if (next === 'list') api.listConversations().catch(onError);
    update(api.getState());
    if (next === 'list') list.focus();
    else frame.focus();
  }

  async function choose(id: string | null): Promise<void> {
    onEdit(null);
    await api.openConversation(id).catch(onError);
    show('chat');
  }

  function send(written: ComposedContent): void {
    const changed = editing;
    onEdit(null);
    if (changed === null && contact.shouldAsk(state)) {
      contact.pending.push(written);
      update(state);
    } else if (changed === null) api.sendMessage(written).catch(() => undefined);
    else api.editMessage(changed.id, written).catch(onError);
  }

  function onEdit(message: SdkMessage | null): void {
    if (message === editing) return;
    editing = message;
    update(state);
    composer.edit(message === null ? null : renderContent(message.content, message.contentFormat));
    if (message === null) update(state);
  }

  function onError(error: unknown): void {
    const code = (error as { readonly code?: string }).code?.toLowerCase() ?? '';
    if (code === 'destroyed') return;
    const text =
      code === 'edit_window_expired' ? words.late : code === 'network' ? words.offline : words.wrong;
    notices.showError(text);
    announcer.announce(text);
  }

  /** A file with an address that holds for another while, as the history has it now. */
  async function renew(message: SdkMessage, { id }: SdkAttachment): Promise<SdkAttachment | null> {
    const { appId, apiBaseUrl = '' } = shell.options;
    const path = newestPage(message.conversationId, state.messages, message.id);
    const answer = await fetch(`${apiBaseUrl}${visitorApiPrefix}${path}`, {
      headers: { 'X-App-Id': appId, 'X-Visitor-Id': state.visitorId ?? '' },
    }).catch(() => null);
    return answer?.ok === true ? attachmentIn(await answer.json(), message.id, id) : null;
  }

  /** Shows the visitor's newest conversation that is not over, or the list when all are. */
  async function catchUp(): Promise<void> {
    if (api.getState().visitorId === null || state.conversationId !== null) return;
    // What is there already is kept up to date: then there is nothing to ask for. Never in the middle of an update.
    const { conversations } = await (state.conversations.length > 0 ? state : api.listConversations());
    if (
      state.conversationId === null &&
      conversations.length === 0 &&
      contact.enabled &&
      (await api.identify({})).name === null
    )
      contact.reopen();
    if (state.conversationId !== null || conversations.length === 0 || !composer.isEmpty()) return;
    const going = conversations.find(({ status }) => status !== 'closed');
    if (going === undefined) show('list');
    else await api.openConversation(going.id);
  }

  return {
    update,
    draft: () => ({ content: composer.draft(), files: composer.files() }),
    remove: () => {
      undo();
      life.abort();
      notices.stop();
      announcer.element.remove();
    },
  };
}

function textOf({ content, contentFormat }: SdkMessage): string {
  return h('div', {}, ...renderContent(content, contentFormat)).textContent;
}
