// Queries on everything that belongs to one visitor: for handing it out whole, and
// for removing it whole. Whose right that is, services/data/visitor-data.ts knows.
import { sql } from 'kysely';
import type { PlaceInTime } from '../../repositories/time-order.ts';
import type { VisitorDataRepository, VisitorFilter } from '../../repositories/visitor-data.ts';
import type { VisitorRow } from '../../rows.ts';
import { blankEvent, isNewestEvent } from './events.ts';
import { isFoundApplication } from './found.ts';
import { all, builder, first, prepare, run, type Runner } from '../query.ts';
import { isBehind, type PartOfOrder } from './time-order.ts';

const conversations = prepare<PartOfOrder & { visitor_key: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('visitor_key', '=', p.visitor_key)
    .where(isBehind(p))
    .orderBy('created_at')
    .orderBy('id')
    .limit(p.limit),
);
const removeMessages = prepare<{ visitor_key: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('messages')
    .where('id', 'in', (e) =>
      e
        .selectFrom('conversations as c')
        .innerJoin('ordered_messages as m', 'm.conversation_id', 'c.id')
        .select('m.id')
        .where('c.visitor_key', '=', p.visitor_key)
        .limit(p.limit),
    ),
);
const remove = prepare<{ visitor_key: string }>()((db, p) =>
  db.deleteFrom('visitors').where('id', '=', p.visitor_key),
);

const ofVisitor = (p: { visitor_key: string }) =>
  sql<boolean>`conversation_id in (select id from conversations where visitor_key = ${p.visitor_key})`;
const blankNewestEvent = prepare<{ visitor_key: string }>()((db, p) =>
  db.updateTable('events').set(blankEvent).where(isNewestEvent).where(ofVisitor(p)),
);
const removeDeliveries = prepare<{ visitor_key: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (e) =>
      e
        .selectFrom('conversations as c')
        .innerJoin('webhook_deliveries as d', 'd.conversation_id', 'c.id')
        .select('d.id')
        .where('c.visitor_key', '=', p.visitor_key)
        .limit(p.limit),
    ),
);
const removeEffects = prepare<{ visitor_key: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('effects')
    .where('id', 'in', (e) =>
      e
        .selectFrom('conversations as c')
        .innerJoin('effects as f', 'f.conversation_id', 'c.id')
        .select('f.id')
        .where('c.visitor_key', '=', p.visitor_key)
        .limit(p.limit),
    ),
);
const removeConversations = prepare<{ visitor_key: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('conversations')
    .where('id', 'in', (e) =>
      e.selectFrom('conversations').select('id').where('visitor_key', '=', p.visitor_key).limit(p.limit),
    ),
);
/** As the index of them says it (migrations/0027-visitor-exports.ts). */
const isOfVisitor = sql<boolean>`substr(subject, 1, 8) = 'visitor:'`;
const access = prepare<PartOfOrder & { subject: string }>()((db, p) =>
  db
    .selectFrom('audit')
    .selectAll()
    .where('subject', '=', p.subject)
    .where(isOfVisitor)
    .where(isBehind(p))
    .orderBy('created_at')
    .orderBy('id')
    .limit(p.limit),
);
const erasures = prepare<object>()((db) =>
  db.selectFrom('meta').select('value').where('key', '=', 'erasures'),
);
const countErasure = prepare<object>()((db) =>
  db
    .insertInto('meta')
    .values({ key: 'erasures', value: '1' })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet({ value: sql<string>`cast(cast(meta.value as integer) + 1 as text)` }),
    ),
);

export function createVisitorDataRepository(runner: Runner): VisitorDataRepository {
  return {
    find: async ({
      visitorId,
      organizationId,
      applicationId,
      mode,
    }: VisitorFilter): Promise<VisitorRow[]> => {
      // By the applications that may be meant: the one index on visitors' UUIDs begins with them.
      let applications = builder.selectFrom('applications').select('id').where(isFoundApplication);
      if (organizationId !== null) applications = applications.where('organization_id', '=', organizationId);
      if (applicationId !== undefined) applications = applications.where('id', '=', applicationId);
      const query = builder
        .selectFrom('visitors')
        .selectAll()
        .where('application_id', 'in', applications)
        .where('mode', 'in', mode === undefined ? ['live', 'test'] : [mode])
        .orderBy('created_at')
        .orderBy('id');
      const found = await runner.all(query.where('visitor_id', '=', visitorId).compile());
      return found.length > 0 ? found : runner.all(query.where('id', '=', visitorId).compile());
    },
    conversations: (visitorKey: string, { created_at, id }: PlaceInTime, limit: number) =>
      all(runner, conversations, { visitor_key: visitorKey, created_at, id, limit }),
    access: (subject: string, { created_at, id }: PlaceInTime, limit: number) =>
      all(runner, access, { subject, created_at, id, limit }),
    removeMessages: (visitorKey: string, limit: number) =>
      run(runner, removeMessages, { visitor_key: visitorKey, limit }),
    removeEffects: (visitorKey: string, limit: number) =>
      run(runner, removeEffects, { visitor_key: visitorKey, limit }),
    removeDeliveries: (visitorKey: string, limit: number) =>
      run(runner, removeDeliveries, { visitor_key: visitorKey, limit }),
    removeConversations: async (visitorKey: string, limit: number) => {
      await run(runner, blankNewestEvent, { visitor_key: visitorKey });
      return run(runner, removeConversations, { visitor_key: visitorKey, limit });
    },
    remove: (visitorKey: string) => run(runner, remove, { visitor_key: visitorKey }),
    erasures: async () => (await first(runner, erasures, {}))?.value ?? '0',
    countErasure: () => run(runner, countErasure, {}),
  };
}
