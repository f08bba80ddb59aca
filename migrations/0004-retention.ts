// Indexes by age, so that retention walks what is old and never all there is.
import type { Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('conversations_by_age')
    .on('conversations')
    .columns(['organization_id', 'mode', 'created_at', 'id'])
    .execute();
  await db.schema
    .createIndex('visitors_by_age')
    .on('visitors')
    .columns(['organization_id', 'mode', 'created_at', 'id'])
    .execute();
}
