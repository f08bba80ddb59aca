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
