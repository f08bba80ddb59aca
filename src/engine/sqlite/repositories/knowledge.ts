// Queries on the assistant's knowledge: documents, the passages they are cut into, the full-text index over them,
// synonyms, vectors. What a search means is services/assistant/knowledge/retrieval.
import { sql } from 'kysely';
import type { KnowledgeRepository } from '../../repositories/knowledge.ts';
import type {
  KnowledgeCandidate,
  KnowledgeDocumentRow,
  KnowledgePassageRow,
  KnowledgeQuestionRow,
  ListedDocument,
} from '../../rows.ts';
import { isOneOf, isOrAny, withoutIndex } from '../dialect.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const documentById = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('knowledge_documents').selectAll().where('id', '=', p.id),
);
const documentBySource = prepare<{ application_id: string; source: string }>()((db, p) =>
  db
    .selectFrom('knowledge_documents')
    .selectAll()
    .where('application_id', '=', p.application_id)
    .where('source', '=', p.source),
);
const insertDocument = prepare<KnowledgeDocumentRow>()((db, p) =>
  db.insertInto('knowledge_documents').values({
    id: p.id,
    organization_id: p.organization_id,
    application_id: p.application_id,
    source: p.source,
    title: p.title,
    url: p.url,
    format: p.format,
    content: p.content,
    edition: p.edition,
    created_at: p.created_at,
    updated_at: p.updated_at,
  }),
);
const updateDocument = prepare<
  Pick<KnowledgeDocumentRow, 'id' | 'title' | 'url' | 'format' | 'content' | 'edition' | 'updated_at'>
>()((db, p) =>
  db
    .updateTable('knowledge_documents')
    .set({
      title: p.title,
      url: p.url,
      format: p.format,
      content: p.content,
      edition: p.edition,
      updated_at: p.updated_at,
    })
    .where('id', '=', p.id),
);
const stateOf = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('knowledge_documents').select(['edition', 'updated_at']).where('id', '=', p.id),
);
const setEdition = prepare<Pick<KnowledgeDocumentRow, 'id' | 'edition'>>()((db, p) =>
  db.updateTable('knowledge_documents').set({ edition: p.edition }).where('id', '=', p.id),
);
const removeDocument = prepare<{ id: string }>()((db, p) =>
  db.deleteFrom('knowledge_documents').where('id', '=', p.id),
);

/** Both ids null-able: a list is of an organization or of one of its applications. */
const listed = prepare<{
  organization_id: string;
  application_id: string | null;
  limit: number;
  offset: number;
}>()((db, p) =>
  db
    .selectFrom('knowledge_documents as d')
    .select([
      'd.id',
      'd.organization_id',
      'd.application_id',
      'd.source',
      'd.title',
      'd.url',
      'd.format',
      'd.edition',
    ])
    .select(['d.created_at', 'd.updated_at'])
    .select((e) =>
      e
        .selectFrom('knowledge_passages as k')
        .select((count) => count.fn.countAll<number>().as('n'))
        .whereRef('k.document_id', '=', 'd.id')
        .$asScalar()
        .$notNull()
        .as('passages'),
    )
    .where('d.organization_id', '=', p.organization_id)
    .where(isOrAny('d.application_id', p.application_id))
    .orderBy('d.application_id')
    .orderBy('d.source')
    .limit(p.limit)
    .offset(p.offset),
);
const countDocuments = prepare<{ organization_id: string; application_id: string | null }>()((db, p) =>
  db
    .selectFrom('knowledge_documents')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id)
    .where(isOrAny('application_id', p.application_id)),
);
const staleDocuments = prepare<{ edition: number; limit: number }>()((db, p) =>
  db
    .selectFrom('knowledge_documents')
    .select('id')
    .where('edition', '<>', p.edition)
    .orderBy('id')
    .limit(p.limit),
);

const insertPassage = prepare<Omit<KnowledgePassageRow, 'row' | 'embedding' | 'embedding_model'>>()((db, p) =>
  db
    .insertInto('knowledge_passages')
    .values({
      id: p.id,
      document_id: p.document_id,
      application_id: p.application_id,
      position: p.position,
      heading: p.heading,
      anchor: p.anchor,
      text: p.text,
    })
    .returning('row'),
);
const removePassages = prepare<{ document_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('knowledge_passages')
    .where('row', 'in', (e) =>
      e
        .selectFrom('knowledge_passages')
        .select('row')
        .where('document_id', '=', p.document_id)
        .limit(p.limit),
    ),
);
const countByDocument = prepare<{ document_id: string }>()((db, p) =>
  db
    .selectFrom('knowledge_passages')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('document_id', '=', p.document_id),
);
const countByApplication = prepare<{ application_id: string }>()((db, p) =>
  db
    .selectFrom('knowledge_passages')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('application_id', '=', p.application_id),
);
const insertWords = prepare<{ rowid: number; heading: string; words: string }>()((db, p) =>
  db.insertInto('knowledge_search').values({ rowid: p.rowid, heading: p.heading, words: p.words }),
);
const insertHeading = prepare<{ rowid: number; words: string }>()((db, p) =>
  db.insertInto('knowledge_headings').values({ rowid: p.rowid, words: p.words }),
);

