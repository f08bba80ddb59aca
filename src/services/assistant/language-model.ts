// What the assistant needs of a language model: one completion, and vectors for
// texts. Types and one error only; who talks to the model is handed in by open-service.ts.

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface Completion {
  readonly messages: readonly ChatMessage[];
  /** A JSON Schema that the answer must follow; left out: free text. */
  readonly schema?: { readonly name: string; readonly schema: object } | undefined;
  readonly maxTokens: number;
}

/** Who asks, and until when. */
export interface ModelCall {
  /** Callers are served in turn by this: an organization's id. */
  readonly asker: string;
  readonly signal: AbortSignal;
}

export interface Embeddings {
  /** The model's name: vectors of different models can't be compared. */
  readonly name: string;
  /** One vector for each text, in order. @throws ModelError */
  embed(texts: readonly string[], call: ModelCall): Promise<readonly Float32Array[]>;
}

export interface LanguageModel {
  readonly name: string;
  /**
   * Asks once; streaming, time limits and retries are the client's own affair.
   * @returns the answer's text, whole
   * @throws ModelError when there is none: late, broken off, too long, refused
   */
  complete(completion: Completion, call: ModelCall): Promise<string>;
  /** null: no embedding model is configured. */
  readonly embeddings: Embeddings | null;
}

/** The model gave no usable answer. The message is for the log and names no key and no text of anybody's. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError';
}

/**
 * The model's server has answered, and did not give what it was asked for: it would answer the same again. It may be
 * what was asked, as a text that is too long for it, or how the server is set up.
 */
export class ModelRefusalError extends ModelError {
  override readonly name = 'ModelRefusalError';
}

/** So many calls wait for the model that this one was not even begun. */
export class ModelBusyError extends ModelError {
  override readonly name = 'ModelBusyError';
}
