// Makes the full-text indexes of a database anew, whatever is in them: all that they hold comes from rows beside them.
import { migrations } from '../../../migrations/index.ts';
import { errorMessage, isOutOfRoom } from '../file-errors.ts';
import { EngineError } from '../open-errors.ts';
import { openConnection, sqliteCode, type Connection } from './connection.ts';
import { schemaVersion } from './migrate.ts';

/** What FTS5 is told of an index and keeps in it, not in the schema; in the order of the migrations. */
const settings: Readonly<Record<string, readonly string[]>> = {
  search: ["'automerge', 0", "'secure-delete', 1"],
  knowledge_headings: ["'secure-delete', 1"],
};

/** How long it waits for a command that writes. */
const lockTimeoutMs = 2_000;

/**
 * Makes the indexes of a database anew that no server uses.
 * @throws EngineError when that can't be; nothing was changed then
 */
export function reindexDatabase(file: string): void {
  let connection: Connection | undefined;
  try {
    connection = openConnection(file, { durability: 'full', lockTimeoutMs });
    const schema = schemaVersion(connection);
    if (schema !== migrations.length)
      throw new EngineError(
        `The database has schema ${schema}, and this program makes the indexes of ${migrations.length} anew. Use the deskbell that served it last, or start the server once, which changes the schema. Nothing was changed.`,
      );
    makeIndexesAnew(connection);
  } catch (error) {
    const code = sqliteCode(error);
    if (code === undefined) throw error;
    throw new EngineError(
      `The indexes could not be made anew: ${remedyFor(code, error)} Nothing was changed.`,
      {
        cause: error,
      },
    );
  } finally {
    connection?.close();
  }
}

function remedyFor(code: string, error: unknown): string {
  if (code.startsWith('SQLITE_BUSY'))
    return 'another program writes to the database. Let it end, then try again.';
  if (isOutOfRoom(error))
    return 'there is no room for it. The log of the database takes as much as the indexes did: make room on the disk, then try again.';
  return `${errorMessage(error)}. Pages of the database are damaged: restore a backup with deskbell restore FILE --force. Without one, deskbell export --all may still read everything, for deskbell import into a new folder.`;
}

/**
 * All of it in one transaction. The index of messages is left empty, because to fill it may take long: the server does so
 * in slices from its next start on (services/chat/search.ts), and goes on where it was stopped.
 */
function makeIndexesAnew(connection: Connection): void {
  const renew = (): void => {
    const trigger = definitionOf(connection, 'search_row_removed');
    // Without it SQLite empties the table as a whole.
    connection.exec('drop trigger search_row_removed');
    connection.exec('delete from search_rows');
    // Whatever was to be followed of the log is among all the messages.
    connection.exec("delete from meta where key in ('search_cursor', 'search_follow_from')");
    makeAnew(connection, 'search', ['search_vocabulary']);
    connection.exec(trigger);
    // These are read from their rows: from views, and from a table of their own.
    for (const index of ['search_subjects', 'search_visitors', 'knowledge_search'])
      connection.exec(`insert into ${index} (${index}) values ('rebuild')`);
    makeAnew(connection, 'knowledge_headings');
    connection.exec(
      'insert into knowledge_headings (rowid, words) select rowid, heading from knowledge_search',
    );
  };
  connection.transaction(renew).immediate();
}

/**
 * Makes an index that is as empty as it was at first.
 * @param beside virtual tables that look into it
 */
function makeAnew(connection: Connection, index: string, beside: readonly string[] = []): void {
  const definitions = [index, ...beside].map((name) => definitionOf(connection, name));
  for (const name of [...beside, index]) connection.exec(`drop table ${name}`);
  for (const definition of definitions) connection.exec(definition);
  for (const setting of settings[index] ?? [])
    connection.exec(`insert into ${index} (${index}, rank) values (${setting})`);
}

function definitionOf(connection: Connection, name: string): string {
  const sql = connection
    .prepare<[string], string>('select sql from sqlite_schema where name = ?')
    .pluck()
    .get(name);
  if (sql === undefined) throw new Error(`The database has no ${name}.`);
  return sql;
}
