// Queries on the assistant's knowledge: documents, the passages they are cut into, the full-text index over them,
// synonyms, vectors. What a search means is services/assistant/knowledge/retrieval.
import type { KnowledgeRepository } from '../../repositories/knowledge.ts';
import type {
  KnowledgeDocumentRow,
  KnowledgePassageRow,
  KnowledgeQuestionRow,
  ListedDocument,
} from '../../rows.ts';
import { isOneOf, isOrAny } from '../dialect.ts';
import { all, first, isImmediate, prepare, run, type Runner } from '../query.ts';
import { createPostgresWords, createSqliteWords } from './knowledge-words.ts';

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
const staleDocuments = prepare<{ edition: number; after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('knowledge_documents')
    .select('id')
    .where('edition', '<>', p.edition)
    .where('id', '>', p.after)
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
const scopeOf = prepare<{ application_id: string }>()((db, p) =>
  db.selectFrom('knowledge_scopes').select('number').where('application_id', '=', p.application_id),
);
const makeScope = prepare<{ application_id: string }>()((db, p) =>
  db.insertInto('knowledge_scopes').values({ application_id: p.application_id }).returning('number'),
);

const rowById = prepare<{ id: string; application_id: string }>()((db, p) =>
  db
    .selectFrom('knowledge_passages')
    .select('row')
    .where('id', '=', p.id)
    .where('application_id', '=', p.application_id),
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

export function createKnowledgeRepository(runner: Runner): KnowledgeRepository {
  const words = isImmediate(runner) ? createSqliteWords(runner) : createPostgresWords(runner);
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
    stale: async (edition: number, after: string, limit: number) =>
      (await all(runner, staleDocuments, { edition, after, limit })).map((row) => row.id),

    insertPassage: async (row, scope, terms) => {
      const made = await first(runner, insertPassage, row);
      if (made !== undefined) await words.insert(made.row, scope, terms);
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

    counts: words.counts,
    vocabulary: words.vocabulary,
    matching: words.matching,
    matchingHeadings: words.matchingHeadings,
    candidate: words.candidate,

    rowOf: async (applicationId, id) =>
      (await first(runner, rowById, { id, application_id: applicationId }))?.row,
    underHeading: async (scope, applicationId, documentId, heading) => {
      const rows = await all(runner, rowsUnderHeading, { document_id: documentId, heading });
      const found = await Promise.all(rows.map(({ row }) => words.candidate(scope, applicationId, row)));
      return found.flatMap((one) => (one === undefined ? [] : [one]));
    },
    setHeadingTerms: async (row, scope, terms) => {
      await words.remove(row);
      await words.insert(row, scope, terms);
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
