// Owns: how the peers store messages: prepared inserts, one commit for all that arrived in one turn of the loop or one for
// each message, synchronous FULL, time-ordered ids. The least that a durable message needs, or the same rows and limits as Deskbell.
// Must not gain anything that a message does not need: it is what Deskbell is held against.
import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';

/** `least`: one row and its key; `fair`: also its order, its client id, its conversation, its event, and the limits. */
export type Rows = 'least' | 'fair';

/** `group`: one commit for all that arrived in one turn of the loop; `each`: one for each message, when it arrives. */
export type Commits = 'group' | 'each';

export interface NewMessage {
  readonly conversationId: string;
  readonly clientMessageId: string;
  readonly content: string;
}

export interface StoredMessage extends NewMessage {
  readonly id: string;
  readonly createdAt: string;
}

export interface PeerStore {
  /** Stores a message; `done` is called after the commit. */
  add(message: NewMessage, done: (stored: StoredMessage) => void): void;
  close(): void;
}

const least =
  'create table messages (id text primary key, conversation_id text not null, sender_id text not null, client_message_id text, content text not null, created_at integer not null)';
const fair = [
  'create table conversations (id text primary key, status text not null, last_seq integer not null, waiting_since integer, updated_at integer not null)',
  'create table messages (id text primary key, conversation_id text not null references conversations, organization_id text not null, seq integer not null, sender_id text not null, sender_role text not null, client_message_id text, content text not null, content_format text not null, created_at integer not null)',
  'create unique index in_order on messages (conversation_id, seq)',
  'create unique index by_client_id on messages (client_message_id, conversation_id, sender_id)',
  'create table events (seq integer primary key, organization_id text not null, conversation_id text not null, mode text not null, type text not null, audience text not null, actor_id text not null, message_id text, created_at integer not null)',
].join(';');

/** Ids in order of time, as Deskbell's: random ones would make the insert slower. */
function newId(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const organizationId = randomUUID();
const senderId = randomUUID();

/** How a group of messages is written; null: nothing is to be written beyond the message's own row. */
function writerOf(db: Database.Database, rows: Rows): (message: StoredMessage, now: number) => void {
  if (rows === 'least') {
    const insert = db.prepare('insert into messages values (?, ?, ?, ?, ?, ?)');
    return ({ id, conversationId, clientMessageId, content }, now) =>
      insert.run(id, conversationId, senderId, clientMessageId, content, now);
  }
  const begin = db.prepare(
    "insert into conversations values (?, 'pending', 0, null, ?) on conflict do nothing",
  );
  const advance = db
    .prepare<unknown[], number>(
      'update conversations set last_seq = last_seq + 1, waiting_since = coalesce(waiting_since, ?), updated_at = ? where id = ? returning last_seq',
    )
    .pluck();
  const insert = db.prepare(
    "insert into messages values (?, ?, ?, ?, ?, 'visitor', ?, ?, 'plain', ?) on conflict do nothing",
  );
  const log = db.prepare(
    "insert into events (organization_id, conversation_id, mode, type, audience, actor_id, message_id, created_at) values (?, ?, 'live', 'message:new', 'room', ?, ?, ?)",
  );
  const known = new Set<string>();
  return ({ id, conversationId, clientMessageId, content }, now) => {
    if (!known.has(conversationId)) {
      begin.run(conversationId, now);
      known.add(conversationId);
    }
    const seq = advance.get(now, now, conversationId);
    insert.run(id, conversationId, organizationId, seq, senderId, clientMessageId, content, now);
    log.run(organizationId, conversationId, senderId, id, now);
  };
}

/** Sliding windows are Deskbell's; a fixed one for each of five keys is the least that limits anything. */
function createLimits(): (conversationId: string, now: number) => boolean {
  const counts = new Map<string, { since: number; count: number }>();
  return (conversationId, now) =>
    [`v:${conversationId}`, 'r', 'a', 'o', 'ov'].every((key) => {
      const window = counts.get(key);
      if (window === undefined || now - window.since >= 60_000) counts.set(key, { since: now, count: 1 });
      else window.count += 1;
      return (window?.count ?? 0) < 1_000_000_000;
    });
}

/**
 * @param file where the database is made
 * @param commits how many messages one commit holds
 * @throws Error when the commits would not be synced
 */
export function createPeerStore(file: string, rows: Rows, commits: Commits = 'group'): PeerStore {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.exec(rows === 'least' ? least : fair);
  if (db.pragma('synchronous', { simple: true }) !== 2) throw new Error('The commits would not be synced.');
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const write = writerOf(db, rows);
  const admits = rows === 'least' ? (): boolean => true : createLimits();
  let waiting: { readonly stored: StoredMessage; readonly done: (stored: StoredMessage) => void }[] = [];

  function flush(): void {
    const group = waiting;
    waiting = [];
    begin.run();
    for (const { stored } of group) write(stored, Date.now());
    commit.run();
    for (const { stored, done } of group) done(stored);
  }

  return {
    add: (message, done) => {
      const now = Date.now();
      if (!admits(message.conversationId, now)) throw new Error('Too many messages.');
      const stored = { ...message, id: newId(now), createdAt: new Date(now).toISOString() };
      if (commits === 'group') {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ stored, done });
        return;
      }
      // Only one row has one statement, which is a transaction of its own.
      if (rows !== 'least') begin.run();
      write(stored, now);
      if (rows !== 'least') commit.run();
      done(stored);
    },
    close: () => db.close(),
  };
}
