// Owns: migrations/newest-schema.ts, from which a new database is made: its text, as the migrations say it. Run as a script
// ("npm run schema"), it writes the file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { migrations } from '../../migrations/index.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';

/** A database in memory that every migration has gone through, one after the other. */
export async function migratedStepByStep(): Promise<Database.Database> {
  const connection = new Database(':memory:');
  await migrate(connection, () => Promise.resolve(), [...migrations]);
  return connection;
}

/** The statements that make a database's schema and rows again, in their order. */
export function describeSchema(connection: Database.Database): string[] {
  const texts = (sql: string): string[] => connection.prepare<[], string>(sql).pluck().all();
  const kinds = new Map(
    connection.prepare('select name, type from pragma_table_list').raw().all() as [string, string][],
  );
  const made = connection
    .prepare(
      'select name, type, sql from sqlite_schema where sql is not null and name not glob ? order by rowid',
    )
    .raw()
    .all('sqlite_*') as [string, string, string][];
  return (
    made
      // A full-text table makes its own tables.
      .filter(([name]) => kinds.get(name) !== 'shadow')
      .flatMap(([name, type, sql]) => {
        if (type !== 'table') return [sql];
        if (kinds.get(name) !== 'virtual') {
          const columns = texts(`select name from pragma_table_info('${name}')`);
          const values = columns.map((column) => `quote("${column}")`).join(" || ', ' || ");
          const row = `'insert into ${name} (${columns.join(', ')}) values (' || ${values} || ')'`;
          return [sql, ...texts(`select ${row} from "${name}"`)];
        }
        // What it was told about itself; a view of its words has nothing of the kind.
        if (!kinds.has(`${name}_config`)) return [sql];
        const told = `'insert into ${name} (${name}, rank) values (' || quote(k) || ', ' || quote(v) || ')'`;
        return [sql, ...texts(`select ${told} from ${name}_config where k <> 'version'`)];
      })
  );
}

/** The text of the file. */
export async function newestSchemaFile(): Promise<string> {
  const connection = await migratedStepByStep();
  // As a template takes it.
  const text = describeSchema(connection)
    .join(';\n')
    .replaceAll(/[\\`]|\$\{/g, '\\$&');
  connection.close();
  return `// What all migrations make of an empty database, on SQLite: a new one is made of this at once, in a quarter of the time.
// Written by "npm run schema" after a migration was added; a test holds it against the migrations.

export const newestSchema = \`
${text};
\`;
`;
}

if (import.meta.main)
  writeFileSync(join(import.meta.dirname, '../../migrations/newest-schema.ts'), await newestSchemaFile());
