// The SDK's public types, whole in themselves: they take nothing from the schemas,
// so that the published declarations need no other package. Must not hold any code.
import type { ErrorCode, LimitCause, SocketErrorCode } from '../protocol/codes.ts';

export type ContentFormat = 'plain' | 'lexical';
export type SenderRole = 'visitor' | 'operator' | 'assistant' | 'system';
export type ConversationStatus = 'pending' | 'active' | 'closed';

/** Why something failed: a code of the service's, or one of the SDK's own. */
export type SdkErrorCode =
  | ErrorCode
  | SocketErrorCode
  /** The service could not be reached, or did not answer in time. */
  | 'network'
  /** `init` with another appId while one is running. */
  | 'already_initialised'
  /** `destroy` or `reset` came first. */
  | 'destroyed'
  /** There is no such message, conversation or event here. */
  | 'unknown';

/** What every rejected promise and every `error` event carries. */
export interface SdkError extends Error {
  readonly name: 'SdkError';
  readonly code: SdkErrorCode;
  /** HTTP status, where there was an answer. */
  readonly status: number | undefined;
  /** Seconds to wait, where the service named them. */
  readonly retryAfter: number | undefined;
  /** What a 429 was counted against. */
  readonly cause: LimitCause | undefined;
}

/** `idle`: nothing has asked for a connection yet. */
export type ConnectionStatus = 'idle' | 'connecting' | 'online' | 'offline';

/** `sending` also while offline or rate limited: it goes out by itself. `failed` waits for `retry`. */
export type DeliveryState = 'sending' | 'sent' | 'failed';

/** A file of a message. */
export interface SdkAttachment {
  readonly id: string;
  readonly name: string;
  /** Its media type, as the service found it. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  /** Of a picture, in pixels; null: it is none, or its size is not known. */
  readonly width: number | null;
  readonly height: number | null;
  /** Where it is for an hour; messages that are asked for again have a new one. */
  readonly url: string;
}

/** A file that was uploaded: its `id` goes into a message's `attachments`. */
export type SdkFile = Omit<SdkAttachment, 'url'> & {
  /** `scanning`: it can be sent already, and is handed out once it is found harmless. */
  readonly state: 'ready' | 'scanning';
};

export interface SdkMessage {
  /** Stays the same from the first moment on, through `sending` to `sent`: name list entries by it. */
  readonly key: string;
  /** The service's id; the same as `key` until the message is stored. */
  readonly id: string;
  readonly conversationId: string;
  /** Empty while the message is not stored. */
  readonly senderId: string;
  readonly senderName: string;
  readonly senderRole: SenderRole;
  /** True for the visitor's own, also those from other tabs and devices. */
  readonly own: boolean;
  /** Plain text, or a Lexical tree as JSON. */
  readonly content: string;
  readonly contentFormat: ContentFormat;
  /** Sanitised by the service; null for plain text and until it is stored. */
  readonly contentHtml: string | null;
  /** ISO 8601. The page's own clock until the message is stored. */
  readonly createdAt: string;
  readonly editedAt: string | null;
  /** Titles that the assistant offers, where it is not sure what was meant. */
  readonly choices?: { readonly id: string; readonly title: string }[];
  /** The id of the one that the visitor chose. */
  readonly choice?: string;
  /** Files, in the order in which they were sent; absent: none. */
  readonly attachments?: SdkAttachment[];
  /** How it came; absent: by chat. */
  readonly via?: 'email';
  readonly state: DeliveryState;
  /** Why it is `failed`. */
  readonly error?: SdkError;
}

export interface SdkConversation {
  /** The service's id. A draft's is temporary and replaced once the service knows it. */
  readonly id: string;
  readonly status: ConversationStatus;
  readonly subject?: string;
  readonly assignedTo?: string;
  /** Known once an operator has accepted or written while this page listened. */
  readonly assignedToName?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Messages from staff that the visitor has not read. */
  readonly unread: number;
  /** True until the service knows of it: begun while offline, or just now. */
  readonly draft: boolean;
}

export interface TypingPerson {
  readonly userId: string;
  readonly userName: string;
  readonly senderRole: SenderRole;
}

export interface BusinessInterval {
  readonly open: string;
  readonly close: string;
}

/** What `GET /api/v1/widget/config` answers. */
export interface SdkConfig {
  readonly appId: string;
  readonly name: string;
  readonly appearance: {
    readonly colors: { readonly primary: string; readonly background: string; readonly text: string };
    readonly logo: string | null;
    readonly position: 'bottom-right' | 'bottom-left';
    readonly launcherIcon: 'chat' | 'question' | 'message';
  };
  readonly behavior: {
    readonly isOpen: boolean;
    readonly nextOpenAt: string | null;
    readonly timezone: string;
    readonly businessHours: unknown;
    readonly greeting: string | null;
    readonly outsideHours: string | null;
    /** Whether the widget asks for name and address before the first message; missing: it does not. */
    readonly contactForm?: 'off' | 'optional' | 'required';
  };
  readonly online: boolean;
  readonly ai: { readonly enabled: boolean };
  readonly locale: string | null;
}

