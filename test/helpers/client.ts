// Owns the test's side of both transports: plain HTTP and plain WebSocket, nothing clever,
// so that what a test sees is what the server sent.
import { Agent, request as requestHttp, type RequestOptions } from 'node:http';
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

/** Connections stay open, as those of a browser do. */
const agent = new Agent({ keepAlive: true });

/** One HTTP request. An object body is sent as JSON. Not by fetch, which takes three times the processor time. */
export async function request(
  url: string,
  method: string,
  path: string,
  headers: HeaderMap = {},
  body?: unknown,
): Promise<Reply> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const sent: Record<string, string> = { accept: '*/*', ...Object.fromEntries(given) };
  if (text !== undefined) {
    sent['content-type'] ??= 'application/json';
    sent['content-length'] = String(Buffer.byteLength(text));
  }
  return await exchange(new URL(url + path), { method, agent, headers: sent }, text);
}

function exchange(url: URL, options: RequestOptions, body: string | undefined): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const asked = requestHttp(url, options, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('error', reject);
    response.once('end', () => {
      const text = Buffer.concat(chunks).toString();
      const headers = new Headers();
      for (let at = 0; at < response.rawHeaders.length; at += 2)
        headers.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '');
      try {
        const parsed: unknown = text === '' ? undefined : JSON.parse(text);
        resolve({ status: response.statusCode ?? 0, headers, text, body: parsed });
      } catch (error) {
        reject(new Error(`no JSON: ${text.slice(0, 300)}`, { cause: error }));
      }
    });
  });
  asked.once('error', (error: NodeJS.ErrnoException) => {
    // The server closed a connection that had waited, just as it was taken again. A long body is told so by the pipe.
    if (asked.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE'))
      exchange(url, { ...options, agent: false }, body).then(resolve, reject);
    else reject(error);
  });
  asked.end(body);
  return promise;
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
    // keep their place among the others; one counts as a frame does.
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
