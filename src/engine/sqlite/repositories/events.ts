// The log of events: appended by rules, read by those who follow it. On SQLite the events of new messages are not written
// out (migrations/0024-message-events.ts): the messages say what they tell.
import { sql } from 'kysely';
import type { EventsRepository } from '../../repositories/events.ts';
import type { EventRow } from '../../rows.ts';
import type { MessageEventsRow } from '../database.ts';
import { lastSeq, lastSeqOfLog, type LogEnd, type StoredMessage } from '../log-end.ts';
import {
  all,
  builder,
  first,
  prepare,
  prepareForSqlite,
  run,
  runInBatches,
  type DirectRunner,
  type ImmediateRunner,
  type Runner,
} from '../query.ts';

/** Its columns in the order in which the values are handed over. */
const anyRow: EventRow = {
  seq: 0,
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
/** Many rows by one statement, as a group of operations leaves them, then what is left. */
const insertRows = [32, 8, 1].map((count) => ({
  count,
  compiled: builder
    .insertInto('events')
    .values(Array.from({ length: count }, () => anyRow))
    .compile(),
}));

/** What a new message that is no note has in live data: the message says the rest of its event. */
const ofMessage = {
  mode: 'live',
  type: 'message:new',
  audience: 'room',
  member_id: null,
} as const satisfies Partial<EventRow>;
const isOfMessage = ({ type, audience, mode, member_id }: EventRow): boolean =>
  type === ofMessage.type &&
  audience === ofMessage.audience &&
  mode === ofMessage.mode &&
  member_id === ofMessage.member_id;
const insertOfMessages = builder
  .insertInto('message_events')
  .values({ seq: 0, number: 0, messages: 0, created_at: 0 })
  .compile();

/** The statements that append to the log. */
export const insertEvents = [...insertRows.map(({ compiled }) => compiled), insertOfMessages];
const after = prepare<{ seq: number; limit: number }>()((db, p) =>
  db.selectFrom('events').selectAll().where('seq', '>', p.seq).orderBy('seq').limit(p.limit),
);
const messageNumber = sql<number>`m.number`;
/** Those of messages, from the row on that the number before them is in. */
const afterOfMessages = prepareForSqlite<{ seq: number; limit: number }>()((db, p) =>
  db
    .selectFrom('message_events as e')
    .crossJoin('messages as m')
    .select([
      sql<number>`e.seq + m.number - e.number`.as('seq'),
      'm.organization_id',
      'm.conversation_id',
      sql.lit(ofMessage.mode).as('mode'),
      sql.lit(ofMessage.type).as('type'),
      sql.lit(ofMessage.audience).as('audience'),
      'm.sender_id as actor_id',
      'm.id as message_id',
      sql.lit(ofMessage.member_id).as('member_id'),
      'm.created_at',
    ])
    .where(
      'e.seq',
      '>=',
      sql<number>`coalesce((select max(seq) from message_events where seq <= ${p.seq}), 0)`,
    )
    .where(messageNumber, '>=', sql<number>`max(e.number, e.number + ${p.seq} + 1 - e.seq)`)
    .where(messageNumber, '<', sql<number>`e.number + e.messages`)
    .orderBy('e.seq')
    .orderBy(messageNumber)
    .limit(p.limit),
);
const last = prepare<object>()((db) => db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1));
// The newest row always stays, so that its number is never given out twice.
const prune = prepare<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('events')
    .where('created_at', '<', p.before)
    .where('seq', 'in', (e) => e.selectFrom('events').select('seq').orderBy('seq').limit(p.limit))
    .where('seq', '<', lastSeqOfLog),
);
const pruneOfMessages = prepareForSqlite<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('message_events')
    .where('created_at', '<', p.before)
    .where('seq', 'in', (e) => e.selectFrom('message_events').select('seq').orderBy('seq').limit(p.limit))
    .where(sql<number>`seq + messages - 1`, '<', lastSeqOfLog),
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

/** @param log gives the numbers; for the connection that writes */
export function createGrowingEvents(runner: ImmediateRunner, log: LogEnd): GrowingEvents {
  return {
    ...createEventsRepository(runner),
    after: async (seq: number, limit: number) => {
      const told = await all(runner, after, { seq, limit });
      const ofMessages = await all(runner, afterOfMessages, { seq, limit });
      if (ofMessages.length === 0) return told;
      return [...told, ...ofMessages].sort((one, other) => one.seq - other.seq).slice(0, limit);
    },
    lastSeq: async () => runner.direct.first(lastSeq, [])?.seq ?? 0,
    prune: async (before: number, limit: number) => {
      const removed = await run(runner, prune, { before, limit });
      // Fewer than asked for: the oldest of these stay.
      if (removed >= limit) return removed;
      return removed + (await run(runner, pruneOfMessages, { before, limit: limit - removed }));
    },
    insert: (rows: readonly EventRow[]) => append(runner, log, rows),
  };
}

/** Appends rows in their order, and tells them their numbers. */
function append({ direct }: ImmediateRunner, log: LogEnd, rows: readonly EventRow[]): void {
  const numberOf = numbersInOrder(log.takeStored());
  if (rows.length === 0) return;
  let seq = log.takeEvents(rows.length);
  const others: EventRow[] = [];
  /** Messages that follow each other, and their events. */
  let ofMessages: MessageEventsRow | null = null;
  for (const row of rows) {
    row.seq = seq;
    seq += 1;
    const number = isOfMessage(row) ? numberOf(row.message_id) : undefined;
    if (number === undefined) others.push(row);
    else if (ofMessages !== null && follows(ofMessages, row.seq, number)) {
      ofMessages.messages += 1;
      ofMessages.created_at = row.created_at;
    } else {
      if (ofMessages !== null) insertMessageEvents(direct, ofMessages);
      ofMessages = { seq: row.seq, number, messages: 1, created_at: row.created_at };
    }
  }
  if (ofMessages !== null) insertMessageEvents(direct, ofMessages);
  runInBatches(direct, insertRows, others, valuesOf);
}

function follows({ seq, number, messages }: MessageEventsRow, nextSeq: number, nextNumber: number): boolean {
  return nextSeq === seq + messages && nextNumber === number + messages;
}

function insertMessageEvents(direct: DirectRunner, row: MessageEventsRow): void {
  direct.run(insertOfMessages, [row.seq, row.number, row.messages, row.created_at]);
}

/** In the order of `anyRow`. */
function valuesOf(row: EventRow): unknown[] {
  return [
    row.seq,
    row.organization_id,
    row.conversation_id,
    row.mode,
    row.type,
    row.audience,
    row.actor_id,
    row.message_id,
    row.member_id,
    row.created_at,
  ];
}

/**
 * Finds the numbers of messages that are asked for in the order in which they were stored.
 * @returns undefined for one that was not stored by the transaction
 */
function numbersInOrder(stored: readonly StoredMessage[]): (id: string | null) => number | undefined {
  let next = 0;
  return (id) => {
    for (let at = next; at < stored.length; at += 1) {
      const one = stored[at];
      if (one?.id !== id) continue;
      next = at + 1;
      return one?.number;
    }
    return undefined;
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
