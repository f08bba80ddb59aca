// Owns the connection's behaviour in time: backoff, heartbeat, close codes, waking. Time
// and sockets are in the test's hands; nothing here waits.
import { describe, expect, it } from 'vitest';
import { sdkError } from '../../src/sdk/error.ts';
import { createConnection } from '../../src/sdk/connection.ts';
import { browserEnvironment } from '../../src/sdk/browser-environment.ts';
import type { SocketLike } from '../../src/sdk/types.ts';
import { createTestClock } from '../helpers/clock.ts';

class FakeSocket implements SocketLike {
  onopen: SocketLike['onopen'] = null;
  onmessage: SocketLike['onmessage'] = null;
  onclose: SocketLike['onclose'] = null;
  onerror: SocketLike['onerror'] = null;
  readonly sent: string[] = [];
  closed = false;
  send(data: string): void {
    this.sent.push(data);
  }
  close(): void {
    this.closed = true;
  }
  opens(): void {
    this.onopen?.({} as never);
  }
  says(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

function aLink({
  random = 0,
  address = () => Promise.resolve('ws://x'),
}: { random?: number; address?: () => Promise<string> } = {}) {
  const clock = createTestClock();
  const sockets: FakeSocket[] = [];
  const statuses: string[] = [];
  const refused: string[] = [];
  const frames: string[] = [];
  const link = createConnection({
    env_: {
      ...browserEnvironment(),
      after: (ms, run) => clock.after(ms, run),
      random: () => random,
      openSocket: () => {
        const socket = new FakeSocket();
        sockets.push(socket);
        return socket;
      },
    },
    address_: address,
    onFrame_: ({ type }) => frames.push(type),
    onStatus_: (status) => statuses.push(status),
    onRefused_: ({ code }) => refused.push(code),
  });
  /** Lets promises run. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { clock, link, sockets, statuses, refused, frames, settle, last: () => sockets.at(-1)! };
}

describe('a link', () => {
  it.each([
    [0, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]],
    [1, [500, 1000, 2000, 4000, 8000, 15_000, 15_000]],
  ])('waits 1 s doubling to 30 s, less up to half at random (%d)', async (random, waits) => {
    const { clock, link, sockets, settle, last } = aLink({ random });
    link.start_();
    await settle();
    for (const wait of waits) {
      last().onclose?.({ code: 1006 });
      const before = sockets.length;
      clock.advance(wait - 1);
      await settle();
      expect(sockets).toHaveLength(before);
      clock.advance(1);
      await settle();
      expect(sockets).toHaveLength(before + 1);
    }
  });

  it('begins at 1 s again only after the service has answered: being let out at once is no success', async () => {
    const { clock, link, sockets, settle, last } = aLink();
    link.start_();
    await settle();
    for (let round = 0; round < 2; round += 1) {
      last().opens();
      last().says({ type: 'error', payload: { code: 'RATE_LIMITED', message: '' } });
      last().onclose?.({ code: 4429 });
      clock.advance(2000);
      await settle();
    }
    expect(sockets).toHaveLength(3);
    last().opens();
    last().says({ type: 'presence', payload: { online: true } });
    last().onclose?.({ code: 1001 });
    clock.advance(1000);
    await settle();
    expect(sockets).toHaveLength(4);
  });

  it('pings after 30 s of silence and gives a silent peer up after 10 more', async () => {
    const { clock, link, sockets, statuses, settle, last } = aLink();
    link.start_();
    await settle();
    last().opens();
    clock.advance(29_999);
    expect(last().sent).toEqual([]);
    clock.advance(1);
    expect(last().sent).toEqual(['{"type":"ping"}']);
    clock.advance(9_000);
    last().says({ type: 'pong' });
    clock.advance(30_000);
    expect(last().closed).toBe(false);
    clock.advance(10_000);
    expect(last().closed).toBe(true);
    expect(statuses).toEqual(['connecting', 'online', 'offline']);
    clock.advance(1000);
    await settle();
    expect(sockets).toHaveLength(2);
  });

  it('gives up a connection that does not open, and asks for a token again', async () => {
    let asked = 0;
    const { clock, link, sockets, settle } = aLink({
      address: () => Promise.resolve(`ws://x/${(asked += 1)}`),
    });
    link.start_();
    await settle();
    clock.advance(15_000);
    clock.advance(1000);
    await settle();
    expect([sockets.length, asked, sockets[0]?.closed]).toEqual([2, 2, true]);
  });

  it.each([4400, 4403, 4404])('does not come back after %d', async (code) => {
    const { clock, link, sockets, refused, settle, last } = aLink();
    link.start_();
    await settle();
    last().opens();
    last().onclose?.({ code });
    clock.advance(100_000);
    link.wake_();
    await settle();
    expect([sockets.length, refused]).toEqual([1, ['forbidden']]);
    link.start_();
    await settle();
    expect(sockets).toHaveLength(2);
  });

  it('tells refusal from trouble when it asks for a token', async () => {
    const answers = [
      sdkError('network'),
      sdkError('unavailable', '', 503, 20),
      sdkError('origin_not_allowed', '', 403),
    ];
    let asked = 0;
    const { clock, link, refused, settle } = aLink({ address: () => Promise.reject(answers[asked++]!) });
    link.start_();
    await settle();
    clock.advance(1000);
    await settle();
    expect(asked).toBe(2);
    clock.advance(19_999);
    await settle();
    expect(asked).toBe(2);
    clock.advance(1);
    await settle();
    expect([asked, refused]).toEqual([3, ['origin_not_allowed']]);
  });

  it('connects at once when woken, and asks an open peer whether it lives', async () => {
    const { clock, link, sockets, settle, last } = aLink();
    link.start_();
    await settle();
    last().onclose?.({ code: 1006 });
    link.wake_();
    await settle();
    expect(sockets).toHaveLength(2);
    last().opens();
    link.wake_();
    expect(last().sent).toEqual(['{"type":"ping"}']);
    clock.advance(10_000);
    expect(last().closed).toBe(true);
  });

  it('ends when told, whatever is under way', async () => {
    const { clock, link, sockets, statuses, settle } = aLink();
    link.start_();
    link.stop_();
    await settle();
    clock.advance(100_000);
    expect([sockets.length, link.send_('ping')]).toEqual([0, false]);
    expect(statuses).toEqual(['connecting', 'offline']);
  });
});
