// The words of passages: SQLite's full-text index, and two tables on PostgreSQL, where the same ranking is reckoned in
// SQL. What a search means is services/assistant/knowledge/retrieval.
import { sql } from 'kysely';
import type { KnowledgeRepository } from '../../repositories/knowledge.ts';
import type { KnowledgeCandidate, PassageTerms } from '../../rows.ts';
import { isOneOf, withoutIndex } from '../dialect.ts';
import { all, first, prepare, prepareForSqlite, run, type Runner } from '../query.ts';

/** What a repository of knowledge asks of an index of words. */
export interface KnowledgeWords extends Pick<
  KnowledgeRepository,
  'counts' | 'vocabulary' | 'matching' | 'matchingHeadings' | 'candidate'
> {
  /** Indexes a passage that has no words yet. */
  insert(row: number, scope: number, terms: PassageTerms): Promise<void>;
  remove(row: number): Promise<void>;
}

const insertWords = prepareForSqlite<{ rowid: number; heading: string; words: string }>()((db, p) =>
  db.insertInto('knowledge_search').values({ rowid: p.rowid, heading: p.heading, words: p.words }),
);
const insertHeading = prepareForSqlite<{ rowid: number; words: string }>()((db, p) =>
  db.insertInto('knowledge_headings').values({ rowid: p.rowid, words: p.words }),
);

/** What every way to a passage asks of it and of its document. */
const candidateColumns = [
  'k.row',
  'k.id',
  'k.document_id',
  'k.heading',
  'k.anchor',
  'k.text',
  'd.title',
  'd.url',
  'd.source',
] as const;

const countMatching = prepareForSqlite<{ query: string }>()((db, p) =>
  db
    .selectFrom('knowledge_search')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where(sql<boolean>`knowledge_search match ${p.query}`),
);

const vocabulary = prepareForSqlite<{ from: string; to: string }>()((db, p) =>
  db.selectFrom('knowledge_vocabulary').select('term').where('term', '>=', p.from).where('term', '<', p.to),
);

/**
 * The best by BM25, which runs inside the index; only they are joined. The plus keeps SQLite from the index on
 * applications, which would lead through every passage of one.
 */
