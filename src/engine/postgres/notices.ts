// What nodes tell each other of a commit, with the commit itself. The log is the truth: what is heard here only says that
// there is something to read, and whose configuration changed.
import type { Answer, Link, Statement } from './link.ts';

const channel = 'deskbell';
/** Less than PostgreSQL's 8,000 bytes. */
const maxBytes = 7_500;
const notify: Statement = { name: 'notify', text: `select pg_notify('${channel}', $1)` };

/** What another node has committed. */
export interface HeardCommit {
  readonly node: string;
  /** Whose configuration changed; null: no one's. */
  readonly configuration: 'all' | ReadonlySet<string> | null;
}

/** Tells all nodes when the open transaction is committed, and never otherwise. */
export function notifyCommit(
  link: Link,
  node: string,
  configuration: ReadonlySet<string>,
): Promise<Answer<unknown>> {
  const text = `v1 ${node} ${JSON.stringify([...configuration])}`;
  return link.query(notify, [Buffer.byteLength(text) > maxBytes ? `v1 ${node} *` : text]);
}

/** Calls with each commit that a node tells of. What a newer node says in another way may be anything. */
export function listenToCommits(link: Link, listener: (heard: HeardCommit) => void): Promise<void> {
  return link.listen(channel, (text) => listener(readNotice(text)));
}

function readNotice(text: string): HeardCommit {
  const [, node, names] = /^v1 (\S+) (.*)$/s.exec(text) ?? [];
  if (node === undefined || names === undefined) return { node: '', configuration: 'all' };
  if (names === '*') return { node, configuration: 'all' };
  // Any role of the database can send a notice.
  const organizations = parse(names);
  if (!Array.isArray(organizations)) return { node, configuration: 'all' };
  return { node, configuration: organizations.length === 0 ? null : new Set(organizations.map(String)) };
}

/** @returns undefined for what is no JSON */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
