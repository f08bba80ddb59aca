// Owns: what the pace of background work promises: nothing waits on a node at rest; beside many users a few bites come at
// once; and beside a crowd they come in turns, as many as the loop has time for, and never less than a tenth of it.
import { beforeEach, expect, it } from 'vitest';
import { LoopPace } from '../../src/engine/memory/pace.ts';

let now: number;
let active: number;
let timers: { readonly at: number; readonly run: () => void }[];
let pace: LoopPace;

beforeEach(() => {
  now = 0;
  active = 0;
  timers = [];
  pace = new LoopPace({
    monotonic: () => now,
    loopTime: () => ({ active, idle: now - active }),
    after: (ms, run) => timers.push({ at: now + ms, run }),
  });
});

/** Lets time pass, in which users ask and the loop is at work for a share of it. */
async function pass(ms: number, load: number, usersPerMs: number): Promise<void> {
  for (let index = 0; index < ms; index += 1) {
    now += 1;
    active += load;
    for (let user = 0; user < usersPerMs; user += 1) pace.userCame();
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter(({ at }) => at > now);
    for (const { run } of due) run();
    // What was let in goes on before the next ms.
    await Promise.resolve();
  }
}

/** Asks for one bite of 1 ms after the other for as long as the test runs. */
function bites(): { readonly taken: () => number } {
  let taken = 0;
  void (async () => {
    for (;;) {
      await pace.turn(1);
      taken += 1;
      // Where nothing waits it would never end.
      if (taken > 10_000) return;
    }
  })();
  return { taken: () => taken };
}

/** Takes what bites have of this step. */
function useUp(ms: number): void {
  for (let bite = 0; bite < 10; bite += 1) if (pace.turn(ms) !== undefined) return;
  expect.unreachable('bites never end');
}

it('nothing waits on a node at rest, whatever the loop did before', async () => {
  expect(pace.turn(5)).toBeUndefined();
  await pass(1_000, 1, 5);
  expect(pace.isCrowded()).toBe(true);
  await pass(210, 0.1, 0);
  for (let index = 0; index < 100; index += 1) expect(pace.turn(5)).toBeUndefined();
});

it('beside many users a few bites come at once, however much time these leave, and the next ones soon after', async () => {
  await pass(200, 0.1, 1);
  expect(pace.hasManyUsers()).toBe(true);
  expect(pace.isCrowded()).toBe(false);
  let over = 0;
  for (let index = 0; index < 30; index += 1) void Promise.resolve(pace.turn(1)).then(() => (over += 1));
  await Promise.resolve();
  expect(over).toBe(3);
  const seen: number[] = [];
  for (let ms = 0; ms < 40; ms += 1) {
    const before = over;
    await pass(1, 0.1, 1);
    seen.push(over - before);
  }
  expect(Math.max(...seen)).toBe(3);
  expect(over).toBe(30);
});

it('a long bite beside many users is paid for by those after it', async () => {
  await pass(200, 0.1, 1);
  expect(pace.turn(10)).toBeUndefined();
  let over = 0;
  void Promise.resolve(pace.turn(1)).then(() => (over += 1));
  await pass(6, 0.1, 1);
  expect(over).toBe(0);
  await pass(4, 0.1, 1);
  expect(over).toBe(1);
});

it('nothing waits where few users are served, though the loop is busy with that very work', async () => {
  for (let index = 0; index < 10; index += 1) {
    pace.userCame();
    await pass(100, 1, 0);
    expect(pace.hasUsers()).toBe(true);
    for (let bite = 0; bite < 100; bite += 1) expect(pace.turn(5)).toBeUndefined();
  }
  await pass(200, 1, 0);
  expect(pace.hasUsers()).toBe(false);
});

it('however crowded the loop is, bites get a tenth of its time, and no more', async () => {
  await pass(200, 1, 5);
  expect(pace.isCrowded()).toBe(true);
  const { taken } = bites();
  await pass(100, 1, 5);
  const before = taken();
  await pass(1_000, 1, 5);
  expect(taken() - before).toBeGreaterThanOrEqual(95);
  expect(taken() - before).toBeLessThanOrEqual(105);
});