const scopeOf = prepare<{ application_id: string }>()((db, p) =>
  db.selectFrom('knowledge_scopes').select('number').where('application_id', '=', p.application_id),
);
const makeScope = prepare<{ application_id: string }>()((db, p) =>
  db.insertInto('knowledge_scopes').values({ application_id: p.application_id }).returning('number'),
);

const countMatching = prepare<{ query: string }>()((db, p) =>
  db
    .selectFrom('knowledge_search')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where(sql<boolean>`knowledge_search match ${p.query}`),
);

const vocabulary = prepare<{ from: string; to: string }>()((db, p) =>
  db.selectFrom('knowledge_vocabulary').select('term').where('term', '>=', p.from).where('term', '<', p.to),
);

/**
 * The best by BM25, which runs inside the index; only they are joined. The plus keeps SQLite from the index on
 * applications, which would lead through every passage of one.
 */
const matching = prepare<{ query: string; application_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom(
      db
        .selectFrom('knowledge_search')
        .select(['rowid', 'heading as heading_words', 'words as text_words'])
        .where(sql<boolean>`knowledge_search match ${p.query}`)
        .orderBy(sql`rank`)
        .limit(p.limit)
        .as('found'),
    )
    .innerJoin('knowledge_passages as k', 'k.row', 'found.rowid')
    .innerJoin('knowledge_documents as d', 'd.id', 'k.document_id')
    .select([
      'k.row',
      'k.id',
      'k.document_id',
      'k.heading',
      'k.anchor',
      'k.text',
      'd.title',
      'd.url',
      'found.heading_words',
      'found.text_words',
    ])
    .where(withoutIndex('k.application_id'), '=', p.application_id),
);
/** The same by the headings alone. */
const matchingHeadings = prepare<{ query: string; application_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom(
      db
        .selectFrom('knowledge_headings')
        .select('rowid')
        .where(sql<boolean>`knowledge_headings match ${p.query}`)
        .orderBy(sql`rank`)
        .limit(p.limit)
        .as('found'),
    )
    .innerJoin('knowledge_passages as k', 'k.row', 'found.rowid')
    .innerJoin('knowledge_search as indexed', 'indexed.rowid', 'k.row')
    .innerJoin('knowledge_documents as d', 'd.id', 'k.document_id')
    .select(['k.row', 'k.id', 'k.document_id', 'k.heading', 'k.anchor', 'k.text', 'd.title', 'd.url'])
    .select(['indexed.heading as heading_words', 'indexed.words as text_words'])
    .where(withoutIndex('k.application_id'), '=', p.application_id),
);
const rowById = prepare<{ id: string; application_id: string }>()((db, p) =>
  db
    .selectFrom('knowledge_passages')
    .select('row')
    .where('id', '=', p.id)
    .where('application_id', '=', p.application_id),
);
const candidateByRow = prepare<{ row: number; application_id: string }>()((db, p) =>
  db
    .selectFrom('knowledge_passages as k')
    .innerJoin('knowledge_search as found', 'found.rowid', 'k.row')
    .innerJoin('knowledge_documents as d', 'd.id', 'k.document_id')
    .select(['k.row', 'k.id', 'k.document_id', 'k.heading', 'k.anchor', 'k.text', 'd.title', 'd.url'])
    .select(['found.heading as heading_words', 'found.words as text_words'])
    .where('k.row', '=', p.row)
    .where('k.application_id', '=', p.application_id),
);

