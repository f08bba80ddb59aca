// The types of the staff side. Must not hold any code.
import type { EventPayloads } from '../protocol/events.ts';
import type {
  EmailedState,
  StaffConversation,
  StaffConversationListItem,
  Member,
  Organization,
  Mode,
  Priority,
} from '../protocol/entities.ts';
import type { QueueSort } from '../protocol/queue.ts';
import type { FileTarget } from './files.ts';
import type {
  ConnectionStatus,
  Environment,
  KeyValueStorage,
  OutgoingMessage,
  SdkError,
  SdkMessage,
  TypingPerson,
  Undo,
} from './types.ts';

export type { StaffConversation, StaffConversationListItem, Member, Organization };

export interface StaffSession {
  readonly expiresAt: string;
  readonly member: Member;
  readonly organization: Organization;
}

/** `internal`: a note that no visitor sees. */
export interface StaffMessage extends SdkMessage {
  readonly internal?: boolean;
  /** How the mail stands by which it goes to a visitor who has left; absent: none goes. `at`: as far as it was told. */
  readonly emailed?: { readonly state: EmailedState; readonly at?: string };
}

export interface StaffRoom {
  readonly conversationId: string;
  /** In the service's order; unsent ones last. */
  readonly messages: readonly StaffMessage[];
  readonly loaded: boolean;
  readonly hasMore: boolean;
  readonly typing: readonly TypingPerson[];
  /** Message id by user id, as heard since the room was joined. */
  readonly reads: Readonly<Record<string, string>>;
}

export interface QueueFilter {
  readonly status?: 'pending' | 'active' | 'closed';
  /** `me`, `none` or a member's id. */
  readonly assignedTo?: string;
  readonly applicationId?: string;
  /** `live` unless told. */
  readonly mode?: Mode | 'all';
  /** A conversation: those of the same visitor. */
  readonly visitorOf?: string;
  readonly q?: string;
  /** Those that have every one of these. */
  readonly tag?: readonly string[];
  readonly untagged?: boolean;
  readonly unread?: boolean;
  /** Unless told, snoozed ones are left out, but not of a search or of one visitor's conversations. */
  readonly snoozed?: boolean | 'all';
  readonly priority?: readonly Priority[];
  readonly visitorId?: string;
  readonly channel?: 'chat' | 'email';
  readonly sort?: QueueSort;
  /** Minutes. */
  readonly waitingLonger?: number;
  readonly limit?: number;
  readonly offset?: number;
}

export interface StaffState {
  readonly session: StaffSession | null;
  readonly connection: ConnectionStatus;
  /** The next attempt to connect comes then (ms since the epoch); null: none is waited for. */
  readonly reconnectAt: number | null;
  /** All conversations that were listed or heard of, most recently updated first. */
  readonly conversations: readonly StaffConversationListItem[];
  /** The joined rooms by conversation. */
  readonly rooms: Readonly<Record<string, StaffRoom>>;
  /** Sending waits until then (ms since the epoch), because the service said so. */
  readonly retryAt: number | null;
}

export interface StaffEvents {
  /** A message in a joined room that was not written here. */
  message: StaffMessage;
  'message:sent': SdkMessage;
  'message:updated': StaffMessage;
  'message:deleted': { readonly conversationId: string; readonly messageId: string };
  'message:failed': SdkMessage;
  'conversation:new': EventPayloads['conversation:new'];
  'conversation:activity': EventPayloads['conversation:activity'];
  'conversation:accepted': EventPayloads['conversation:accepted'];
  'conversation:released': EventPayloads['conversation:released'];
  'conversation:resolved': EventPayloads['conversation:resolved'];
  'conversation:reopened': EventPayloads['conversation:reopened'];
  'conversation:changed': EventPayloads['conversation:changed'];
  'conversation:outdated': EventPayloads['conversation:outdated'];
  'tag:changed': EventPayloads['tag:changed'];
  /** Something that the other events do not tell: a note names this member, say. */
  'notification:new': EventPayloads['notification:new'];
  /** Read elsewhere: what calls for attention here is over. */
  'notification:cleared': EventPayloads['notification:cleared'];
  /** A listed conversation is new here or changed. */
  conversation: StaffConversationListItem;
  typing: TypingPerson & { readonly conversationId: string; readonly active: boolean };
  read: { readonly conversationId: string; readonly userId: string; readonly messageId: string };
  connection: { readonly status: ConnectionStatus };
  /** The session is over: sign in again. */
  'signed-out': Record<string, never>;
  error: SdkError;
}

/** An act on many conversations, with what it needs. */
export type BulkRequest =
  | { readonly act: 'accept' | 'release' | 'resolve' | 'reopen' | 'unsnooze' | 'unread' }
  | { readonly act: 'transfer'; readonly memberId: string }
  | { readonly act: 'tag' | 'untag'; readonly tag: string }
  | { readonly act: 'priority'; readonly priority: Priority }
  | { readonly act: 'snooze'; readonly until: string };

