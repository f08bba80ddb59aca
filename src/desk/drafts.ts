// What the model needs of the place where drafts are kept. Owns the types only.

export interface Draft {
  readonly text: string;
  /** Written for colleagues only. */
  readonly note: boolean;
}

export interface DraftStore {
  /** The draft of a conversation, another window's included; null when there is none. */
  get(conversationId: string): Draft | null;
  /** Written to disk a moment later; an empty text removes the draft. */
  set(conversationId: string, draft: Draft): void;
  /** At once: what was sent must not come back after a crash. */
  remove(conversationId: string): void;
  /** The conversations that have one. */
  ids(): readonly string[];
  /** Writes what still waits. To be called at the end, and before the screen is handed over. */
  flush(): void;
}