const unembedded = prepare<{ model: string; limit: number }>()((db, p) =>
  db
    .selectFrom('knowledge_passages as k')
    .innerJoin('knowledge_documents as d', 'd.id', 'k.document_id')
    .select(['k.id', 'k.heading', 'k.text', 'd.title'])
    // Three ranges of the index, where "is not" would read every passage.
    .where((e) =>
      e.or([
        e('k.embedding_model', 'is', null),
        e('k.embedding_model', '<', p.model),
        e('k.embedding_model', '>', p.model),
      ]),
    )
    .limit(p.limit),
);
const setEmbedding = prepare<Pick<KnowledgePassageRow, 'id' | 'embedding' | 'embedding_model'>>()((db, p) =>
  db
    .updateTable('knowledge_passages')
    .set({ embedding: p.embedding, embedding_model: p.embedding_model })
    .where('id', '=', p.id),
);
const embedded = prepare<{ application_id: string; model: string; after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('knowledge_passages')
    .select(['row', 'embedding'])
    .where('application_id', '=', p.application_id)
    .where('row', '>', p.after)
    .where('embedding_model', '=', p.model)
    .where('embedding', 'is not', null)
    .orderBy('row')
    .limit(p.limit),
);

const synonymsOf = prepare<{ application_id: string }>()((db, p) =>
  db.selectFrom('knowledge_synonyms').select('synonyms').where('application_id', '=', p.application_id),
);
const setSynonyms = prepare<{ application_id: string; synonyms: string }>()((db, p) =>
  db
    .insertInto('knowledge_synonyms')
    .values({ application_id: p.application_id, synonyms: p.synonyms })
    .onConflict((conflict) => conflict.column('application_id').doUpdateSet({ synonyms: p.synonyms })),
);

const removeWords = prepare<{ rowid: number }>()((db, p) =>
  db.deleteFrom('knowledge_search').where('rowid', '=', p.rowid),
);
const removeHeading = prepare<{ rowid: number }>()((db, p) =>
  db.deleteFrom('knowledge_headings').where('rowid', '=', p.rowid),
);
const rowsUnderHeading = prepare<{ document_id: string; heading: string | null }>()((db, p) =>
  db
    .selectFrom('knowledge_passages')
    .select('row')
    .where('document_id', '=', p.document_id)
    .where('heading', 'is not distinct from', p.heading)
    .orderBy('position'),
);
const insertQuestion = prepare<KnowledgeQuestionRow>()((db, p) =>
  db.insertInto('knowledge_questions').values({
    id: p.id,
    application_id: p.application_id,
    document_id: p.document_id,
    heading: p.heading,
    question: p.question,
    created_at: p.created_at,
  }),
);
const removeQuestion = prepare<{ id: string }>()((db, p) =>
  db.deleteFrom('knowledge_questions').where('id', '=', p.id),
);
const questionsOf = prepare<{ document_ids: string }>()((db, p) =>
  db
    .selectFrom('knowledge_questions')
    .selectAll()
    .where(isOneOf('document_id', p.document_ids))
    .orderBy('created_at')
    .orderBy('id'),
);

/** A term as the index has it: begun with its application's number. Digits end at the x, so no two pairs are the same. */
const indexedTerm = (scope: number, term: string): string => `${scope}x${term}`;
const bareTerm = (scope: number, indexed: string): string => indexed.slice(indexedTerm(scope, '').length);

/** Any of the terms, as an FTS5 query: each is quoted, so that nothing typed is ever syntax. */
function toMatch(scope: number, terms: readonly string[]): string {
  return terms.map((term) => `"${indexedTerm(scope, term).replaceAll('"', '""')}"`).join(' OR ');
}

function toCandidate(
  scope: number,
  { heading_words, text_words, ...row }: IndexedPassage,
): KnowledgeCandidate {
  const bare = (indexed: string): string[] =>
    indexed === '' ? [] : indexed.split(' ').map((term) => bareTerm(scope, term));
  return { ...row, terms: { heading: bare(heading_words), text: bare(text_words) } };
}

/** A passage with its words as they lie in the index: parted by blanks. */
type IndexedPassage = Omit<KnowledgeCandidate, 'terms'> & { heading_words: string; text_words: string };

