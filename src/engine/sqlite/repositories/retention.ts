// Queries of retention: what is older than an organization keeps, counted and
// removed in small steps. Which window holds for whom is services/retention.ts.
import { sql } from 'kysely';
import type { RetentionRepository } from '../../repositories.ts';
import type { Mode } from '../../../protocol/entities.ts';
import type { RetentionCursor, RetentionScope } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

type Page = RetentionScope & { after: number; after_id: string; limit: number };

/** Of the conversation `c`: true when nothing in it is younger than the window, so that it goes as a whole. */
function isSilent(p: { cutoff: number }) {
  return sql<number>`(c.created_at < ${p.cutoff} and c.updated_at < ${p.cutoff} and not exists (
    select 1 from messages as young where young.conversation_id = c.id and young.created_at >= ${p.cutoff}))`;
}

const candidates = prepare<Page>()((db, p) =>
  db
    .selectFrom('conversations as c')
    .select(['c.id', 'c.created_at'])
    .select((e) =>
      e
        .selectFrom('messages as m')
        .select((f) => f.fn.countAll<number>().as('n'))
        .whereRef('m.conversation_id', '=', 'c.id')
        .where('m.created_at', '<', p.cutoff)
        .as('old_messages'),
    )
    .select(isSilent(p).as('goes'))
    .where('c.organization_id', '=', p.organization_id)
    .where('c.mode', '=', p.mode)
    .where('c.created_at', '<', p.cutoff)
    .where('c.created_at', '>=', p.after)
    .where((e) => e.or([e('c.created_at', '>', p.after), e('c.id', '>', p.after_id)]))
    .orderBy('c.created_at')
    .orderBy('c.id')
    .limit(p.limit),
);
const removeMessages = prepare<{ conversation_id: string; cutoff: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', (e) =>
      e
        .selectFrom('messages as m')
        .select('m.id')
        .where('m.conversation_id', '=', p.conversation_id)
        .where('m.created_at', '<', p.cutoff)
        .orderBy('m.seq')
        .limit(p.limit),
    ),
);
// Looks once more in the statement itself: a message may have come since the page was read.
const removeConversation = prepare<{ id: string; cutoff: number }>()((db, p) =>
  db
    .deleteFrom('conversations')
    .where('id', '=', p.id)
    .where('updated_at', '<', p.cutoff)
    .where((e) =>
      e.not(
        e.exists(e.selectFrom('messages').select('messages.id').where('messages.conversation_id', '=', p.id)),
      ),
    ),
);
const visitors = prepare<Page>()((db, p) =>
  db
    .selectFrom('visitors as v')
    .select(['v.id', 'v.created_at'])
    .select((e) =>
      sql<number>`not exists ${e
        .selectFrom('conversations as c')
        .select('c.id')
        .whereRef('c.visitor_key', '=', 'v.id')
        .where(sql<boolean>`not ${isSilent(p)}`)} and not exists (
          select 1 from ai_log as asked where asked.visitor_key = v.id and asked.created_at >= ${p.cutoff})`.as(
        'goes',
      ),
    )
    .where('v.organization_id', '=', p.organization_id)
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
    removeMessages: (conversationId: string, cutoff: number, limit: number) =>
      run(runner, removeMessages, { conversation_id: conversationId, cutoff, limit }),
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
