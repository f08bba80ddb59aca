// What is asked of the full-text index over messages.
import type { UnindexedMessage } from '../rows.ts';

/** Words that are looked for: all of them must occur, and one that begins with `prefix`. */
export interface WordQuery {
  readonly words: readonly string[];
  readonly prefix: string;
  /** The words that begin so, where they were looked up; one of them must occur. */
  readonly endings?: readonly string[] | undefined;
}

/** A stretch of the index, from its newest entries on. */
export interface SearchStretch {
  /** The `before` of the stretch behind it; null: from the newest on. */
  readonly before: number | null;
  /** Over how many numbers of entries it reaches. */
  readonly span: number;
  /** Matching messages that are enough. */
  readonly most: number;
}

export interface SearchMatches {
  /** Of every matching message its conversation, the newest first. */
  readonly conversations: readonly string[];
  /** Where the next stretch begins; null: there is none. */
  readonly before: number | null;
}

/** The full-text index over messages. Words arrive cut and folded: the engine compares, and cuts nothing. */
export interface SearchRepository {
  /** The number under which the index has an organization's words; it is given one where it has none. */
  scopeOf(organizationId: string): Promise<number>;
  /**
   * Puts a message's words into the index, in place of those it had.
   * @returns whether a `merge` is due
   */
  put(scope: number, messageId: string, words: readonly string[]): Promise<boolean>;
  /**
   * Merges a few of the parts that transactions leave in the index, so that a search has few to look into. In a
   * transaction of its own: behind a `put` it would make one part more.
   * @returns whether another one is due
   */
  merge(): Promise<boolean>;
  has(messageId: string): Promise<boolean>;
  /** What of messages is to be found, in no order; nothing of those that were deleted. */
  textsOf(messageIds: readonly string[]): Promise<{ readonly id: string; readonly text: string }[]>;
  remove(messageId: string): Promise<number>;
  /** Messages after an id that the index does not have yet, by id. */
  unindexed(after: string, limit: number): Promise<UnindexedMessage[]>;
  /**
   * Words of an organization's messages that begin so, by the alphabet.
   * @param after the last of those that are known; null: from the first on
   * @returns null: they can't be listed, or the database finds beginnings by itself
   */
  endings(
    prefix: string,
    organizationId: string,
    after: string | null,
    most: number,
  ): Promise<string[] | null>;
  /**
   * What of a stretch matches. Takes as long for a word of another organization as for one that occurs nowhere. A
   * database that answers beside this process takes all that there is as one stretch.
   */
  matches(query: WordQuery, organizationId: string, stretch: SearchStretch): Promise<SearchMatches>;
}