it.each([15, 33])('a tenth is a tenth also where each turn of the loop takes %d ms', async (ms) => {
  await pass(300, 1, 5);
  const { taken } = bites();
  await pass(100, 1, 5);
  const before = taken();
  for (let passed = 0; passed < 990; passed += ms) {
    now += ms - 1;
    active += ms - 1;
    await pass(1, 1, 5 * ms);
    // Each bite that waits for a promise of its own.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }
  expect(taken() - before).toBeGreaterThanOrEqual(90);
  expect(taken() - before).toBeLessThanOrEqual(115);
});

it('what has waited is not let go all at once, also where the crowd has gone', async () => {
  await pass(200, 1, 5);
  useUp(100);
  let over = 0;
  for (let index = 0; index < 12; index += 1) void Promise.resolve(pace.turn(2)).then(() => (over += 1));
  await pass(210, 0.1, 0);
  const seen: number[] = [];
  for (let step = 0; step < 4; step += 1) {
    seen.push(over);
    await pass(10, 0.1, 0);
  }
  expect(Math.max(...seen.slice(1).map((count, at) => count - seen[at]!))).toBeLessThanOrEqual(4);
  await pass(100, 0.1, 0);
  expect(over).toBe(12);
});

it('where a crowd leaves time, bites get most of it', async () => {
  await pass(200, 1, 5);
  const { taken } = bites();
  await pass(1_000, 0.6, 5);
  const before = taken();
  await pass(1_000, 0.6, 5);
  expect(taken() - before).toBeGreaterThan(400);
});

it('a long bite is paid for by those after it, in the order of asking', async () => {
  await pass(200, 1, 5);
  // The first ones are what this step had left.
  useUp(1);
  const order: string[] = [];
  for (const name of ['first', 'second', 'third'])
    void Promise.resolve(pace.turn(4)).then(() => order.push(name));
  await pass(12, 1, 5);
  expect(order).toEqual(['first']);
  await pass(18, 1, 5);
  expect(order).toEqual(['first']);
  await pass(90, 1, 5);
  expect(order).toEqual(['first', 'second', 'third']);
});

it('once the crowd has gone, or the work is stopped, nothing waits any longer', async () => {
  await pass(200, 1, 5);
  useUp(100);
  let over = 0;
  const stop = new AbortController();
  void Promise.resolve(pace.turn(100, stop.signal)).then(() => (over += 1));
  await pass(10, 1, 5);
  expect(over).toBe(0);
  stop.abort();
  await Promise.resolve();
  expect(over).toBe(1);
  expect(pace.turn(1, stop.signal)).toBeUndefined();
  for (let index = 0; index < 5; index += 1) void Promise.resolve(pace.turn(100)).then(() => (over += 1));
  await pass(250, 0.1, 0);
  expect(over).toBe(6);
  expect(timers).toEqual([]);
});

/** Lets time pass with a commit of 50 users in each ms. */
async function passBehind(ms: number, load: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1) {
    pace.usersCommitted(50);
    await pass(1, load, 5);
  }
}

it('bites wait while many users wait for a commit, and come once few do', async () => {
  await pass(200, 0.1, 5);
  pace.usersCommitted(50);
  let over = 0;
  void Promise.resolve(pace.turn(1)).then(() => (over += 1));
  await passBehind(30, 0.1);
  expect(over).toBe(0);
  pace.usersCommitted(34);
  await pass(3, 0.1, 5);
  expect(over).toBe(1);
  expect(pace.turn(1)).toBeUndefined();
});

it('where many always wait bites wait for a third of the time at most', async () => {
  await pass(200, 0.3, 5);
  pace.usersCommitted(50);
  const { taken } = bites();
  await passBehind(80, 0.3);
  expect(taken()).toBe(0);
  await passBehind(20, 0.3);
  expect(taken()).toBeGreaterThan(0);
  const before = taken();
  await passBehind(1_000, 0.3);
  expect(taken() - before).toBeGreaterThanOrEqual(600);
  expect(taken() - before).toBeLessThanOrEqual(850);
});

it('they are not starved then on a loop that is always at work, nor after it', async () => {
  await pass(200, 1, 5);
  const { taken } = bites();
  await passBehind(100, 1);
  const before = taken();
  await passBehind(10_000, 1);
  expect(taken() - before).toBeGreaterThanOrEqual(990);
  pace.usersCommitted(0);
  const after = taken();
  await pass(1_000, 1, 5);
  expect(taken() - after).toBeGreaterThanOrEqual(95);
});

it.each([12, 20, 25, 29])('nor where each turn of it takes %d ms', async (ms) => {
  await pass(300, 1, 5);
  const { taken } = bites();
  const passTurns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) {
      pace.usersCommitted(50);
      now += ms - 1;
      active += ms - 1;
      await pass(1, 1, 5 * ms);
      // Each bite that waits for a promise of its own.
      for (let bite = 0; bite < 20; bite += 1) await Promise.resolve();
    }
  };
  await passTurns(20);
  const before = taken();
  await passTurns(1_000);
  expect(taken() - before).toBeGreaterThanOrEqual(80 * ms);
});

it('a commit of long ago holds nothing back, nor does one where no user is', async () => {
  await pass(200, 0.1, 5);
  pace.usersCommitted(50);
  await pass(20, 0.1, 5);
  expect(pace.turn(1)).toBeUndefined();
  expect(pace.calm(100)).toBeUndefined();
  await pass(250, 0.1, 0);
  pace.usersCommitted(50);
  expect(pace.turn(1)).toBeUndefined();
  expect(pace.calm(100)).toBeUndefined();
});

it('what a user waits for lets many others go first, and not for longer than it says', async () => {
  await pass(200, 0.1, 5);
  expect(pace.calm(100)).toBeUndefined();
  pace.usersCommitted(50);
  let over = 0;
  void Promise.resolve(pace.calm(9)).then(() => (over += 1));
  void Promise.resolve(pace.calm(100)).then(() => (over += 1));
  await passBehind(8, 0.1);
  expect(over).toBe(0);
  await passBehind(1, 0.1);
  expect(over).toBe(1);
  pace.usersCommitted(34);
  await pass(3, 0.1, 5);
  expect(over).toBe(2);
  expect(timers).toEqual([]);
});

it('a pace that was not asked for a while holds back as before', async () => {
  await pass(200, 0.1, 5);
  pace.usersCommitted(50);
  void pace.calm(0);
  await passBehind(3, 0.1);
  await pass(500, 0.1, 5);
  pace.usersCommitted(50);
  expect(pace.calm(9)).toBeInstanceOf(Promise);
});
