// Owns showing messages: a window on the history that grows upwards, states of one's own messages, day lines.
// Draws from the engine's state and keeps none of its own but the scroll position and the window.
import { sizeLimits } from '../../src/protocol/codes.ts';
import { isOnlyNames } from '../../src/sdk/attachments.ts';
import type { OutgoingMessage, SdkApi, SdkAttachment, SdkMessage, SdkState } from '../../src/sdk/types.ts';
import { h, icon } from '../shared/dom.ts';
import { drawAttachments } from '../shared/draw-attachments.ts';
import { icons } from '../panel/icons.ts';
import { renderContent } from './rich-text.ts';
import type { I18n } from '../panel/i18n.ts';

export interface Transcript {
  readonly element: HTMLElement;
  update(state: SdkState): void;
  /** True while the newest message is in sight. */
  atEnd(): boolean;
}

export interface TranscriptOptions {
  readonly api: SdkApi;
  readonly speech: I18n;
  onEdit(message: SdkMessage): void;
  onError(error: unknown): void;
  onSeen(): void;
  /** The service's address. */
  readonly base: string;
  /** Asks for a file's address anew; null: it is not there any more. */
  renew(message: SdkMessage, file: SdkAttachment): Promise<SdkAttachment | null>;
}

interface Entry {
  readonly key: string;
  /** Drawn anew when it differs from last time. */
  readonly version: unknown;
  draw(): HTMLElement;
}

/** Messages drawn at first, and how many more each time the visitor scrolls to the top. */
const windowSize = 60;
const windowStep = 60;
/** The place for a picture. */
const picturePlace = { width: 260, height: 320 };
/** Messages of one person within this time share one line with name and time. */
const togetherMs = 5 * 60_000;

