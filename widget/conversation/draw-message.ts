// Owns what one message looks like: name and time, text and files, its state, and what can be done about it.
// Must not know its place in the list.
import { sizeLimits } from '../../src/protocol/codes.ts';
import { isOnlyNames } from '../../src/sdk/attachments.ts';
import type { OutgoingMessage, SdkApi, SdkAttachment, SdkMessage } from '../../src/sdk/types.ts';
import { icons } from '../panel/icons.ts';
import type { I18n } from '../panel/i18n.ts';
import { h, icon } from '../shared/dom.ts';
import { drawAttachments } from '../shared/draw-attachments.ts';
import { mailWords } from './mail-words.ts';
import { renderContent } from './rich-text.ts';

/** What all messages of a transcript are drawn with. */
export interface Drawing {
  readonly api: SdkApi;
  readonly speech: I18n;
  /** The service's address. */
  readonly base: string;
  /** What time it is at the service, in ms since the epoch. */
  now(): number;
  onEdit(message: SdkMessage): void;
  /** Sends a message once more that was refused. */
  onRetry(message: SdkMessage): void;
  onError(error: unknown): void;
  /** A message could not be changed: that does not wait, as what is sent does. */
  onChangeError(error: unknown): void;
  /** Asks for a file's address anew; null: it is not there any more. */
  renew(message: SdkMessage, file: SdkAttachment): Promise<SdkAttachment | null>;
}

/** What of a message's look depends on the others. */
export interface MessagePlace {
  /** The first of several in a row: it alone has name and time in sight. */
  readonly first: boolean;
  /** How far it has come; empty: that is not shown here. */
  readonly receipt: string;
  /** Offers to edit and to delete it. */
  readonly changeable: boolean;
  /** Offers what an automatic answer can be followed by. */
  readonly offer: boolean;
}

/** The place for a picture. */
const picturePlace = { width: 260, height: 320 };

/**
 * A message as a list item, in the form that fits its place.
 */
export function drawMessage(
  drawing: Drawing,
  message: SdkMessage,
  { first, receipt, changeable, offer }: MessagePlace,
): HTMLElement {
  const { api, speech, base, now, renew, onRetry } = drawing;
  const { words } = speech;
  const { own: mine, state: delivery, senderRole, senderName, editedAt, attachments } = message;
  const date = new Date(message.createdAt);
  const name = mine ? words.you : senderName;
  const said = isOnlyNames(message.content, message.contentFormat, attachments)
    ? []
    : renderContent(message.content, message.contentFormat);
  const item = bubble(name, said, {
    mine,
    files: drawAttachments(attachments, {
      words: fileWords(speech),
      tag: speech.tag,
      place: picturePlace,
      base,
      now,
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
    message.via !== undefined && h('span', {}, mailWords(speech.tag).cameByMail),
    editedAt !== null && h('span', {}, words.edited),
    status !== '' && h('span', { class: 'status' }, status),
  ];
  if (delivery === 'failed')
    foot.push(h('button', { type: 'button', class: 'plain', click: () => onRetry(message) }, words.retry));
  if (offer && message.choices !== undefined) item.append(choices(drawing, message.choices));
  if (offer) {
    const ask = (): void =>
      void api.sendMessage({ content: words.personText, person: true }).catch(() => undefined);
    foot.push(h('button', { type: 'button', class: 'plain', click: ask }, words.person));
  }
  if (foot.some((part) => part !== false)) item.append(h('p', { class: `foot ${delivery}` }, ...foot));
  if (changeable) item.querySelector('.line')?.append(actions(drawing, message));
  return item;
}

const fileWords = ({ words, interpolate }: I18n) => ({
  open: (name: string) => interpolate(words.openPicture, { name }),
  download: (name: string) => interpolate(words.download, { name }),
  gone: words.fileGone,
});

/** Buttons for what may be meant. They leave with the answer. */
function choices(
  { api, speech: { words } }: Drawing,
  offered: NonNullable<SdkMessage['choices']>,
): HTMLElement {
  const say = (outgoing: OutgoingMessage) => (): void =>
    void api.sendMessage(outgoing).catch(() => undefined);
  const choose = (label: string, outgoing: OutgoingMessage): HTMLElement =>
    h('button', { type: 'button', class: 'choice', dir: 'auto', click: say(outgoing) }, label);
  return h(
    'div',
    { class: 'choices', role: 'group', 'aria-label': words.assistant },
    ...offered.map(({ id, title }) => choose(title, { content: title, choice: id })),
    choose(words.none, { content: words.none, person: true }),
  );
}

/** A list item with a name and what was said. */
export function bubble(
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

/** How long a visitor may still change a message, in ms; 0 or less: not any more. @param now at the service */
export function changeableForMs({ own, createdAt, state: delivery }: SdkMessage, now: number): number {
  if (!own || delivery === 'sending') return 0;
  return delivery === 'failed' ? Infinity : Date.parse(createdAt) + sizeLimits.editWindowMs - now;
}

/** When the time is over for the next of them, in ms; never longer than that time is. @param now at the service */
export function untilNextEndMs(messages: readonly SdkMessage[], now: number): number {
  const left = messages.map((message) => changeableForMs(message, now)).filter((ms) => ms > 0);
  return Math.min(sizeLimits.editWindowMs, ...left);
}

function actions(
  { api, speech: { words }, onEdit, onChangeError }: Drawing,
  message: SdkMessage,
): HTMLElement {
  const failed = message.state === 'failed';
  const remove = (): void => void api.deleteMessage(failed ? message.key : message.id).catch(onChangeError);
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

function tool(label: string, path: string, click: () => void): HTMLElement {
  return h('button', { type: 'button', class: 'tool', 'aria-label': label, title: label, click }, icon(path));
}
