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
  const own = pace;
  void (async () => {
    for (;;) {
      await own.turn(1);
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

/** Runs what is due, and what goes on with it, each bite that waits for a promise of its own. */
async function runDue(): Promise<void> {
  const due = timers.filter(({ at }) => at <= now);
  timers = timers.filter(({ at }) => at > now);
  for (const { run } of due) run();
  for (let bite = 0; bite < 20; bite += 1) await Promise.resolve();
}

/** Tells of a commit, by default of one that has just taken up what there was. */
function commit(committed: number, tookMs = 0, waiting = 0): void {
  pace.usersCommitted({ committed, waiting, tookMs });
}

/**
 * A turn of the loop: it waits, reads what users have sent, is at work, and commits. Then come its timers.
 * @param ms at work
 * @param idleMs it waits before
 */
async function turn(ms: number, users: number, idleMs = 0): Promise<void> {
  now += idleMs + ms;
  active += ms;
  for (let user = 0; user < users; user += 1) pace.userCame();
  commit(users);
  await runDue();
}

async function turns(count: number, ...[ms, users, idleMs]: Parameters<typeof turn>): Promise<void> {
  for (let index = 0; index < count; index += 1) await turn(ms, users, idleMs);
}

it('bites wait while users are late, and come once they are not', async () => {
  await turns(200, 1, 5, 1);
  await turn(4, 20);
  let over = 0;
  void Promise.resolve(pace.turn(1)).then(() => (over += 1));
  await turns(5, 4, 20);
  expect(over).toBe(0);
  await turn(3, 20);
  expect(over).toBe(1);
});

it('however many come, they are not late where turns are short, nor is a load that begins', async () => {
  for (let index = 0; index < 100; index += 1) {
    await turn(3, 50);
    expect(pace.awaitedTurn(0.1, 100)).toBeUndefined();
  }
});

it('users are not late where the loop had a moment to itself, however many come at once', async () => {
  await turns(100, 2, 40, 8);
  expect(pace.turn(1)).toBeUndefined();
  await turns(100, 4, 40, 1);
  expect(pace.turn(1)).toBeUndefined();
});

it.each([4, 6, 20, 50])(
  'bites wait for users who came during a turn of %d ms, before any of these is read',
  async (ms) => {
    await turns(100, 1, 8, 1);
    now += 3;
    active += 3;
    expect(pace.turn(1)).toBeUndefined();
    await turns(100, 1, 8, 1);
    now += ms;
    active += ms;
    expect(pace.turn(1)).toBeInstanceOf(Promise);
    // The loop reads all that there is before it waits.
    now += 1;
    expect(pace.awaitedTurn(1, 100)).toBeUndefined();
  },
);

it('a commit that took long leaves those late who came since it began', async () => {
  await turns(100, 2, 10, 1);
  now += 6;
  active += 6;
  commit(10, 5);
  // They are in this one.
  await turn(1, 10);
  expect(pace.awaitedTurn(1, 100)).toBeInstanceOf(Promise);
});

it('bites wait for no fewer than a few', async () => {
  for (const [committed, waiting, isHeld] of [
    [3, 0, false],
    [4, 0, true],
    [1, 2, false],
    [1, 3, true],
  ] as const) {
    await turns(100, 1, 5, 1);
    now += 8;
    active += 8;
    commit(committed, 0, waiting);
    expect(pace.turn(1) !== undefined, `${committed} and ${waiting}`).toBe(isHeld);
    await turns(10, 1, 5, 1);
  }
});

it('nor for users who seldom write, however many read', async () => {
  await turns(20, 5, 1, 5);
  await pass(200, 0.5, 5);
  commit(1);
  now += 8;
  active += 8;
  expect(pace.turn(1)).toBeUndefined();
});

/** Asks for one bite that a user waits for after the other, in a row. */
function awaitedBites(ms: number, mostMs: number): { readonly taken: () => number } {
  let taken = 0;
  const own = pace;
  void (async () => {
    for (;;) {
      await own.awaitedTurn(ms, mostMs);
      taken += 1;
      // Where nothing waits it would never end.
      if (taken > 10_000) return;
    }
  })();
  return { taken: () => taken };
}

it.each([5, 12, 29, 40])(
  'where users are always late bites wait for a third of the time at most, in turns of %d ms',
  async (ms) => {
    await turns(100, ms, 4 * ms);
    const { taken } = awaitedBites(3, Infinity);
    let held = 0;
    let stretch = 0;
    let longest = 0;
    for (let index = 0; index < 1_000; index += 1) {
      const before = taken();
      await turn(ms, 4 * ms);
      stretch = taken() === before ? stretch + ms : 0;
      if (taken() === before) held += 1;
      longest = Math.max(longest, stretch);
    }
    expect(held).toBeGreaterThan(200);
    expect(held).toBeLessThanOrEqual(334);
    // Whole turns, the last of which began in time.
    expect(longest).toBeLessThan(60 / 0.7 + ms);
  },
);

it.each([
  [3, 0.095],
  [12, 1 / 12],
  [20, 1 / 16],
  [29, 1 / 16],
  [40, 1 / 20],
])('they are not starved then: in turns of %d ms they get %d of the time', async (ms, share) => {
  await turns(100, ms, 4 * ms);
  const { taken } = bites();
  await turns(40, ms, 4 * ms);
  const before = taken();
  await turns(200, ms, 4 * ms);
  expect(taken() - before).toBeGreaterThanOrEqual(Math.floor(share * 200 * ms) - 3);
});

it.each([3, 12, 20, 29, 40])(
  'nor beside a row of what a user waits for as well, in turns of %d ms',
  async (ms) => {
    await turns(100, ms, 4 * ms);
    const { taken } = bites();
    awaitedBites(3, 25);
    await turns(40, ms, 4 * ms);
    const before = taken();
    await turns(200, ms, 4 * ms);
    expect(taken() - before).toBeGreaterThanOrEqual((200 * ms) / 60);
  },
);

it('nothing is held back where no user is', async () => {
  await turns(100, 8, 40);
  expect(pace.awaitedTurn(3, 100)).toBeInstanceOf(Promise);
  await pass(250, 1, 0);
  await turns(2, 8, 4);
  for (let bite = 0; bite < 10; bite += 1) {
    expect(pace.turn(3)).toBeUndefined();
    expect(pace.awaitedTurn(3, 100)).toBeUndefined();
  }
});

it('a pace that was not asked for a while holds back as before', async () => {
  await turns(100, 8, 40);
  void pace.awaitedTurn(1, 0);
  await turns(100, 8, 40);
  expect(pace.awaitedTurn(1, 9)).toBeInstanceOf(Promise);
});

it('what a user waits for lets late users go first, and not for longer than it says', async () => {
  await turns(50, 1, 5, 1);
  await turn(5, 20);
  const order: string[] = [];
  void Promise.resolve(pace.awaitedTurn(1, 30)).then(() => order.push('later'));
  void Promise.resolve(pace.awaitedTurn(1, 9)).then(() => order.push('soon'));
  await turn(5, 20);
  expect(order).toEqual([]);
  await turn(5, 20);
  expect(order).toEqual(['soon']);
  await turn(3, 20);
  expect(order).toEqual(['soon', 'later']);
  await turns(10, 1, 5, 1);
  expect(timers).toEqual([]);
});

it('what a user waits for goes before bites that have waited, in the order of asking, and one at a time', async () => {
  await turns(50, 1, 5, 1);
  await turn(5, 20);
  const order: string[] = [];
  const ask = (name: string, soon: PromiseLike<void> | void): void =>
    void Promise.resolve(soon).then(() => order.push(name));
  ask('background', pace.turn(3));
  ask('first', pace.awaitedTurn(3, 100));
  ask('second', pace.awaitedTurn(3, 100));
  await turn(3, 20);
  expect(order).toEqual(['first']);
  await turn(3, 20);
  expect(order).toEqual(['first', 'background']);
  await turn(3, 20);
  expect(order).toEqual(['first', 'background', 'second']);
  // Nor does any come with what has just gone.
  ask('third', pace.turn(3));
  ask('fourth', pace.awaitedTurn(3, 100));
  await turn(3, 20);
  expect(order).toEqual(['first', 'background', 'second', 'third']);
});

it('a bite that a user waits for keeps others from its turn, and the other way round', async () => {
  await turns(50, 1, 5, 1);
  expect(pace.awaitedTurn(3, 100)).toBeUndefined();
  expect(pace.turn(1)).toBeInstanceOf(Promise);
  await turns(10, 1, 5, 1);
  expect(pace.turn(3)).toBeUndefined();
  expect(pace.awaitedTurn(1, 100)).toBeInstanceOf(Promise);
});

it('what is asked for later does not go before what waits', async () => {
  await turns(50, 1, 5, 1);
  await turn(5, 20);
  const order: string[] = [];
  void Promise.resolve(pace.awaitedTurn(3, 100)).then(() => order.push('waits'));
  // Those who were late are through; the timers come later.
  now += 1;
  void Promise.resolve(pace.turn(1)).then(() => order.push('background'));
  void Promise.resolve(pace.awaitedTurn(1, 100)).then(() => order.push('later'));
  await Promise.resolve();
  expect(order).toEqual([]);
  await turns(10, 1, 5, 1);
  expect(order).toEqual(['waits', 'background', 'later']);
});

it('a long bite is paid for by what a user waits for, too, whose own length is not', async () => {
  await turns(50, 1, 5, 1);
  expect(pace.turn(10)).toBeUndefined();
  let over = 0;
  void Promise.resolve(pace.awaitedTurn(50, 100)).then(() => (over += 1));
  await turns(3, 1, 5, 1);
  expect(over).toBe(0);
  await turns(3, 1, 5, 1);
  expect(over).toBe(1);
  await turns(2, 1, 5, 1);
  expect(pace.turn(1)).toBeUndefined();
});

it('nor is it erased by what could not wait for longer', async () => {
  await turns(50, 1, 5, 3);
  expect(pace.turn(10)).toBeUndefined();
  const order: string[] = [];
  void Promise.resolve(pace.awaitedTurn(1, 2)).then(() => order.push('awaited'));
  void Promise.resolve(pace.turn(1)).then(() => order.push('background'));
  await turn(1, 5, 3);
  expect(order).toEqual(['awaited']);
  await turn(1, 5, 3);
  expect(order).toEqual(['awaited']);
  await turn(1, 5, 3);
  expect(order).toEqual(['awaited', 'background']);
});

it('what a user waits for waits for nothing but late users and a bite of just now, however crowded the loop is', async () => {
  await turns(50, 3, 50);
  useUp(100);
  await turns(100, 3, 50);
  useUp(1);
  let over = 0;
  void Promise.resolve(pace.awaitedTurn(1, 100)).then(() => (over += 1));
  await turn(3, 50);
  expect(over).toBe(1);
});
