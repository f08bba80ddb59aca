// Owns the counters behind every rate limit of one process: true sliding windows in bounded memory.
// It knows keys, windows and a monotonic clock, and nothing of visitors, plans or HTTP.
// It must never read the wall clock, start a timer, or let a flood of keys free one that is limited.

import type { LimitCheck, LimitVerdict, LimitWindow, Limiter, LocalLimiter } from '../engine.ts';
import { WINDOWS_PER_SLOT, WindowTracks, grown } from './window-tracks.ts';

const accepted: LimitVerdict = { ok: true };

const SWEPT_PER_TAKE = 2;
const RECLAIMED_PER_TAKE = 16;
const CROWDED_RETRY_MS = 1000;

const NONE = -1;
// Where a slot is: unused, evictable, or limited and therefore not evictable.
const UNUSED = 0;
const OPEN = 1;
const LIMITED = 2;

/** Where the counts of a list of checks lie, for as long as its keys stay in these slots. */
interface Places {
  readonly slots: readonly number[];
  /** The keys as the slots hold them. */
  readonly keys: readonly string[];
  /** One after the other, each with the track that counts it. */
  readonly windows: readonly LimitWindow[];
  readonly tracks: readonly number[];
}

export class SlidingWindowLimiter implements LocalLimiter {
  readonly #clock: () => number;
  readonly #maxKeys: number;
  readonly #index = new Map<string, number>();
  readonly #tracks = new WindowTracks();
  #latest = Number.NEGATIVE_INFINITY;
  /** By lists that were accepted before: a live connection hands in the same one with every message. */
  readonly #places = new WeakMap<readonly LimitCheck[], Places>();

  // One slot per key; slots of a list are chained in the order of their last accepted use.
  readonly #keys: string[] = [];
  readonly #unused: number[] = [];
  #used = 0;
  #hand = 0;
  #list = new Uint8Array(0);
  #before = new Int32Array(0);
  #after = new Int32Array(0);
  #lastUse = new Float64Array(0);
  #limitedUntil = new Float64Array(0);
  readonly #head = [NONE, NONE, NONE];
  readonly #tail = [NONE, NONE, NONE];
  readonly #size = [0, 0, 0];

  constructor(clock: () => number, maxKeys: number) {
    this.#clock = clock;
    this.#maxKeys = maxKeys;
  }

  take(checks: readonly LimitCheck[]): LimitVerdict {
    const now = this.#now();
    this.#sweep(now);
    return this.#takeAgain(checks, now) ? accepted : this.#decide(checks, now, true);
  }

  /**
   * The usual case, in which every key is where it was and no window is full.
   * @returns false: nothing was counted, and how it stands is still to be found out
   */
  #takeAgain(checks: readonly LimitCheck[], now: number): boolean {
    const places = this.#places.get(checks);
    if (places === undefined) return false;
    const { slots, keys, windows, tracks } = places;
    for (let i = 0; i < slots.length; i++) if (this.#keys[slots[i]!] !== keys[i]) return false;
    for (let i = 0; i < windows.length; i++)
      if (!this.#tracks.isOpen(tracks[i]!, windows[i]!, now)) return false;
    for (let i = 0; i < slots.length; i++) this.#use(slots[i]!, now);
    return true;
  }

  peek(checks: readonly LimitCheck[]): LimitVerdict {
    return this.#decide(checks, this.#now(), false);
  }

  #now(): number {
    const now = this.#clock();
    // A source that steps back must not lock anybody out: time stands still until it catches up.
    if (now > this.#latest) this.#latest = now;
    return this.#latest;
  }

  #decide(checks: readonly LimitCheck[], now: number, counting: boolean): LimitVerdict {
    const slots: number[] = [];
    let failed = NONE;
    let longest = 0;
    let refusing: LimitWindow | undefined;
    let missing = 0;
    for (let i = 0; i < checks.length; i++) {
      const { key, windows } = checks[i]!;
      const slot = this.#index.get(key) ?? NONE;
      if (windows.length > WINDOWS_PER_SLOT)
        throw new RangeError(`a key has at most ${WINDOWS_PER_SLOT} windows, not ${windows.length}`);
      let slotWait = 0;
      for (const window of windows) {
        checkWindow(window);
        const wait =
          slot === NONE
            ? window.limit < 1
              ? window.windowMs
              : 0
            : this.#tracks.wait(this.#tracks.find(slot, window, now), now);
        if (wait > slotWait) slotWait = wait;
        // The longest wait is told, because only a retry after it finds every window open.
        if (wait > longest) {
          longest = wait;
          failed = i;
          refusing = window;
        }
      }
      if (slot === NONE && !isRepeated(checks, i)) missing++;
      if (counting && slotWait > 0 && slot !== NONE) this.#hold(slot, now + slotWait);
      slots.push(slot);
    }
    if (refusing) return { ok: false, failed, window: refusing, retryAfterMs: longest };
    if (missing > 0 && !this.#hasRoom(missing, slots, now)) {
      const refused = slots.indexOf(NONE);
      const window = checks[refused]!.windows[0] ?? { limit: 0, windowMs: CROWDED_RETRY_MS };
      return { ok: false, failed: refused, window, retryAfterMs: CROWDED_RETRY_MS };
    }
    if (counting) this.#count(checks, slots, missing, now);
    return accepted;
  }

