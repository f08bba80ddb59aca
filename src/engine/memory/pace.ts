// How fast work goes on that no user waits for: as fast as it can while few users are served; beside many of them a few
// bites at once, so that none waits behind a row of them; and when the loop is busy with many in bites that take what they
// leave, and at least a tenth of the time. While many users wait for a commit, as after a long turn of the loop, bites wait
// until these are through: with a bite in each turn, the turns stay long and the users late. They wait for a third of the time
// at most, and still get at least a twelfth of it for themselves.
import { performance } from 'node:perf_hooks';
import type { Pace, Soon } from '../engine.ts';

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
/** So many operations of users in one commit, or waiting behind it, are many: their turn is long even without a bite. */
const manyWaiting = 35;
/** A commit tells of the present for so long, ms. */
const presentMs = 20;
/** Bites wait for users for so long at a stretch, ms, and in this share of the time. */
const mostHeldMs = 60;
const heldShare = 0.3;

interface Waiting {
  readonly ms: number;
  readonly go: () => void;
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
  /** In the order of asking. */
  readonly #waiting = new Set<Waiting>();
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
  #planned = false;
  /** When many users were seen to wait last; -Infinity: the last commit was for few. */
  #manyWaitedAt = -Infinity;
  /** How long bites may still wait for users, ms, when that was counted, and whether they have waited since. */
  #heldLeft = mostHeldMs;
  #heldCountedAt: number;
  #isHeld = false;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#lookedAt = options.monotonic();
    this.#countedAt = this.#lookedAt;
    this.#heldCountedAt = this.#lookedAt;
    this.#seen = options.loopTime();
  }

  userCame(): void {
    this.#users += 1;
  }

  usersCommitted(count: number): void {
    this.#manyWaitedAt = count >= manyWaiting ? this.#options.monotonic() : -Infinity;
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
    if (this.#waiting.size === 0) {
      if (!this.hasManyUsers()) return undefined;
      if (this.#hasTime()) {
        this.#take(ms);
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

  calm(mostMs: number): Soon<void> {
    if (!this.#holds()) return undefined;
    const { monotonic, after } = this.#options;
    const until = monotonic() + mostMs;
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#holds() && monotonic() < until) after(betweenMs, look);
        else resolve();
      };
      after(betweenMs, look);
    });
  }

  /** Whether what holds the loop has to wait for users now. */
  #holds(): boolean {
    const now = this.#options.monotonic();
    const passed = now - this.#heldCountedAt;
    this.#heldCountedAt = now;
    const held = this.#isHeld ? Math.min(passed, presentMs) : 0;
    this.#heldLeft = Math.min(mostHeldMs, this.#heldLeft + passed * heldShare - held);
    this.#isHeld = now - this.#manyWaitedAt < presentMs && this.#heldLeft > 0 && this.hasManyUsers();
    return this.#isHeld;
  }

  /** Whether a bite may come now, beside many users. */
  #hasTime(): boolean {
    if (this.#holds() || this.#atOnce <= 0) return false;
    return !this.isCrowded() || this.#left > 0;
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    this.#options.after(betweenMs, () => {
      this.#planned = false;
      // What was taken beside many users is owed to them alone.
      this.#atOnce = this.hasManyUsers() ? Math.min(mostAtOnce, this.#atOnce + mostAtOnce) : mostAtOnce;
      this.#admit();
      if (this.#waiting.size > 0 || this.#atOnce < mostAtOnce) this.#plan();
    });
  }

  #admit(): void {
    // All that waits would hold the loop if it went at once.
    for (const next of this.#waiting) {
      if (!this.#hasTime()) return;
      this.#take(next.ms);
      next.go();
    }
  }

  #take(ms: number): void {
    this.#atOnce -= ms;
    if (this.isCrowded()) this.#left -= ms;
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
