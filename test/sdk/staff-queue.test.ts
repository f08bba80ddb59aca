// Owns: how often a member's client asks for a conversation that something happened to. Time moves by hand.
import { expect, test } from 'vitest';
import { createStaffQueue } from '../../src/sdk/staff-queue.ts';
import type { StaffConversationListItem } from '../../src/sdk/staff-types.ts';
import { browserEnvironment } from '../../src/sdk/browser-environment.ts';
import { createTestClock } from '../helpers/clock.ts';

function aQueue() {
  const clock = createTestClock();
  const asked: { path: string; at: number }[] = [];
  const queue = createStaffQueue({
    env: { ...browserEnvironment(), now: clock.now, after: clock.after },
    http: {
      close_: () => undefined,
      request_: (_method, path) => {
        asked.push({ path, at: clock.monotonic() });
        return Promise.reject(Object.assign(new Error('gone'), { name: 'SdkError', status: 404 }));
      },
    },
    emit: () => undefined,
    get: (): readonly StaffConversationListItem[] => [],
    set: () => undefined,
    isStopped: () => false,
    report: (error) => {
      throw error;
    },
  });
  return { clock, asked, queue };
}

test('many events of one conversation are one question, soon', () => {
  const { clock, asked, queue } = aQueue();
  for (let index = 0; index < 50; index += 1) queue.refresh('one');
  clock.advance(99);
  expect(asked).toEqual([]);
  clock.advance(1);
  expect(asked).toEqual([{ path: '/conversations/one', at: 100 }]);
});

test('events of many conversations do not use up what the plan allows', () => {
  const { clock, asked, queue } = aQueue();
  for (let index = 0; index < 400; index += 1) queue.refresh(`c${index}`);
  clock.advance(100);
  const atOnce = asked.length;
  expect(atOnce).toBeGreaterThanOrEqual(10);
  expect(atOnce).toBeLessThanOrEqual(20);
  clock.advance(60_000);
  expect(asked.length).toBeLessThanOrEqual(atOnce + 200);
  clock.advance(60_000);
  // None is forgotten.
  expect(new Set(asked.map(({ path }) => path)).size).toBe(400);
});
