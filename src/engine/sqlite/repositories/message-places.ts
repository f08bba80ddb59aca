// The places of messages in their conversations (migrations/0021-message-places.ts): filled behind the messages, many at
// once, so that a busy server writes the page of a conversation's order once for many messages. Until then a message is
// found by its number, so reading looks through all that have no place: they stay few.
import { sql } from 'kysely';
import { builder, type ImmediateRunner } from '../query.ts';

/**
 * So many are placed in one commit, which reads and writes a page for each conversation among them. A read looks through all
 * that wait.
 */
export const placedAtOnce = 256;
/** The same where no conversation was read and few are written in: the more at once, the fewer pages are written for each. */
export const manyPlacedAtOnce = 1_024;

/** The oldest without a place; null: none. Numbers are left out where the newest messages were removed. */
const oldest = sql`(select min(number) from messages where number > (select through from message_placing))`;
const unplacedAtMost = sql<{ n: number }>`
  select coalesce((select max(number) from messages) - ${oldest} + 1, 0) as n`.compile(builder);
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

/** The statements that write places: they touch no conversation. */
export const placeStatements = [place, noteThrough];

export interface MessagePlaces {
  /** How many messages have no place yet, at most: numbers of removed ones count. */
  unplacedAtMost(): number;
  /**
   * Gives the oldest of them their places, `count` at most, in the transaction that is open. One that is there already, as
   * another program may have left it, stays.
   */
  place(count: number): void;
}

export function createMessagePlaces({ direct }: ImmediateRunner): MessagePlaces {
  return {
    unplacedAtMost: () => direct.first(unplacedAtMost, [])?.n ?? 0,
    place: (count) => {
      direct.run(place, [count]);
      direct.run(noteThrough, [count]);
    },
  };
}
