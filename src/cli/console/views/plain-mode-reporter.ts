// What plain mode writes: lists, messages, and each change once. Runs no command.
import { hasText } from '../../../desk/composer.ts';
import type { DeskController } from '../../../desk/desk-controller.ts';
import type { DeskState, OpenConversation, ShownMessage } from '../../../desk/desk-state.ts';
import { shownRows, shownSearch, type Tab } from '../../../desk/queue.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import { shownMessages } from '../../../desk/shown-messages.ts';
import { counted } from '../../../text/text.ts';
import { conversationText, messageText } from './plain-mode-text.ts';

const maxListed = 20;
const shownAtFirst = 10;
/** How many of the newest messages may be reported at once. */
const maxReported = 50;

/** Changes whenever there is something new to report of a message. */
const stampOf = ({ key, editedAt, state, deleted }: ShownMessage): string =>
  `${key} ${editedAt ?? ''} ${state} ${deleted === true ? 'deleted' : ''}`;

export class PlainReporter {
  readonly #model: DeskController;
  readonly #output: NodeJS.WritableStream & { readonly columns?: number };
  #before: DeskState;
  /** The conversations of the list that was written last, by their numbers. */
  #numbered: readonly string[] = [];
  /** What was reported of the open conversation's messages. */
  #reported = new Set<string>();
  #isListWanted = true;
  #wasListed = false;
  /** The conversation that is to be reported once it is loaded. */
  #opening: string | null = null;

  constructor(model: DeskController, output: NodeJS.WritableStream & { readonly columns?: number }) {
    this.#model = model;
    this.#output = output;
    this.#before = model.store.get();
  }

  get columns(): number {
    const { columns } = this.#output;
    return Math.max(20, columns === undefined || columns === 0 ? 80 : columns);
  }

  write(...lines: readonly string[]): void {
    // The marks that keep cells apart on the screen mean nothing here.
    for (const line of lines) this.#output.write(`${line.replaceAll('\u200b', '')}\n`);
  }

  /** The list is to be written as soon as it is loaded. */
  wantList(): void {
    this.#isListWanted = true;
  }

  /** A conversation was opened: it is to be reported as soon as it is loaded. */
  wantOpened(id: string): void {
    this.#opening = id;
    this.#reported = new Set();
    this.#reportOpened();
  }

  /** The conversation that a number of the last list means, or a part of a visitor's name; null: none. */
  find(words: string): string | null {
    const number = Number(words);
    if (Number.isInteger(number)) return this.#numbered[number - 1] ?? null;
    const wanted = words.toLowerCase();
    const found = this.#rows.find(({ visitor }) =>
      sanitizeLine(visitor.name ?? '')
        .toLowerCase()
        .includes(wanted),
    );
    return found?.id ?? null;
  }

  /** Writes messages that were asked for. */
  messages(messages: readonly ShownMessage[]): void {
    for (const message of messages) {
      this.#reported.add(stampOf(message));
      this.write(...messageText(message, this.#state, this.columns));
    }
  }

  /** Writes what has changed since the last time. */
  report(): void {
    const now = this.#state;
    const before = this.#before;
    this.#before = now;
    this.#reportConnection(before, now);
    const { flash, dialog, open } = now;
    if (flash !== null && flash !== before.flash)
      this.write(`${flash.tone === 'bad' ? '! ' : ''}${sanitizeLine(flash.text)}`);
    if (dialog !== before.dialog && dialog?.kind === 'confirm')
      this.write(`${sanitizeLine(dialog.question)} /yes or /no`);
    this.#reportQueue(before, now);
    if (this.#opening !== null) this.#reportOpened();
    else if (open !== null && open !== before.open) this.#reportMessages(open);
    if (open !== null && open.problem !== null && open.problem !== before.open?.problem)
      this.write(open.problem);
  }

  get #state(): DeskState {
    return this.#model.store.get();
  }

  get #rows(): ReturnType<typeof shownRows> {
    return shownRows(this.#state.queue, this.#model.context.memberId).slice(0, maxListed);
  }

  #reportConnection(before: DeskState, { connection }: DeskState): void {
    if (connection === before.connection) return;
    if (connection === 'offline') this.write('Offline. What you send goes out when the connection is back.');
    else if (connection === 'online' && before.connection !== 'idle') this.write('Connected.');
  }

  #reportQueue(before: DeskState, now: DeskState): void {
    const { queue } = now;
    const list = queue.lists[queue.tab];
    const search = shownSearch(queue);
    const isLoaded =
      search === null ? list.horizon !== null && !list.loading : search.ids !== null && !search.loading;
    if (this.#isListWanted && isLoaded) {
      this.#isListWanted = false;
      this.#wasListed = true;
      this.#writeList(queue.tab);
    } else if (queue.items !== before.queue.items && this.#wasListed) {
      const known = new Set(before.queue.items.map(({ id }) => id));
      for (const item of queue.items)
        if (!known.has(item.id) && item.status === 'pending')
          this.write(`Waiting: ${conversationText(item, now)}`);
    }
  }

  #writeList(tab: Tab): void {
    const { queue } = this.#state;
    const rows = this.#rows;
    this.#numbered = rows.map(({ id }) => id);
    const search = shownSearch(queue);
    const total = (search ?? queue.lists[tab]).total ?? rows.length;
    const title = search === null ? tab : `Found for "${sanitizeLine(search.text)}"`;
    this.write(
      `${title}: ${counted(total, 'conversation')}.`,
      ...rows.map((item, index) => `${index + 1}. ${conversationText(item, this.#state)}`),
    );
  }

  #reportOpened(): void {
    const { open, composer } = this.#state;
    if (open === null || open.id !== this.#opening || open.room === null) return;
    this.#opening = null;
    const item = this.#model.context.item(open.id);
    if (item !== undefined) this.write(`Open: ${conversationText(item, this.#state)}`);
    const messages = shownMessages(open);
    this.#reported = new Set(messages.map(stampOf));
    if (messages.length > shownAtFirst)
      this.write(`${counted(messages.length - shownAtFirst, 'earlier message')}: /older`);
    this.messages(messages.slice(-shownAtFirst));
    if (composer !== null && hasText(composer))
      this.write(
        `Your ${composer.note ? 'note' : 'draft'}: ${sanitizeLine(composer.buffer.text)}`,
        'Type /send to send it, or /discard.',
      );
  }

  #reportMessages(open: OpenConversation): void {
    if (open.room === null) return;
    for (const message of shownMessages(open).slice(-maxReported)) {
      const stamp = stampOf(message);
      if (this.#reported.has(stamp) || message.state === 'sending') continue;
      this.#reported.add(stamp);
      if (open.room.loaded) this.write(...messageText(message, this.#state, this.columns));
    }
  }
}
