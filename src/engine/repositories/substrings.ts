// What is asked of the index of subjects, visitors' names and addresses: which of them may have a text in them.

/** What may have the text in it: a conversation by its subject, or by the name or the address of its visitor. */
export type SubstringSource = 'subjects' | 'visitors';

/** How a text is looked up in an index: as the index has it; null: nothing there can have it. */
export type SubstringQuery = Readonly<Record<SubstringSource, string | null>>;

/** A stretch of an index, from its oldest entries on. */
export interface SubstringStretch {
  /** The `after` of the stretch before it; 0: from the first on. */
  readonly after: number;
  /** Over how many numbers of entries it reaches. */
  readonly span: number;
  /** Entries that are enough. */
  readonly most: number;
}

export interface SubstringMatches {
  /** What may have the text, ascending: places of conversations, or numbers of visitors. */
  readonly numbers: readonly number[];
  /** Where the next stretch begins; null: there is none. */
  readonly after: number | null;
}

/**
 * An index that every commit keeps true. It tells which conversations may have a text: all that have it, and some that
 * have its parts only. Takes as long for a text of another organization as for one that occurs nowhere.
 */
export interface SubstringsRepository {
  /**
   * @param text at least one character, of which none is a NUL or a half
   * @returns null: so many different pieces begin as the short text that each is not looked up
   */
  query(organizationId: string, text: string): Promise<SubstringQuery | null>;
  /** @param query of that source */
  matches(source: SubstringSource, query: string, stretch: SubstringStretch): Promise<SubstringMatches>;
  /** The places of the conversations of visitors, in no order. @param visitors their numbers */
  placesOfVisitors(visitors: readonly number[]): Promise<number[]>;
}
