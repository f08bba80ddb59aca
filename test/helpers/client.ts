// Owns the test's side of both transports: plain HTTP and plain WebSocket, nothing clever,
// so that what a test sees is what the server sent.
import { WebSocket } from 'ws';
import { eventually } from './eventually.ts';
import { settleEngines } from './hostile-engine.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when there is none. */
  readonly body: any;
}

export type HeaderMap = Readonly<Record<string, string>>;

/** One HTTP request. An object body is sent as JSON. */
export async function request(
  url: string,
  method: string,
  path: string,
  headers: HeaderMap = {},
  body?: unknown,
): Promise<Reply> {
  const hasBody = body !== undefined;
  const response = await fetch(url + path, {
    method,
    headers: { ...(hasBody ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(hasBody ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

export interface Frame {
  readonly type: string;
  readonly payload?: any;
}

/** A WebSocket that remembers everything it heard. */
export class TestSocket {
  readonly frames: Frame[] = [];
  readonly socket: WebSocket;
  closed: { readonly code: number; readonly reason: string } | null = null;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.frames.push(JSON.parse(data.toString()) as Frame));
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    socket.on('error', () => undefined);
  }

  send(type: string, payload?: unknown): void {
    this.socket.send(JSON.stringify(payload === undefined ? { type } : { type, payload }));
  }

  /** Every frame of a type so far. */
  all(type: string): Frame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  /** The payload of the first frame of a type that fits, once it has come. */
  async receives(type: string, fits: (payload: any) => boolean = () => true): Promise<any> {
    return eventually(() => {
      const found = this.frames.find((frame) => frame.type === type && fits(frame.payload));
      if (found === undefined)
        throw new Error(
          `heard no fitting ${type}, but: ${this.frames.map((frame) => JSON.stringify(frame)).join('\n') || 'nothing'}`,
        );
      return found.payload;
    });
  }

  /**
   * Waits until everything that the server sent before now has arrived: a ping is answered in order.
   * Say it before looking for what must not have come.
   */
  async drain(): Promise<void> {
    const pongs = this.all('pong').length;
    this.send('ping');
    await eventually(() => {
      if (this.all('pong').length <= pongs) throw new Error('no pong');
    });
    // What was sent is committed by now; behind a hostile engine the news of it may still be on its way. Control frames
    // keep their place among the others, and count as no frame.
    if (!(await settleEngines()) || this.closed !== null) return;
    let answered = false;
    this.socket.once('pong', () => {
      answered = true;
    });
    this.socket.ping();
    await eventually(() => {
      if (!answered && this.closed === null) throw new Error('no pong');
    });
  }

  /** The types heard since the last call, in order, without pongs. */
  takeTypes(): string[] {
    return this.frames.splice(0).flatMap(({ type }) => (type === 'pong' ? [] : [type]));
  }

  async waitForClose(): Promise<{ readonly code: number; readonly reason: string }> {
    return eventually(() => {
      if (this.closed === null) throw new Error('still open');
      return this.closed;
    });
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.waitForClose();
  }
}

/** Opens a WebSocket, whatever comes of it. Resolves once it is open or over. */
export async function connectSocket(
  url: string,
  token: string | null,
  headers: HeaderMap = {},
  query = '',
): Promise<TestSocket> {
  const search = token === null ? '' : `?token=${encodeURIComponent(token)}${query}`;
  const raw = new WebSocket(`${url.replace('http', 'ws')}/api/v1/ws${search}`, { headers });
  const socket = new TestSocket(raw);
  await new Promise<void>((resolve) => {
    raw.once('open', () => resolve());
    raw.once('close', () => resolve());
  });
  return socket;
}
