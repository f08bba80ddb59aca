// Queries of retention: what is older than an organization keeps, counted and
// removed in small steps. Which window holds for whom is services/retention.ts.
import { sql, type RawBuilder } from 'kysely';
import type { RetentionRepository } from '../../repositories/retention.ts';
import type { Mode } from '../../../protocol/entities.ts';
import type { RetentionCursor, RetentionScope } from '../../rows.ts';
import { isOrAny } from '../dialect.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';
import { lastVisitorSeq } from './messages.ts';

type Page = RetentionScope & { after: number; after_id: string; limit: number };

/**
 * Of the conversation `c`: true when nothing in it is younger than the window, so that it is removed as a whole. Looks at its
 * newest message only: a conversation may have any number.
 */
function isSilent(p: { cutoff: number }) {
  return sql<boolean>`(c.created_at < ${p.cutoff} and c.updated_at < ${p.cutoff} and coalesce((
    select newest.created_at from (select m.created_at, m.seq from ordered_messages as m
      where m.conversation_id = c.id order by m.seq desc limit 1) as newest), 0) < ${p.cutoff})`;
}

/** A condition as a column, in the words of every engine. */
function asNumber(condition: RawBuilder<boolean>) {
  return sql<number>`case when ${condition} then 1 else 0 end`;
}

const candidates = prepare<Page>()((db, p) =>
  db
    .selectFrom('conversations as c')
    .select(['c.id', 'c.created_at'])
    .select(asNumber(isSilent(p)).as('goes'))
    .where('c.organization_id', '=', p.organization_id)
    .where(isOrAny('c.application_id', p.application_id))
    .where('c.mode', '=', p.mode)
    .where('c.created_at', '<', p.cutoff)
    .where('c.created_at', '>=', p.after)
    .where((e) => e.or([e('c.created_at', '>', p.after), e('c.id', '>', p.after_id)]))
    .orderBy('c.created_at')
    .orderBy('c.id')
    .limit(p.limit),
);
type Slice = { conversation_id: string; cutoff: number; after: number; limit: number };
const oldMessages = prepare<Slice>()((db, p) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('ordered_messages as m')
        .select(['m.seq', 'm.created_at'])
        .where('m.conversation_id', '=', p.conversation_id)
        .where('m.seq', '>', p.after)
        .orderBy('m.seq')
        .limit(p.limit)
        .as('slice'),
    )
    .select((e) => [
      e.fn.countAll<number>().as('looked'),
      e.fn.max<number | null>('slice.seq').as('last'),
      sql<number>`count(*) filter (where slice.created_at < ${p.cutoff})`.as('old'),
    ]),
);
const removeMessages = prepare<Slice>()((db, p) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', (e) =>
      e
        .selectFrom('ordered_messages')
        .select('id')
        .where('conversation_id', '=', p.conversation_id)
        .where('seq', '>', p.after)
        .where('seq', '<=', p.limit)
        .where('created_at', '<', p.cutoff),
    ),
);
const followRemoved = prepare<{ id: string; up_to: number }>()((db, p) =>
  db
    .updateTable('conversations')
    // No event tells of it: naming the status notes the change for the index of the queue (migration 0015).
    .set((e) => ({ last_visitor_seq: lastVisitorSeq, status: e.ref('status') }))
    .where('id', '=', p.id)
    .where('last_visitor_seq', '>', 0)
    .where('last_visitor_seq', '<=', p.up_to),
);
// Looks once more in the statement itself: a message may have come since the page was read.
const removeConversation = prepare<{ id: string; cutoff: number }>()((db, p) =>
  db
    .deleteFrom('conversations')
    .where('id', '=', p.id)
    .where('updated_at', '<', p.cutoff)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('ordered_messages')
            .select('ordered_messages.id')
            .where('ordered_messages.conversation_id', '=', p.id),
        ),
      ),
    ),
);
const visitors = prepare<Page>()((db, p) =>
  db
    .selectFrom('visitors as v')
    .select(['v.id', 'v.created_at'])
    .select((e) =>
      asNumber(
        sql<boolean>`not exists ${e
          .selectFrom('conversations as c')
          .select('c.id')
          .whereRef('c.visitor_key', '=', 'v.id')
          .where(sql<boolean>`not ${isSilent(p)}`)} and not exists (
          select 1 from ai_log as asked where asked.visitor_key = v.id and asked.created_at >= ${p.cutoff})`,
      ).as('goes'),
    )
    .where('v.organization_id', '=', p.organization_id)
    .where(isOrAny('v.application_id', p.application_id))
    .where('v.mode', '=', p.mode)
    .where('v.created_at', '<', p.cutoff)
    .where('v.created_at', '>=', p.after)
    .where((e) => e.or([e('v.created_at', '>', p.after), e('v.id', '>', p.after_id)]))
    .orderBy('v.created_at')
    .orderBy('v.id')
    .limit(p.limit),
);
const removeVisitor = prepare<{ id: string }>()((db, p) =>
  db
    .deleteFrom('visitors')
    .where('id', '=', p.id)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('conversations')
            .select('conversations.id')
            .where('conversations.visitor_key', '=', p.id),
        ),
      ),
    )
    .where((e) =>
      e.not(e.exists(e.selectFrom('ai_log').select('ai_log.id').where('ai_log.visitor_key', '=', p.id))),
    ),
);
const countConversations = prepare<{ organization_id: string; mode: Mode }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id)
    .where('mode', '=', p.mode),
);
const newest = prepare<object>()((db) =>
  db.selectNoFrom((e) => [
    e.selectFrom('events').select('created_at').orderBy('seq', 'desc').limit(1).as('event'),
    e.selectFrom('messages').select('created_at').orderBy('id', 'desc').limit(1).as('message'),
    e.selectFrom('audit').select('created_at').orderBy('id', 'desc').limit(1).as('audit'),
  ]),
);

const pageOf = (scope: RetentionScope, cursor: RetentionCursor, limit: number): Page => ({
  ...scope,
  after: cursor.created_at,
  after_id: cursor.id,
  limit,
});

export function createRetentionRepository(runner: Runner): RetentionRepository {
  return {
    candidates: (scope: RetentionScope, cursor: RetentionCursor, limit: number) =>
      all(runner, candidates, pageOf(scope, cursor, limit)),
    oldMessages: async (conversationId: string, cutoff: number, after: number, limit: number) =>
      (await first(runner, oldMessages, { conversation_id: conversationId, cutoff, after, limit })) ?? {
        looked: 0,
        last: null,
        old: 0,
      },
    removeMessages: async (conversationId: string, cutoff: number, after: number, upTo: number) => {
      const removed = await run(runner, removeMessages, {
        conversation_id: conversationId,
        cutoff,
        after,
        limit: upTo,
      });
      if (removed > 0) await run(runner, followRemoved, { id: conversationId, up_to: upTo });
      return removed;
    },
    removeConversation: (id: string, cutoff: number) => run(runner, removeConversation, { id, cutoff }),
    visitors: (scope: RetentionScope, cursor: RetentionCursor, limit: number) =>
      all(runner, visitors, pageOf(scope, cursor, limit)),
    removeVisitor: (id: string) => run(runner, removeVisitor, { id }),
    countConversations: async (organizationId: string, mode: Mode) =>
      (await first(runner, countConversations, { organization_id: organizationId, mode }))?.n ?? 0,
    newestTime: async (): Promise<number | null> => {
      const row = await first(runner, newest, {});
      const times = [row?.event, row?.message, row?.audit].filter(
        (time) => time !== null && time !== undefined,
      );
      return times.length === 0 ? null : Math.max(...times);
    },
  };
}
