// The log of events: appended by rules, read by those who follow it.
import { sql } from 'kysely';
import type { EventsRepository } from '../../repositories/events.ts';
import type { EventRow } from '../../rows.ts';
import { all, first, prepare, run, type ImmediateRunner, type Runner } from '../query.ts';

export const insertEvent = prepare<Omit<EventRow, 'seq'>>()((db, p) =>
  db.insertInto('events').values({
    organization_id: p.organization_id,
    conversation_id: p.conversation_id,
    mode: p.mode,
    type: p.type,
    audience: p.audience,
    actor_id: p.actor_id,
    message_id: p.message_id,
    member_id: p.member_id,
    created_at: p.created_at,
  }),
);
const after = prepare<{ seq: number; limit: number }>()((db, p) =>
  db.selectFrom('events').selectAll().where('seq', '>', p.seq).orderBy('seq').limit(p.limit),
);
const last = prepare<object>()((db) => db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1));
// The newest row always stays, so that its number is never given out twice.
const prune = prepare<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('events')
    .where('created_at', '<', p.before)
    .where('seq', 'in', (e) => e.selectFrom('events').select('seq').orderBy('seq').limit(p.limit))
    .where('seq', '<', (e) => e.selectFrom('events').select((f) => f.fn.max('seq').as('seq'))),
);

const noId = '00000000-0000-0000-0000-000000000000';

/**
 * What stays of the log's newest event when its visitor or organization is removed: its number must never be given
 * twice, so the row stays. A message event without a message tells nothing.
 */
export const blankEvent = {
  conversation_id: noId,
  actor_id: noId,
  message_id: null,
  member_id: null,
  type: 'message:new',
  audience: 'room',
} as const satisfies Partial<EventRow>;
export const isNewestEvent = sql<boolean>`seq = (select max(seq) from events)`;

/** A stretch of the log: its only index is the number. */
type Stretch = { id: string; after: number; through: number };
const removeOfVisitor = prepare<Stretch>()((db, p) =>
  db
    .deleteFrom('events')
    .where('seq', '>', p.after)
    .where('seq', '<=', p.through)
    .where(sql<boolean>`not ${isNewestEvent}`)
    .where('conversation_id', 'in', (e) =>
      e.selectFrom('conversations').select('id').where('visitor_key', '=', p.id),
    ),
);
const removeOfOrganization = prepare<Stretch>()((db, p) =>
  db
    .deleteFrom('events')
    .where('seq', '>', p.after)
    .where('seq', '<=', p.through)
    .where(sql<boolean>`not ${isNewestEvent}`)
    .where('organization_id', '=', p.id),
);

/** With `insert`, which only the store calls. */
export type GrowingEvents = EventsRepository & { insert(row: Omit<EventRow, 'seq'>): number };

export function createGrowingEvents(runner: ImmediateRunner): GrowingEvents {
  return {
    ...createEventsRepository(runner),
    // `seq` is the table's integer key, which SQLite tells without a query.
    insert: (row: Omit<EventRow, 'seq'>) => {
      const seq = runner.direct.insert(insertEvent.compiled, insertEvent.bind(row));
      if (seq === undefined) throw new Error('An event was not stored.');
      return seq;
    },
  };
}

export function createEventsRepository(runner: Runner): EventsRepository {
  return {
    after: (seq: number, limit: number) => all(runner, after, { seq, limit }),
    lastSeq: async () => (await first(runner, last, {}))?.seq ?? 0,
    prune: (before: number, limit: number) => run(runner, prune, { before, limit }),
    removeOfVisitor: (id: string, after: number, through: number) =>
      run(runner, removeOfVisitor, { id, after, through }),
    removeOfOrganization: (id: string, after: number, through: number) =>
      run(runner, removeOfOrganization, { id, after, through }),
  };
}
