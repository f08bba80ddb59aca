// Finds the conversations that a member has: those of an absent or disabled member go back to the queue, a part at a time.
// A message touches none of it.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index conversations_held on conversations (organization_id, assigned_to)
     where status = 'active'`.execute(db);
  await sql`create index members_disabled on members (id) where disabled_at is not null`.execute(db);
}
