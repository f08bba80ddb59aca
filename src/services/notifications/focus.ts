// Which conversations members have before their eyes, on all nodes: told by their clients, kept in memory, and forgotten
// when a connection that ended without a word renews it no more.
import type { Clock, FocusSignal, Signals } from '../../engine/engine.ts';

/** A connection says again so often what it looks at. */
export const focusRenewalMs = 60_000;
const lapseMs = 2.5 * focusRenewalMs;

interface Look {
  readonly conversationId: string;
  readonly until: number;
}

export class FocusBoard {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By member, then by connection. */
  readonly #looks = new Map<string, Map<string, Look>>();

  constructor(signals: Signals, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    signals.subscribe((signal) => {
      if (signal.type === 'focus') this.#note(signal);
    });
  }

  /** The conversations that a member looks at now. */
  of(memberId: string): ReadonlySet<string> {
    const now = this.#clock.monotonic();
    const watched = new Set<string>();
    const looks = this.#looks.get(memberId);
    for (const [connectionId, { conversationId, until }] of looks ?? []) {
      if (until > now) watched.add(conversationId);
      else looks?.delete(connectionId);
    }
    if (looks?.size === 0) this.#looks.delete(memberId);
    return watched;
  }

  #note({ memberId, connectionId, conversationId }: FocusSignal): void {
    const looks = this.#looks.get(memberId) ?? new Map<string, Look>();
    if (conversationId === null) looks.delete(connectionId);
    else looks.set(connectionId, { conversationId, until: this.#clock.monotonic() + lapseMs });
    if (looks.size === 0) this.#looks.delete(memberId);
    else this.#looks.set(memberId, looks);
  }
}
