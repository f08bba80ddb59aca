// The events of new messages, by what is there already: most rows of the log say of a message that it is new, and all that
// they said stands in the message. Messages that one commit stores have consecutive numbers, and their events too, so one
// row tells of them all. Such events go with their messages. Rows that were written before stay.
//
// Each writer gives an event the next number of both tables, and a message one above all that an event has ever stood for
// (engine/sqlite/log-end.ts): a message must never be told by the event of another one.
import { sql, type Kysely } from 'kysely';
import { onPostgres, onSqlite } from './columns.ts';

const statements = [
  // The number of the first event, the number of its message, how many follow each other, when the last was stored.
  `create table message_events (
     seq integer primary key, number integer not null, messages integer not null, created_at integer not null) strict`,
  // The whole log, to look at; page by page it is read by an index (repositories/events.ts).
  `create view event_log as
     select seq, organization_id, conversation_id, mode, type, audience, actor_id, message_id, member_id, created_at
       from events
     union all
     select e.seq + m.number - e.number, m.organization_id, m.conversation_id, 'live', 'message:new', 'room', m.sender_id,
         m.id, null, m.created_at
       from message_events as e join messages as m on m.number between e.number and e.number + e.messages - 1`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await onSqlite(sql.raw(statement)).execute(db);
  // On PostgreSQL several nodes write at once, so that the numbers of two tables would not go together.
  await onPostgres(sql`create view event_log as select * from events`).execute(db);
}
