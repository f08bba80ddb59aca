// The messages of one conversation, merged from pages, catch-up and live events so
// that nothing is missing and nothing double. Order is the service's, never a clock's.

interface ListedMessage {
  readonly id: string;
  readonly content: string;
  readonly editedAt: string | null;
}

/** Stands for "before the first": the service answers an unknown id with everything it has. */
export const beginning = '00000000-0000-0000-0000-000000000000';

export interface MessageList<M extends ListedMessage> {
  list_(): readonly M[];
  /** There are older ones at the service. */
  hasMore_(): boolean;
  /** Everything up to here is known: where catching up begins. Empty: no page has come yet. */
  syncCursor_(): string;
  find_(id: string): M | undefined;
  /** Takes a page of history, oldest first; the first page makes the baseline. Answers what is new. */
  addPage_(page: readonly M[], hasMore: boolean): M[];
  /**
   * Takes the unbroken run of messages that follows `after`. Answers what is new.
   * @param isLast nothing follows but live events
   */
  addSync_(after: string, run: readonly M[], isLast: boolean): M[];
  /** Takes a live message. Answers what is new: nothing where it was known. */
  addLive_(message: M): M[];
  /** Replaces what is there, unless that is a later version. `undefined`: nothing changed. */
  applyEdit_(id: string, patch: Partial<M>): M | undefined;
  /** Gives a message another key, or the like: nothing that the service knows of. */
  patch_(id: string, patch: Partial<M>): void;
  /** Answers what was there. It will not come back, whatever late page still has it. */
  remove_(id: string): M | undefined;
  /** The connection is gone: live events no longer follow without a gap. */
  disconnect_(): void;
}

/** @param onPlace may give a message another form as it takes its place */
export function createMessageList<M extends ListedMessage>(
  onPlace: (message: M) => M = (message) => message,
): MessageList<M> {
  // Deleted ones keep their place here, as they do at the service; `list` leaves them out.
  let all: readonly M[] = [];
  let list = all;
  let hasMore = false;
  let baseline = '';
  let settled = false;
  const removed = new Set<string>();
  const indexOf = (id: string): number => all.findIndex((one) => one.id === id);
  const find = (id: string): M | undefined => list.find((one) => one.id === id);
  const isKept = ({ id }: M): boolean => !removed.has(id);
  const set = (next: readonly M[]): void => {
    all = next;
    list = all.filter(isKept);
  };
  const mark = (id: string, patch: Partial<M>): void =>
    set(all.map((one) => (one.id === id ? { ...one, ...patch } : one)));

  /** Later wins; of two equally old versions the one that is here already unless `fresh`. */
  const supersede = (message: Partial<M> & Omit<ListedMessage, 'content'>, fresh: boolean): M | undefined => {
    const { id, content, editedAt } = message;
    const old = find(id);
    const was = old?.editedAt ?? '';
    const is = editedAt ?? '';
    if (!old || is < was || (is === was && (!fresh || old.content === content))) return undefined;
    mark(id, message);
    return find(id);
  };

  const insert = (at: number, messages: readonly M[]): M[] => {
    const placed = messages
      .filter(({ id }) => indexOf(id) < 0)
      .map((message) => (isKept(message) ? onPlace(message) : message));
    set([...all.slice(0, at), ...placed, ...all.slice(at)]);
    return placed.filter(isKept);
  };

  return {
    list_: () => list,
    hasMore_: () => hasMore,
    syncCursor_: () => baseline,
    find_: find,
    addPage_: (page, more) => {
      for (const message of page) supersede(message, false);
      const news = insert(0, page);
      hasMore = more;
      baseline ||= page.at(-1)?.id ?? beginning;
      return news;
    },
    addSync_: (after, run, isLast) => {
      const news: M[] = [];
      let at = indexOf(after) + 1;
      // A run from a place that is not here is another tab's catching up.
      if (!baseline || (!at && after !== baseline)) return news;
      for (const message of run) {
        supersede(message, true);
        news.push(...insert(at, [message]));
        at = indexOf(message.id) + 1;
      }
      settled ||= isLast;
      baseline = (isLast ? all : run).at(-1)?.id ?? baseline;
      return news;
    },
    addLive_: (message) => {
      if (!baseline) return [];
      const news = insert(all.length, [message]);
      if (settled) baseline = message.id;
      return news;
    },
    applyEdit_: (id, patch) => supersede({ editedAt: null, ...patch, id }, true),
    patch_: mark,
    remove_: (id) => {
      const gone = find(id);
      removed.add(id);
      set(all);
      return gone;
    },
    disconnect_: () => {
      settled = false;
    },
  };
}
