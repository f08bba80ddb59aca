// What is asked of the full-text index over messages.
import type { UnindexedMessage } from '../rows.ts';

/** Words that are looked for: all of them must occur, and one that begins with `prefix`. */
export interface WordQuery {
  readonly words: readonly string[];
  readonly prefix: string;
}

/** The full-text index over messages. Words arrive cut and folded: the engine compares, and cuts nothing. */
export interface SearchRepository {
  /** Puts a message's words into the index, in place of those it had. */
  put(messageId: string, organizationId: string, words: readonly string[]): Promise<void>;
  has(messageId: string): Promise<boolean>;
  /** What of messages is to be found, in no order; nothing of those that were deleted. */
  textsOf(messageIds: readonly string[]): Promise<{ readonly id: string; readonly text: string }[]>;
  remove(messageId: string): Promise<number>;
  /** Messages after an id that the index does not have yet, by id. */
  unindexed(after: string, limit: number): Promise<UnindexedMessage[]>;
  /**
   * The conversations of an organization in which one of its newest 5,000 matching messages is; at most `limit`, in no
   * order. Takes as long for a word of another organization as for one that occurs nowhere.
   */
  conversations(query: WordQuery, organizationId: string, limit: number): Promise<string[]>;
}
