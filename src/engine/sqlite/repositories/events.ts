// The log of events: appended by rules, read by those who follow it.
import { sql } from 'kysely';
import type { EventsRepository } from '../../repositories/events.ts';
import type { EventRow } from '../../rows.ts';
import { all, builder, first, prepare, run, type ImmediateRunner, type Runner } from '../query.ts';

type NewRow = Omit<EventRow, 'seq'>;

/** Its columns in the order in which `pushValues` takes them. */
const anyRow: NewRow = {
  organization_id: '',
  conversation_id: '',
  mode: 'live',
  type: 'message:new',
  audience: 'room',
  actor_id: '',
  message_id: null,
  member_id: null,
  created_at: 0,
};

function pushValues(values: unknown[], row: NewRow): void {
  values.push(
    row.organization_id,
    row.conversation_id,
    row.mode,
    row.type,
    row.audience,
    row.actor_id,
    row.message_id,
    row.member_id,
    row.created_at,
  );
}

/** The statements that append to the log: many rows by one, as a group of operations leaves them, then what is left. */
export const insertEvents = [32, 8, 1].map((count) => ({
  count,
  compiled: builder
    .insertInto('events')
    .values(Array.from({ length: count }, () => anyRow))
    .compile(),
}));
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

/** With `insert`, which only the store calls: it appends rows and gives them their numbers. */
export type GrowingEvents = EventsRepository & { insert(rows: readonly EventRow[]): void };

export function createGrowingEvents(runner: ImmediateRunner): GrowingEvents {
  return {
    ...createEventsRepository(runner),
    insert: (rows: readonly EventRow[]) => {
      let done = 0;
      for (const { count, compiled } of insertEvents)
        for (; rows.length - done >= count; done += count) {
          const some = rows.slice(done, done + count);
          const values: unknown[] = [];
          for (const row of some) pushValues(values, row);
          // `seq` is the table's integer key: rows of one statement have consecutive ones, and SQLite tells the last.
          const last = runner.direct.insert(compiled, values);
          if (last === undefined) throw new Error('An event was not stored.');
          for (const [at, row] of some.entries()) row.seq = last - count + 1 + at;
        }
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