export type BulkResult =
  | { readonly id: string; readonly ok: true; readonly conversation: StaffConversation }
  | { readonly id: string; readonly ok: false; readonly error: string; readonly message: string };

export interface StaffOptions {
  /** The service's address. */
  readonly baseUrl: string;
  /** Which conversations to hear of; `live` unless told. */
  readonly mode?: Mode | 'all';
  /** Where unsent messages stay, so that the next process sends them if this one dies; none unless told. */
  readonly storage?: KeyValueStorage;
  /**
   * For pages of the server itself: the session is in a cookie that no script can read. `signIn` answers no token, and
   * `resume` takes none.
   */
  readonly cookie?: boolean;
  readonly environment?: Partial<Environment>;
}

export interface StaffClient {
  /** @returns the session and its token (empty with `cookie`), to be kept for `resume`; @throws SdkError unauthorized */
  signIn(credentials: {
    readonly organization: string;
    readonly email: string;
    readonly password: string;
  }): Promise<StaffSession & { readonly token: string }>;
  /** Goes on with a token that was kept, or with the cookie; @throws SdkError unauthorized */
  resume(token?: string): Promise<StaffSession>;
  /** Ends the session at the service, everywhere. */
  signOut(): Promise<void>;
  /** Ends this client; the session stays. */
  stop(): void;

  on<K extends keyof StaffEvents>(type: K, handler: (event: StaffEvents[K]) => void): Undo;
  off<K extends keyof StaffEvents>(type: K, handler?: (event: StaffEvents[K]) => void): void;
  getState(): StaffState;
  subscribe(listener: (state: StaffState) => void): Undo;

  /**
   * One page of the queue; `state.conversations` grows by it. A reconnect asks for the same pages again,
   * unless `again` is false: then the caller does so.
   */
  listConversations(
    filter?: QueueFilter,
    options?: { readonly again?: boolean },
  ): Promise<{ readonly conversations: readonly StaffConversationListItem[]; readonly total: number }>;
  getConversation(id: string): Promise<StaffConversation>;
  /** Forgets all listed conversations but these, so that a client that runs for days stays small. What is heard of again comes back. */
  keepConversations(ids: ReadonlySet<string>): void;
  /** Listens to a conversation and loads its newest messages. */
  join(id: string): Promise<StaffRoom>;
  leave(id: string): void;
  /** One page of older messages; the room grows by it. */
  loadHistory(
    id: string,
    limit?: number,
  ): Promise<{ readonly messages: readonly StaffMessage[]; readonly hasMore: boolean }>;
  /** Shown at once, sent as often as needed, stored once. Resolves with the stored message. */
  sendMessage(
    id: string,
    message: string | OutgoingMessage,
    options?: { readonly internal?: boolean },
  ): Promise<SdkMessage>;
  retry(key: string): Promise<SdkMessage>;
  /** Takes back what was not sent; false: there is none of that key. */
  discard(key: string): boolean;
  editMessage(id: string, messageId: string, message: string | OutgoingMessage): Promise<StaffMessage>;
  deleteMessage(id: string, messageId: string): Promise<void>;
  setTyping(id: string, active?: boolean): void;
  /** Says which conversation is before the eyes of this member; null: none. They are told of nothing in it. */
  setFocus(id: string | null): void;
  markRead(id: string): Promise<void>;
  accept(id: string): Promise<StaffConversation>;
  release(id: string): Promise<StaffConversation>;
  resolve(id: string): Promise<StaffConversation>;
  transfer(id: string, memberId: string): Promise<StaffConversation>;
  /** Opens a closed conversation again; the member has it then. */
  reopen(id: string): Promise<StaffConversation>;
  tag(id: string, name: string): Promise<StaffConversation>;
  untag(id: string, name: string): Promise<StaffConversation>;
  /** What is left out stays; `subject: null`: none. */
  update(
    id: string,
    patch: { readonly priority?: Priority; readonly subject?: string | null },
  ): Promise<StaffConversation>;
  /** @param until a time, as `Date.prototype.toISOString` writes it */
  snooze(id: string, until: string): Promise<StaffConversation>;
  wake(id: string): Promise<StaffConversation>;
  /** From a message on, or from the visitor's newest one; for this member alone. */
  markUnread(id: string, messageId?: string): Promise<StaffConversation>;
  /** The same act on up to 100 conversations; a result for each. */
  bulk(ids: readonly string[], act: BulkRequest): Promise<readonly BulkResult[]>;
  /** Where files of this member go: for `uploadFile`, whose answers' ids are a message's `attachments`. */
  fileTarget(): FileTarget;
  /** Any other endpoint of the service's below `/staff`, or one that begins with `/admin/`; @throws SdkError */
  call<T>(method: string, path: string, body?: object): Promise<T>;
}
