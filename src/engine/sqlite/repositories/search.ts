// Queries on the full-text index of messages. Words arrive segmented; what a search
// means is services/search.ts.
import type { SearchRepository, WordQuery } from '../../repositories/search.ts';
import { sql } from 'kysely';
import { all, first, prepare, run, type Runner } from '../query.ts';

const rowOf = prepare<{ message_id: string }>()((db, p) =>
  db.selectFrom('search_rows').select('id').where('message_id', '=', p.message_id),
);
const insertRow = prepare<{ message_id: string }>()((db, p) =>
  db
    .insertInto('search_rows')
    .values({ message_id: p.message_id })
    .onConflict((conflict) => conflict.column('message_id').doNothing())
    .returning('id'),
);
const scopeOf = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('search_scopes').select('number').where('organization_id', '=', p.organization_id),
);
const makeScope = prepare<{ organization_id: string }>()((db, p) =>
  db.insertInto('search_scopes').values({ organization_id: p.organization_id }).returning('number'),
);
const textOf = prepare<{ id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select((e) => e.fn.coalesce('content_text', 'content').as('text'))
    .where('id', '=', p.id)
    .where('deleted_at', 'is', null),
);
const insertWords = prepare<{ rowid: number; words: string }>()((db, p) =>
  db.insertInto('search').values({ rowid: p.rowid, words: p.words }),
);
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
        .where(sql<boolean>`search match ${p.query}`)
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

export function createSearchRepository(runner: Runner): SearchRepository {
  const ensureScope = async (organizationId: string): Promise<number> => {
    const found =
      (await first(runner, scopeOf, { organization_id: organizationId })) ??
      (await first(runner, makeScope, { organization_id: organizationId }));
    if (found === undefined) throw new Error('a scope could not be made');
    return found.number;
  };
  const replaceRow = async (messageId: string): Promise<number> => {
    let row = await first(runner, insertRow, { message_id: messageId });
    if (row === undefined) {
      // It was indexed before: its words go with its row.
      await run(runner, remove, { message_id: messageId });
      row = await first(runner, insertRow, { message_id: messageId });
    }
    if (row === undefined) throw new Error('a message could not be indexed');
    return row.id;
  };
  return {
    put: async (messageId, organizationId, words) => {
      const scope = await ensureScope(organizationId);
      const own = words.map((word) => indexedWord(scope, word));
      await run(runner, insertWords, { rowid: await replaceRow(messageId), words: own.join(' ') });
    },
    textOf: async (messageId) => (await first(runner, textOf, { id: messageId }))?.text,
    has: async (messageId: string) => (await first(runner, rowOf, { message_id: messageId })) !== undefined,
    remove: (messageId: string) => run(runner, remove, { message_id: messageId }),
    unindexed: (after: string, limit: number) => all(runner, unindexed, { after, limit }),
    conversations: async (query, organizationId, limit) => {
      const scope = (await first(runner, scopeOf, { organization_id: organizationId }))?.number;
      if (scope === undefined) return [];
      const asked = { query: toMatch(query, scope), organization_id: organizationId, limit };
      return (await all(runner, matching, asked)).map((row) => row.conversation_id);
    },
  };
}
