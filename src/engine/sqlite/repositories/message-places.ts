// The places of messages in their conversations (migrations/0021-message-places.ts): filled behind the messages, many at
// once, so that a busy server writes the page of a conversation's order once for many messages. Until then a message is
// found by its number, so reading looks through all that have no place: they stay few.
import { sql } from 'kysely';
import { builder, type ImmediateRunner } from '../query.ts';

/** The most that are placed in one commit, which writes a page for each conversation among them. */
export const placedAtOnce = 512;

const unplaced = sql<{ n: number }>`
  select coalesce((select max(number) from messages), 0) - through as n from message_placing`.compile(
  builder,
);
const place = sql`
  insert into message_places (conversation_id, seq, number)
    select conversation_id, seq, number from messages
      where number > (select through from message_placing)
        and number <= (select through from message_placing) + ${sql.lit(placedAtOnce)}
      order by conversation_id, seq`.compile(builder);
const noteThrough = sql`
  update message_placing
    set through = min(through + ${sql.lit(placedAtOnce)}, (select coalesce(max(number), 0) from messages))`.compile(
  builder,
);

/** The statements that write places: they touch no conversation. */
export const placeStatements = [place, noteThrough];

export interface MessagePlaces {
  /** How many messages have no place yet, at most: numbers of removed ones count. */
  unplaced(): number;
  /** Gives the oldest of them their places, as many as `placedAtOnce`. In the transaction that is open. */
  place(): void;
}

export function createMessagePlaces({ direct }: ImmediateRunner): MessagePlaces {
  return {
    unplaced: () => direct.first(unplaced, [])?.n ?? 0,
    place: () => {
      direct.run(place, []);
      direct.run(noteThrough, []);
    },
  };
}
