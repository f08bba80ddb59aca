// Which delivery of a conversation is the next in turn: found among those that wait, not past all that were delivered.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('webhook_deliveries_in_turn')
    .on('webhook_deliveries')
    .columns(['conversation_id', 'webhook_id', 'event_seq'])
    .where(sql.ref('status'), '=', sql.lit('waiting'))
    .where(sql.ref('in_turn'), '=', sql.lit(1))
    .execute();
}
