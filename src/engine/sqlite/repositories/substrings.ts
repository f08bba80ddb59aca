// Queries on the index of subjects, visitors' names and addresses (migrations/0023-substrings.ts). What a text in a
// conversation is, the queue's own comparison says; the index finds where it may be.
import { sql } from 'kysely';
import type { SubstringQuery, SubstringSource, SubstringsRepository } from '../../repositories/substrings.ts';
import { isOneOfNumbers, whole } from '../dialect.ts';
import { casesOf } from '../letter-case.ts';
import { all, first, prepareForSqlite, type PreparedQuery, type Runner } from '../query.ts';

interface Stretch {
  query: string;
  after: number;
  through: number;
  most: number;
}
interface SourceQueries {
  /** The first trigram from one on: the others of its line, for each text that has it, are not read. */
  readonly trigramFrom: PreparedQuery<{ from: string; to: string }, { term: string }>;
  readonly last: PreparedQuery<object, { number: number | null }>;
  readonly matching: PreparedQuery<Stretch, { number: number }>;
}

/** @param rows whose rows an index is of, by their numbers */
function queriesOf(
  index: 'search_subjects' | 'search_visitors',
  rows: 'conversations' | 'visitors',
): SourceQueries {
  return {
    trigramFrom: prepareForSqlite<{ from: string; to: string }>()((db, p) =>
      db
        .selectFrom(`${index}_vocabulary`)
        .select('term')
        .where('term', '>=', p.from)
        .where('term', '<', p.to)
        .limit(1),
    ),
    last: prepareForSqlite<object>()((db) =>
      db.selectFrom(rows).select(sql<number | null>`max(rowid)`.as('number')),
    ),
    matching: prepareForSqlite<Stretch>()((db, p) =>
      db
        .selectFrom(index)
        .select('rowid as number')
        .where(sql<boolean>`${sql.table(index)} match ${p.query}`)
        .where('rowid', '>', whole(p.after))
        .where('rowid', '<=', whole(p.through))
        .orderBy('rowid')
        .limit(p.most),
    ),
  };
}
const sources: Readonly<Record<SubstringSource, SourceQueries>> = {
  subjects: queriesOf('search_subjects', 'conversations'),
  visitors: queriesOf('search_visitors', 'visitors'),
};
const placesOfVisitors = prepareForSqlite<{ numbers: string }>()((db, p) =>
  db
    .selectFrom('visitors as v')
    .innerJoin('conversations as c', 'c.visitor_key', 'v.id')
    .select(sql<number>`c.rowid`.as('place'))
    .where(isOneOfNumbers('v.rowid', p.numbers)),
);

/** Of the pieces that begin as a text of one or two characters, so many are looked up. */
const maxPieces = 200;
/** Of a long text so many trigrams are looked up, each way to write one counted; of its last one every way. */
const maxTrigrams = 17;

/** SQLite's lower(), which the index's words are made with, knows the letters of ASCII. */
const lowered = (letter: string): string => (/^[A-Z]$/.test(letter) ? letter.toLowerCase() : letter);

/** A piece of up to three letters as the index may have it: ASCII letters in lower case, others as they were written. */
function indexed(organizationId: string, piece: readonly string[]): string[] {
  let written = [''];
  for (const letter of piece) {
    const cases = [...new Set(casesOf(letter).map(lowered))];
    written = written.flatMap((beginning) => cases.map((one) => beginning + one));
  }
  const organization = `${organizationId.slice(-12).toLowerCase()}x`;
  return written.map((text) => organization + Buffer.from(text).toString('hex'));
}

/**
 * Trigrams that stand side by side, and the last one: those between them would add a look each, and tell little more.
 * @returns of each the ways in which it may be written
 */
function trigramsOf(organizationId: string, letters: readonly string[]): string[][] {
  const at = (index: number): string[] => indexed(organizationId, letters.slice(index, index + 3));
  const last = letters.length - 3;
  const found = [at(last)];
  let count = at(last).length;
  for (let index = 0; index < last; index += 3) {
    const trigram = at(index);
    count += trigram.length;
    if (count > maxTrigrams) break;
    found.push(trigram);
  }
  return found;
}

/** Behind every trigram that begins with what stands before it. */
const beyond = 'g';
/** Stands before every sign of a trigram: with it begins what comes behind one. */
const next = ' ';

export function createSubstringsRepository(runner: Runner): SubstringsRepository {
  /** @returns null: there are more than are looked up */
  async function piecesFrom(
    { trigramFrom }: SourceQueries,
    beginnings: readonly string[],
  ): Promise<string[] | null> {
    const found: string[] = [];
    for (const beginning of beginnings)
      for (let from = beginning; ;) {
        const term = (await first(runner, trigramFrom, { from, to: beginning + beyond }))?.term;
        if (term === undefined) break;
        if (found.length >= maxPieces) return null;
        found.push(term);
        from = term + next;
      }
    return found;
  }
  return {
    query: async (organizationId, text): Promise<SubstringQuery | null> => {
      const letters = Array.from(text);
      if (letters.length >= 3) {
        const query = trigramsOf(organizationId, letters)
          .map((ways) => `(${ways.join(' OR ')})`)
          .join(' AND ');
        return { subjects: query, visitors: query };
      }
      const beginnings = indexed(organizationId, letters);
      const subjects = await piecesFrom(sources.subjects, beginnings);
      const visitors = subjects === null ? null : await piecesFrom(sources.visitors, beginnings);
      if (subjects === null || visitors === null) return null;
      const oneOf = (pieces: readonly string[]): string | null =>
        pieces.length === 0 ? null : pieces.join(' OR ');
      return { subjects: oneOf(subjects), visitors: oneOf(visitors) };
    },
    matches: async (source, query, { after, span, most }) => {
      const { last, matching } = sources[source];
      const end = (await first(runner, last, {}))?.number ?? 0;
      const rows = await all(runner, matching, { query, after, through: after + span, most });
      const reached = rows.length < most ? after + span : (rows.at(-1)?.number ?? 0);
      return { numbers: rows.map(({ number }) => number), after: reached < end ? reached : null };
    },
    placesOfVisitors: async (visitors) =>
      (await all(runner, placesOfVisitors, { numbers: JSON.stringify(visitors) })).map(({ place }) => place),
  };
}