  #count(checks: readonly LimitCheck[], slots: number[], missing: number, now: number): void {
    while (this.#index.size + missing > this.#maxKeys) {
      let victim = this.#head[OPEN]!;
      while (slots.includes(victim)) victim = this.#after[victim]!;
      this.#evict(victim);
    }
    for (let i = 0; i < checks.length; i++) {
      if (isRepeated(checks, i)) {
        slots[i] = slots[checks.findIndex((check) => check.key === checks[i]!.key)]!;
        continue;
      }
      let slot = slots[i]!;
      if (slot === NONE) {
        slot = this.#create(checks[i]!.key);
        slots[i] = slot;
        for (const window of checks[i]!.windows) this.#tracks.find(slot, window, now);
      }
      this.#use(slot, now);
    }
    this.#remember(checks, slots);
  }

  #use(slot: number, now: number): void {
    const until = this.#tracks.count(slot, now);
    this.#lastUse[slot] = now;
    this.#unlink(slot);
    this.#link(slot, until > 0 ? LIMITED : OPEN);
    this.#limitedUntil[slot] = until;
  }

  /** Only where each key is named once: a use of one that is named twice counts once. */
  #remember(checks: readonly LimitCheck[], slots: readonly number[]): void {
    if (new Set(slots).size < slots.length) return;
    this.#places.set(checks, {
      slots,
      keys: slots.map((slot) => this.#keys[slot]!),
      windows: checks.flatMap(({ windows }) => windows),
      tracks: checks.flatMap(({ windows }, i) =>
        windows.map((window) => this.#tracks.trackOf(slots[i]!, window)),
      ),
    });
  }

  // --- slots: which keys are known, and which may be forgotten ---

  #create(key: string): number {
    const slot = this.#unused.pop() ?? this.#used++;
    if (slot === this.#list.length) this.#grow();
    const own = flatCopy(key);
    this.#index.set(own, slot);
    this.#keys[slot] = own;
    this.#link(slot, OPEN);
    return slot;
  }

  #evict(slot: number): void {
    this.#index.delete(this.#keys[slot]!);
    this.#keys[slot] = '';
    this.#unlink(slot);
    this.#list[slot] = UNUSED;
    this.#tracks.clear(slot);
    this.#unused.push(slot);
  }

  #hold(slot: number, until: number): void {
    if (until > this.#limitedUntil[slot]! || this.#list[slot] === OPEN) this.#limitedUntil[slot] = until;
    if (this.#list[slot] === LIMITED) return;
    this.#unlink(slot);
    this.#link(slot, LIMITED);
  }

  /** Whether `missing` new keys fit, if need be in place of open ones outside `slots`. Frees nothing. */
  #hasRoom(missing: number, slots: readonly number[], now: number): boolean {
    for (let i = 0; ; i++) {
      const pinned = slots.filter(
        (slot, at) => slot !== NONE && this.#list[slot] === OPEN && slots.indexOf(slot) === at,
      ).length;
      if (this.#maxKeys - this.#index.size + this.#size[OPEN]! - pinned >= missing) return true;
      if (i === RECLAIMED_PER_TAKE || this.#size[LIMITED] === 0) return false;
      const oldest = this.#head[LIMITED]!;
      this.#unlink(oldest);
      this.#link(oldest, this.#limitedUntil[oldest]! <= now ? OPEN : LIMITED);
    }
  }

  /** A few slots per use, round and round: forgets idle keys and opens those whose limit has passed. */
  #sweep(now: number): void {
    for (let i = 0; i < SWEPT_PER_TAKE && i < this.#used; i++) {
      const slot = this.#hand;
      this.#hand = this.#hand + 1 < this.#used ? this.#hand + 1 : 0;
      if (this.#list[slot] === UNUSED) continue;
      if (this.#lastUse[slot]! + this.#tracks.longestSpan(slot) <= now) {
        this.#evict(slot);
      } else if (this.#list[slot] === LIMITED && this.#limitedUntil[slot]! <= now) {
        this.#unlink(slot);
        this.#link(slot, OPEN);
      }
    }
  }

  #link(slot: number, list: number): void {
    const tail = this.#tail[list]!;
    this.#list[slot] = list;
    this.#before[slot] = tail;
    this.#after[slot] = NONE;
    if (tail === NONE) this.#head[list] = slot;
    else this.#after[tail] = slot;
    this.#tail[list] = slot;
    this.#size[list]!++;
  }

  #unlink(slot: number): void {
    const list = this.#list[slot]!;
    const before = this.#before[slot]!;
    const after = this.#after[slot]!;
    if (before === NONE) this.#head[list] = after;
    else this.#after[before] = after;
    if (after === NONE) this.#tail[list] = before;
    else this.#before[after] = before;
    this.#size[list]!--;
  }

  #grow(): void {
    const slots = Math.max(16, Math.min(this.#maxKeys, this.#list.length * 2));
    this.#tracks.grow(slots);
    this.#list = grown(new Uint8Array(slots), this.#list);
    this.#before = grown(new Int32Array(slots), this.#before);
    this.#after = grown(new Int32Array(slots), this.#after);
    this.#lastUse = grown(new Float64Array(slots), this.#lastUse);
    this.#limitedUntil = grown(new Float64Array(slots), this.#limitedUntil);
  }
}

