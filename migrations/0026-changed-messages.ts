// Finds the messages of a conversation that were edited, deleted or mailed: catching up asks for what became of those that a
// client has, and went through all of the conversation. What was never changed, which is nearly all, is not in the index, so
// that a new message costs no page of it.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index messages_changed on messages (conversation_id, changed_seq, emailed_at)
     where changed_seq > seq or emailed_at is not null`.execute(db);
}
