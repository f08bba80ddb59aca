// The places of messages in their conversations (migrations/0021-message-places.ts): filled behind the messages, many at
// once, so that a busy server writes the page of a conversation's order once for many messages. Until then a message is
// found by its number, so reading looks through all that have no place: they stay few.
import { sql } from 'kysely';
import type { LogEnd, StoredMessage, Unplaced } from '../log-end.ts';
import { builder, runInBatches, type ImmediateRunner } from '../query.ts';
import type { MessagePlaceRow } from '../database.ts';

/**
 * So many are placed in one commit, which reads and writes a page for each conversation among them. A read looks through all
 * that wait.
 */
export const placedAtOnce = 256;
/** The same where commits are large, no conversation was read and few are written in: the more at once, the fewer pages are written for each. */
export const manyPlacedAtOnce = 1_024;

/** The oldest without a place; null: none. Numbers are left out where the newest messages were removed. */
const oldest = sql`(select min(number) from messages where number > (select through from message_placing))`;
const ends = sql<{ oldest: number | null; newest: number | null }>`
  select ${oldest} as oldest, (select max(number) from messages) as newest`.compile(builder);
/** The zero stands for how many, which comes with each run. */
const place = sql`
  insert into message_places (conversation, seq, number)
    select n.number, m.seq, m.number
      from messages as m join conversation_numbers as n on n.conversation_id = m.conversation_id
      where m.number >= ${oldest} and m.number < ${oldest} + ${0}
      order by n.number, m.seq
    on conflict do nothing`.compile(builder);
const noteThrough = sql`
  update message_placing
    set through = min(${oldest} + ${0} - 1, (select max(number) from messages))
    where ${oldest} is not null`.compile(builder);

const anyPlace: MessagePlaceRow = { conversation: 0, seq: 0, number: 0 };
/**
 * The same for messages whose conversations are known, which need not be read again: many by one statement, then the rest.
 * A statement that fails ends its transaction: without "or fail" SQLite would keep a copy of each page that it changes, to
 * take back what it has written so far.
 */
const placeKnown = [16, 1].map((count) => ({
  count,
  compiled: builder
    .insertInto('message_places')
    .orFail()
    .values(Array.from({ length: count }, () => anyPlace))
    .onConflict((conflict) => conflict.doNothing())
    .compile(),
}));
const setThrough = builder.updateTable('message_placing').set({ through: 0 }).compile();

/** The statements that write places: they touch no conversation. */
export const placeStatements = [
  place,
  noteThrough,
  setThrough,
  ...placeKnown.map(({ compiled }) => compiled),
];

export interface MessagePlaces {
  unplaced(): Unplaced;
  /**
   * Gives the oldest of them their places, `count` at most, in the transaction that is open. One that is there already, as
   * another program may have left it, stays.
   * @param first the number of the oldest
   */
  place(first: number, count: number): void;
}

/** @param log knows the messages that were stored last, so that these need not be read */
export function createMessagePlaces({ direct }: ImmediateRunner, log: LogEnd): MessagePlaces {
  const insert = (messages: readonly StoredMessage[]): void => {
    const inOrder = messages.toSorted(
      (one, other) => one.conversation - other.conversation || one.seq - other.seq,
    );
    runInBatches(direct, placeKnown, inOrder, ({ conversation, seq, number }) => [conversation, seq, number]);
  };
  return {
    unplaced: () => {
      // Every commit asks.
      const known = log.unplaced;
      if (known !== null) return known;
      const found = direct.first(ends, []);
      log.noteOldestUnplaced(found?.oldest ?? null);
      if (found === undefined || found.oldest === null || found.newest === null)
        return { oldest: null, atMost: 0 };
      return { oldest: found.oldest, atMost: found.newest - found.oldest + 1 };
    },
    place: (first, count) => {
      const known = log.takeUnplaced(first, count);
      const last = known.at(-1);
      // Nothing else has written since the first of them was stored: none is missing in between.
      if (last !== undefined) {
        insert(known);
        direct.run(setThrough, [last.number]);
        return;
      }
      direct.run(place, [count]);
      direct.run(noteThrough, [count]);
    },
  };
}
