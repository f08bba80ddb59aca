// Owns damaging the full-text indexes of a database as a failing disk would: pages stay readable, what is in them is not.
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';

/** Every full-text index of a database on SQLite. */
export const fullTextIndexes = [
  'search',
  'search_subjects',
  'search_visitors',
  'knowledge_search',
  'knowledge_headings',
] as const;

/**
 * Damages an index beside whatever has the database open.
 * @param part `structure`: nothing finds anything in it; `words`: reading and writing fails where its words are met
 */
export function damageIndex(
  folder: string,
  index: (typeof fullTextIndexes)[number],
  part: 'structure' | 'words' = 'structure',
): void {
  const connection = openConnection(databaseFile(folder), { durability: 'full', lockTimeoutMs: 5_000 });
  try {
    // Without it SQLite lets no one write into the tables of a virtual one.
    connection.unsafeMode(true);
    connection.exec(
      part === 'structure'
        ? `update ${index}_data set block = x'ffffffffffffffffff' where id = 10`
        : `update ${index}_data set block = zeroblob(length(block)) where id > 10`,
    );
  } finally {
    connection.close();
  }
}
