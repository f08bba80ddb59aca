// When messages are given their places in their conversations (repositories/message-places.ts), and how many at once: at a
// quiet moment all that wait, under load as many as make few pages of them. Writes by the commits of the write queue alone.
import type { Clock } from '../engine.ts';
import { manyPlacedAtOnce, placedAtOnce, type MessagePlaces } from './repositories/message-places.ts';

/**
 * A group of fewer operations leaves no message without its place, where the commit before it was so long ago, ms: little is
 * written then, and time is left for it.
 */
const busyGroupSize = 5;
const quietMs = 5;
/**
 * Groups of so many are those of a server at its limit, where the fewer pages count. Below it the time counts: with a thousand
 * places at once, one commit in fifty holds the loop for some milliseconds. Such a server has a small group now and then, so
 * that the last ones count, each by so much.
 */
const crowdedGroupSize = 12;
const lastGroupShare = 1 / 8;
/** Where giving places took so long, fewer get theirs at once the next time, ms. */
const longPlacingMs = 4;

export interface MessagePlacingOptions {
  readonly clock: Clock;
  /** Whether messages may be given their places now. */
  readonly placesMessages: () => boolean;
}

export class MessagePlacing {
  readonly #places: MessagePlaces;
  readonly #options: MessagePlacingOptions;
  #unplaced: number;
  /** So many are given places at once, as it took the last time. */
  #placedAtOnce = manyPlacedAtOnce;
  /** The size of the last groups, on average. */
  #usualGroupSize = 0;
  /** Conversations were read since places were given last. */
  #isReadInOrder = true;
  /** When the last commit was through, by the clock that never jumps, ms. */
  #committedAt = -Infinity;

  constructor(places: MessagePlaces, options: MessagePlacingOptions) {
    this.#places = places;
    this.#options = options;
    this.#unplaced = places.unplaced().atMost;
  }

  /** Whether messages are without their places: a commit of any operation gives them to some. */
  get hasUnplaced(): boolean {
    return this.#unplaced > 0;
  }

  /** A conversation is read, and looks through all that have no place: the next commits place some of them where many wait. */
  noteOrderedRead(): void {
    this.#isReadInOrder = true;
  }

  /** Something else may have left messages without their places. Outside of any transaction. */
  look(): void {
    this.#unplaced = this.#places.unplaced().atMost;
  }

  /** @param at when the commit was through, by the clock that never jumps, ms */
  noteCommit(at: number): void {
    this.#committedAt = at;
  }

  /** What was placed in a commit that failed is not: how many are without their places is looked up by the next one. */
  noteFailedCommit(): void {
    this.#unplaced = Math.max(1, this.#unplaced);
  }

  /**
   * Gives messages their places where enough of them wait, or nothing else is to be done, in the transaction that is open.
   * @param groupSize how many operations it has
   * @param isAlone whether one operation has asked for it: that is no sign that others come, and the store gives places so
   */
  placeSome(groupSize: number, isAlone: boolean): void {
    const now = this.#options.clock.monotonic();
    const isQuick = now - this.#committedAt < quietMs && !isAlone;
    const isBusy = groupSize >= busyGroupSize || isQuick;
    this.#usualGroupSize += (groupSize - this.#usualGroupSize) * lastGroupShare;
    const { oldest, atMost } = this.#places.unplaced();
    this.#unplaced = atMost;
    if (oldest === null || !this.#options.placesMessages()) return;
    const placesMany = this.#usualGroupSize >= crowdedGroupSize && !this.#isReadInOrder;
    const count = placesMany ? this.#placedAtOnce : placedAtOnce;
    if (isBusy && atMost < count) return;
    this.#isReadInOrder = false;
    this.#places.place(oldest, count);
    // In as many conversations as messages, each has a page of its own: then many at once gain nothing, and take long.
    const tookMs = this.#options.clock.monotonic() - now;
    this.#placedAtOnce = tookMs > longPlacingMs ? placedAtOnce : manyPlacedAtOnce;
    this.#unplaced = Math.max(0, atMost - count);
  }
}
