// Queries on the full-text index of messages. Words arrive segmented; what a search
// means is services/search.ts.
import type { SearchRepository, WordQuery } from '../../repositories.ts';
import { sql } from 'kysely';
import { all, first, prepare, run, type Runner } from '../query.ts';

const rowOf = prepare<{ message_id: string }>()((db, p) =>
  db.selectFrom('search_rows').select('id').where('message_id', '=', p.message_id),
);
const insertRow = prepare<{ message_id: string }>()((db, p) =>
  db.insertInto('search_rows').values({ message_id: p.message_id }).returning('id'),
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
function ownWord(organizationId: string, word: string): string {
  return `${organizationId.replaceAll('-', '')}${word}`;
}

/** As an FTS5 query: each word is quoted, so that nothing typed is ever syntax. */
function toMatch({ words, prefix }: WordQuery, organizationId: string): string {
  return `${[...words, prefix].map((word) => `"${ownWord(organizationId, word).replaceAll('"', '""')}"`).join(' ')}*`;
}

export function createSearchRepository(runner: Runner): SearchRepository {
  return {
    put: async (messageId, organizationId, words) => {
      await run(runner, remove, { message_id: messageId });
      const row = await first(runner, insertRow, { message_id: messageId });
      if (row === undefined) return;
      const own = words.map((word) => ownWord(organizationId, word));
      await run(runner, insertWords, { rowid: row.id, words: own.join(' ') });
    },
    has: async (messageId: string) => (await first(runner, rowOf, { message_id: messageId })) !== undefined,
    remove: (messageId: string) => run(runner, remove, { message_id: messageId }),
    unindexed: (after: string, limit: number) => all(runner, unindexed, { after, limit }),
    conversations: async (query, organizationId, limit) =>
      (
        await all(runner, matching, {
          query: toMatch(query, organizationId),
          organization_id: organizationId,
          limit,
        })
      ).map((row) => row.conversation_id),
  };
}