export interface Identity {
  readonly name?: string;
  readonly email?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** A JWT that your backend signed under the application's identity secret: what it holds is verified. */
  readonly identityToken?: string;
  /** Hex HMAC-SHA256 of the visitor id under the same secret: verifies the id alone. */
  readonly signature?: string;
}

export interface SdkVisitor {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly verified: boolean;
  /** What was said or signed by a backend; everything else is what a page claims. */
  readonly verifiedFields: readonly ('id' | 'name' | 'email' | 'attributes')[];
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly createdAt: string;
}

export type Theme = 'light' | 'dark' | 'auto';

/** Immutable: a new object after each change, and the same object as long as nothing changed. */
export interface SdkState {
  /** The configuration has been asked for and queued calls run. */
  readonly ready: boolean;
  /** The panel: `open`, `close`, `toggle`. */
  readonly open: boolean;
  /** The whole widget, launcher included: `show`, `hide`. */
  readonly visible: boolean;
  readonly connection: ConnectionStatus;
  /** A staff connection of the organization is live. */
  readonly online: boolean;
  /** Null until it has come. */
  readonly config: SdkConfig | null;
  /** Null until the visitor's first interaction. */
  readonly visitorId: string | null;
  readonly visitor: SdkVisitor | null;
  /** Most recently updated first; as far as they have been listed. */
  readonly conversations: readonly SdkConversation[];
  /** The open conversation's id, or null. */
  readonly conversationId: string | null;
  /** The open conversation's messages in the service's order, unsent ones last. */
  readonly messages: readonly SdkMessage[];
  /** The open conversation's first page has come. */
  readonly loaded: boolean;
  /** The open conversation has older messages: `loadHistory`. */
  readonly hasMore: boolean;
  /** Who types in the open conversation; never the visitor. */
  readonly typing: readonly TypingPerson[];
  /** How far the others have read the open conversation: message id by user id, as heard since the page opened. */
  readonly reads: Readonly<Record<string, string>>;
  /** Unread messages over all conversations. */
  readonly unread: number;
  /** Sending waits until then (ms since the epoch), because the service said so (429, 503); null: it does not wait. */
  readonly retryAt: number | null;
  /** What the page asked for; null: the configuration's or the browser's. */
  readonly locale: string | null;
  readonly theme: Theme;
}

/** Every event and what its handlers receive. */
export interface SdkEvents {
  /** Late subscribers get it too. */
  ready: SdkApi;
  open: Record<string, never>;
  close: Record<string, never>;
  /** A message that was not written in this browser: from staff, the assistant, or the visitor elsewhere. */
  message: SdkMessage;
  /** A message written in this browser, in whichever tab, has been stored. */
  'message:sent': SdkMessage;
  /** Edited. */
  'message:updated': SdkMessage;
  'message:deleted': { readonly conversationId: string; readonly messageId: string };
  'message:failed': SdkMessage;
  /** A conversation is new, or its status, assignment or unread count changed. */
  conversation: SdkConversation;
  typing: TypingPerson & { readonly conversationId: string; readonly active: boolean };
  /** A read position moved, the visitor's own included. */
  read: { readonly conversationId: string; readonly userId: string; readonly messageId: string };
  unread: { readonly count: number };
  presence: { readonly online: boolean };
  connection: { readonly status: ConnectionStatus };
  error: SdkError;
}

export type SdkEventName = keyof SdkEvents;
export type Handler<K extends SdkEventName> = (event: SdkEvents[K]) => void;
export type Undo = () => void;

export interface OutgoingMessage {
  readonly content: string;
  readonly contentFormat?: ContentFormat;
  /** True: the visitor asks for a person, and the assistant says nothing more. */
  readonly person?: boolean;
  /** The id of one of a message's `choices`: the assistant answers with that passage. */
  readonly choice?: string;
  /** Ids of uploaded files, at most 10. */
  readonly attachments?: readonly string[];
}

export interface SdkApi {
  /** Resolves when the configuration has been asked for; rejects when the application or the page's origin is refused. */
  readonly ready: Promise<SdkApi>;
  on<K extends SdkEventName>(type: K, handler: Handler<K>): Undo;
  once<K extends SdkEventName>(type: K, handler: Handler<K>): Undo;
  /** Without a handler: all of that event. */
  off<K extends SdkEventName>(type: K, handler?: Handler<K>): void;

