// What is asked of conversations: a visitor's own, the operators' queue, and each guarded step of a
// conversation's life.
import type { ConversationStatus, Mode, Priority } from '../../protocol/entities.ts';
import type { QueueSort } from '../../protocol/queue.ts';
import type { ConversationRow, ConversationWithVisitor, QueueLine, QueueRow } from '../rows.ts';
import type { Soon } from './soon.ts';

/** What the operators' queue shows. */
export interface ConversationFilter {
  readonly organizationId: string;
  /** Left out: both. */
  readonly mode?: Mode | undefined;
  /** A conversation: those of the same visitor. */
  readonly visitorOf?: string | undefined;
  readonly status?: ConversationStatus | undefined;
  /** A member's id, or null for conversations that are assigned to no member. */
  readonly assignedTo?: string | null | undefined;
  readonly applicationId?: string | undefined;
  /** Applications that are being deleted: none of theirs. Left out: there are none. */
  readonly goingApplicationIds?: readonly string[] | undefined;
  /** Occurs in the subject, or in the visitor's name or address, whatever the case of ASCII letters … */
  readonly text?: string | undefined;
  /** … or in a message: the conversations that the search index has found for it. */
  readonly matching: readonly string[];
  /** Those that have every one of these tags. */
  readonly tagIds?: readonly string[] | undefined;
  /** true: those without a tag; false: those with one. */
  readonly untagged?: boolean | undefined;
  /** Whether the reader has messages of the visitor still to read. */
  readonly unread?: { readonly readerId: string; readonly is: boolean } | undefined;
  /** true: snoozed ones alone; false: none of them. */
  readonly snoozed?: boolean | undefined;
  readonly priorities?: readonly Priority[] | undefined;
  /** The visitor's UUID, under any application. */
  readonly visitorId?: string | undefined;
  /** How it was begun. */
  readonly channel?: 'chat' | 'email' | undefined;
  /** The visitor has waited since this time, or longer. */
  readonly waitingSince?: number | undefined;
}

/** Conversations of one mode and status whose place lies above `after` and up to `through`. */
export interface StateStretch {
  readonly mode: Mode;
  readonly status: ConversationStatus;
  readonly after: number;
  readonly through: number;
}

/** Conversations that have a tag, and whose id lies above `after` and up to `through`. */
export interface TagStretch {
  readonly tagId: string;
  readonly after: string;
  readonly through: string;
}

/** The conversations of the one visitor that a filter names: as many as one visitor opens. */
export interface VisitorStretch {
  readonly ofVisitor: true;
}

/** Conversations by their ids. */
export interface IdStretch {
  readonly ids: readonly string[];
}

/** Conversations by their places. */
export interface PlaceStretch {
  readonly places: readonly number[];
}

/**
 * A bounded part of an organization's conversations. A conversation keeps its place while it changes, so a pass over all
 * stretches meets none twice.
 */
export type QueueStretch = StateStretch | TagStretch | VisitorStretch | IdStretch | PlaceStretch;

/** Where a stretch ends; null: there is nothing after its beginning. */
export interface StretchEnd<P> {
  readonly through: P | null;
  readonly rows: number;
}

/** A conversation's place in an order of the queue: the smaller key is first, of equal ones the greater id. */
export interface QueuedKey {
  readonly id: string;
  readonly key0: number;
  readonly key1: number;
  readonly key2: number;
}

/** Everything that a question to the queue asks of a conversation, but for words. */
export interface QueueFacets {
  /** Kept while the conversation lives. */
  readonly place: number;
  readonly id: string;
  readonly mode: Mode;
  readonly status: ConversationStatus;
  readonly application_id: string;
  readonly assigned_to: string | null;
  readonly priority: Priority;
  /** null: by chat. */
  readonly channel: 'email' | null;
  /** 0 or 1. */
  readonly snoozed: number;
  readonly waiting_since: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  /** 0 or 1: whether there is a message of the visitor. */
  readonly visitor_wrote: number;
  /** The ids of its tags, with spaces between them; null: it has none. */
  readonly tag_ids: string | null;
  /** The ids of the members who have read all of the visitor's messages; null: none has. */
  readonly readers: string | null;
}

/** A conversation whose facets have changed, but not by a message: the event log tells of those. */
export interface QueueChange {
  /** Rises by one from change to change. */
  readonly number: number;
  readonly organization_id: string;
  readonly place: number;
}

/** What takes a conversation a step on. */
export type ConversationStep = 'visitor' | 'operator' | 'other' | 'note';

/** A member who may have to give back their conversations. */
export interface Holder {
  readonly organization_id: string;
  readonly member_id: string;
  readonly disabled_at: number | null;
  /** null: the organization does not release those of absent members. */
  readonly release_after_minutes: number | null;
}

