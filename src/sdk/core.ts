// What the parts of the visitor's engine share: state, events, and what one tab tells
// the others. Holds no rule about conversations or sending.
import type { ServerFrame } from '../protocol/events.ts';
import { createEmitter, type Emitter } from './emitter.ts';
import type { Http } from './http.ts';
import type { Failure, OutboxEntry } from './outbox.ts';
import type {
  ConnectionStatus,
  ContentFormat,
  ConversationStatus,
  Environment,
  OutgoingMessage,
  SdkConversation,
  SdkEvents,
  SdkMessage,
  SdkState,
  SenderRole,
  Undo,
} from './types.ts';

/** A message as the service writes it, by whichever door. */
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

/** What one tab says to the others, by name; `status` and `frame` come from the one that leads. */
export interface TabMessages {
  hello(): void;
  reset(): void;
  status(status: ConnectionStatus): void;
  frame(frame: ServerFrame, after: string): void;
  /** Join this room, and catch up from there. */
  want(id: string, after: string): void;
  typing(id: string, active: boolean): void;
  conversation(conversation: SdkConversation): void;
  /** A draft has become a conversation. */
  rename(draft: string, conversation: RawConversation): void;
  put(entry: OutboxEntry): void;
  removed(key: string): void;
  sent(key: string, message: RawMessage): void;
  failed(key: string, failure: Failure): void;
  waiting(until: number | null): void;
}

export type TabMessage = { [N in keyof TabMessages]: readonly [N, ...Parameters<TabMessages[N]>] }[keyof TabMessages];

export interface Store {
  state_(): SdkState;
  /** Changes what differs; tells the listeners when anything does. */
  set_(patch: Partial<SdkState>): void;
  subscribe_(listener: (state: SdkState) => void): Undo;
}

/** What the parts work with. */
export interface Core {
  readonly env_: Environment;
  readonly http_: Http;
  readonly store_: Store;
  readonly emit_: Emitter<SdkEvents>['emit_'];
  /** Tells the other tabs. */
  post_(...message: TabMessage): void;
  leads_(): boolean;
  visitorId_(): string;
}

/** What belongs to a visitor, as long as there is none. */
export const nobody = {
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
    ...nobody,
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
      const next = { ...state, ...patch };
      if ((Object.keys(patch) as (keyof SdkState)[]).every((name) => state[name] === next[name])) return;
      state = next;
      emit_('s', state);
    },
    subscribe_: (listener) => on('s', listener),
  };
}

/** A stored message as the page sees it. */
export function presentMessage(raw: RawMessage, conversationId: string, visitorId: string): SdkMessage {
  return { editedAt: null, ...raw, key: raw.id, conversationId, own: raw.senderId === visitorId, state: 'sent' };
}

/** Ms since the epoch as the service writes a time. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Text or a message as what the service takes. */
export function outgoing(message: string | OutgoingMessage): Required<OutgoingMessage> {
  const { content, contentFormat = 'plain' } = typeof message === 'string' ? { content: message } : message;
  return { content: content.trim(), contentFormat };
}
