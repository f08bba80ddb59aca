// Finds what is kept of a visitor part by part: their questions to the assistant in order of time, and the rows of the audit
// log that are about them, which were looked for among all rows of the log.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index ai_log_by_visitor`.execute(db);
  await sql`create index ai_log_by_visitor on ai_log (visitor_key, created_at, id)`.execute(db);
  await sql`create index audit_of_visitors on audit (subject, created_at, id)
     where substr(subject, 1, 8) = 'visitor:'`.execute(db);
}