function checkWindow({ limit, windowMs }: LimitWindow): void {
  if (!Number.isInteger(limit) || limit < 0 || limit > 0xffffffff)
    throw new RangeError(`a limit is a whole number of 0 or more, not ${limit}`);
  if (!Number.isInteger(windowMs) || windowMs < 1 || windowMs > 0xffffffff)
    throw new RangeError(`a window is a whole number of milliseconds, not ${windowMs}`);
}

/** Concatenated or sliced text keeps its pieces, or a whole request, in memory (measured: 500 bytes for one UUID). */
const flatCopy = (text: string): string => String(JSON.parse(JSON.stringify(text)));

/** One use of a key named twice in the same take counts once. */
function isRepeated(checks: readonly LimitCheck[], at: number): boolean {
  for (let i = 0; i < at; i++) if (checks[i]!.key === checks[at]!.key) return true;
  return false;
}

/**
 * A limiter that lives in this process's memory.
 *
 * Takes `monotonicMs`, a clock in milliseconds that no change of the wall clock moves, and `maxKeys`, the most keys held
 * at once (1 or more; the oldest key that is not limited makes room for a new one, and when every key is limited a new
 * one is refused for a second). At most `limit` uses are accepted in any `windowMs`
 * milliseconds, refused uses count nowhere, and `retryAfterMs` is the wait after which the same call succeeds if
 * nothing else happens (for a limit of 0, which never opens, the window's length). Limits above 256 may hold a use up
 * to 1/64 of the window too long, never too short. A key has at most 4 windows. Counters start empty with the process.
 * `take` and `peek` throw RangeError for a limit or a window that is not a whole number.
 */
export function createSlidingWindowLimiter({
  monotonicMs,
  maxKeys = 200_000,
}: {
  readonly monotonicMs: () => number;
  readonly maxKeys?: number;
}): SlidingWindowLimiter {
  if (!Number.isInteger(maxKeys) || maxKeys < 1)
    throw new RangeError(`maxKeys is a whole number of 1 or more, not ${maxKeys}`);
  return new SlidingWindowLimiter(monotonicMs, maxKeys);
}

/** The limiter of a service that is one process: its memory counts for the whole. */
export function createMemoryLimiter(memory: SlidingWindowLimiter): Limiter {
  return {
    take: (checks) => memory.take(checks),
    peek: (checks) => memory.peek(checks),
  };
}
