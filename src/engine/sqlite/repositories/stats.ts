// Queries for figures: rows to be counted, never texts.
import type { StatsRepository } from '../../repositories/stats.ts';
import type { RetentionCursor } from '../../rows.ts';
import { all, prepare, type Runner } from '../query.ts';

type Page = {
  organization_id: string;
  from: number;
  to: number;
  limit: number;
  after: number;
  after_id: string;
};
const conversations = prepare<Page>()((db, p) =>
  db
    .selectFrom('conversations as c')
    .select([
      'c.id',
      'c.application_id',
      'c.created_at',
      'c.first_response_at',
      'c.resolved_at',
      'c.resolved_by',
    ])
    .select((e) =>
      e
        .selectFrom((f) =>
          f
            .selectFrom('ordered_messages as m')
            .select(['m.sender_id', 'm.seq'])
            .whereRef('m.conversation_id', '=', 'c.id')
            // One that was not answered in this time is not searched for an answer.
            .where('c.first_response_at', '>=', p.from)
            .where('c.first_response_at', '<', p.to)
            .whereRef('m.created_at', '=', 'c.first_response_at')
            .where('m.sender_role', '=', 'operator')
            .where('m.internal', '=', 0)
            .orderBy('m.seq')
            .limit(1)
            .as('answer'),
        )
        .select('answer.sender_id')
        .as('first_responder'),
    )
    .where('c.organization_id', '=', p.organization_id)
    .where('c.mode', '=', 'live')
    .where('c.created_at', '<', p.to)
    .where('c.created_at', '>=', p.after)
    .where((e) => e.or([e('c.created_at', '>', p.after), e('c.id', '>', p.after_id)]))
    .orderBy('c.created_at')
    .orderBy('c.id')
    .limit(p.limit),
);
const applicationNames = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('applications').select(['id', 'name']).where('organization_id', '=', p.organization_id),
);
const memberNames = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('members').select(['id', 'name']).where('organization_id', '=', p.organization_id),
);

export function createStatsRepository(runner: Runner): StatsRepository {
  return {
    conversations: (
      organizationId: string,
      from: number,
      to: number,
      cursor: RetentionCursor,
      limit: number,
    ) =>
      all(runner, conversations, {
        organization_id: organizationId,
        from,
        to,
        after: cursor.created_at,
        after_id: cursor.id,
        limit,
      }),
    names: async (organizationId: string): Promise<Map<string, string>> => {
      const rows = [
        ...(await all(runner, applicationNames, { organization_id: organizationId })),
        ...(await all(runner, memberNames, { organization_id: organizationId })),
      ];
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}
