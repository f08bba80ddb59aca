// Queries on the full-text index of messages. Words arrive segmented; what a search
// means is services/search.ts.
import type { SearchRepository, WordQuery } from '../../repositories/search.ts';
import { sql } from 'kysely';
import { isOneOf } from '../dialect.ts';
import { twoFaced } from '../../../../migrations/columns.ts';
import {
  all,
  attempt,
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
const insertRow = prepare<{ message_id: string }>()((db, p) =>
  db
    .insertInto('search_rows')
    .values({ message_id: p.message_id })
    .onConflict((conflict) => conflict.column('message_id').doNothing()),
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
const insertWords = prepareForSqlite<{ rowid: number; words: string }>()((db, p) =>
  db.insertInto('search').values({ rowid: p.rowid, words: p.words }),
);
/** The same on PostgreSQL, where an entry is replaced in its place. */
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
/** The statements that write the index: they touch no conversation. */
export const indexStatements = [makeScope, insertRow, insertWords, remove];
/** The newest matches, so that a word that is in every message costs no more than others. */
const maxMatchingMessages = 5_000;
const matching = prepare<{ query: string; organization_id: string; limit: number }>()((db, p) =>
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
        .orderBy('search.rowid', 'desc')
        .limit(maxMatchingMessages)
        .as('found'),
    )
    .innerJoin('search_rows', 'search_rows.id', 'found.id')
    .innerJoin('messages', 'messages.id', 'search_rows.message_id')
    .select('messages.conversation_id')
    .distinct()
    .where('messages.organization_id', '=', p.organization_id)
    .limit(p.limit),
);

/** A word as the index has it: with its organization in front, so that no other organization's search meets it. */
const indexedWord = (scope: number, word: string): string => `${scope}x${word}`;

/** As an FTS5 query: each word is quoted, so that nothing typed is ever syntax. */
function toMatch({ words, prefix }: WordQuery, scope: number): string {
  return `${[...words, prefix].map((word) => `"${indexedWord(scope, word).replaceAll('"', '""')}"`).join(' ')}*`;
}

/** Folded as SQLite's tokenizer folds: case and accents. PostgreSQL takes no word that is longer. */
function folded(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase().slice(0, maxWord);
}
const maxWord = 500;

/** As a query of PostgreSQL's: each word is quoted, so that nothing typed is ever syntax. */
function toTsquery({ words, prefix }: WordQuery, scope: number): string {
  return `${[...words, prefix]
    .map((word) => `'${indexedWord(scope, folded(word)).replaceAll(/['\\]/g, (found) => found + found)}'`)
    .join(' & ')}:*`;
}

/** How the words of a message come into the index, where the database is asked over a connection. */
function putLater(runner: Runner): SearchRepository['put'] {
  return async (messageId, organizationId, words) => {
    let scope = await first(runner, scopeOf, { organization_id: organizationId });
    if (scope === undefined) {
      await run(runner, makeScope, { organization_id: organizationId });
      scope = await first(runner, scopeOf, { organization_id: organizationId });
    }
    const row = await first(runner, placeRow, { message_id: messageId });
    if (scope === undefined || row === undefined)
      throw new Error('A row of the search index could not be made.');
    const { number } = scope;
    const own = words.map((word) => indexedWord(number, folded(word))).join(' ');
    await run(runner, placeWords, { rowid: row.id, words: own });
  };
}

/** The same where it answers at once. */
function putAtOnce({ direct }: ImmediateRunner): SearchRepository['put'] {
  const insertOnce = (...statement: Parameters<typeof direct.insert>): number => {
    const number = direct.insert(...statement);
    if (number === undefined) throw new Error('A row of the search index could not be made.');
    return number;
  };
  const ensureScope = (organizationId: string): number =>
    direct.first(scopeOf.compiled, scopeOf.bind({ organization_id: organizationId }))?.number ??
    insertOnce(makeScope.compiled, makeScope.bind({ organization_id: organizationId }));
  const replaceRow = (messageId: string): number => {
    const values = insertRow.bind({ message_id: messageId });
    const made = direct.insert(insertRow.compiled, values);
    if (made !== undefined) return made;
    // It was indexed before: its words go with its row.
    direct.run(remove.compiled, remove.bind({ message_id: messageId }));
    return insertOnce(insertRow.compiled, values);
  };
  return (messageId, organizationId, words) =>
    attempt(() => {
      const scope = ensureScope(organizationId);
      const own = words.map((word) => indexedWord(scope, word)).join(' ');
      direct.run(insertWords.compiled, insertWords.bind({ rowid: replaceRow(messageId), words: own }));
    });
}

export function createSearchRepository(runner: Runner): SearchRepository {
  const atOnce = isImmediate(runner);
  return {
    put: atOnce ? putAtOnce(runner) : putLater(runner),
    textsOf: (messageIds) => all(runner, textsOf, { ids: JSON.stringify(messageIds) }),
    has: async (messageId: string) => (await first(runner, rowOf, { message_id: messageId })) !== undefined,
    remove: (messageId: string) => run(runner, remove, { message_id: messageId }),
    unindexed: (after: string, limit: number) => all(runner, unindexed, { after, limit }),
    conversations: async (query, organizationId, limit) => {
      const scope = (await first(runner, scopeOf, { organization_id: organizationId }))?.number;
      if (scope === undefined) return [];
      const asked = {
        query: atOnce ? toMatch(query, scope) : toTsquery(query, scope),
        organization_id: organizationId,
        limit,
      };
      return (await all(runner, matching, asked)).map((row) => row.conversation_id);
    },
  };
}
