// What rules see of everything that can be replaced: store, limits, presence, seats, clock. Each interface states its
// contract, whatever engine fulfils it. Types, what a value is that may be there at once, and the one error that a store
// may throw.
import type { Repositories, Soon } from './repositories.ts';
import type { SenderRole } from '../protocol/entities.ts';
import type { EventPayloads } from '../protocol/events.ts';
import type { EventRow } from './rows.ts';

export type { Soon };

/** Goes on with a value at once where it is there, else when it comes. Throws at once what `use` throws at once. */
export function whenReady<T, U>(value: Soon<T>, use: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Time and ids, handed in so that tests can move them by hand. */
export interface Clock {
  /** Wall clock, ms since the Unix epoch. */
  now(): number;
  /** A clock that never jumps, ms since an arbitrary start; for limits and heartbeats. */
  monotonic(): number;
  /** Runs `run` once, `ms` from now; the answer cancels it. Never keeps the process alive. */
  after(ms: number, run: () => void): () => void;
  /** A new time-ordered UUID (version 7, RFC 9562). */
  newId(): string;
}

/** An event as a rule hands it in: the row is written in the same transaction. */
export interface NewEvent extends Omit<EventRow, 'seq' | 'created_at'> {
  /** The finished payload, so that the usual delivery needs no query. */
  readonly payload: object;
  /** For a new message: makes what staff connections outside the room hear of it. Called only where one listens. */
  readonly activity?: (() => object) | undefined;
  /** The connection that caused it: it never hears its own message:new. */
  readonly originConnectionId?: string | undefined;
}

/** A committed event. */
export interface CommittedEvent extends EventRow {
  /** Committed by this process: it then has the three below as they were handed in. */
  readonly own: boolean;
  /** Absent in another's event: it is then loaded from the rows. */
  readonly payload?: object | undefined;
  readonly activity?: (() => object) | undefined;
  readonly originConnectionId?: string | undefined;
}

/** What commits left behind. */
export interface CommitNotice {
  /** The log from where the last notice ended, whichever node committed: each event once, in order. */
  readonly events: readonly CommittedEvent[];
  /**
   * Organizations whose configuration (applications, domains, keys, members, webhooks, the organization itself) may have
   * changed; all of them; null: none.
   */
  readonly configuration: 'all' | ReadonlySet<string> | null;
  /**
   * The store has lost commits that were told of, as by a failover to a standby that had not received them. Numbers of
   * the log are given again: what was derived from it is wrong, and those who were told have to ask again.
   */
  readonly lost?: true;
  /** The store has not been reached for long: clients of this node are better off at another. */
  readonly cutOff?: true;
}

/** A consistent snapshot: everything inside one `read` sees the same commit. */
export interface ReadTx {
  readonly repositories: Repositories;
}

/**
 * One operation's transaction. Await nothing inside but its own methods: several
 * operations share one commit, and a foreign await would hold them all.
 */
export interface Tx extends ReadTx {
  /** Records an event; subscribers hear of it after the commit and never before. */
  emit(event: NewEvent): Soon<void>;
  /**
   * The number of `freshConfiguration` that holds in this transaction; null where configuration has changed since, by
   * this process or another: what was looked up before is then to be read again.
   */
  configurationEpoch(): Soon<number | null>;
  /** Says that an organization's configuration changed: caches and live connections look again after the commit. */
  configurationChanged(organizationId: string): void;
}

/** A part of an organization that operations change without touching the rest of it. */
export type ScopePart = `${'conversation' | 'visitor' | 'member' | 'webhook' | 'row'}:${string}`;

/** An organization, or one part of it. */
export interface OrganizationScope {
  readonly organization: string;
  /** Left out: the whole organization. */
  readonly part?: ScopePart;
  /** The write removes more than it adds: it goes on where the disk is full. */
  readonly removes?: true;
}

/**
 * What a write may read and change, so that an engine can hold a lock for just that. Too wide is slow, too narrow a
 * fault. `server` is everything; `server:<name>` one thing that belongs to no organization. A part excludes
 * other writes of the same part and of the whole; parts of different names run at the same time. SQLite has one lock
 * for all and ignores the scope.
 */
export type Scope = 'server' | `server:${string}` | OrganizationScope;

/** What an acknowledged write survives: `full` the loss of power, `normal` a crash of the program. */
export type Durability = 'full' | 'normal';

export interface Store {
  /**
   * Runs `work` on a snapshot that never sees an uncommitted row. Await nothing inside but its own methods.
   * @param work changes nothing outside: it may run again, on another snapshot, and only its last run counts
   */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /** Like `read`, for work that takes long or waits for files: other reads don't wait for it. */
  readAlone<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction and resolves after the commit is durable. Operations that arrive together share one
   * commit, each rolled back alone when it throws.
   * @param scope what `work` reads and changes; several where it changes several things
   * @param work touches nothing but `tx`: it may run again after a rollback, and only its last run counts
   * @param behind no user waits for it: those of users that wait go first, and after a tenth of a second one of these in each
   * commit. An engine whose writes do not wait for each other ignores it.
   * @throws StoreUnavailableError when the lock can't be had in time or storage refuses the write; IndexDamagedError
   */
  write<T>(scope: Scope | readonly Scope[], work: (tx: Tx) => Soon<T>, behind?: 'behind'): Promise<T>;
  /**
   * Like `write`, in a commit of its own: `work` runs once, may take long and may wait for files.
   * @throws StoreUnavailableError like `write`
   */
  alone<T>(scope: Scope, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Called after commits of this node and of others, in the order of the log. The answer unsubscribes. */
  subscribe(listener: (notice: CommitNotice) => void): () => void;
  /**
   * A number that rises whenever configuration may have changed, as of now: what was read under an older one is stale.
   * What one node withdrew, no other serves from a cache afterwards; an engine may be a moment late for what is changed
   * behind its back.
   */
  freshConfiguration(): Soon<number>;
  /**
   * The number under which an organization's configuration may last have changed: what was read of it under that one or
   * a later one still holds. Where only is known that something changed, as in another process, it may be anyone's.
   * @param fresh an answer of `freshConfiguration`, or of a transaction's `configurationEpoch`
   */
  configurationChangedAt(organizationId: string, fresh: number): number;
  /** The organizations whose configuration may have changed above the number `since`; all: nothing says whose. */
  configurationChangedSince(since: number, fresh: number): ReadonlySet<string> | 'all';
  /** What was counted since it was opened. */
  stats(): StoreStats;
}

/** Care of the storage itself. What an engine has none of is answered as nothing. */
export interface Maintenance {
  /** Bytes that the database takes. */
  sizeBytes(): Promise<number>;
  /** Bytes of the log that waits to be moved into the database; null: there is no such file. */
  logBytes(): number | null;
  /**
   * Makes sure that what was removed is in none of the database's files any more.
   * @returns false when a reader kept a part of it back: ask again later
   * @throws StoreUnavailableError when storage can't be used now: ask again later
   */
  clearRemoved(): Promise<boolean>;
  /** The copies of the database that changes of its schema and restores left behind, oldest first. */
  copies(): Promise<DatabaseCopy[]>;
  /** Removes the copies made before a time (ms); how many. */
  removeCopies(madeBefore: number): Promise<number>;
}

/** A copy of the database beside it: it still holds what has been removed since. */
export interface DatabaseCopy {
  readonly name: string;
  /** ms since the epoch. */
  readonly madeAt: number;
}

/** How often which sizes occurred: `counts[i]` values up to `bounds[i]`, and one more for all larger ones. */
export interface Histogram {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface StoreStats {
  /** Operations that shared one commit. */
  readonly groupSizes: Histogram;
  /** How long each commit took, sync included, ms. */
  readonly commitMs: Histogram;
}

/** The store could not take the operation now; nothing of it was kept, unless it says otherwise. The same call may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
  /** Whether it may be kept all the same, or a part of it: its answer was lost, or it is done in several commits. */
  readonly mayBeKept: boolean;

  constructor(message: string, { mayBeKept = false, ...rest }: ErrorOptions & { mayBeKept?: boolean } = {}) {
    super(message, rest);
    this.mayBeKept = mayBeKept;
  }
}

/** A full-text index is damaged: what reads or writes it fails until it is made anew. The rows that it is of are whole. */
export class IndexDamagedError extends Error {
  override readonly name = 'IndexDamagedError';
}

export interface LimitWindow {
  readonly limit: number;
  readonly windowMs: number;
}

export interface LimitCheck {
  readonly key: string;
  readonly windows: readonly LimitWindow[];
}

export type LimitVerdict =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Index into the checks. */
      readonly failed: number;
      readonly window: LimitWindow;
      readonly retryAfterMs: number;
    };

/** Counts uses for the whole service. Asked before a transaction, never inside one; what was counted stays counted. */
export interface Limiter {
  /**
   * Counts one use against every window of every check, or against none when any refuses.
   * @throws RangeError for a limit or a window that is not a whole number
   */
  take(checks: readonly LimitCheck[]): Soon<LimitVerdict>;
  /** The same verdict without counting. */
  peek(checks: readonly LimitCheck[]): Soon<LimitVerdict>;
}

/** Counts in this process alone, and answers at once: for what belongs to one connection. */
export interface LocalLimiter {
  /** Like `Limiter.take`. */
  take(checks: readonly LimitCheck[]): LimitVerdict;
  /** Like `Limiter.peek`. */
  peek(checks: readonly LimitCheck[]): LimitVerdict;
}

/** Which staff connections are live, on all nodes. Asked before a transaction, never inside one. */
export interface Presence {
  /** A connection of this node is live from now on. */
  join(organizationId: string, memberId: string, connectionId: string): void;
  /** It is not any more. A connection that is unknown changes nothing. */
  leave(organizationId: string, memberId: string, connectionId: string): void;
  /** True while any member of the organization has a live connection. */
  online(organizationId: string): Promise<boolean>;
  /** Those of the members that have a live connection. */
  present(memberIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** How many members have a live connection. */
  memberCount(): Promise<number>;
  /**
   * For how long a member has had no live connection, ms; null while one is live. One who was never seen is away
   * since the start.
   */
  awayMs(memberId: string): Promise<number | null>;
  /** Called when an organization goes online or offline, in order. The answer unsubscribes. */
  subscribe(listener: (organizationId: string, online: boolean) => void): () => void;
}

/** A place that is wanted, and how many there are under its key. */
export interface WantedSeat {
  readonly key: string;
  readonly most: number;
}

/** Places that connections hold as long as they are open, counted over all nodes. */
export interface Seats {
  /**
   * Takes one place under every key, or none when any is full.
   * @returns how to give them back (twice is once), or the index of the key that is full
   */
  take(wanted: readonly WantedSeat[]): Promise<(() => void) | { readonly full: number }>;
}

/** A participant types in a conversation, or has stopped. */
export interface TypingSignal {
  readonly type: 'typing';
  readonly organizationId: string;
  readonly conversationId: string;
  readonly userId: string;
  readonly userName: string;
  readonly senderRole: SenderRole;
  readonly active: boolean;
}

/** What a member's connection has before their eyes; null: nothing any more. */
export interface FocusSignal {
  readonly type: 'focus';
  readonly memberId: string;
  readonly connectionId: string;
  readonly conversationId: string | null;
}

/** Something that one member's connections are told of. */
export interface NotificationSignal {
  readonly type: 'notification';
  readonly organizationId: string;
  readonly memberId: string;
  readonly notification: EventPayloads['notification:new'];
}

/** A tag of an organization has another name; `renamed: null`: it is gone. */
export interface TagSignal {
  readonly type: 'tag';
  readonly organizationId: string;
  readonly tag: string;
  readonly renamed: string | null;
}

/** What all nodes are told and no node stores: plain data. */
export type Signal = TypingSignal | FocusSignal | NotificationSignal | TagSignal;

/** Carries signals to every node, this one included: each at most once, in no order. */
export interface Signals {
  send(signal: Signal): void;
  /** The answer unsubscribes. */
  subscribe(listener: (signal: Signal) => void): () => void;
}

/** Work that one node does for all. */
export interface Jobs {
  /**
   * Starts a job when this node begins to lead, and stops it when it no longer does. A pause may let two nodes lead for
   * a moment: a job's effects are guarded by rows, so that a second attempt has no second effect.
   * @param start begins; its answer stops, and resolves when nothing runs any more
   * @returns ends it for good
   */
  whileLeading(start: () => () => Promise<void> | void): () => Promise<void>;
}

/** What a commit did for users: operations that do not stand behind the others. */
export interface UserCommit {
  /** Operations in it. */
  readonly committed: number;
  /** Operations that came since it took up what there was, and wait. */
  readonly waiting: number;
  /** Since it took up what there was, ms. */
  readonly tookMs: number;
}

/** How fast a node does what holds its loop: work of its own, as webhooks, the search's index and retention are, and long work of one user. */
export interface Pace {
  /** A user has asked for something. */
  userCame(): void;
  /** Told of each commit, by SQLite's store. */
  usersCommitted(commit: UserCommit): void;
  /** Whether any user has asked for something a moment ago: then work is cut into small slices. */
  hasUsers(): boolean;
  /** Whether many have: then all that holds the loop is short, however much time they leave. */
  hasManyUsers(): boolean;
  /** Whether they leave the loop little time: then work waits for its turns, and what can be gathered is gathered. */
  isCrowded(): boolean;
  /**
   * Waits until there is time for a bite of work that no user waits for: at once beside few users, and beside many a few at
   * once. In the order of asking; however crowded the loop is, bites get a tenth of the time. While users are late, as those
   * are who came during a long turn of the loop, bites wait for them, for a third of the time at most; beside users that are
   * always late, a twelfth of the time is theirs in turns of up to 12 ms, and a twentieth in turns of 40.
   * @param ms how long the bite holds the loop, about
   * @param signal aborted: it waits no longer
   */
  turn(ms: number, signal?: AbortSignal): Soon<void>;
  /**
   * The same for a bite that a user waits for. It goes before those that none waits for, and then in turns with them. It waits
   * for late users and for a bite of just now, but for no share of the time. Beside late users and a row of such bites the
   * others still get a third of what they would get.
   * @param mostMs after so long it goes, at the end of that turn of the loop
   */
  awaitedTurn(ms: number, mostMs: number): Soon<void>;
}

/** Everything that can be replaced, of one node. */
export interface Engine {
  /** Short text that no other node has at present: connection ids begin with it. */
  readonly nodeId: string;
  readonly store: Store;
  readonly maintenance: Maintenance;
  readonly signals: Signals;
  readonly jobs: Jobs;
  readonly limiter: Limiter;
  readonly localLimiter: LocalLimiter;
  readonly presence: Presence;
  readonly seats: Seats;
  readonly pace: Pace;
  readonly clock: Clock;
  /** Finishes what is under way. Twice is once. */
  close(): Promise<void>;
}
