// Queries for figures: rows to be counted, never texts.
import type { StatsRepository } from '../../repositories.ts';
import { all, prepare, type Runner } from '../query.ts';

const conversations = prepare<{ organization_id: string; from: number; to: number }>()((db, p) =>
  db
    .selectFrom('conversations as c')
    .select(['c.application_id', 'c.created_at', 'c.first_response_at', 'c.resolved_at', 'c.resolved_by'])
    .select((e) =>
      e
        .selectFrom('messages as m')
        .select('m.sender_id')
        .whereRef('m.conversation_id', '=', 'c.id')
        .whereRef('m.created_at', '=', 'c.first_response_at')
        .where('m.sender_role', '=', 'operator')
        .where('m.internal', '=', 0)
        .orderBy('m.seq')
        .limit(1)
        .as('first_responder'),
    )
    .where('c.organization_id', '=', p.organization_id)
    .where('c.mode', '=', 'live')
    .where('c.created_at', '<', p.to)
    .where((e) =>
      e.or([
        e('c.updated_at', '>=', p.from),
        e('c.resolved_at', '>=', p.from),
        e('c.created_at', '>=', p.from),
      ]),
    ),
);
const applicationNames = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('applications').select(['id', 'name']).where('organization_id', '=', p.organization_id),
);
const memberNames = prepare<{ organization_id: string }>()((db, p) =>
  db.selectFrom('members').select(['id', 'name']).where('organization_id', '=', p.organization_id),
);

export function createStatsRepository(runner: Runner): StatsRepository {
  return {
    conversations: (organizationId: string, from: number, to: number) =>
      all(runner, conversations, { organization_id: organizationId, from, to }),
    names: async (organizationId: string): Promise<Map<string, string>> => {
      const rows = [
        ...(await all(runner, applicationNames, { organization_id: organizationId })),
        ...(await all(runner, memberNames, { organization_id: organizationId })),
      ];
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}
