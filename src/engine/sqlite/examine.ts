// Whether a database is whole: its pages by SQLite's own checks, its rows by ours where no constraint watches.
// Finds; what follows from it is for who asks.
import { openConnection, type Connection } from './connection.ts';

/** What the virtual tables are made by. */
const indexModules = ['fts5', 'fts5vocab'];

/**
 * Examines every page of a database, and whether each row is one that its table allows. What the indexes of the search
 * hold is not compared with itself: that takes longer than all the rest, and `doctor` and a backup do it.
 * @param file open in this process already, because the last one that closes it writes to it
 * @returns the first thing that SQLite finds wrong, or null
 * @throws Error where it can't be read at all
 */
export function pageProblem(file: string): string | null {
  const connection = openConnection(file, { durability: 'full', lockTimeoutMs: 5_000 });
  try {
    // SQLite asks the module of a virtual table to examine it. These have nothing to say, on this connection alone.
    for (const name of indexModules) connection.table(name, { columns: ['nothing'], rows: noRows });
    return structureProblem(connection, 'quick_check');
  } finally {
    connection.close();
  }
}

function* noRows(): Generator {
  // Nothing reads them.
}

/** @returns what SQLite finds wrong first, and a full-text index only where nothing else is; or null */
function structureProblem(connection: Connection, how: 'quick_check' | 'integrity_check'): string | null {
  const lines = connection.prepare<[], string>(`pragma ${how}`).pluck().all();
  if (lines.length === 1 && lines[0] === 'ok') return null;
  return lines.find((line) => !isIndexProblem(line)) ?? lines[0] ?? 'no answer';
}

/** Whether what is wrong is in a full-text index alone, which is made anew from what it is of (reindex.ts). */
export function isIndexProblem(problem: string): boolean {
  return /^fts5: | FTS5 table /.test(problem);
}

/** @returns what is found wrong first, and a full-text index only where nothing else is; or null */
export function integrityProblem(
  connection: Connection,
  how: 'quick_check' | 'integrity_check',
): string | null {
  const found = structureProblem(connection, how);
  if (found !== null && !isIndexProblem(found)) return found;
  const orphan = connection.prepare<[], { table: string }>('pragma foreign_key_check').get();
  if (orphan !== undefined) return `a row of ${orphan.table} belongs to nothing`;
  // What no constraint watches. A folder of an older version has not all of these tables yet.
  for (const [table, query] of [
    ['message_places', strayMessages],
    ['message_events', doubleEvents],
  ] as const) {
    if (connection.pragma(`table_list('${table}')`, { simple: true }) === undefined) continue;
    const stray = connection.prepare<[], string>(query).pluck().get();
    if (stray !== undefined) return stray;
  }
  return found;
}

/** The first event that has the number of another one, or tells of the message of another one. */
const doubleEvents = `
  select 'two events have the same number' from events as e join message_events as m
      on m.seq = (select max(seq) from message_events where seq <= e.seq)
    where e.seq < m.seq + m.messages
  union all
  select 'two events tell that the same message is new' from message_events as m join message_events as earlier
      on earlier.seq = (select max(seq) from message_events where seq < m.seq)
    where m.seq < earlier.seq + earlier.messages or m.number < earlier.number + earlier.messages
  limit 1`;

/** The first message that is in no conversation, or shares its place or has none where it should have one, or a place of no message. */
const strayMessages = `
  select 'a message belongs to no conversation' from messages as m
    where not exists (select 1 from conversations as c where c.id = m.conversation_id)
  union all
  select 'a message is missing in its conversation' from messages as m
    where m.number <= (select through from message_placing) and not exists (
      select 1 from conversation_numbers as n join message_places as p on p.conversation = n.number
        where n.conversation_id = m.conversation_id and p.seq = m.seq and p.number = m.number)
  union all
  select 'a place in a conversation holds no message of it' from message_places as p
    where p.number > (select through from message_placing) or not exists (
      select 1 from messages as m join conversation_numbers as n on n.conversation_id = m.conversation_id
        where m.number = p.number and n.number = p.conversation and m.seq = p.seq)
  union all
  select 'two messages have the same place in a conversation' from message_places as p
    group by p.conversation, p.seq having count(*) > 1
  limit 1`;
