// Queries on the full-text index of messages. Words arrive segmented; what a search
// means is services/search.ts.
import type { SearchRepository, WordQuery } from '../../repositories/search.ts';
import { sql } from 'kysely';
import { isOneOf, whole } from '../dialect.ts';
import { twoFaced } from '../../../../migrations/columns.ts';
import {
  all,
  attempt,
  builder,
  first,
  isImmediate,
  prepare,
  prepareForSqlite,
  run,
  type ImmediateRunner,
  type Runner,
} from '../query.ts';

const rowOf = prepare<{ message_id: string }>()((db, p) =>
  db.selectFrom('search_rows').select('id').where('message_id', '=', p.message_id),
);
const scopeOf = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('search_scopes').select('number').where('organization_id', '=', p.organization_id),
);
const makeScope = prepare<{ organization_id: string }>()((db, p) =>
  db.insertInto('search_scopes').values({ organization_id: p.organization_id }),
);
const textsOf = prepare<{ ids: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select((e) => ['id', e.fn.coalesce('content_text', 'content').as('text')])
    .where(isOneOf('id', p.ids))
    .where('deleted_at', 'is', null),
);
// One row each: before a statement that writes several, SQLite has FTS5 write what it holds, as a part of its own.
const insertRow = prepare<{ message_id: string }>()((db, p) =>
  db
    .insertInto('search_rows')
    .values({ message_id: p.message_id })
    .onConflict((conflict) => conflict.column('message_id').doNothing()),
);
const insertWords = prepareForSqlite<{ rowid: number; words: string }>()((db, p) =>
  db.insertInto('search').values({ rowid: p.rowid, words: p.words }),
);
/** On PostgreSQL, where an entry is replaced in its place. */
const placeRow = prepare<{ message_id: string }>()((db, p) =>
  db
    .insertInto('search_rows')
    .values({ message_id: p.message_id })
    .onConflict((conflict) => conflict.column('message_id').doUpdateSet({ message_id: p.message_id }))
    .returning('id'),
);
const placeWords = prepare<{ rowid: number; words: string }>()((db, p) => {
  const words = twoFaced({
    sqlite: sql<string>`${p.words}`,
    postgres: sql<string>`array_to_tsvector(string_to_array(${p.words}, ' '))`,
  });
  return db
    .insertInto('search')
    .values({ rowid: p.rowid, words })
    .onConflict((conflict) => conflict.column('rowid').doUpdateSet({ words }));
});
const remove = prepare<{ message_id: string }>()((db, p) =>
  db.deleteFrom('search_rows').where('message_id', '=', p.message_id),
);
const unindexed = prepare<{ after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .leftJoin('search_rows', 'search_rows.message_id', 'messages.id')
    .select(['messages.id', 'messages.organization_id', 'messages.conversation_id'])
    .where('messages.id', '>', p.after)
    .where('messages.deleted_at', 'is', null)
    .where('search_rows.id', 'is', null)
    .orderBy('messages.id')
    .limit(p.limit),
);
/** A page of the index holds about so much, characters. */
const pageLength = 4_000;
/** In an index of a hundred million words each is written so often, because parts are merged four into one. */
const timesMerged = 8;
/** Owed for a message at least, pages: alone in its commit it is a part of one page, and of four such parts one is made. */
const leastOwed = 0.5;
/** Merged at once: a millisecond. Fewer cost more, because each time begins with a search for where the last one ended. */
const mergedPages = 32;
/**
 * Each commit leaves the words that it adds in a part of their own, and a search looks into every part, so they are merged.
 * By itself FTS5 does that for hundreds of pages in one commit (migrations/0025-search-merges.ts); this is for a few.
 */
const mergeParts = sql`insert into search (search, rank) values ('merge', ${sql.lit(mergedPages)})`.compile(
  builder,
);
/** The statements that write the index: they touch no conversation. */
export const indexStatements = [
  ...[makeScope, insertRow, insertWords, remove].map(({ compiled }) => compiled),
  mergeParts,
];
const lastEntry = prepare<object>()((db) =>
  db.selectFrom('search_rows').select('id').orderBy('id', 'desc').limit(1),
);
/** The newest matches of a stretch. */
const matching = prepare<{
  query: string;
  organization_id: string;
  before: number;
  from: number;
  most: number;
}>()((db, p) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('search')
        .select('search.rowid as id')
        .where(
          twoFaced({
            sqlite: sql<boolean>`search match ${p.query}`,
            postgres: sql<boolean>`words @@ (${p.query}::tsquery)`,
          }),
        )
        .where('search.rowid', '<', whole(p.before))
        .where('search.rowid', '>=', whole(p.from))
        .orderBy('search.rowid', 'desc')
        .limit(p.most)
        .as('found'),
    )
    .leftJoin('search_rows', 'search_rows.id', 'found.id')
    .leftJoin('messages', (join) =>
      join
        .onRef('messages.id', '=', 'search_rows.message_id')
        .on('messages.organization_id', '=', p.organization_id),
    )
    .select(['found.id', 'messages.conversation_id'])
    .orderBy('found.id', 'desc'),
);
/** The first word from one on: the others of its line, for each time that it occurs, are not read. */
const wordFrom = prepareForSqlite<{ from: string; to: string }>()((db, p) =>
  db
    .selectFrom('search_vocabulary')
    .select('term')
    .where('term', '>=', p.from)
    .where('term', '<', p.to)
    .limit(1),
);