export function createKnowledgeRepository(runner: Runner): KnowledgeRepository {
  return {
    byId: (id: string) => first(runner, documentById, { id }),
    bySource: (applicationId: string, source: string) =>
      first(runner, documentBySource, { application_id: applicationId, source }),
    insert: (row: KnowledgeDocumentRow) => run(runner, insertDocument, row),
    update: (row: KnowledgeDocumentRow) => run(runner, updateDocument, row),
    remove: (id: string) => run(runner, removeDocument, { id }),
    list: (
      organizationId: string,
      applicationId: string | null,
      limit: number,
      offset: number,
    ): Promise<ListedDocument[]> =>
      all(runner, listed, { organization_id: organizationId, application_id: applicationId, limit, offset }),
    count: async (organizationId: string, applicationId: string | null) =>
      (
        await first(runner, countDocuments, {
          organization_id: organizationId,
          application_id: applicationId,
        })
      )?.n ?? 0,
    state: (id: string) => first(runner, stateOf, { id }),
    setEdition: (id: string, edition: number) => run(runner, setEdition, { id, edition }),
    stale: async (edition: number, limit: number) =>
      (await all(runner, staleDocuments, { edition, limit })).map((row) => row.id),

    insertPassage: async (row, scope, { heading, text }) => {
      const made = await first(runner, insertPassage, row);
      if (made === undefined) return;
      const indexed = (terms: readonly string[]): string =>
        terms.map((term) => indexedTerm(scope, term)).join(' ');
      await run(runner, insertWords, { rowid: made.row, heading: indexed(heading), words: indexed(text) });
      await run(runner, insertHeading, { rowid: made.row, words: indexed(heading) });
    },
    removePassages: (documentId: string, limit: number) =>
      run(runner, removePassages, { document_id: documentId, limit }),
    passagesOfDocument: async (documentId: string) =>
      (await first(runner, countByDocument, { document_id: documentId }))?.n ?? 0,
    passagesOfApplication: async (applicationId: string) =>
      (await first(runner, countByApplication, { application_id: applicationId }))?.n ?? 0,

    scope: async (applicationId: string) =>
      (await first(runner, scopeOf, { application_id: applicationId }))?.number,
    ensureScope: async (applicationId: string): Promise<number> => {
      const found =
        (await first(runner, scopeOf, { application_id: applicationId })) ??
        (await first(runner, makeScope, { application_id: applicationId }));
      if (found === undefined) throw new Error('a scope could not be made');
      return found.number;
    },

    counts: async (scope, terms) => {
      const found = new Map<string, number>();
      for (const term of terms)
        found.set(term, (await first(runner, countMatching, { query: toMatch(scope, [term]) }))?.n ?? 0);
      return found;
    },
    vocabulary: async (scope, beginning) => {
      const from = indexedTerm(scope, beginning);
      const rows = await all(runner, vocabulary, { from, to: `${from}\u{10ffff}` });
      return rows.map(({ term }) => bareTerm(scope, term));
    },
    matching: async (scope, applicationId, terms, limit) => {
      const asked = { query: toMatch(scope, terms), application_id: applicationId, limit };
      return (await all(runner, matching, asked)).map((row) => toCandidate(scope, row));
    },
    matchingHeadings: async (scope, applicationId, terms, limit) => {
      const asked = { query: toMatch(scope, terms), application_id: applicationId, limit };
      return (await all(runner, matchingHeadings, asked)).map((row) => toCandidate(scope, row));
    },
    candidate: async (scope, applicationId, row) => {
      const found = await first(runner, candidateByRow, { row, application_id: applicationId });
      return found && toCandidate(scope, found);
    },

    rowOf: async (applicationId, id) =>
      (await first(runner, rowById, { id, application_id: applicationId }))?.row,
    underHeading: async (scope, applicationId, documentId, heading) => {
      const rows = await all(runner, rowsUnderHeading, { document_id: documentId, heading });
      const found = await Promise.all(
        rows.map(({ row }) => first(runner, candidateByRow, { row, application_id: applicationId })),
      );
      return found.flatMap((one) => (one === undefined ? [] : [toCandidate(scope, one)]));
    },
    setHeadingTerms: async (row, scope, { heading, text }) => {
      const indexed = (terms: readonly string[]): string =>
        terms.map((term) => indexedTerm(scope, term)).join(' ');
      await run(runner, removeWords, { rowid: row });
      await run(runner, insertWords, { rowid: row, heading: indexed(heading), words: indexed(text) });
      await run(runner, removeHeading, { rowid: row });
      await run(runner, insertHeading, { rowid: row, words: indexed(heading) });
    },
    insertQuestion: (row) => run(runner, insertQuestion, row),
    removeQuestion: (id) => run(runner, removeQuestion, { id }),
    questions: (documentIds) =>
      all(runner, questionsOf, { document_ids: JSON.stringify([...new Set(documentIds)]) }),

    unembedded: (model: string, limit: number) => all(runner, unembedded, { model, limit }),
    setEmbedding: (id: string, embedding: Uint8Array | null, model: string) =>
      run(runner, setEmbedding, { id, embedding, embedding_model: model }),
    embedded: (applicationId: string, model: string, after: number, limit: number) =>
      all(runner, embedded, { application_id: applicationId, model, after, limit }),

    synonyms: async (applicationId: string) =>
      (await first(runner, synonymsOf, { application_id: applicationId }))?.synonyms,
    setSynonyms: (applicationId: string, synonyms: string) =>
      run(runner, setSynonyms, { application_id: applicationId, synonyms }),
  };
}
