// Owns HTTP as bytes: repeated headers, lying lengths, broken chunks, whatever fetch
// would refuse to send. Must send exactly what it is given and mend nothing.
import { connect } from 'node:net';
import type { Reply } from './client.ts';

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: HeaderPairs;
  /** Text goes out as UTF-8. */
  readonly body?: string | Buffer;
}

/** A request as bytes. Host, Connection and, with a body, Content-Length are added unless they are given. */
export function requestBytes(url: string, { method = 'GET', path, headers = [], body }: RawRequest): Buffer {
  const has = (name: string): boolean => headers.some(([given]) => given.toLowerCase() === name);
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  const lines = [`${method} ${path} HTTP/1.1`];
  if (!has('host')) lines.push(`Host: ${new URL(url).host}`);
  if (!has('connection')) lines.push('Connection: close');
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== undefined && !has('content-length') && !has('transfer-encoding'))
    lines.push(`Content-Length: ${bytes.length}`);
  // Latin-1: one character of a header is one byte on the wire.
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

/**
 * Writes bytes and reads replies until there are as many as wanted or the server ends the connection.
 * @param hangUp end our side after the last byte
 * @returns fewer than wanted when the server closed before
 */
export async function exchange(
  url: string,
  bytes: string | Buffer,
  { wanted = 1, hangUp = false, head = false }: { wanted?: number; hangUp?: boolean; head?: boolean } = {},
): Promise<Reply[]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let heard = Buffer.alloc(0);
    const look = (ended: boolean): void => {
      const replies = parseReplies(heard, head, ended);
      if (!ended && replies.length < wanted) return;
      socket.destroy();
      resolve(replies);
    };
    socket.on('data', (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk]);
      look(false);
    });
    socket.on('end', () => look(true));
    socket.on('close', () => look(true));
    socket.on('error', () => undefined);
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    if (hangUp) socket.end();
  });
}

/**
 * One request, one reply.
 * @throws Error when the server closed without a reply
 */
export async function send(url: string, request: RawRequest): Promise<Reply> {
  const [reply] = await exchange(url, requestBytes(url, request), { head: request.method === 'HEAD' });
  if (reply === undefined)
    throw new Error(`no reply to ${request.method ?? 'GET'} ${request.path.slice(0, 100)}`);
  return reply;
}

function parseReplies(bytes: Buffer, head: boolean, ended: boolean): Reply[] {
  const replies: Reply[] = [];
  let at = 0;
  for (;;) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd === -1) return replies;
    const [statusLine = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    const headers = new Headers(
      lines.map((line): [string, string] => [
        line.slice(0, line.indexOf(':')),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const start = headEnd + 4;
    if (status < 200) {
      at = start;
      continue;
    }
    const bodyless = head || status === 204 || status === 304;
    const announced = headers.get('content-length');
    if (announced === null && !bodyless && !ended) return replies;
    const end = bodyless ? start : announced === null ? bytes.length : start + Number(announced);
    if (end > bytes.length) return replies;
    const text = bytes.toString('utf8', start, end);
    replies.push({ status, headers, text, body: text === '' ? undefined : (JSON.parse(text) as unknown) });
    at = end;
  }
}
