// Owns the conversation in the frame: which view is shown, what is sent, edited and read. Everything it knows
// comes from the engine's state; everything it does goes through the engine's methods.
import type { SdkApi, SdkMessage, SdkState } from '../../src/sdk/types.ts';
import type { VisibleHost } from '../launcher/host.ts';
import type { Panel, PanelDraft } from '../panel/panel.ts';
import { icons } from '../panel/icons.ts';
import type { ComposedContent } from '../panel/serialize.ts';
import { h, icon } from '../shared/dom.ts';
import { catchUp } from './catch-up.ts';
import { createLiveRegion } from './live-region.ts';
import { createContactGate, type ContactGate } from './contact-gate.ts';
import type { Contact } from './contact.ts';
import { createConversationList, type ConversationList } from './conversation-list.ts';
import type { Drafts } from './drafts.ts';
import { createNotices, type Notices } from './notices.ts';
import { renderContent } from './rich-text.ts';
import { createTranscript, type Transcript } from './transcript.ts';
import { createTranscriptRequest } from './transcript-request.ts';
import { renewFile, uploadTarget } from './visitor-files.ts';

export interface ConversationOptions {
  readonly api: SdkApi;
  readonly shell: VisibleHost;
  readonly frame: Panel;
  readonly sound: { isOn(): boolean; toggle(): void };
  readonly contact: Contact;
  readonly drafts: Drafts;
  /** What time it is at the service, in ms since the epoch. */
  now(): number;
}