export interface ConversationsRepository {
  /** The conversation with its visitor's UUID and name. */
  byId(id: string): Soon<ConversationWithVisitor | undefined>;
  /** The id of the visitor's conversation that was opened with this key. */
  byIdempotencyKey(visitorKey: string, key: string): Promise<string | undefined>;
  countPending(visitorKey: string): Promise<number>;
  /** Most recently updated first. */
  ofVisitor(visitorKey: string, limit: number, offset: number): Promise<ConversationRow[]>;
  countOfVisitor(visitorKey: string): Promise<number>;
  insert(row: ConversationRow): Promise<number>;
  /**
   * Takes the next sequence number and records what the step changes: a visitor's message starts the waiting time,
   * an operator's ends it; 'note' changes nothing else, 'other' only when the conversation was last updated.
   * @throws Error when there is no such conversation
   */
  advance(
    id: string,
    by: ConversationStep,
    now: number,
  ): Promise<
    Pick<
      ConversationRow,
      'last_seq' | 'last_visitor_seq' | 'waiting_since' | 'first_response_at' | 'updated_at'
    >
  >;
  /** pending → active; 0 when it is no longer pending. */
  accept(id: string, memberId: string, now: number): Promise<number>;
  /** The assistant writes nothing more; 0 when it was so already. */
  muteAssistant(id: string, now: number): Promise<number>;
  /** active → pending; 0 when it is no longer active and assigned to this member. */
  release(id: string, assignedTo: string, now: number): Promise<number>;
  /** pending or active → closed; 0 when status or assignee are no longer those of `from`. */
  resolve(
    from: Pick<ConversationRow, 'id' | 'status' | 'assigned_to'>,
    memberId: string,
    now: number,
  ): Promise<number>;
  /** Another assignee; 0 when it is no longer active and assigned to `from`. */
  transfer(id: string, from: string, to: string, now: number): Promise<number>;
  /** closed → active; 0 when it is not closed. */
  reopen(id: string, memberId: string, now: number): Promise<number>;
  setPriority(id: string, priority: Priority): Promise<number>;
  setSubject(id: string, subject: string | null, now: number): Promise<number>;
  /** No mails of it any more; 0 when it was so already. */
  stopMail(id: string, now: number): Promise<number>;
  /** Leaves it out of the queue until a time; 0 when it is closed. */
  snooze(id: string, until: number): Promise<number>;
  /** Puts it back; 0 when it is not snoozed, or not until `dueAt` or earlier. */
  wake(id: string, dueAt?: number): Promise<number>;
  /** Conversations whose snooze ends at `now` or has ended, the earliest first. Those of an organization that has not arrived sleep on. */
  dueSnoozes(now: number, limit: number): Promise<{ id: string; organization_id: string }[]>;
  /** When the next of these snoozes ends; null: there is none. */
  nextSnooze(): Promise<number | null>;
  /** The ids of active conversations that a member has, at most `limit`. */
  assignedTo(organizationId: string, memberId: string, limit: number): Promise<string[]>;
  /** Members with active conversations who are disabled, or whose organization releases those of absent ones. */
  holders(): Promise<Holder[]>;
  /**
   * How far a stretch of an organization's conversations of one mode and status reaches.
   * @param after the `through` of the stretch before it; 0: from the beginning
   * @param most rows that it holds at most
   */
  stretchByState(
    organizationId: string,
    mode: Mode,
    status: ConversationStatus,
    after: number,
    most: number,
  ): Promise<StretchEnd<number>>;
  /** The same of the conversations that have a tag. @param after an id; empty: from the beginning */
  stretchByTag(tagId: string, after: string, most: number): Promise<StretchEnd<string>>;
  /**
   * Those of a stretch that fit, the first `most` of them in order.
   * @returns `total`: how many fit
   */
  queueOfStretch(
    filter: ConversationFilter,
    stretch: QueueStretch,
    sort: QueueSort,
    most: number,
  ): Promise<{ rows: QueuedKey[]; total: number }>;
  /** The places of conversations of the organization, by their ids, in no order. */
  placesOf(organizationId: string, ids: readonly string[]): Promise<number[]>;
  facetsOfStretch(organizationId: string, stretch: StateStretch): Promise<QueueFacets[]>;
  /** Those of conversations of the organization, by their ids. */
  facetsOf(organizationId: string, ids: readonly string[]): Promise<QueueFacets[]>;
  /** Those of conversations of the organization, by their places. */
  facetsAt(organizationId: string, places: readonly number[]): Promise<QueueFacets[]>;
  /** The number of the newest change; 0: there was none. */
  lastQueueChange(): Promise<number>;
  /** Changes after a number, oldest first. Old ones go: the first may follow with a gap. */
  queueChanges(after: number, limit: number): Promise<QueueChange[]>;
  /**
   * Conversations as the queue shows them, in no order. Unread messages are counted among the newest 200 of a
   * conversation.
   * @param ids those that do not exist are left out
   * @param readerId whose unread messages count
   */
  queuePage(organizationId: string, ids: readonly string[], readerId: string): Promise<QueueLine[]>;
  /** What the visitors of conversations are said to be, in no order: up to 64 KiB each, which a page has a hundred of. */
  visitorAttributes(
    organizationId: string,
    ids: readonly string[],
  ): Promise<Pick<QueueRow, 'id' | 'visitor_attributes'>[]>;
  /** One conversation as the queue shows it. */
  queueItem(organizationId: string, id: string, readerId: string): Promise<QueueRow | undefined>;
}
