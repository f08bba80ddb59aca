// The log of events: appended by rules, read by those who follow it.
import { sql, type CompiledQuery } from 'kysely';
import type { EventsRepository } from '../../repositories/events.ts';
import type { EventRow } from '../../rows.ts';
import { all, builder, first, prepare, run, type ImmediateRunner, type Runner } from '../query.ts';

type NewRow = Omit<EventRow, 'seq'>;

/** Its columns in the order in which the values are handed over. */
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

/** How rows of one kind are appended. */
interface Appending {
  /** Adds the values of a row, in the order in which the statements take them. */
  readonly push: (values: unknown[], row: NewRow) => void;
  /** Many rows by one statement, as a group of operations leaves them, then what is left. */
  readonly statements: readonly { readonly count: number; readonly compiled: CompiledQuery }[];
}

const counts = [32, 8, 1];

/** What a new message that is no note has in live data: most events are such. */
const ofMessage = {
  mode: 'live',
  type: 'message:new',
  audience: 'room',
  member_id: null,
} as const satisfies Partial<NewRow>;
const isOfMessage = ({ type, audience, mode, member_id }: NewRow): boolean =>
  type === ofMessage.type &&
  audience === ofMessage.audience &&
  mode === ofMessage.mode &&
  member_id === ofMessage.member_id;

/** That is in the statement: each value that is handed over costs time. */
const ofMessages: Appending = {
  push: (values, row) =>
    values.push(row.organization_id, row.conversation_id, row.actor_id, row.message_id, row.created_at),
  statements: counts.map((count) => ({
    count,
    compiled: builder
      .insertInto('events')
      .values(
        Array.from({ length: count }, () => ({
          ...anyRow,
          mode: sql.lit(ofMessage.mode),
          type: sql.lit(ofMessage.type),
          audience: sql.lit(ofMessage.audience),
          member_id: sql.lit(ofMessage.member_id),
        })),
      )
      .compile(),
  })),
};

const ofAnyKind: Appending = {
  push: (values, row) =>
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
    ),
  statements: counts.map((count) => ({
    count,
    compiled: builder
      .insertInto('events')
      .values(Array.from({ length: count }, () => anyRow))
      .compile(),
  })),
};

/** The statements that append to the log. */
export const insertEvents = [...ofMessages.statements, ...ofAnyKind.statements];
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
      let alike: EventRow[] = [];
      let kind = ofAnyKind;
      for (const row of rows) {
        const own = isOfMessage(row) ? ofMessages : ofAnyKind;
        if (own !== kind) {
          append(runner, kind, alike);
          alike = [];
          kind = own;
        }
        alike.push(row);
      }
      append(runner, kind, alike);
    },
  };
}

/** Appends rows of one kind, in their order, and tells them their numbers. */
function append(
  { direct }: ImmediateRunner,
  { push, statements }: Appending,
  rows: readonly EventRow[],
): void {
  let done = 0;
  for (const { count, compiled } of statements)
    for (; rows.length - done >= count; done += count) {
      const some = rows.slice(done, done + count);
      const values: unknown[] = [];
      for (const row of some) push(values, row);
      // `seq` is the table's integer key: rows of one statement have consecutive ones, and SQLite tells the last.
      const last = direct.insert(compiled, values);
      if (last === undefined) throw new Error('An event was not stored.');
      for (const [at, row] of some.entries()) row.seq = last - count + 1 + at;
    }
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
