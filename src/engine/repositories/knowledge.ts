// What is asked of the assistant's knowledge: documents, passages, the index over them, kept questions.
import type {
  KnowledgeCandidate,
  KnowledgeDocumentRow,
  KnowledgePassageRow,
  KnowledgeQuestionRow,
  ListedDocument,
  PassageTerms,
} from '../rows.ts';

/**
 * The assistant's documents, their passages, and the index over them. An application's part of the index has a number
 * (its scope), which no other application gets, also not after it was removed. Terms arrive cut and folded.
 */
export interface KnowledgeRepository {
  byId(id: string): Promise<KnowledgeDocumentRow | undefined>;
  bySource(applicationId: string, source: string): Promise<KnowledgeDocumentRow | undefined>;
  insert(row: KnowledgeDocumentRow): Promise<number>;
  update(row: KnowledgeDocumentRow): Promise<number>;
  /** Removes a document with its passages, their words and vectors. */
  remove(id: string): Promise<number>;
  /** Documents of an organization, of all its applications (null) or of one, by application and source. */
  list(
    organizationId: string,
    applicationId: string | null,
    limit: number,
    offset: number,
  ): Promise<ListedDocument[]>;
  count(organizationId: string, applicationId: string | null): Promise<number>;
  /** What the making of a document's passages goes by. */
  state(id: string): Promise<Pick<KnowledgeDocumentRow, 'edition' | 'updated_at'> | undefined>;
  setEdition(id: string, edition: number): Promise<number>;
  /** Documents whose passages were not made by this version of the chunker, after an id, in order. */
  stale(edition: number, after: string, limit: number): Promise<string[]>;

  /** Puts a passage and its terms into the index. @param scope of its application */
  insertPassage(
    row: Omit<KnowledgePassageRow, 'row' | 'embedding' | 'embedding_model'>,
    scope: number,
    terms: PassageTerms,
  ): Promise<void>;
  /** Removes at most `limit` passages of a document with their words. */
  removePassages(documentId: string, limit: number): Promise<number>;
  passagesOfDocument(documentId: string): Promise<number>;
  passagesOfApplication(applicationId: string): Promise<number>;

  /** The number of an application's part of the index; undefined while it has no knowledge. */
  scope(applicationId: string): Promise<number | undefined>;
  /** The same, made where it is missing. */
  ensureScope(applicationId: string): Promise<number>;
  /** In how many passages each term occurs. A term that occurs in none may be left out. */
  counts(scope: number, terms: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The indexed terms that begin with a text, in order. */
  vocabulary(scope: number, beginning: string): Promise<string[]>;
  /** The passages that the terms match best, by a measure like BM25; at most `limit`. */
  matching(
    scope: number,
    applicationId: string,
    terms: readonly string[],
    limit: number,
  ): Promise<KnowledgeCandidate[]>;
  /** The same by their headings alone, which a common word of the texts can't bury. */
  matchingHeadings(
    scope: number,
    applicationId: string,
    terms: readonly string[],
    limit: number,
  ): Promise<KnowledgeCandidate[]>;
  /** One passage as `matching` answers it. */
  candidate(scope: number, applicationId: string, row: number): Promise<KnowledgeCandidate | undefined>;

  /** The row of a passage by its id; undefined: the application has none of this id. */
  rowOf(applicationId: string, id: string): Promise<number | undefined>;

  /** Keeps a question with the passages under a heading. */
  insertQuestion(row: KnowledgeQuestionRow): Promise<number>;
  removeQuestion(id: string): Promise<number>;
  /** Rows of the passages under a heading of a document, with the terms that the index has of each. */
  underHeading(
    scope: number,
    applicationId: string,
    documentId: string,
    heading: string | null,
  ): Promise<KnowledgeCandidate[]>;
  /** Puts other terms of the heading into the index. */
  setHeadingTerms(row: number, scope: number, terms: PassageTerms): Promise<void>;
  /** The questions kept with documents, oldest first. */
  questions(documentIds: readonly string[]): Promise<KnowledgeQuestionRow[]>;

  /** Passages that this model was not asked about yet. */
  unembedded(
    model: string,
    limit: number,
  ): Promise<{ id: string; heading: string | null; text: string; title: string }[]>;
  /** @param embedding null: the model has none for it, and is not asked again */
  setEmbedding(id: string, embedding: Uint8Array | null, model: string): Promise<number>;
  /** An application's vectors of one model, after a row, in order. The bytes may be part of a larger buffer. */
  embedded(
    applicationId: string,
    model: string,
    after: number,
    limit: number,
  ): Promise<{ row: number; embedding: Uint8Array | null }[]>;

  /** JSON, as it was stored; undefined: none. */
  synonyms(applicationId: string): Promise<string | undefined>;
  setSynonyms(applicationId: string, synonyms: string): Promise<number>;
}
