// The messages of one conversation, merged from pages, catch-up and live events so
// that nothing is missing and nothing double. Order is the service's, never a clock's.

interface Placed {
  readonly id: string;
  readonly content: string;
  readonly editedAt: string | null;
}

/** Stands for "before the first": the service answers an unknown id with everything it has. */
export const beginning = '00000000-0000-0000-0000-000000000000';

export interface Thread<M extends Placed> {
  readonly list: readonly M[];
  /** There are older ones at the service. */
  readonly hasMore: boolean;
  /** Everything up to here is known: where catching up begins. Null: no page has come yet. */
  readonly baseline: string | null;
  find(id: string): M | undefined;
  /** Takes a page of history, oldest first; the first page makes the baseline. Answers what is new. */
  addPage(page: readonly M[], hasMore: boolean): M[];
  /**
   * Takes the unbroken run of messages that follows `after`. Answers what is new.
   * @param isLast nothing follows but live events
   */
  addRun(after: string, run: readonly M[], isLast: boolean): M[];
  /** Takes a live message; false: it was known. */
  addLive(message: M): boolean;
  /** Replaces what is there, unless that is a later version. `undefined`: nothing changed. */
  change(id: string, patch: Partial<M>): M | undefined;
  /** Gives a message another key, or the like: nothing that the service knows of. */
  mark(id: string, patch: Partial<M>): void;
  /** False: it was not there. It will not come back, whatever late page still has it. */
  remove(id: string): boolean;
  /** The connection is gone: live events no longer follow without a gap. */
  unsettle(): void;
}

/** @param onPlace may give a message another form as it takes its place */
export function createThread<M extends Placed>(onPlace: (message: M) => M = (message) => message): Thread<M> {
  // Deleted ones keep their place here, as they do at the service; `list` leaves them out.
  let all: readonly M[] = [];
  let list = all;
  let hasMore = false;
  let baseline: string | null = null;
  let settled = false;
  const removed = new Set<string>();
  const indexOf = (id: string): number => all.findIndex((one) => one.id === id);
  const find = (id: string): M | undefined => list.find((one) => one.id === id);
  const set = (next: readonly M[]): void => {
    all = next;
    list = all.filter(({ id }) => !removed.has(id));
  };

  /** Later wins; of two equally old versions the one that is here already unless `fresh`. */
  function supersede(message: Partial<M> & Omit<Placed, 'content'>, fresh: boolean): M | undefined {
    const old = find(message.id);
    const [was, is] = [old?.editedAt ?? '', message.editedAt ?? ''];
    if (old === undefined || is < was || (is === was && (!fresh || old.content === message.content))) return undefined;
    const next = { ...old, ...message };
    set(all.with(indexOf(message.id), next));
    return next;
  }

  function insert(at: number, messages: readonly M[]): M[] {
    const known = new Set(all.map(({ id }) => id));
    const unknown = messages.filter(({ id }) => !known.has(id));
    if (unknown.length === 0) return [];
    const placed = unknown.map((message) => (removed.has(message.id) ? message : onPlace(message)));
    set(all.toSpliced(at, 0, ...placed));
    return placed.filter(({ id }) => !removed.has(id));
  }

  return {
    get list() {
      return list;
    },
    get hasMore() {
      return hasMore;
    },
    get baseline() {
      return baseline;
    },
    find,
    addPage: (page, more) => {
      const first = baseline === null;
      for (const message of page) supersede(message, false);
      const news = insert(0, page);
      hasMore = more;
      if (first) baseline = page.at(-1)?.id ?? beginning;
      return news;
    },
    addRun: (after, run, isLast) => {
      const news: M[] = [];
      const start = after === beginning && !hasMore ? 0 : indexOf(after) + 1;
      // A run from a place that is not here is somebody else's catching up.
      if (baseline === null || (start === 0 && after !== baseline)) return news;
      let at = start;
      for (const message of run) {
        supersede(message, true);
        news.push(...insert(at, [message]));
        at = indexOf(message.id) + 1;
      }
      if (isLast) settled = true;
      baseline = (isLast ? all.at(-1)?.id : run.at(-1)?.id) ?? baseline;
      return news;
    },
    addLive: (message) => {
      if (baseline === null) return false;
      const news = insert(all.length, [message]);
      if (settled) baseline = message.id;
      return news.length > 0;
    },
    change: (id, patch) => supersede({ editedAt: null, ...patch, id }, true),
    mark: (id, patch) => set(all.map((one) => (one.id === id ? { ...one, ...patch } : one))),
    remove: (id) => {
      const isHere = find(id) !== undefined;
      removed.add(id);
      set(all);
      return isHere;
    },
    unsettle: () => {
      settled = false;
    },
  };
}
