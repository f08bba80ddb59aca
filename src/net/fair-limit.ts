// Limits how many calls run at once, fairly: those who ask are served in turn, however many calls each has waiting. The
// queue is bounded; a waiting call can be aborted.

/** Too many calls wait already. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  /** Whose calls they are, by its key; null: those of all together. */
  readonly asker: string | null;
  constructor(asker: string | null) {
    super('too many calls wait already');
    this.asker = asker;
  }
}

export interface FairLimitOptions {
  /** Calls that run at once. */
  readonly maxRunning: number;
  /** Of one asker. */
  readonly maxRunningPerKey: number;
  /** Calls that may wait. */
  readonly maxWaiting: number;
  /** Of one asker. */
  readonly maxWaitingPerKey: number;
}

/**
 * Runs `work` in its turn. Rejects with QueueFullError, or with the signal's reason when it is aborted before `work`
 * began; after that, aborting is `work`'s own concern.
 */
export type FairLimit = <T>(key: string, work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** One asker's share. */
interface Share {
  readonly key: string;
  running: number;
  readonly waiting: Set<() => void>;
}

/** Creates a limit of its own. */
export function createFairLimit(options: FairLimitOptions): FairLimit {
  /** By key; who was served last stands last. */
  const shares = new Map<string, Share>();
  let running = 0;
  let waiting = 0;

  const hasRoom = (share: Share): boolean =>
    running < options.maxRunning && share.running < options.maxRunningPerKey;

  function count(share: Share, change: 1 | -1): void {
    running += change;
    share.running += change;
    if (change < 0) return;
    shares.delete(share.key);
    shares.set(share.key, share);
  }

  /** Starts the first call of the asker who has been served least recently. */
  function startNext(): void {
    for (const share of shares.values()) {
      const [start] = share.waiting;
      if (start !== undefined && hasRoom(share)) return start();
    }
  }

  /** Resolves once the call is counted as running. */
  async function begin(share: Share, signal: AbortSignal | undefined): Promise<void> {
    if (hasRoom(share)) {
      count(share, 1);
      return;
    }
    if (share.waiting.size >= options.maxWaitingPerKey) throw new QueueFullError(share.key);
    if (waiting >= options.maxWaiting) throw new QueueFullError(null);
    const turn = Promise.withResolvers<void>();
    const leave = (): void => {
      waiting -= 1;
      share.waiting.delete(start);
      signal?.removeEventListener('abort', onAbort);
    };
    const start = (): void => {
      leave();
      count(share, 1);
      turn.resolve();
    };
    const onAbort = (): void => {
      leave();
      turn.reject(signal?.reason);
    };
    waiting += 1;
    share.waiting.add(start);
    signal?.addEventListener('abort', onAbort, { once: true });
    await turn.promise;
  }

  return async (key, work, signal) => {
    signal?.throwIfAborted();
    const share = shares.get(key) ?? { key, running: 0, waiting: new Set() };
    shares.set(key, share);
    try {
      await begin(share, signal);
      try {
        signal?.throwIfAborted();
        return await work();
      } finally {
        count(share, -1);
        startNext();
      }
    } finally {
      if (share.running === 0 && share.waiting.size === 0 && shares.get(key) === share) shares.delete(key);
    }
  };
}
