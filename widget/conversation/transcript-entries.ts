// Owns which entries the list of a conversation has: greeting, day lines, messages, and what each looks like.
// Must not draw into the page.
import type { SdkMessage, SdkState } from '../../src/sdk/types.ts';
import { h } from '../shared/dom.ts';
import { bubble, changeableForMs, drawMessage, type Drawing } from './draw-message.ts';
import { renderContent } from './rich-text.ts';

export interface Entry {
  readonly key: string;
  /** Drawn anew when it differs from last time. */
  readonly version: unknown;
  draw(): HTMLElement;
}

/** Messages of one person within this time share one line with name and time. */
const togetherMs = 5 * 60_000;

/**
 * What the list shows of a state, oldest first.
 * @param shown at most so many messages, the newest
 */
export function listEntries(state: SdkState, shown: number, drawing: Drawing): Entry[] {
  const { messages, config, hasMore, loaded } = state;
  const { speech } = drawing;
  const { words } = speech;
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
  const readUpTo = lastRead(state);
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
    const changeable = changeableForMs(message, drawing.now()) > 0;
    result.push({
      key: message.key,
      version: new Version(message, `${first}${receipt}${changeable}${offer}`),
      draw: () => drawMessage(drawing, message, { first, receipt, changeable, offer }),
    });
  }
  return result;
}

/** The index of the newest message that another person has read; -1: none. */
function lastRead(state: SdkState): number {
  const ids = new Set(
    Object.entries(state.reads).flatMap(([who, id]) => (who === state.visitorId ? [] : [id])),
  );
  return state.messages.findLastIndex(({ id, senderRole }) => ids.has(id) || senderRole === 'operator');
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

/** Whether two versions of an entry look alike. */
export function sameVersion(one: unknown, other: unknown): boolean {
  if (one instanceof Version && other instanceof Version)
    return one.message === other.message && one.looks === other.looks;
  return one === other;
}

/** Three dots that move: something is on its way. */
export function dots(): HTMLElement {
  return h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'));
}
