// What is asked of conversations: a visitor's own, the operators' queue, and each guarded step of a
// conversation's life.
import type { ConversationStatus, Mode, Priority } from '../../protocol/entities.ts';
import type { QueueSort } from '../../protocol/queue.ts';
import type { ConversationRow, ConversationWithVisitor, QueueRow } from '../rows.ts';

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
  /** The visitor has waited since this time, or longer. */
  readonly waitingSince?: number | undefined;
}

/** What takes a conversation a step on. */
export type ConversationStep = 'visitor' | 'operator' | 'other' | 'note';

export interface ConversationsRepository {
  /** The conversation with its visitor's UUID and name. */
  byId(id: string): Promise<ConversationWithVisitor | undefined>;
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
  /** Leaves it out of the queue until a time; 0 when it is closed. */
  snooze(id: string, until: number): Promise<number>;
  /** Puts it back; 0 when it is not snoozed, or not until `dueAt` or earlier. */
  wake(id: string, dueAt?: number): Promise<number>;
  /** Conversations whose snooze ends at `now` or has ended, the earliest first. */
  dueSnoozes(now: number, limit: number): Promise<{ id: string; organization_id: string }[]>;
  /** When the next snooze ends; null: there is none. */
  nextSnooze(): Promise<number | null>;
  /** The ids of the active conversations that a member has. */
  assignedTo(organizationId: string, memberId: string): Promise<string[]>;
  /** Members with active conversations in organizations that release those of absent ones. */
  holders(): Promise<{ organization_id: string; member_id: string; release_after_minutes: number }[]>;
  /**
   * The queue: waiting longest first among pending ones, then the others, most recently updated first. Unread messages
   * are counted among the newest 200 of a conversation.
   */
  queue(
    filter: ConversationFilter,
    readerId: string,
    limit: number,
    offset: number,
    sort?: QueueSort,
  ): Promise<QueueRow[]>;
  countQueue(filter: ConversationFilter): Promise<number>;
  /** One conversation as the queue shows it. */
  queueItem(organizationId: string, id: string, readerId: string): Promise<QueueRow | undefined>;
}
