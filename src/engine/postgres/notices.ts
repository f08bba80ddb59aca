// What nodes tell each other of a commit, with the commit itself. The log is the truth: what is heard here only says that
// there is something to read, and whose configuration changed.
import type { Answer, Link, Statement } from './link.ts';

const channel = 'deskbell';
/** Less than PostgreSQL's 8,000 bytes, with the node and the number beside it. */
const maxBytes = 7_500;
const notify: Statement = { name: 'notify', text: `select pg_notify('${channel}', $1)` };
// Behind the statement that counts the change, in the same transaction.
const notifyChange: Statement = {
  name: 'notify_change',
  text: `select pg_notify('${channel}',
    'v1 ' || $1::text || ' ' || (select value from meta where key = 'configuration') || ' ' || $2::text)`,
};

/** What another node has committed. */
export interface HeardCommit {
  readonly node: string;
  /** Whose configuration changed; null: no one's. */
  readonly configuration: 'all' | ReadonlySet<string> | null;
  /** How often configuration has ever changed, this change included; null: it changed none, or nothing says so. */
  readonly count: number | null;
}

/** Tells all nodes when the open transaction is committed, and never otherwise. */
export function notifyCommit(
  link: Link,
  node: string,
  configuration: ReadonlySet<string>,
): Promise<Answer<unknown>> {
  if (configuration.size === 0) return link.query(notify, [`v1 ${node} []`]);
  const names = JSON.stringify([...configuration]);
  return link.query(notifyChange, [node, Buffer.byteLength(names) > maxBytes ? '*' : names]);
}

/** Calls with each commit that a node tells of. What a newer node says in another way may be anything. */
export function listenToCommits(link: Link, listener: (heard: HeardCommit) => void): Promise<void> {
  return link.listen(channel, (text) => listener(readNotice(text)));
}

function readNotice(text: string): HeardCommit {
  const [, node = '', number, names] = /^v1 (\S+) (?:(\d+) )?(.*)$/s.exec(text) ?? [];
  const count = number === undefined ? null : Number(number);
  // Any role of the database can send a notice.
  const organizations = names === undefined || names === '*' ? undefined : parse(names);
  if (!Array.isArray(organizations)) return { node, configuration: 'all', count };
  return {
    node,
    configuration: organizations.length === 0 ? null : new Set(organizations.map(String)),
    count,
  };
}

/** @returns undefined for what is no JSON */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