  open(): void;
  close(): void;
  toggle(): void;
  show(): void;
  hide(): void;
  isOpen(): boolean;

  /** Into the open conversation; without one, into a new one. Resolves with the stored message, however long that takes. */
  sendMessage(message: string | OutgoingMessage): Promise<SdkMessage>;
  /** @param key a failed message's `key` */
  retry(key: string): Promise<SdkMessage>;
  /** Opens a new conversation at the service and here. */
  startConversation(options?: { readonly subject?: string }): Promise<SdkConversation>;
  /** One page, most recently updated first; `state.conversations` grows by it. */
  listConversations(options?: { readonly limit?: number; readonly offset?: number }): Promise<{
    readonly conversations: readonly SdkConversation[];
    readonly total: number;
  }>;
  /** Shows a conversation and loads its newest messages; null: none (the next `sendMessage` begins a new one). */
  openConversation(id: string | null): Promise<SdkConversation | null>;
  /** One page of older messages of the open conversation; `state.messages` grows by it. */
  loadHistory(options?: {
    readonly limit?: number;
  }): Promise<{ readonly messages: readonly SdkMessage[]; readonly hasMore: boolean }>;
  /** The open conversation is read up to its newest stored message. */
  markRead(): Promise<void>;
  /** Says to the others that the visitor types; call it on each key, it is sent as rarely as possible. */
  setTyping(active?: boolean): void;
  editMessage(messageId: string, message: string | OutgoingMessage): Promise<SdkMessage>;
  /** A stored message at the service; an unsent one (by its `key`) here. */
  deleteMessage(messageId: string): Promise<void>;
  identify(identity: Identity): Promise<SdkVisitor>;
  setLocale(locale: string | null): void;
  setTheme(theme: Theme): void;
  /** Forgets the visitor and everything stored, in all tabs. The next interaction makes a new visitor. */
  reset(): Promise<void>;
  /** Ends this page's part: sockets, timers, listeners. What was not sent stays in the outbox. `init` works again. */
  destroy(): void;

  /** Answers at once, always. */
  getState(): SdkState;
  /** Called after each change; answers its own undo. */
  subscribe(listener: (state: SdkState) => void): Undo;
}

/** The part of the web's Storage that is used. */
export interface KeyValueStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export interface InitOptions {
  readonly appId: string;
  /** The service's address; the page's own origin unless told. */
  readonly apiBaseUrl?: string;
  /** Nothing is drawn: a matter of the widget; the engine never draws. */
  readonly headless?: boolean;
  /** A UUID of version 4 that the site gave this visitor. Made at first need unless told. */
  readonly visitorId?: string;
  readonly locale?: string;
  readonly theme?: Theme;
  /** Sent at the visitor's first interaction. */
  readonly user?: Identity;
  /** Where the visitor id and unsent messages stay; `local` unless told. Nothing is written before the first interaction. */
  readonly storage?: 'local' | 'session' | 'none' | KeyValueStorage;
  /** A configuration that the page has already, so that it is not fetched again. */
  readonly config?: SdkConfig;
  /** What the SDK takes from its surroundings; the browser's (or Node's) own unless told. */
  readonly environment?: Partial<Environment>;
}

/** The part of the web's WebSocket that is used; `ws` fits too. */
export interface SocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number): void;
}

/** The part of the web's BroadcastChannel that is used. */
export interface ChannelLike {
  onmessage: ((event: { data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

/** The part of the Web Locks API that is used. */
export interface LocksLike {
  request(
    name: string,
    options: { readonly signal: AbortSignal },
    run: () => Promise<unknown>,
  ): Promise<unknown>;
}

export interface HttpResponse {
  readonly ok: boolean;
  readonly status: number;
  text(): Promise<string>;
}

export interface HttpRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly keepalive?: boolean;
  readonly cache?: 'no-cache' | 'no-store';
}

/** Everything from outside that the engine touches, so that tests can hold it in their hands. */
export interface Environment {
  fetch(url: string, request: HttpRequest): Promise<HttpResponse>;
  openSocket(url: string): SocketLike;
  /** Ms since the epoch. */
  now(): number;
  /** Runs once after `ms`; answers how to call it off. */
  after(ms: number, run: () => void): Undo;
  /** From 0 up to but not including 1. */
  random(): number;
  /** A UUID of version 4. */
  newId(): string;
  /** Null: there is none, or it is blocked. */
  storage(kind: 'local' | 'session'): KeyValueStorage | null | undefined;
  locks: LocksLike | null | undefined;
  openChannel: ((name: string) => ChannelLike | undefined) | null;
  /** Calls back when the page is worth a new look (shown, online again) or leaves; answers its own undo. */
  watchPage(listener: (what: 'wake' | 'suspend') => void): Undo;
}
