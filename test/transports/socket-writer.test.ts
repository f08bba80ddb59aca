// What one socket is written: frames in the order in which they were handed in, as many as may be with one system
// call, and nothing after the socket has closed.
import { PassThrough } from 'node:stream';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { SocketWriter } from '../../src/ws/socket-writer.ts';

interface FakeSocket {
  readyState: WebSocket['readyState'];
  readonly OPEN: 1;
  close(): void;
}

/** A writer, and every write that its stream was asked for. */
function createWriter(): {
  stream: PassThrough;
  socket: FakeSocket;
  writer: SocketWriter;
  writes: string[];
} {
  const writes: string[] = [];
  const stream = new PassThrough();
  stream.write = (chunk: Buffer | string): boolean => writes.push(chunk.toString()) > 0;
  const socket: FakeSocket = { readyState: WebSocket.OPEN, OPEN: WebSocket.OPEN, close: () => undefined };
  return { stream, socket, writer: new SocketWriter(socket, stream), writes };
}

let made: ReturnType<typeof createWriter>;
beforeEach(() => {
  made = createWriter();
});

const send = (text: string, writer = made.writer): void => writer.write(Buffer.from(text));

describe('a socket’s writer', () => {
  test('writes at once what one turn hands in, also in microtasks of its microtasks', async () => {
    // As a socket's bytes and a commit arrive: by a callback of the loop, and in no microtask.
    setImmediate(() => {
      send('a');
      void Promise.resolve()
        .then(() => send('b'))
        .then(() => Promise.resolve())
        .then(() => send('c'));
    });
    await turnOfTheLoop();
    await turnOfTheLoop();
    expect(made.writes).toEqual(['abc']);
  });

  test('does so from a microtask as well', async () => {
    await Promise.resolve();
    send('a');
    void Promise.resolve().then(() => queueMicrotask(() => send('b')));
    await turnOfTheLoop();
    expect(made.writes).toEqual(['ab']);
  });

  test('writes in every turn that hands something in', async () => {
    for (const text of ['a', 'b', 'c']) {
      send(text);
      await turnOfTheLoop();
    }
    expect(made.writes).toEqual(['a', 'b', 'c']);
  });

  test('writes each socket its own', async () => {
    const other = createWriter();
    send('a');
    send('x', other.writer);
    send('b');
    await turnOfTheLoop();
    expect([made.writes, other.writes]).toEqual([['ab'], ['x']]);
  });

  test('writes on a flush what waits, and later only what came after it', async () => {
    send('a');
    send('b');
    made.writer.flush();
    expect(made.writes).toEqual(['ab']);
    send('c');
    await turnOfTheLoop();
    expect(made.writes).toEqual(['ab', 'c']);
  });

  test('writes nothing once its socket has closed', async () => {
    send('a');
    made.socket.readyState = WebSocket.CLOSING;
    const other = createWriter();
    send('x', other.writer);
    await turnOfTheLoop();
    expect([made.writes, other.writes]).toEqual([[], ['x']]);
    expect(made.writer.waitingBytes).toBe(0);
  });

  test('counts what waits', () => {
    send('abc');
    send('de');
    expect(made.writer.waitingBytes).toBe(5);
    made.writer.flush();
    expect(made.writer.waitingBytes).toBe(0);
  });

  test('hangs up behind what waits, and drops what still comes unread', async () => {
    const { stream, socket, writer, writes } = createWriter();
    let read = 0;
    let ended = false;
    stream.on('data', () => (read += 1));
    stream.end = (): typeof stream => {
      ended = true;
      return stream;
    };
    socket.close = () => writes.push('close');
    send('a', writer);
    writer.hangUp(4400, 'why');
    expect([writes, ended]).toEqual([['a', 'close'], true]);
    stream.push('frames');
    await turnOfTheLoop();
    expect([read, stream.readableLength]).toEqual([0, 0]);
  });
});
