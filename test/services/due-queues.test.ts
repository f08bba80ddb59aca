// Owns: what the queues of due rows promise whatever the store's speed: an attempt is made once for each time that a row is due.
import { expect, it } from 'vitest';
import { DueQueues, type DueRows } from '../../src/services/outbox/due-queues.ts';

it('a row whose attempt ends while its queue is being read is not attempted again', async () => {
  const attempts: string[] = [];
  const first = Promise.withResolvers<void>();
  let stored = ['1'];
  let answered: Promise<void> = Promise.resolve();
  const queues = new DueQueues<{ id: string }>({
    clock: { now: () => 0, after: () => () => undefined },
    maxConcurrent: 2,
    read: async (): Promise<DueRows<{ id: string }>> => {
      const snapshot = { due: stored.map((id) => ({ id })), next: null };
      await answered;
      return snapshot;
    },
    attempt: async (_key, { id }) => {
      attempts.push(id);
      if (id === '1') await first.promise;
      stored = stored.filter((one) => one !== id);
    },
    wake: () => undefined,
    onError: (error) => expect.unreachable(String(error)),
  });
  const look = async (): Promise<void> => {
    queues.check('q');
    await queues.look();
  };
  await look();
  stored.push('2');
  // The queue is read, then the first attempt ends, and then the answer comes.
  const held = Promise.withResolvers<void>();
  answered = held.promise;
  const looking = look();
  first.resolve();
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  held.resolve();
  await looking;
  await queues.stop();
  expect(attempts).toEqual(['1', '2']);
});

/** A queue over rows in memory, two attempts at once, each of which the test ends. */
function queueOver(stored: string[], ahead?: number) {
  const reads: number[] = [];
  const attempts: string[] = [];
  const underWay = new Map<string, () => void>();
  const queues = new DueQueues<{ id: string }>({
    clock: { now: () => 0, after: () => () => undefined },
    maxConcurrent: 2,
    ...(ahead === undefined ? {} : { ahead }),
    read: async (_key, _now, most): Promise<DueRows<{ id: string }>> => {
      reads.push(most);
      return { due: stored.slice(0, most).map((id) => ({ id })), next: null };
    },
    attempt: async (_key, { id }) => {
      attempts.push(id);
      const { promise, resolve } = Promise.withResolvers<void>();
      underWay.set(id, resolve);
      await promise;
      stored.splice(stored.indexOf(id), 1);
    },
    wake: () => undefined,
    onError: (error) => expect.unreachable(String(error)),
  });
  const end = async (id: string): Promise<void> => {
    underWay.get(id)?.();
    underWay.delete(id);
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await queues.look();
  };
  const endAll = async (): Promise<void> => {
    for (const id of underWay.keys()) await end(id);
  };
  return { queues, reads, attempts, end, endAll };
}

it('rows that are read ahead are attempted once each, in their order, and spare a read', async () => {
  const stored = ['1', '2', '3', '4', '5', '6', '7'];
  const { queues, reads, attempts, end, endAll } = queueOver(stored, 3);
  queues.check('q');
  await queues.look();
  await end('1');
  await end('2');
  expect(attempts).toEqual(['1', '2', '3', '4']);
  expect(reads).toEqual([5]);
  await end('3');
  await end('4');
  while (stored.length > 0) await endAll();
  expect(attempts).toEqual(['1', '2', '3', '4', '5', '6', '7']);
  await queues.stop();
});

it('without reading ahead a row is attempted as it was read last', async () => {
  const stored = ['1', '2', '3', '4'];
  const { queues, reads, attempts, end, endAll } = queueOver(stored);
  queues.check('q');
  await queues.look();
  stored.splice(stored.indexOf('3'), 1);
  await end('1');
  while (stored.length > 0) await endAll();
  expect(attempts).toEqual(['1', '2', '4']);
  expect(reads.length).toBeGreaterThan(1);
  await queues.stop();
});

it('a queue that is forgotten begins nothing of what it has read ahead', async () => {
  const stored = ['1', '2', '3', '4', '5'];
  const { queues, attempts, end } = queueOver(stored, 3);
  queues.check('q');
  await queues.look();
  queues.forget('q');
  await end('1');
  await end('2');
  expect(attempts).toEqual(['1', '2']);
  await queues.stop();
});

it('after a stop nothing is begun of what was read ahead', async () => {
  const stored = ['1', '2', '3', '4', '5'];
  const { queues, attempts, end } = queueOver(stored, 3);
  queues.check('q');
  await queues.look();
  const stopped = queues.stop();
  await end('1');
  await end('2');
  await stopped;
  expect(attempts).toEqual(['1', '2']);
});