/** What a database of its own process looks at: the newest matches, so that a word in every message costs no more. */
const maxMatchingMessages = 5_000;

/** A word as the index has it: with its organization in front, so that no other organization's search meets it. */
const indexedWord = (scope: number, word: string): string => `${scope}x${word}`;

/** Letters and digits of ASCII: the most words by far. */
const plain = /^[a-z\d]+$/;
/** What joins parts to one word, as in `l'avion`, `example.com` and `order_id`. */
const joint = /[^\p{L}\p{N}\p{M}]+/u;
/** Of a word of more parts the last ones are found by themselves, but not with what follows them. */
const maxEndsOfWord = 8;

/** What a word is found by: itself, each part of one that is joined, and each part with what follows it. */
function entriesOf(word: string): string[] {
  if (plain.test(word)) return [word];
  const parts = word.split(joint).filter((part) => part !== '');
  if (parts.length === 0 || parts[0] === word) return [word];
  const found = new Set([word, ...parts]);
  let at = 0;
  for (const part of parts.slice(0, maxEndsOfWord)) {
    at = word.indexOf(part, at);
    found.add(word.slice(at));
    at += part.length;
  }
  return [...found];
}

/** A letter to SQLite's tokenizer, and in no word: stands for what joins parts. */
const joined = '\u02bc';
/**
 * What words are compared without: accents, which the tokenizer drops or parts words at, the points of Arabic and Hebrew,
 * which most texts leave out, and what only chooses a shape.
 */
const points = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\p{VS}]/gu;
/** What else the tokenizer parts words at: the vowel signs of many scripts, and some letters that it holds for signs. */
const signs = /[\p{M}\u19b0-\u19c9\u1cf2\u1cf3]/gu;
/** Letters to the tokenizer, one for each sign. */
const firstOfPrivateUse = 0xf_0000;

/**
 * A word in letters that SQLite's tokenizer leaves together: what it parts from a word would be an entry of the index without
 * its organization.
 */
function together(word: string): string {
  if (plain.test(word)) return word;
  return word
    .replaceAll(points, '')
    .replaceAll(signs, (sign) =>
      String.fromCodePoint(firstOfPrivateUse + ((sign.codePointAt(0) ?? 0) & 0xffff)),
    )
    .split(between)
    .join(joined);
}
const between = /[^\p{L}\p{N}\p{Co}]+/u;

/** As an FTS5 query: each word is quoted, so that nothing typed is ever syntax. */
function toMatch({ words, prefix, endings }: WordQuery, scope: number): string {
  const quoted = (word: string): string => `"${indexedWord(scope, word).replaceAll('"', '""')}"`;
  const all = words.map((word) => quoted(together(word)));
  if (endings === undefined) return [...all, `${quoted(together(prefix))}*`].join(' ');
  return [...all, `(${endings.map(quoted).join(' OR ')})`].join(' AND ');
}

/** Words that unicode61 takes for one as they are. It has accents of its own for two letters. */
const oneToken = /^[\p{L}\p{N}\p{Co}]+$/u;
const otherwise = /[\u01e0\u01e1\u19b0-\u19c9\u1cf2\u1cf3]/u;

/**
 * A word as SQLite's tokenizer leaves it (unicode61, remove_diacritics 2): Latin letters without their accents.
 * @param word in lower case, composed
 * @returns null: it makes more of it than one word
 */
export function asTokenized(word: string): string | null {
  if (!oneToken.test(word) || otherwise.test(word)) return null;
  return word.replaceAll(/[^\0-\x7f]/gu, (letter) => {
    const [base = letter, ...accents] = letter.normalize('NFD');
    if (letter === 'ς') return 'σ';
    return accents.length > 0 && /[a-z]/.test(base) ? base : letter;
  });
}

/** Stands before every letter and in no word: with it begins what comes behind a word. */
const next = '\u0001';
/** Stands behind every letter. */
const last = '\u{10ffff}';

/** Folded as SQLite's tokenizer folds: case and accents. PostgreSQL takes no word that is longer. */
function folded(word: string): string {
  return word.normalize('NFD').replaceAll(points, '').toLowerCase().slice(0, maxWord);
}
const maxWord = 500;

