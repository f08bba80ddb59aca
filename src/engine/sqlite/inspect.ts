// Looks at a database for `deskbell doctor`: reads what can be known without changing
// anything, beside a running server. Decides nothing about what is good enough.
import { migrations } from '../../../migrations/index.ts';
import { nothingKnown, reportRows, type RowsReport } from './repositories/rows-report.ts';
import { createRepositories } from './repositories/repositories.ts';
import { schemaVersion } from './migrate.ts';
import { keyCheckOf } from './backup.ts';
import { openConnection, sqliteVersion } from './connection.ts';
import { integrityProblem, isIndexProblem } from './examine.ts';
import { createRunner } from './runner.ts';

export interface DatabaseReport extends RowsReport {
  readonly sqliteVersion: string;
  readonly schema: number;
  /** The newest schema that this program knows. */
  readonly knownSchema: number;
  /** The database's note of which key it was made with. */
  readonly keyCheck: string | null;
  readonly journalMode: string;
  /** What SQLite's quick check finds wrong, or null. */
  readonly problem: string | null;
  /** Whether that is a full-text index, and all else is whole. */
  readonly isIndexAlone: boolean;
  /** Whether messages are missing in their index, because it is made for the first time or anew. */
  readonly isIndexFilling: boolean;
  /** When the newest row was made, ms; null where there is none. */
  readonly newestTime: number | null;
}

/** @throws Error when the file can't be opened as a database */
export async function inspectDatabase(file: string): Promise<DatabaseReport> {
  const connection = openConnection(file, { durability: 'full', lockTimeoutMs: 2_000, readonly: true });
  try {
    const schema = schemaVersion(connection);
    const repositories = createRepositories(createRunner(connection));
    const problem = integrityProblem(connection, 'quick_check');
    return {
      sqliteVersion: sqliteVersion(connection),
      schema,
      knownSchema: migrations.length,
      keyCheck: keyCheckOf(connection),
      journalMode: String(connection.pragma('journal_mode', { simple: true })),
      problem,
      isIndexAlone: problem !== null && isIndexProblem(problem),
      isIndexFilling: schema === migrations.length && (await isFilling(repositories)),
      newestTime: schema === 0 ? null : await repositories.retention.newestTime(),
      ...(schema < migrations.length ? nothingKnown : await reportRows(repositories)),
    };
  } finally {
    connection.close();
  }
}

/** The cursor of the search is a number of the log once all messages are in the index. */
async function isFilling({ meta, search }: ReturnType<typeof createRepositories>): Promise<boolean> {
  if (/^\d+$/.test((await meta.get('search_cursor')) ?? '')) return false;
  return (await search.unindexed('', 1)).length > 0;
}

/** One value of `meta`, read beside a running server. @throws Error when the file can't be opened as a database */
export async function readMetaValue(file: string, key: string): Promise<string | undefined> {
  const connection = openConnection(file, { durability: 'full', lockTimeoutMs: 2_000, readonly: true });
  try {
    return await createRepositories(createRunner(connection)).meta.get(key);
  } finally {
    connection.close();
  }
}
