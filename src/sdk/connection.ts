// One WebSocket that comes back by itself: fresh token, backoff with jitter, heartbeat.
// Must not know what the frames mean.
import type { ServerFrame } from '../protocol/events.ts';
import { asSdkError, isRetryable, sdkError } from './error.ts';
import type { ConnectionStatus, Environment, SdkError, SocketLike, Undo } from './types.ts';

/** What is heard: all frames but the answer to the link's own ping. */
export type EventFrame = Exclude<ServerFrame, { type: 'pong' }>;

export interface ConnectionOptions {
  readonly env_: Environment;
  /** The address to connect to, fresh token included; asked before every attempt. */
  address_(): Promise<string>;
  onFrame_(frame: EventFrame): void;
  onStatus_(status: ConnectionStatus): void;
  /** Something that trying again won't mend. The link has stopped. */
  onRefused_(error: SdkError): void;
}

export interface Connection {
  /** Connects and stays connected. */
  start_(): void;
  stop_(): void;
  /** Worth a look now: connects at once if it waits, else asks whether the peer is still there. */
  wake_(): void;
  /** Cuts the connection and comes back after the usual wait. */
  reconnect_(): void;
  /** False: there is no connection, and nothing was sent. */
  send_(type: string, payload?: object): boolean;
}

/** The close codes of the protocol after which no client comes back: bad frames, access withdrawn, no such application. */
export const finalCloseCodes: readonly number[] = [4400, 4403, 4404];
const pingIntervalMs = 30_000;
const minBackoffMs = 1_000;
const maxBackoffMs = 30_000;
const openTimeoutMs = 15_000;
const pongTimeoutMs = 10_000;

/** How long to wait before an attempt: 1 s doubling to 30 s, of which up to half is taken off at random. */
export function backoff(attempt: number, env: Pick<Environment, 'random'>): number {
  return Math.min(maxBackoffMs, minBackoffMs * 2 ** attempt) * (1 - env.random() / 2);
}

/** A connection: none before `start_`, and from then on it comes back until `stop_`. */
export function createConnection(options: ConnectionOptions): Connection {
  const { env_: env } = options;
  let wanted = false;
  let socket: SocketLike | null = null;
  let attempt = 0;
  let status: ConnectionStatus = 'idle';
  let cancel: Undo = () => undefined;

  const setStatus = (next: ConnectionStatus): void => {
    status = next;
    options.onStatus_(next);
  };

  const timer = (ms: number, run: () => void): void => {
    cancel();
    cancel = env.after(ms, run);
  };

  const release = (): void => {
    cancel();
    if (!socket) return;
    // What it still says is not heard.
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
    socket = null;
  };

  const comeBack = (waitMs = 0): void => {
    release();
    if (!wanted) return;
    timer(Math.max(waitMs, backoff(attempt, env)), connect);
    attempt += 1;
    setStatus('offline');
  };

  const refuse = (error: SdkError): void => {
    stop();
    options.onRefused_(error);
  };

  const connect = (): void => {
    release();
    let counts = true;
    cancel = () => {
      counts = false;
    };
    setStatus('connecting');
    options
      .address_()
      .then((url) => {
        if (counts) open(url);
      })
      .catch((thrown: unknown) => {
        if (!counts) return;
        const error = asSdkError(thrown);
        if (isRetryable(error)) comeBack((error.retryAfter ?? 0) * 1000);
        else refuse(error);
      });
  };

  const open = (url: string): void => {
    timer(openTimeoutMs, comeBack);
    socket = env.openSocket(url);
    socket.onopen = () => {
      expectSilence();
      setStatus('online');
    };
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as ServerFrame;
      // Let in, and it answers: the next interruption is a new one.
      if (frame.type !== 'error') attempt = 0;
      expectSilence();
      if (frame.type !== 'pong') options.onFrame_(frame);
    };
    socket.onclose = ({ code }) => {
      if (finalCloseCodes.includes(code)) refuse(sdkError('forbidden'));
      else comeBack();
    };
    // An error is always followed by the close; that of a socket that is cut while it connects needs no handling.
    socket.onerror = () => undefined;
  };

  /** Heard something: the next ping is due in a while. */
  const expectSilence = (): void => timer(pingIntervalMs, ping);

  const ping = (): void => {
    send('ping');
    timer(pongTimeoutMs, comeBack);
  };

  const send = (type: string, payload?: object): boolean => {
    if (status !== 'online') return false;
    socket?.send(JSON.stringify({ type, payload }));
    return true;
  };

  const stop = (): void => {
    wanted = false;
    release();
    if (status !== 'idle') setStatus('offline');
  };

  return {
    start_: () => {
      if (wanted) return;
      wanted = true;
      attempt = 0;
      connect();
    },
    stop_: stop,
    wake_: () => {
      if (!wanted) return;
      attempt = 0;
      if (status === 'online') ping();
      else if (status === 'offline') connect();
    },
    reconnect_: comeBack,
    send_: send,
  };
}