/** As a query of PostgreSQL's: each word is quoted, so that nothing typed is ever syntax. */
function toTsquery({ words, prefix }: WordQuery, scope: number): string {
  return `${[...words, prefix]
    .map((word) => `'${indexedWord(scope, folded(word)).replaceAll(/['\\]/g, (found) => found + found)}'`)
    .join(' & ')}:*`;
}

type Writing = Pick<SearchRepository, 'scopeOf' | 'put' | 'merge'>;

const notMade = (): Error => new Error('A row of the search index could not be made.');

/** How the words of a message come into the index, where the database is asked over a connection. */
function writeLater(runner: Runner): Writing {
  return {
    scopeOf: async (organizationId) => {
      let scope = await first(runner, scopeOf, { organization_id: organizationId });
      if (scope === undefined) {
        await run(runner, makeScope, { organization_id: organizationId });
        scope = await first(runner, scopeOf, { organization_id: organizationId });
      }
      if (scope === undefined) throw notMade();
      return scope.number;
    },
    put: async (scope, messageId, words) => {
      const row = await first(runner, placeRow, { message_id: messageId });
      if (row === undefined) throw notMade();
      const own = words
        .flatMap(entriesOf)
        .map((word) => indexedWord(scope, folded(word)))
        .join(' ');
      await run(runner, placeWords, { rowid: row.id, words: own });
      return false;
    },
    merge: async () => false,
  };
}

/** The same where it answers at once. */
function writeAtOnce({ direct }: ImmediateRunner): Writing {
  const insertOnce = (...statement: Parameters<typeof direct.insert>): number => {
    const number = direct.insert(...statement);
    if (number === undefined) throw notMade();
    return number;
  };
  const replaceRow = (messageId: string): number => {
    const values = insertRow.bind({ message_id: messageId });
    const made = direct.insert(insertRow.compiled, values);
    if (made !== undefined) return made;
    // It was indexed before: its words go with its row.
    direct.run(remove.compiled, remove.bind({ message_id: messageId }));
    return insertOnce(insertRow.compiled, values);
  };
  /** Pages that are to be merged for what was written. It begins as due: every process before this one may have been short. */
  let owed = mergedPages;
  return {
    scopeOf: (organizationId) =>
      attempt(
        () =>
          direct.first(scopeOf.compiled, scopeOf.bind({ organization_id: organizationId }))?.number ??
          insertOnce(makeScope.compiled, makeScope.bind({ organization_id: organizationId })),
      ),
    put: (scope, messageId, words) =>
      attempt(() => {
        const own = words
          .flatMap(entriesOf)
          .map((word) => indexedWord(scope, together(word)))
          .join(' ');
        direct.run(insertWords.compiled, insertWords.bind({ rowid: replaceRow(messageId), words: own }));
        owed += Math.max(leastOwed, (own.length / pageLength) * timesMerged);
        return owed >= mergedPages;
      }),
    merge: () =>
      attempt(() => {
        if (owed < mergedPages) return false;
        owed -= mergedPages;
        direct.run(mergeParts, []);
        return owed >= mergedPages;
      }),
  };
}

export function createSearchRepository(runner: Runner): SearchRepository {
  const atOnce = isImmediate(runner);
  const scopeNumber = async (organizationId: string): Promise<number | undefined> =>
    (await first(runner, scopeOf, { organization_id: organizationId }))?.number;
  return {
    ...(atOnce ? writeAtOnce(runner) : writeLater(runner)),
    textsOf: (messageIds) => all(runner, textsOf, { ids: JSON.stringify(messageIds) }),
    has: async (messageId: string) => (await first(runner, rowOf, { message_id: messageId })) !== undefined,
    remove: (messageId: string) => run(runner, remove, { message_id: messageId }),
    unindexed: (after: string, limit: number) => all(runner, unindexed, { after, limit }),
    endings: async (prefix, organizationId, after, most) => {
      const beginning = atOnce ? asTokenized(together(prefix)) : null;
      if (beginning === null) return null;
      const scope = await scopeNumber(organizationId);
      if (scope === undefined) return [];
      const found: string[] = [];
      const own = indexedWord(scope, '');
      const to = own + beginning + last;
      for (let from = own + (after === null ? beginning : after + next); found.length < most;) {
        const term = (await first(runner, wordFrom, { from, to }))?.term;
        if (term === undefined) break;
        found.push(term.slice(own.length));
        from = term + next;
      }
      return found;
    },
    matches: async (query, organizationId, { before, span, most }) => {
      const scope = await scopeNumber(organizationId);
      if (scope === undefined || query.endings?.length === 0) return { conversations: [], before: null };
      const end = before ?? ((await first(runner, lastEntry, {}))?.id ?? 0) + 1;
      const from = atOnce ? Math.max(end - span, 0) : 0;
      const asked = { before: end, from, most: atOnce ? most : maxMatchingMessages };
      const rows = await all(runner, matching, {
        ...asked,
        query: atOnce ? toMatch(query, scope) : toTsquery(query, scope),
        organization_id: organizationId,
      });
      const oldest = rows.length < asked.most ? from : (rows.at(-1)?.id ?? 0);
      return {
        conversations: rows.flatMap(({ conversation_id: id }) => id ?? []),
        before: atOnce && oldest > 1 ? oldest : null,
      };
    },
  };
}
