// Owns: how long the body of a request may take, on a clock that moves by hand.
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { dropRest, limitBodyTime, receiveSlowly } from '../../src/http/receive-time.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

interface Pending {
  readonly request: IncomingMessage;
  readonly body: PassThrough;
  /** What was answered by the connection itself. */
  answered(): string;
}

function pending(headers: Readonly<Record<string, string>> = { 'content-length': '100' }): Pending {
  const body = new PassThrough();
  const socket = new PassThrough();
  socket.on('error', () => undefined);
  const written: string[] = [];
  vi.spyOn(socket, 'write').mockImplementation((chunk: unknown) => {
    written.push(String(chunk));
    return true;
  });
  const request = Object.assign(body, { headers, socket, complete: false });
  return { request: request as unknown as IncomingMessage, body, answered: () => written.join('') };
}

test('half a minute, unless there is none or it has come', () => {
  const slow = pending();
  const chunked = pending({ 'transfer-encoding': 'chunked' });
  const none = pending({});
  const done = pending();
  for (const { request } of [slow, chunked, none, done]) limitBodyTime(request);
  done.body.emit('end');
  vi.advanceTimersByTime(29_999);
  expect(slow.answered()).toBe('');
  vi.advanceTimersByTime(1);
  expect(slow.answered()).toContain('408 Request Timeout');
  expect(chunked.answered()).toContain('request_timeout');
  expect([none.answered(), done.answered()]).toEqual(['', '']);
});

test('a file has as long as its bytes keep coming, and what is left of a refused one ten seconds', async () => {
  const { request, body, answered } = pending();
  limitBodyTime(request);
  const bytes = receiveSlowly(request);
  for (let stretch = 0; stretch < 5; stretch += 1) {
    body.write('some');
    expect(Buffer.from((await bytes.next()).value ?? '').toString()).toBe('some');
    vi.advanceTimersByTime(25_000);
    expect(answered()).toBe('');
  }
  vi.advanceTimersByTime(5_000);
  expect(answered()).toContain('408');
  const refused = pending();
  limitBodyTime(refused.request);
  dropRest(refused.request);
  vi.advanceTimersByTime(10_000);
  expect(refused.answered()).toContain('408');
});
