// How fast work goes on that no user waits for: as fast as it can while few users are served; beside many of them a few
// bites at once, so that none waits behind a row of them; and when the loop is busy with many in bites that take what they
// leave, and at least a tenth of the time. While users are late, as those are who came during a long turn of the loop, bites
// wait until these are through: with a bite in each turn, the turns stay long and the users late. They wait for a third of the
// time at most, and still get at least a twentieth of it for themselves. Work that a user waits for goes before them, in turns
// with them, and none of it waits for long.
import { performance } from 'node:perf_hooks';
import type { Pace, Soon, UserCommit } from '../engine.ts';

export interface PaceOptions {
  /** ms, by a clock that never jumps. */
  readonly monotonic: () => number;
  /** Time that the loop was at work, and that it waited for something to do, so far, ms. */
  readonly loopTime: () => { readonly active: number; readonly idle: number };
  /** Runs `run` once, `ms` from now. */
  readonly after: (ms: number, run: () => void) => void;
}

/** The load is looked at after so long, ms, and bites get time for as long. */
const stepMs = 10;
/** Fewer operations of users than this within `memoryMs` leave the loop to background work. */
const manyUsers = 20;
const memoryMs = 100;
/** Shares of the time that the loop is at work: below the first one bites wait for no time; between the others bites stay as they are. */
const restful = 0.5;
const enough = 0.7;
const tooMuch = 0.8;
/** A long turn of the loop counts as so many steps at most. */
const lateSteps = 5;
/** Time for bites in each step, ms. */
const leastPerStep = 1;
const mostPerStep = 8;
/** Bites that come at once beside many users, ms, and after how long the next ones may. */
const mostAtOnce = 3;
const betweenMs = 3;
/**
 * Users are late where the loop takes up what they have sent so long after it did so before, ms, and was not idle in between:
 * they have waited for its turns. A loop that was idle has read all that there was.
 */
const lateMs = 4;
/** A loop that never waits for anything shows less idle time than this, ms. */
const idleMs = 0.3;
/** Bites do not wait for fewer late users than this. */
const fewLate = 4;
/**
 * What bites may use up by waiting for late users before they go again, ms, and the share of all time that is given back of
 * it. Given back while they wait as well, it makes 86 ms at a stretch.
 */
const mostHeldMs = 60;
const heldShare = 0.3;

interface Waiting {
  readonly ms: number;
  readonly go: () => void;
}

/** Of work that a user waits for. */
interface Awaited extends Waiting {
  /** By the clock that never jumps, ms. */
  readonly until: number;
}

/** The pace of this process's event loop. */
export function createLoopPace(): Pace {
  return new LoopPace({
    monotonic: () => performance.now(),
    loopTime: () => performance.eventLoopUtilization(),
    after: (ms, run) => void setTimeout(run, ms),
  });
}