export function createTranscript(options: TranscriptOptions): Transcript {
  const { api, speech, onEdit, onError, onSeen, renew, base } = options;
  const { words } = speech;
  const fileWords = {
    open: (name: string) => speech.interpolate(words.openPicture, { name }),
    download: (name: string) => speech.interpolate(words.download, { name }),
    gone: words.fileGone,
  };
  const list = h('ol', { role: 'list' });
  const log = h(
    'div',
    {
      class: 'log',
      role: 'log',
      'aria-live': 'off',
      'aria-label': words.history,
      tabindex: 0,
      scroll: scrolled,
    },
    list,
  );
  const jump = h('button', { type: 'button', class: 'jump', hidden: true, click: toEnd });
  const typing = h('p', { class: 'typing' });
  const element = h('div', { class: 'transcript' }, log, jump, typing);
  const drawn = new Map<string, { version: unknown; element: HTMLElement }>();
  let shown = windowSize;
  let conversationId: string | null = null;
  let state = api.getState();
  let busy = false;
  let stick = true;
  let missed = 0;
  // The composer grows and shrinks below: the newest message stays in sight.
  new ResizeObserver(() => {
    if (stick) log.scrollTop = log.scrollHeight;
  }).observe(log);

  function update(next: SdkState): void {
    const before = state;
    state = next;
    if (next.conversationId !== conversationId && !becameReal(before, next)) {
      shown = windowSize;
      missed = 0;
      stick = true;
    }
    conversationId = next.conversationId;
    const last = next.messages.at(-1);
    const arrived = last !== undefined && last.key !== before.messages.at(-1)?.key;
    if (arrived && last.own) stick = true;
    if (arrived && !last.own && !stick) missed++;
    const fromEnd = log.scrollHeight - log.scrollTop;
    const top = log.scrollTop;
    place(entries());
    const names = next.typing.map(({ userName }) => userName).join(', ');
    typing.replaceChildren(
      ...(names === '' ? [] : [dots(), speech.interpolate(words.typing, { name: names })]),
    );
    if (stick) log.scrollTop = log.scrollHeight;
    // What was put in above must not move what is being read.
    else if (grewUpwards(before, next) || busy) log.scrollTop = log.scrollHeight - fromEnd;
    else log.scrollTop = top;
    showJump();
  }

  function becameReal(before: SdkState, next: SdkState): boolean {
    return before.messages.length > 0 && before.messages[0]?.key === next.messages[0]?.key;
  }

  function grewUpwards(before: SdkState, next: SdkState): boolean {
    return (
      before.messages[0]?.key !== next.messages[0]?.key &&
      before.messages.at(-1)?.key === next.messages.at(-1)?.key
    );
  }

  function entries(): Entry[] {
    const { messages, config, hasMore, loaded } = state;
    const from = Math.max(0, messages.length - shown);
    const result: Entry[] = [];
    const greeting = config?.behavior.greeting ?? null;
    const complete = from === 0 && !hasMore && (loaded || state.conversationId === null);
    if (greeting !== null && complete) {
      result.push({
        key: 'greeting',
        version: greeting,
        draw: () => bubble(config?.name ?? '', renderContent(greeting, 'plain')),
      });
    }
    if (!complete && state.conversationId !== null)
      result.push({ key: 'more', version: 0, draw: () => h('li', { class: 'more' }, dots()) });
    const readUpTo = lastRead();
    const lastOwn = messages.findLastIndex(({ own, state: delivery }) => own && delivery === 'sent');
    for (let index = from; index < messages.length; index++) {
      const message = messages[index];
      const previous = messages[index - 1];
      if (message === undefined) continue;
      const date = new Date(message.createdAt);
      const newDay =
        previous === undefined || new Date(previous.createdAt).toDateString() !== date.toDateString();
      if (newDay || index === from) {
        const day = speech.day(date);
        result.push({
          key: `day:${date.toDateString()}`,
          version: day,
          draw: () => h('li', { class: 'day' }, h('span', {}, day)),
        });
      }
      const first =
        newDay ||
        index === from ||
        previous.own !== message.own ||
        previous.senderId !== message.senderId ||
        date.getTime() - Date.parse(previous.createdAt) > togetherMs;
      const receipt = index === lastOwn ? (readUpTo >= index ? words.read : words.sent) : '';
      const offer =
        message.senderRole === 'assistant' &&
        index === messages.length - 1 &&
        messages[lastOwn]?.content !== words.personText;
      result.push({
        key: message.key,
        version: new Version(message, `${first}${receipt}${offer}`),
        draw: () => own(message, first, receipt, offer),
      });
    }
    return result;
  }

  /** The index of the newest message that another person has read; -1: none. */
  function lastRead(): number {
    const ids = new Set(
      Object.entries(state.reads).flatMap(([who, id]) => (who === state.visitorId ? [] : [id])),
    );
    return state.messages.findLastIndex(({ id, senderRole }) => ids.has(id) || senderRole === 'operator');
  }

  function place(wanted: readonly Entry[]): void {
    const keys = new Set(wanted.map(({ key }) => key));
    for (const [key, { element: old }] of drawn) {
      if (keys.has(key)) continue;
      old.remove();
      drawn.delete(key);
    }
    let at = list.firstChild;
    for (const { key, version, draw: make } of wanted) {
      const old = drawn.get(key);
      let current = old?.element;
      if (old === undefined || current === undefined || !sameVersion(old.version, version)) {
        const fresh = make();
        if (current === at && at !== null) at = at.nextSibling;
        current?.remove();
        current = fresh;
        drawn.set(key, { version, element: fresh });
      }
      if (current === at) at = at.nextSibling;
      else list.insertBefore(current, at);
    }
  }

  function own(message: SdkMessage, first: boolean, receipt: string, offer: boolean): HTMLElement {
    const { own: mine, state: delivery, senderRole, senderName, editedAt, attachments } = message;
    const date = new Date(message.createdAt);
    const name = mine ? words.you : senderName;
    const said = isOnlyNames(message.content, message.contentFormat, attachments)
      ? []
      : renderContent(message.content, message.contentFormat);
    const item = bubble(name, said, {
      mine,
      files: drawAttachments(attachments, {
        words: fileWords,
        tag: speech.tag,
        place: picturePlace,
        base,
        renew: (file) => renew(message, file),
      }),
      meta: first
        ? [
            senderRole === 'assistant' && h('span', { class: 'tag' }, words.assistant),
            h('time', { datetime: message.createdAt }, speech.time(date)),
          ]
        : null,
    });
    item.dataset['key'] = message.key;
    const status = delivery === 'sending' ? words.sending : delivery === 'failed' ? words.failed : receipt;
    const foot = [
      editedAt !== null && h('span', {}, words.edited),
      status !== '' && h('span', { class: 'status' }, status),
    ];
    if (delivery === 'failed')
      foot.push(
        h(
          'button',
          { type: 'button', class: 'plain', click: () => void api.retry(message.key).catch(() => undefined) },
          words.retry,
        ),
      );
    if (offer && message.choices !== undefined) item.append(choices(message.choices));
    if (offer) {
      const ask = (): void =>
        void api.sendMessage({ content: words.personText, person: true }).catch(() => undefined);
      foot.push(h('button', { type: 'button', class: 'plain', click: ask }, words.person));
    }
    if (foot.some((part) => part !== false)) item.append(h('p', { class: `foot ${delivery}` }, ...foot));
    if (mine && mayChange(message)) item.querySelector('.line')?.append(actions(message));
    return item;
  }

  /** Buttons for what may be meant. They leave with the answer, so the focus goes to the history. */
  function choices(offered: NonNullable<SdkMessage['choices']>): HTMLElement {
    const say = (outgoing: OutgoingMessage) => (): void => {
      log.focus();
      void api.sendMessage(outgoing).catch(() => undefined);
    };
    const choose = (label: string, outgoing: OutgoingMessage): HTMLElement =>
      h('button', { type: 'button', class: 'choice', dir: 'auto', click: say(outgoing) }, label);
    return h(
      'div',
      { class: 'choices', role: 'group', 'aria-label': words.assistant },
      ...offered.map(({ id, title }) => choose(title, { content: title, choice: id })),
      choose(words.none, { content: words.none, person: true }),
    );
  }

  function bubble(
    name: string,
    content: readonly Node[],
    {
      mine = false,
      meta = [],
      files = [],
    }: {
      readonly mine?: boolean;
      readonly meta?: readonly (Node | false)[] | null;
      readonly files?: readonly Node[];
    } = {},
  ): HTMLElement {
    return h(
      'li',
      { class: mine ? 'message mine' : 'message' },
      h('p', { class: meta === null ? 'unseen' : 'meta' }, h('b', {}, name), ...(meta ?? [])),
      h(
        'div',
        { class: 'line' },
        h(
          'div',
          { class: 'bubble' },
          (content.length > 0 || files.length === 0) && h('div', { class: 'text', dir: 'auto' }, ...content),
          ...files,
        ),
      ),
    );
  }

  function mayChange({ createdAt, state: delivery }: SdkMessage): boolean {
    return (
      delivery === 'failed' ||
      (delivery === 'sent' && Date.now() - Date.parse(createdAt) < sizeLimits.editWindowMs)
    );
  }

  function actions(message: SdkMessage): HTMLElement {
    const failed = message.state === 'failed';
    const remove = (): void => void api.deleteMessage(failed ? message.key : message.id).catch(onError);
    const sure = h(
      'button',
      { type: 'button', class: 'plain', hidden: true, click: remove, blur: () => ask(false) },
      words.sure,
    );
    const ask = (asking: boolean): void => {
      sure.hidden = !asking;
      bin.hidden = asking;
      if (asking) sure.focus();
    };
    const bin = tool(words.remove, icons.bin, () => ask(true));
    return h(
      'span',
      { class: 'actions' },
      !failed && tool(words.edit, icons.edit, () => onEdit(message)),
      bin,
      sure,
    );
  }

  function scrolled(): void {
    stick = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    if (stick) {
      missed = 0;
      onSeen();
    }
    showJump();
    if (log.scrollTop < 200 && !busy) void earlier();
  }

  async function earlier(): Promise<void> {
    const wasAtEnd = stick;
    if (shown < state.messages.length) {
      shown += windowStep;
      busy = true;
      stick = false;
      update(state);
      stick = wasAtEnd;
      busy = false;
    } else if (state.hasMore && state.loaded && state.conversationId !== null) {
      busy = true;
      shown += windowStep;
      await api.loadHistory({ limit: windowStep }).catch(onError);
      busy = false;
    }
  }

  function toEnd(): void {
    stick = true;
    missed = 0;
    update(state);
    log.focus();
    onSeen();
  }

  function showJump(): void {
    jump.hidden = missed === 0;
    jump.textContent = missed === 0 ? '' : speech.plural(words.fresh, missed);
  }

  return { element, update, atEnd: () => stick };
}

/** What an entry looks like: the engine's messages are immutable, so the object itself tells. */
class Version {
  readonly message: SdkMessage;
  readonly looks: string;

  constructor(message: SdkMessage, looks: string) {
    this.message = message;
    this.looks = looks;
  }
}

function sameVersion(one: unknown, other: unknown): boolean {
  if (one instanceof Version && other instanceof Version)
    return one.message === other.message && one.looks === other.looks;
  return one === other;
}

function tool(label: string, path: string, click: () => void): HTMLElement {
  return h('button', { type: 'button', class: 'tool', 'aria-label': label, title: label, click }, icon(path));
}

function dots(): HTMLElement {
  return h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'));
}
