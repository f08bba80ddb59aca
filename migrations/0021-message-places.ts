// The order of each conversation, apart from the messages. An index on the messages themselves has a page for every
// conversation that is written in, and each message that is committed writes such a page to the disk; a table beside them
// is filled in batches, from the newest messages, which are found by their number until then. Its rows name a conversation
// by a small number: its id would make them three times as long, and as many more pages are written.
//
// A message has no foreign key to its conversation any more: SQLite would look through all messages for those of a
// conversation that is removed. The trigger below removes them by their places. Nor does a constraint keep two messages
// from one place: numbers are given under the lock of the write, an import looks (export-import.ts), and so does the
// examination of a database (backup.ts).
import { sql, type Kysely } from 'kysely';
import { onPostgres, onSqlite } from './columns.ts';

/** Of every message but its number, which says when it was stored, and is never told to anybody. */
const columns = [
  'id',
  'conversation_id',
  'organization_id',
  'seq',
  'changed_seq',
  'sender_id',
  'sender_role',
  'sender_label',
  'content',
  'content_format',
  'content_html',
  'content_text',
  'internal',
  'client_message_id',
  'created_at',
  'edited_at',
  'deleted_at',
  'choices',
  'choice',
  'attachments',
  'via',
  'mail_id',
  'emailed',
  'emailed_at',
] as const;

/** The same columns of the messages, with the two that a conversation is read by from elsewhere. */
const selected = (conversation: string, seq: string): string =>
  columns
    .map((name) =>
      name === 'conversation_id'
        ? `${conversation} as conversation_id`
        : name === 'seq'
          ? `${seq} as seq`
          : `m.${name} as ${name}`,
    )
    .join(', ');

const statements = [
  // SQLite can't take a constraint off a table: it is made anew. Foreign keys are off while migrations run.
  `create table messages_anew (
     number integer primary key, id text not null unique, conversation_id text not null, organization_id text not null,
     seq integer not null, changed_seq integer not null, sender_id text not null, sender_role text not null,
     sender_label text, content text not null, content_format text not null, content_html text, content_text text,
     internal integer not null, client_message_id text, created_at integer not null, edited_at integer,
     deleted_at integer, choices text, choice text, attachments text, via text, mail_id text, emailed text,
     emailed_at integer)`,
  `insert into messages_anew (${columns.join(', ')}) select ${columns.join(', ')} from messages order by rowid`,
  'drop table messages',
  'alter table messages_anew rename to messages',
  `create unique index messages_by_client_id on messages (client_message_id, conversation_id, sender_id)
     where client_message_id is not null`,
  'create table conversation_numbers (number integer primary key, conversation_id text not null unique)',
  'insert into conversation_numbers (conversation_id) select id from conversations order by rowid',
  `create trigger conversation_numbered after insert on conversations begin
     insert into conversation_numbers (conversation_id) values (new.id);
   end`,
  // Without a reference to either table: every message writes here, and the triggers remove what is to go.
  `create table message_places (
     conversation integer not null, seq integer not null, number integer not null,
     primary key (conversation, seq, number)) without rowid`,
  `insert into message_places select n.number, m.seq, m.number
     from messages as m join conversation_numbers as n on n.conversation_id = m.conversation_id order by 1, 2, 3`,
  // One row: messages up to this number have their places.
  'create table message_placing (id integer primary key check (id = 1), through integer not null)',
  'insert into message_placing values (1, (select coalesce(max(number), 0) from messages))',
  `create view ordered_messages as
     select ${selected('n.conversation_id', 'p.seq')} from conversation_numbers as n
       join message_places as p on p.conversation = n.number
       join messages as m on m.number = p.number
     union all
     select ${selected('m.conversation_id', 'm.seq')} from messages as m
       where m.number > (select through from message_placing)`,
  // SQLite gives the number of a removed newest message again: it must not count as placed then.
  `create trigger message_removed after delete on messages begin
     delete from message_places
       where conversation = (select number from conversation_numbers where conversation_id = old.conversation_id)
         and seq = old.seq and number = old.number;
     update message_placing set through = (select coalesce(max(number), 0) from messages)
       where through > (select coalesce(max(number), 0) from messages);
   end`,
  `create trigger messages_of_conversation_removed before delete on conversations begin
     delete from messages where number in (
       select p.number from message_places as p
         where p.conversation = (select number from conversation_numbers where conversation_id = old.id));
     delete from messages where number > (select through from message_placing) and conversation_id = old.id;
     delete from message_places
       where conversation = (select number from conversation_numbers where conversation_id = old.id);
     delete from conversation_numbers where conversation_id = old.id;
   end`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await onSqlite(sql.raw(statement)).execute(db);
  // On PostgreSQL the index costs no page of its own for each message, and stays.
  await onPostgres(sql`create view ordered_messages as select * from messages`).execute(db);
}