/** The same with a loop and a clock that are handed in. */
export class LoopPace implements Pace {
  readonly #options: PaceOptions;
  /** Both in the order of asking. */
  readonly #waiting = new Set<Waiting>();
  readonly #awaited = new Set<Awaited>();
  #lookedAt: number;
  #seen: { readonly active: number; readonly idle: number };
  /** Operations of users: since `#countedAt`, and in `memoryMs` before it. */
  #users = 0;
  #usersBefore = 0;
  #countedAt: number;
  #load = 0;
  #perStep = mostPerStep;
  /** What is left of this step's time for bites, ms; below zero: so much was taken of the next ones. */
  #left = mostPerStep;
  /** What is left of what may come at once; below zero: so much was taken of what comes next. */
  #atOnce = mostAtOnce;
  /** Whether a user waits for the bite that went last. */
  #wasAwaited = false;
  #planned = false;
  /** When the last commit took up the operations that there were, and how long the loop had been idle until then, ms. */
  #tookUpAt = -Infinity;
  #idleThen = -Infinity;
  /** Whether the users of the last commit were late. */
  #wereLate = false;
  /** Operations of users that were committed: since `#committedSince`, and in `memoryMs` before it. */
  #committed = 0;
  #committedBefore = 0;
  #committedSince: number;
  /** How long bites may still wait for late users, ms, when that was counted, and whether they have waited since. */
  #heldLeft = mostHeldMs;
  #heldCountedAt: number;
  #isHeld = false;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#lookedAt = options.monotonic();
    this.#countedAt = this.#lookedAt;
    this.#heldCountedAt = this.#lookedAt;
    this.#committedSince = this.#lookedAt;
    this.#seen = options.loopTime();
  }

  userCame(): void {
    this.#users += 1;
  }

  usersCommitted({ committed, waiting, tookMs }: UserCommit): void {
    const now = this.#options.monotonic();
    const counted = now - this.#committedSince;
    if (counted >= memoryMs) {
      this.#committedBefore = (this.#committed * memoryMs) / counted;
      this.#committed = 0;
      this.#committedSince = now;
    }
    this.#committed += committed;
    const tookUpAt = now - tookMs;
    const { idle } = this.#options.loopTime();
    const wasIdle = idle - this.#idleThen >= idleMs;
    this.#wereLate = committed + waiting >= fewLate && !wasIdle && tookUpAt - this.#tookUpAt >= lateMs;
    this.#tookUpAt = tookUpAt;
    this.#idleThen = idle;
  }

  hasUsers(): boolean {
    this.#look();
    return this.#users + this.#usersBefore > 0;
  }

  hasManyUsers(): boolean {
    this.#look();
    return Math.max(this.#users, this.#usersBefore) >= manyUsers;
  }

  isCrowded(): boolean {
    return this.hasManyUsers() && this.#load >= restful;
  }

  turn(ms: number, signal?: AbortSignal): Soon<void> {
    if (signal?.aborted === true) return undefined;
    if (this.#waiting.size + this.#awaited.size === 0) {
      if (!this.hasManyUsers()) return undefined;
      if (this.#hasTime()) {
        this.#take(ms, 'background');
        this.#plan();
        return undefined;
      }
    }
    return new Promise((resolve) => {
      const waiting: Waiting = {
        ms,
        go: () => {
          this.#waiting.delete(waiting);
          signal?.removeEventListener('abort', waiting.go);
          resolve();
        },
      };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', waiting.go);
      this.#plan();
    });
  }

  awaitedTurn(ms: number, mostMs: number): Soon<void> {
    if (!this.hasManyUsers()) return undefined;
    if (this.#awaited.size === 0 && this.#isTime()) {
      this.#take(ms, 'awaited');
      this.#plan();
      return undefined;
    }
    return new Promise((resolve) => {
      const waiting: Awaited = {
        ms,
        until: this.#options.monotonic() + mostMs,
        go: () => {
          this.#awaited.delete(waiting);
          resolve();
        },
      };
      this.#awaited.add(waiting);
      this.#plan();
    });
  }

  /** Operations of users that are committed in one ms. */
  #perMs(now: number): number {
    const counted = Math.min(now - this.#committedSince, memoryMs);
    return (this.#committed + this.#committedBefore) / (memoryMs + counted);
  }

  #areUsersLate(now: number): boolean {
    if (this.#options.loopTime().idle - this.#idleThen >= idleMs) return false;
    const since = now - this.#tookUpAt;
    return this.#wereLate || (since >= lateMs && this.#perMs(now) * since >= fewLate);
  }

  /** Whether what holds the loop has to wait for users now. */
  #holds(): boolean {
    const now = this.#options.monotonic();
    const passed = now - this.#heldCountedAt;
    this.#heldCountedAt = now;
    // Time in which nothing waited was not spent.
    const held = this.#isHeld && this.#waiting.size + this.#awaited.size > 0 ? passed : 0;
    this.#heldLeft = Math.min(mostHeldMs, this.#heldLeft + passed * heldShare - held);
    this.#isHeld = this.#heldLeft > 0 && this.#areUsersLate(now);
    return this.#isHeld;
  }

  /** Whether what a user waits for may hold the loop now, beside many others. */
  #isTime(): boolean {
    return !this.#holds() && this.#atOnce > 0;
  }

  /** Whether a bite may come now, beside many users. */
  #hasTime(): boolean {
    return this.#isTime() && (!this.isCrowded() || this.#left > 0);
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    this.#options.after(betweenMs, () => {
      this.#planned = false;
      // What was taken beside many users is owed to them alone.
      this.#atOnce = this.hasManyUsers() ? Math.min(mostAtOnce, this.#atOnce + mostAtOnce) : mostAtOnce;
      this.#admit();
      if (this.#waiting.size + this.#awaited.size > 0 || this.#atOnce < mostAtOnce) this.#plan();
    });
  }

  /** Lets some of what waits go: all of it would hold the loop if it went at once. */
  #admit(): void {
    // In turns: neither kind leaves the other one without.
    if (this.#wasAwaited) this.#admitBackground();
    for (const next of this.#awaited) {
      if (!this.#isTime() && this.#options.monotonic() < next.until) continue;
      this.#take(next.ms, 'awaited');
      next.go();
    }
    this.#admitBackground();
  }

  #admitBackground(): void {
    for (const next of this.#waiting) {
      if (!this.#hasTime()) return;
      this.#take(next.ms, 'background');
      next.go();
    }
  }

  #take(ms: number, kind: 'awaited' | 'background'): void {
    this.#wasAwaited = kind === 'awaited';
    if (kind === 'background') {
      this.#atOnce -= ms;
      if (this.isCrowded()) this.#left -= ms;
    } else {
      // What a user waits for leaves no debt: a row of it, which waits for so long at most, would leave the others nothing.
      this.#atOnce = Math.max(Math.min(this.#atOnce, 0), this.#atOnce - ms);
    }
  }

  /** Takes in how the loop was at work since the last look, and what bites have from now on. */
  #look(): void {
    const now = this.#options.monotonic();
    const passed = now - this.#lookedAt;
    if (passed < stepMs) return;
    this.#lookedAt = now;
    const seen = this.#options.loopTime();
    const active = seen.active - this.#seen.active;
    const whole = active + seen.idle - this.#seen.idle;
    this.#seen = seen;
    if (whole > 0) this.#load = active / whole;
    if (this.#load >= tooMuch) this.#perStep = Math.max(leastPerStep, this.#perStep / 2);
    else if (this.#load < enough) this.#perStep = Math.min(mostPerStep, this.#perStep * 1.25);
    // Where bites wait, a look that comes late stands for several.
    const steps = this.#waiting.size > 0 ? Math.min(passed / stepMs, lateSteps) : 1;
    const step = this.#perStep * steps;
    this.#left = Math.min(step, this.#left + step);
    const counted = now - this.#countedAt;
    if (counted < memoryMs) return;
    this.#usersBefore = (this.#users * memoryMs) / counted;
    this.#users = 0;
    this.#countedAt = now;
  }
}
