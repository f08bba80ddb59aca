// Owns the list of the visitor's conversations.
import type { SdkApi, SdkConversation, SdkState } from '../../src/sdk/types.ts';
import { h, icon } from '../shared/dom.ts';
import { icons } from '../panel/icons.ts';
import type { I18n } from '../panel/i18n.ts';
import { createDrawnList } from './drawn-list.ts';
import type { Entry } from './transcript-entries.ts';

export interface ConversationList {
  readonly element: HTMLElement;
  update(state: SdkState): void;
  focus(): void;
}

export interface ConversationListOptions {
  readonly api: SdkApi;
  readonly speech: I18n;
  /** @param id null: a new one */
  onSelect(id: string | null): void;
  onError(error: unknown): void;
}

const pageSize = 20;

export function createConversationList({
  api,
  speech,
  onSelect,
  onError,
}: ConversationListOptions): ConversationList {
  const { words } = speech;
  const items = h('ul', { role: 'list' });
  const more = h(
    'button',
    { type: 'button', class: 'plain', hidden: true, click: () => void next() },
    words.more,
  );
  const start = h('button', { type: 'button', class: 'primary', click: () => onSelect(null) }, words.start);
  const heading = h('h3', { tabindex: -1 }, words.list);
  const element = h(
    'div',
    { class: 'conversations' },
    heading,
    h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': words.list }, items, more),
    start,
  );
  const focus = (): void => heading.focus();
  const place = createDrawnList(items, focus);
  let drawn: readonly SdkConversation[] | null = null;
  /** Whether there are no more than those that are known. */
  let complete = false;

  async function next(): Promise<void> {
    const { conversations } = api.getState();
    await api
      .listConversations({ limit: pageSize, offset: conversations.length })
      .then(({ total }) => {
        complete = api.getState().conversations.length >= total;
        more.hidden = complete;
      })
      .catch(onError);
  }

  function row(one: SdkConversation, when: string): HTMLElement {
    const status = {
      pending: words.waiting,
      active: one.assignedToName ?? words.active,
      closed: words.closed,
    }[one.status];
    return h(
      'li',
      {},
      h(
        'button',
        { id: one.id, type: 'button', class: 'conversation', click: () => onSelect(one.id) },
        h(
          'span',
          { class: 'what' },
          h('b', { dir: 'auto' }, one.subject ?? status),
          one.subject !== undefined && h('small', {}, status),
        ),
        h('small', { class: 'when' }, when),
        one.unread > 0 && h('span', { class: 'count' }, String(one.unread)),
        icon(icons.next),
      ),
    );
  }

  function entry(one: SdkConversation): Entry {
    const date = new Date(one.updatedAt);
    const when = `${speech.day(date)}, ${speech.time(date)}`;
    return { key: one.id, version: JSON.stringify([one, when]), draw: () => row(one, when) };
  }

  return {
    element,
    focus,
    update: ({ conversations }) => {
      if (conversations === drawn) return;
      // As many as one page has: there may be more.
      more.hidden = complete || conversations.length < pageSize;
      drawn = conversations;
      place(conversations.map(entry));
    },
  };
}
