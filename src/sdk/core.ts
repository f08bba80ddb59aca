// What the visitor's engine knows, and its parts share: they are functions over this one object. Types only.
import type { Connection } from './connection.ts';
import type { Store, TabMessage, RawMessage } from './context.ts';
import type { HttpClient } from './http.ts';
import type { MessageList } from './message-list.ts';
import type { OutboxCore } from './outbox-entries.ts';
import type { Room } from './rooms.ts';
import type { TabLeader } from './tab-leader.ts';
import type { Environment, InitOptions, KeyValueStorage, SdkMessage, Undo } from './types.ts';

export interface Core extends Store, OutboxCore {
  env_: Environment;
  /** Makes what requests go by, with further headers. */
  client_(more?: Record<string, string>): HttpClient;
  /** Asks for what is no visitor's. */
  load_: HttpClient['request_'];
  /** Asks for what is the visitor's, and ends with them. */
  request_: HttpClient['request_'];
  close_?: HttpClient['close_'];
  connection_: Connection;
  options_: InitOptions;
  /** What names in storage begin with. */
  prefix_: string;
  keyPrefix_: string;
  storage_: KeyValueStorage | null | undefined;
  visitorId_: string;
  /**
   * Settled once the page's visitor was named, or that was refused: an application may demand a proven identity before all
   * else. Undefined: it is still to be said.
   */
  named_?: Promise<unknown> | undefined;
  tabs_?: TabLeader<TabMessage> | undefined;
  readonly rooms_: Map<string, Room>;
  typingUntil_: number;
  /** The socket was lost: something may have been missed. */
  missed_?: boolean;
  /** The message on its way over the socket; empty: none is. */
  sendingKey_?: string;
  resolveSending_?(message?: RawMessage): void;
  /** What each room:join that is not answered yet asked to catch up from, in the order of the answers. */
  readonly asked_: string[];
  /** Ends what its start began, and rejects who waits; undefined: it has not been started. */
  end_?: Undo;
  /** The open conversation's id; empty: none is open. */
  openId_(): string;
  messages_(id: string): MessageList<SdkMessage> | undefined;
}
