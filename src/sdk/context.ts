// What the parts of the visitor's engine share: state, events, and what one tab tells
// the others. Holds no rule about conversations or sending.
import { createEmitter, type Emitter } from './emitter.ts';
import { tryOrUndefined } from './error.ts';
import type { HttpClient } from './http.ts';
import type { EventFrame } from './connection.ts';
import type {
  ConnectionStatus,
  ContentFormat,
  ConversationStatus,
  Environment,
  KeyValueStorage,
  OutgoingMessage,
  SdkConversation,
  SdkError,
  SdkEvents,
  SdkMessage,
  SdkState,
  SenderRole,
  Undo,
} from './types.ts';

/** A message as the service writes it, by whichever transport. */
export interface RawMessage {
  readonly id: string;
  readonly conversationId?: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly senderRole: SenderRole;
  readonly content: string;
  readonly contentFormat: ContentFormat;
  readonly contentHtml: string | null;
  readonly createdAt: string;
  readonly editedAt?: string | null;
}

/** A conversation as the service writes it. */
export interface RawConversation {
  readonly id: string;
  readonly status: ConversationStatus;
  readonly subject?: string;
  readonly assignedTo?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** An error as storage and channels carry it. */
export type CarriedError = Omit<SdkError, 'stack'>;

export interface OutboxEntry {
  /** The `clientMessageId`: however often it is sent, it is stored once. */
  readonly key: string;
  /** A draft conversation's own key until the service has given it an id. */
  readonly conversationId: string;
  readonly draft: boolean;
  readonly content: string;
  readonly contentFormat: ContentFormat;
  /** A person was asked for. */
  readonly person?: boolean;
  /** The passage that was chosen. */
  readonly choice?: string;
  /** Ms since the epoch by the page's clock; entries go out in this order. */
  readonly at: number;
  /** Why it was refused for good; it waits for a retry. */
  readonly failure?: CarriedError | undefined;
  /** The stored message that it seems to be: the answer has yet to say so. Empty: none. */
  readonly echo: string;
  /** Confirmed, but its place among the others has not been heard yet; no longer in storage. Empty: not yet. */
  readonly sentAs: string;
}

/** A conversation, or what is new about it; `undefined` takes an assignment away. */
export type ConversationPatch = Pick<SdkConversation, 'id'> & {
  -readonly [N in keyof SdkConversation]?: SdkConversation[N] | undefined;
};

/** What one tab says to the others, by name; `status` and `frame` come from the one that leads. */
export interface TabMessages {
  handshake(): void;
  reset(): void;
  status(status: ConnectionStatus): void;
  frame(frame: EventFrame, after: string): void;
  /** Join this room, and catch up from there. */
  subscribe(id: string, after: string): void;
  typing(id: string, active: boolean): void;
  conversation(conversation: ConversationPatch): void;
  /** A draft has become a conversation. */
  rename(draft: string, conversation: RawConversation): void;
  put(entry: OutboxEntry): void;
  removed(key: string): void;
  sent(key: string, message: RawMessage): void;
  failed(key: string, failure: CarriedError): void;
  waiting(until: number | null): void;
}

export type TabMessage = {
  [N in keyof TabMessages]: readonly [N, ...Parameters<TabMessages[N]>];
}[keyof TabMessages];

export interface Store {
  state_(): SdkState;
  /** Changes what differs; tells the listeners when anything does, and the caller whether. */
  set_(patch: Partial<SdkState>): boolean;
  subscribe_(listener: (state: SdkState) => void): Undo;
}

/** What the parts work with. */
export interface Context extends Pick<Store, 'state_' | 'set_'> {
  readonly env_: Environment;
  readonly request_: HttpClient['request_'];
  readonly emit_: Emitter<SdkEvents>['emit_'];
  /** Tells the other tabs. */
  broadcast_(...message: TabMessage): void;
  isLeader_(): boolean | undefined;
  /** Empty: there is none yet. */
  readonly visitorId_: string;
  /** Tells the page of what failed in the background. */
  report_(error: unknown): void;
}

/** What belongs to a visitor, as long as there is none. */
export const emptyVisitorState = {
  connection: 'idle',
  visitorId: null,
  visitor: null,
  conversations: [],
  conversationId: null,
  messages: [],
  loaded: false,
  hasMore: false,
  typing: [],
  reads: {},
  unread: 0,
  retryAt: null,
} as const satisfies Partial<SdkState>;

/** A state that never changes in place, and is the same object as long as nothing changed. */
export function createStore(): Store {
  let state: SdkState = {
    ...emptyVisitorState,
    ready: false,
    open: false,
    visible: true,
    online: false,
    config: null,
    locale: null,
    theme: 'auto',
  };
  const { on, emit_ } = createEmitter<{ s: SdkState }>();
  return {
    state_: () => state,
    set_: (patch) => {
      const changed = (Object.keys(patch) as (keyof SdkState)[]).some((name) => state[name] !== patch[name]);
      if (changed) {
        state = { ...state, ...patch };
        emit_('s', state);
      }
      return changed;
    },
    subscribe_: (listener) => on('s', listener),
  };
}

/** A stored message as the page sees it. */
export function toSdkMessage(raw: RawMessage, conversationId: string, visitorId: string): SdkMessage {
  return {
    editedAt: null,
    ...raw,
    key: raw.id,
    conversationId,
    own: raw.senderId === visitorId,
    state: 'sent',
  };
}

/** Ms since the epoch as the service writes a time. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Text or a message as what the service takes. */
export function normalizeOutgoing(
  message: string | OutgoingMessage,
): OutgoingMessage & { readonly contentFormat: ContentFormat } {
  const { content, ...rest }: OutgoingMessage = typeof message === 'object' ? message : { content: message };
  return { contentFormat: 'plain', ...rest, content: content.trim() };
}

/** The keys in a storage that begin alike. */
export function keysWithPrefix(storage: KeyValueStorage | null | undefined, prefix: string): string[] {
  return Array.from({ length: tryOrUndefined(() => storage?.length) ?? 0 }, (_, index) =>
    storage?.key(index),
  ).filter((name): name is string => !!name?.startsWith(prefix));
}
