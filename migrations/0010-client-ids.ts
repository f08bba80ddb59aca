// The index of client ids begins with the client id: ids made in order of time, as our own clients make them, then all
// go to the index's last page. With the conversation in front, every conversation that is written in has a page of its own.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('messages_by_client_id').execute();
  await db.schema
    .createIndex('messages_by_client_id')
    .on('messages')
    .columns(['client_message_id', 'conversation_id', 'sender_id'])
    .unique()
    .where(sql.ref('client_message_id'), 'is not', null)
    .execute();
}