/** The conversation in a panel's frame, in one language. */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #life = new AbortController();
  readonly #liveRegion = createLiveRegion(this.#life.signal);
  readonly #notices: Notices;
  readonly #transcript: Transcript;
  readonly #list: ConversationList;
  readonly #gate: ContactGate;
  readonly #again: HTMLElement;
  readonly #ended: HTMLElement;
  readonly #transcriptRequest: ReturnType<typeof createTranscriptRequest>;
  readonly #stopHearing: () => void;
  #state: SdkState;
  #view: 'chat' | 'list' = 'chat';
  #editing: SdkMessage | null = null;
  #caughtUp = false;
  /** What was not sent, with its files: the engine tells nothing of those. */
  readonly #refused: ComposedContent[] = [];
  /** Its messages have just come, and how many of them are unread is not known yet: to mark them is to know. */
  #justLoaded = false;

  readonly #onError = (error: unknown): void => {
    const code = codeOf(error);
    if (code === 'destroyed') return;
    const { words } = this.#options.frame.i18n;
    this.#say(code === 'network' ? words.offline : words.wrong);
  };

  readonly #onChangeError = (error: unknown): void => {
    const { words } = this.#options.frame.i18n;
    const code = codeOf(error);
    if (code !== 'destroyed') this.#say(code === 'edit_window_expired' ? words.late : words.wrong);
  };

  constructor(options: ConversationOptions) {
    const { api, shell, frame, contact, now } = options;
    const { i18n, chat } = frame;
    const { words } = i18n;
    const onError = this.#onError;
    this.#options = options;
    this.#state = api.getState();
    this.#notices = createNotices(i18n, (text) => this.#liveRegion.announce(text));
    this.#transcript = createTranscript({
      api,
      speech: i18n,
      onEdit: (message) => this.#onEdit(message),
      onRetry: (message) => void this.#retry(message).catch(() => undefined),
      onError,
      onChangeError: this.#onChangeError,
      onSeen: () => this.#markRead(),
      now,
      signal: this.#life.signal,
      renew: (message, file) => renewFile(shell, this.#state, message, file),
      base: shell.options.apiBaseUrl ?? location.href,
    });
    this.#list = createConversationList({
      api,
      speech: i18n,
      onSelect: (id) => void this.#choose(id),
      onError,
    });
    this.#again = h(
      'button',
      { type: 'button', class: 'primary', click: () => void this.#choose(null) },
      words.again,
    );
    this.#transcriptRequest = createTranscriptRequest({
      api,
      shell,
      tag: i18n.tag,
      announce: (text) => this.#liveRegion.announce(text),
      onError,
    });
    this.#ended = h(
      'div',
      { class: 'ended', hidden: true },
      h('p', {}, words.ended),
      this.#transcriptRequest.element,
      this.#again,
    );
    this.#gate = createContactGate({
      api,
      speech: i18n,
      contact,
      // Through the launcher's queue, behind whatever the page itself has asked for before.
      send: (written) => void shell.call('sendMessage', [written]).catch(() => undefined),
      onWait: () => this.update(this.#state),
    });
    chat.prepend(this.#transcript.element, this.#notices.element, this.#ended, this.#gate.element);
    frame.element.append(this.#list.element);
    shell.box.append(this.#liveRegion.element);
    this.#stopHearing = this.#listen();
    this.#showSound();
    this.#gate.hold(frame.queued.splice(0));
    contact.onChange = () => this.update(api.getState());
  }

  /** What is being written, to carry over into another language. */
  draft(): PanelDraft {
    const { composer } = this.#options.frame;
    return { content: composer.draft(), files: composer.files() };
  }

  remove(): void {
    this.#stopHearing();
    this.#life.abort();
    this.#notices.stop();
    this.#liveRegion.element.remove();
  }

  /** Whether the service has turned this page away. */
  setWithdrawn(withdrawn: boolean): void {
    this.#notices.setWithdrawn(withdrawn);
    // Who is there, or replies soon, hears nothing from here.
    this.#options.frame.presence.hidden = withdrawn;
  }

  /** What was written here was another visitor's. */
  forget(): void {
    const { contact, drafts, frame } = this.#options;
    contact.clear();
    this.#editing = null;
    drafts.forget(frame.composer);
  }

  update(next: SdkState): void {
    const { api, frame, contact, drafts } = this.#options;
    const { composer } = frame;
    if (this.#state.visitorId !== null && next.visitorId === null) this.forget();
    if (this.#editing !== null && this.#editing.conversationId !== next.conversationId) {
      this.#editing = null;
      composer.edit(null);
    }
    const { conversationId, open, loaded, messages } = next;
    if (isListed(this.#state, conversationId) && !isListed(next, conversationId))
      // A draft that becomes a conversation has another name a moment later.
      queueMicrotask(() => this.#leaveGone());
    if (conversationId !== this.#state.conversationId) this.#justLoaded = false;
    else if (loaded && !this.#state.loaded) this.#justLoaded = messages.some(({ own }) => !own);
    this.#state = next;
    drafts.follow(next, composer);
    this.#updateFrame(next);
    this.#updateComposer(next);
    this.#gate.release(next);
    if (open && !this.#caughtUp) {
      this.#caughtUp = true;
      catchUp({ api, contact, composer, drafts, showList: () => this.#show('list') }).catch(this.#onError);
    }
    if (this.#view === 'chat' && open) this.#transcript.update(next);
    this.#notices.update(next);
    this.#list.update(next);
    this.#markRead();
  }

  #updateFrame({ connection, online, conversations }: SdkState): void {
    const { presence, backButton, chat, i18n } = this.#options.frame;
    const { words } = i18n;
    presence.textContent =
      connection === 'connecting' ? words.connecting : online ? words.online : words.away;
    presence.classList.toggle('on', online);
    backButton.hidden = this.#view === 'list' || conversations.length === 0;
    chat.hidden = this.#view === 'list';
    this.#list.element.hidden = this.#view === 'chat';
  }

  /** In the composer's place may be the contact form, or that the conversation has ended. */
  #updateComposer(next: SdkState): void {
    const { shell, frame } = this.#options;
    const { composer, i18n } = frame;
    const closed = next.conversations.find(({ id }) => id === next.conversationId)?.status === 'closed';
    const focused = composer.element.contains(shell.root.activeElement);
    const answering = this.#gate.element.contains(shell.root.activeElement);
    if (closed && this.#ended.hidden === true && next.open) this.#liveRegion.announce(i18n.words.ended);
    this.#ended.hidden = !closed;
    this.#transcriptRequest.update(next.conversationId);
    this.#gate.update(next, composer.isEmpty());
    composer.element.hidden = this.#gate.isAsking() || (closed && this.#editing === null);
    if (focused && this.#gate.isAsking()) this.#gate.focus();
    else if (focused && composer.element.hidden) this.#again.focus();
    else if (answering && !this.#gate.isAsking()) frame.focus();
  }

  #showSound(): void {
    const { frame, sound } = this.#options;
    const { soundButton, i18n } = frame;
    const label = sound.isOn() ? i18n.words.soundOn : i18n.words.soundOff;
    soundButton.replaceChildren(icon(sound.isOn() ? icons.sound : icons.mute));
    soundButton.setAttribute('aria-label', label);
    soundButton.title = label;
  }

  #markRead(): void {
    const unread = this.#state.conversations.find(({ id }) => id === this.#state.conversationId)?.unread ?? 0;
    if (
      (unread === 0 && !this.#justLoaded) ||
      !this.#state.loaded ||
      !this.#state.open ||
      !this.#state.visible ||
      this.#view !== 'chat' ||
      !this.#transcript.atEnd() ||
      document.visibilityState !== 'visible'
    )
      return;
    this.#justLoaded = false;
    this.#options.api.markRead().catch(() => undefined);
  }

  #show(next: 'chat' | 'list'): void {
    const { api, frame } = this.#options;
    this.#view = next;
    if (next === 'list') api.listConversations().catch(this.#onError);
    this.update(api.getState());
    if (next === 'list') this.#list.focus();
    else frame.focus();
  }

  async #choose(id: string | null): Promise<void> {
    this.#onEdit(null);
    // What waits for its files was written for the conversation that is left: it stays where it was written.
    if (id !== this.#state.conversationId) this.#options.frame.composer.stopWaiting();
    await this.#options.api.openConversation(id).catch(this.#onError);
    this.#show('chat');
  }

  #send(written: ComposedContent): void {
    const { api, contact } = this.#options;
    const changed = this.#editing;
    this.#onEdit(null);
    if (changed === null && contact.shouldAsk(this.#state)) {
      this.#gate.hold([written]);
      this.update(this.#state);
    } else if (changed === null) api.sendMessage(written).catch(() => void this.#refused.push(written));
    else
      api.editMessage(changed.id, written).catch((error: unknown) => {
        this.#onChangeError(error);
        // What was corrected is not lost with it, unless something else has been begun.
        if (this.#editing === null && this.#state.conversationId === changed.conversationId)
          this.#onEdit(changed, written);
      });
  }

  /** A conversation that is over takes nothing more: what was refused there begins a new one. */
  async #retry({ key, error, content, contentFormat }: SdkMessage): Promise<void> {
    const { api } = this.#options;
    if (error?.code !== 'conversation_not_active' && error?.code !== 'not_found') {
      await api.retry(key);
      return;
    }
    const { attachments } = this.#refused.find((one) => one.content === content) ?? {};
    await api.deleteMessage(key);
    await this.#choose(null);
    this.#send({ content, contentFormat, ...(attachments && { attachments }) });
  }

  /** @param content what is put in its place, as far as that has been written */
  #onEdit(
    message: SdkMessage | null,
    content: Pick<ComposedContent, 'content' | 'contentFormat'> | null = message,
  ): void {
    if (message === this.#editing) return;
    this.#editing = message;
    this.update(this.#state);
    this.#options.frame.composer.edit(
      content === null ? null : renderContent(content.content, content.contentFormat),
    );
    if (message === null) this.update(this.#state);
  }

  /** The open conversation is not there any more: nothing can be read or sent there. */
  #leaveGone(): void {
    const { api } = this.#options;
    const state = api.getState();
    if (state.conversationId !== null && !isListed(state, state.conversationId))
      void api.openConversation(null).catch(this.#onError);
  }

  /** To those who see it, and to those who hear it. */
  #say(text: string): void {
    this.#notices.showError(text);
    this.#liveRegion.announce(text);
  }

  /** Takes over the frame's buttons and what happens around it. @returns what ends hearing messages */
  #listen(): () => void {
    const { api, shell, frame, sound, contact, drafts } = this.#options;
    const { i18n, composer } = frame;
    const { signal } = this.#life;
    frame.setHandlers({
      close: () => api.close(),
      back: () => this.#show('list'),
      sound: () => {
        sound.toggle();
        this.#showSound();
      },
      send: (written) => this.#send(written),
      wrote: (written, typed) => {
        drafts.keep(written);
        if (typed && written !== null) api.setTyping();
      },
      cancel: () => this.#onEdit(null),
      target: async () => {
        if (contact.shouldAsk(this.#state)) await this.#gate.pass();
        return uploadTarget(api, shell);
      },
    });
    document.addEventListener('visibilitychange', () => this.#markRead(), { signal });
    window.addEventListener('pageshow', ({ persisted }) => persisted && drafts.wake(composer), { signal });
    // The browser knows of a lost network long before a connection does.
    for (const type of ['online', 'offline'])
      window.addEventListener(type, () => this.#notices.update(this.#state), { signal });
    const undo = [
      api.on('error', ({ code, status = 0 }) => {
        if (code === 'network' || status >= 500) this.#notices.setReached(false);
        else if (status > 0) this.#notices.setReached(true);
      }),
      api.on('message:sent', () => this.#notices.setReached(true)),
      api.on('message', (message) => {
        if (!this.#state.open) return;
        const name = message.own ? i18n.words.you : message.senderName;
        this.#liveRegion.announce(i18n.interpolate(i18n.words.said, { name, text: textOf(message) }));
      }),
    ];
    return () => undo.forEach((step) => step());
  }
}

function isListed({ conversations }: SdkState, id: string | null): boolean {
  return conversations.some((one) => one.id === id);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code).toLowerCase() : '';
}

function textOf({ content, contentFormat }: SdkMessage): string {
  return h('div', {}, ...renderContent(content, contentFormat)).textContent;
}