const matching = prepareForSqlite<{ query: string; application_id: string; limit: number }>()((db, p) =>
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
    .select(candidateColumns)
    .select(['found.heading_words', 'found.text_words'])
    .where(withoutIndex('k.application_id'), '=', p.application_id),
);
/** The same by the headings alone. */
const matchingHeadings = prepareForSqlite<{ query: string; application_id: string; limit: number }>()(
  (db, p) =>
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
      .select(candidateColumns)
      .select(['indexed.heading as heading_words', 'indexed.words as text_words'])
      .where(withoutIndex('k.application_id'), '=', p.application_id),
);
const removeWords = prepareForSqlite<{ rowid: number }>()((db, p) =>
  db.deleteFrom('knowledge_search').where('rowid', '=', p.rowid),
);
const removeHeading = prepareForSqlite<{ rowid: number }>()((db, p) =>
  db.deleteFrom('knowledge_headings').where('rowid', '=', p.rowid),
);
const candidateByRow = prepare<{ row: number; application_id: string }>()((db, p) =>
  db
    .selectFrom('knowledge_passages as k')
    .innerJoin('knowledge_search as found', 'found.rowid', 'k.row')
    .innerJoin('knowledge_documents as d', 'd.id', 'k.document_id')
    .select(candidateColumns)
    .select(['found.heading as heading_words', 'found.words as text_words'])
    .where('k.row', '=', p.row)
    .where('k.application_id', '=', p.application_id),
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

function candidateOf(runner: Runner): KnowledgeWords['candidate'] {
  return async (scope, applicationId, row) => {
    const found = await first(runner, candidateByRow, { row, application_id: applicationId });
    return found && toCandidate(scope, found);
  };
}

const allIndexed = (scope: number, terms: readonly string[]): string =>
  terms.map((term) => indexedTerm(scope, term)).join(' ');

/** The full-text index of SQLite. */
export function createSqliteWords(runner: Runner): KnowledgeWords {
  return {
    insert: async (row, scope, { heading, text }) => {
      await run(runner, insertWords, {
        rowid: row,
        heading: allIndexed(scope, heading),
        words: allIndexed(scope, text),
      });
      await run(runner, insertHeading, { rowid: row, words: allIndexed(scope, heading) });
    },
    remove: async (row) => {
      await run(runner, removeWords, { rowid: row });
      await run(runner, removeHeading, { rowid: row });
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
    candidate: candidateOf(runner),
  };
}

const insertPassageWords = prepare<{
  rowid: number;
  scope: number;
  heading: string;
  words: string;
  length: number;
  heading_length: number;
}>()((db, p) =>
  db.insertInto('knowledge_search').values({
    rowid: p.rowid,
    scope: p.scope,
    heading: p.heading,
    words: p.words,
    length: p.length,
    heading_length: p.heading_length,
  }),
);
const insertTerms = prepare<{ rowid: number; terms: string }>()((db, p) =>
  db
    .insertInto('knowledge_words')
    .columns(['rowid', 'term', 'heading_count', 'text_count'])
    .expression(
      db
        .selectFrom(
          sql<{
            term: string;
            heading_count: number;
            text_count: number;
          }>`json_to_recordset(${p.terms}::json)`.as<'counted'>(
            sql`counted(term text, heading_count bigint, text_count bigint)`,
          ),
        )
        .select([
          sql<number>`${p.rowid}::bigint`.as('rowid'),
          'counted.term',
          'counted.heading_count',
          'counted.text_count',
        ]),
    ),
);
const removePassageWords = prepare<{ rowid: number }>()((db, p) =>
  db.deleteFrom('knowledge_search').where('rowid', '=', p.rowid),
);
const removeTerms = prepare<{ rowid: number }>()((db, p) =>
  db.deleteFrom('knowledge_words').where('rowid', '=', p.rowid),
);
const countTerms = prepare<{ terms: string }>()((db, p) =>
  db
    .selectFrom('knowledge_words')
    .select((e) => ['term', e.fn.countAll<number>().as('n')])
    .where(isOneOf('term', p.terms))
    .groupBy('term'),
);
const termsBetween = prepare<{ from: string; to: string }>()((db, p) =>
  db
    .selectFrom('knowledge_words')
    .select('term')
    .distinct()
    .where('term', '>=', p.from)
    .where('term', '<', p.to)
    .orderBy('term'),
);

/**
 * BM25 with the constants of SQLite's index. `weight` is how often a term is in a row, `length` how many terms the row has.
 */
const ranked = (weight: string, length: string) =>
  prepare<{ scope: number; terms: string; application_id: string; limit: number }>()((db, p) =>
    db
      .selectFrom(
        sql<{ rowid: number; score: number }>`(
          select w.rowid, sum(greatest(ln((total.n - asked.hits + 0.5) / (asked.hits + 0.5)), 0.000001)
              * ${sql.raw(weight)} * 2.2
              / (${sql.raw(weight)} + 1.2 * (0.25 + 0.75 * s.${sql.raw(length)} / greatest(total.average, 1)))) as score
          from (select count(*)::float8 as n, avg(${sql.raw(length)})::float8 as average
              from knowledge_search where scope = ${p.scope}) as total
            cross join (select term, count(*)::float8 as hits from knowledge_words as w
              where ${isOneOf('term', p.terms)} and ${sql.raw(weight)} > 0 group by term) as asked
            join knowledge_words as w on w.term = asked.term and ${sql.raw(weight)} > 0
            join knowledge_search as s on s.rowid = w.rowid
          group by w.rowid order by score desc, w.rowid limit ${p.limit})`.as('found'),
      )
      .innerJoin('knowledge_passages as k', 'k.row', 'found.rowid')
      .innerJoin('knowledge_search as indexed', 'indexed.rowid', 'k.row')
      .innerJoin('knowledge_documents as d', 'd.id', 'k.document_id')
      .select(candidateColumns)
      .select(['indexed.heading as heading_words', 'indexed.words as text_words'])
      .where('k.application_id', '=', p.application_id)
      .orderBy('found.score', 'desc')
      .orderBy('k.row'),
  );
const rankedPassages = ranked('(2 * w.heading_count + w.text_count)', 'length');
const rankedHeadings = ranked('w.heading_count', 'heading_length');

function counted({ heading, text }: PassageTerms, scope: number): string {
  const counts = new Map<string, { term: string; heading_count: number; text_count: number }>();
  const count = (terms: readonly string[], as: 'heading_count' | 'text_count'): void => {
    for (const bare of terms) {
      const term = indexedTerm(scope, bare);
      const found = counts.get(term) ?? { term, heading_count: 0, text_count: 0 };
      found[as] += 1;
      counts.set(term, found);
    }
  };
  count(heading, 'heading_count');
  count(text, 'text_count');
  return JSON.stringify([...counts.values()]);
}

/** Tables of PostgreSQL. */
export function createPostgresWords(runner: Runner): KnowledgeWords {
  const asJson = (scope: number, terms: readonly string[]): string =>
    JSON.stringify([...new Set(terms)].map((term) => indexedTerm(scope, term)));
  const find = async (
    query: typeof rankedPassages,
    ...[scope, applicationId, terms, limit]: Parameters<KnowledgeWords['matching']>
  ): Promise<KnowledgeCandidate[]> => {
    const asked = { scope, terms: asJson(scope, terms), application_id: applicationId, limit };
    return (await all(runner, query, asked)).map((row) => toCandidate(scope, row));
  };
  return {
    insert: async (row, scope, terms) => {
      await run(runner, insertPassageWords, {
        rowid: row,
        scope,
        heading: allIndexed(scope, terms.heading),
        words: allIndexed(scope, terms.text),
        length: terms.heading.length + terms.text.length,
        heading_length: terms.heading.length,
      });
      await run(runner, insertTerms, { rowid: row, terms: counted(terms, scope) });
    },
    remove: async (row) => {
      await run(runner, removePassageWords, { rowid: row });
      await run(runner, removeTerms, { rowid: row });
    },
    counts: async (scope, terms) => {
      const found = new Map(terms.map((term) => [term, 0]));
      for (const { term, n } of await all(runner, countTerms, { terms: asJson(scope, terms) }))
        found.set(bareTerm(scope, term), n);
      return found;
    },
    vocabulary: async (scope, beginning) => {
      const from = indexedTerm(scope, beginning);
      const rows = await all(runner, termsBetween, { from, to: `${from}\u{10ffff}` });
      return rows.map(({ term }) => bareTerm(scope, term));
    },
    matching: (...asked) => find(rankedPassages, ...asked),
    matchingHeadings: (...asked) => find(rankedHeadings, ...asked),
    candidate: candidateOf(runner),
  };
}
