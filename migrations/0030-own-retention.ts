// How long a tenant wants its data kept, apart from how long the server's owner lets it: with one column for both, an
// admin could set a longer time than the owner had.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // -1: as long as it may be; null: what the owner or the plan says.
  await db.schema.alterTable('organizations').addColumn('own_retention_days', 'integer').execute();
  // Under the other plans a time can only be a shorter one, which an admin may take back: it is theirs. Under
  // enterprise it may be the owner's.
  await sql`update organizations set own_retention_days = retention_days, retention_days = null
     where plan <> 'enterprise' and retention_days > 0`.execute(db);
}
