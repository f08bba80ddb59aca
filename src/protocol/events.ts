// Everything a WebSocket client can receive: one union by `type`.
// Owns the outbound half of the protocol; frames.ts owns the inbound half.
import type {
  AiChoice,
  Attachment,
  ContentFormat,
  ConversationStatus,
  EmailedState,
  Priority,
  SenderRole,
} from './entities.ts';
import type { SocketErrorCode } from './codes.ts';

/** A message inside a socket payload. `internal` marks a note that only staff ever receive. */
export interface SocketMessage {
  id: string;
  conversationId: string;
  senderId: string;
  senderName: string;
  senderRole: SenderRole;
  content: string;
  contentFormat: ContentFormat;
  contentHtml: string | null;
  type: 'text';
  createdAt: string;
  internal?: true | undefined;
  choices?: AiChoice[] | undefined;
  choice?: string | undefined;
  attachments?: Attachment[] | undefined;
  via?: 'email' | undefined;
}

/** A message inside `messages:sync`: the conversation is named once, outside; `editedAt` tells what changed. */
export type SyncMessage = Omit<SocketMessage, 'conversationId'> & {
  editedAt: string | null;
  emailed?: { state: EmailedState; at: string } | undefined;
};

export interface EventPayloads {
  'message:new': SocketMessage;
  'message:ack': { clientMessageId: string; serverMessageId: string; createdAt: string };
  'message:edited': {
    conversationId: string;
    messageId: string;
    content: string;
    contentFormat: ContentFormat;
    contentHtml: string | null;
    editedAt: string;
    senderId: string;
    /** Those that it has now; absent: none. */
    attachments?: Attachment[] | undefined;
  };
  'message:deleted': { conversationId: string; messageId: string; senderId: string };
  'message:emailed': { conversationId: string; messageId: string; state: EmailedState };
  'typing:start': { conversationId: string; userId: string; userName: string; senderRole: SenderRole };
  'typing:stop': { conversationId: string; userId: string };
  'conversation:new': {
    id: string;
    organizationId: string;
    applicationId: string;
    status: ConversationStatus;
    subject?: string;
    createdAt: string;
  };
  'conversation:accepted': { conversationId: string; assignedTo: string; assignedToName: string };
  'conversation:released': { conversationId: string };
  'conversation:resolved': { conversationId: string; resolvedBy: string };
  'conversation:reopened': { conversationId: string; reopenedBy: string };
  'conversation:changed': {
    conversationId: string;
    tags: string[];
    priority: Priority;
    snoozedUntil: string | null;
    subject: string | null;
  };
  'conversation:read': { conversationId: string; userId: string; messageId: string };
  'conversation:activity': {
    conversationId: string;
    lastMessageId: string;
    updatedAt: string;
    preview: string;
    waiting: boolean;
    senderId: string;
    senderRole: SenderRole;
    senderName: string;
    createdAt: string;
    internal?: true | undefined;
  };
  /** A message was edited or deleted: what the queue shows of its conversation may not be so any more. */
  'conversation:outdated': { conversationId: string; messageId: string };
  /** A tag has another name; `renamed: null`: it is gone, from every conversation. */
  'tag:changed': { tag: string; renamed: string | null };
  'room:joined': { conversationId: string; status: ConversationStatus; lastMessageId: string | null };
  'messages:sync': {
    conversationId: string;
    messages: SyncMessage[];
    hasMore: boolean;
    edited?: SyncMessage[];
    deleted?: string[];
  };
  'notification:new': {
    event: 'mention' | 'assigned' | 'due' | 'waiting' | 'test';
    conversationId: string | null;
    messageId: string | null;
    /** Who named the member, or gave them the conversation. */
    name: string | null;
    /** For how long no member has accepted the conversation. */
    minutes: number | null;
  };
  'notification:cleared': { conversationId: string };
  presence: { online: boolean };
  error: {
    code: SocketErrorCode;
    message: string;
    conversationId?: string;
    clientMessageId?: string;
    messageId?: string;
  };
}

export type EventType = keyof EventPayloads;

/** One outbound frame. `pong` alone has no payload. */
export type ServerFrame =
  | { [T in EventType]: { type: T; payload: EventPayloads[T] } }[EventType]
  | { type: 'pong' };
