// Owns the counts of the rate limiter: for each slot and window one ring of (latest time, count) in typed arrays.
// It knows slot numbers and times only. It must never count a use for less time than its window lasts.

import type { LimitWindow } from '../engine.ts';

// Up to this limit each use has an entry of its own; above it, the uses of one sub-bucket share one.
const EXACT_LIMIT = 256;
const SUB_BUCKETS = 64;
// 512 entries: exact ones left from before a plan change (256) beside the sub-buckets that follow them.
const MAX_RING_LOG2 = 9;
/** The most windows that one slot can have. */
export const WINDOWS_PER_SLOT = 4;
const PAGE_BITS = 14;
const PAGE_SIZE = 1 << PAGE_BITS;
/** Of a number of an entry: its place in its page. */
const IN_PAGE = PAGE_SIZE - 1;

const NONE = -1;
const NO_RING = 255;

/** Blocks of 1, 2, 4 … 512 entries (time, count) cut from fixed pages, so that growing never copies what others hold. */
class RingPool {
  readonly times: Float64Array[] = [];
  readonly counts: Uint32Array[] = [];
  readonly #free: number[][] = Array.from({ length: MAX_RING_LOG2 + 1 }, () => []);
  #next = 0;

  allocate(log2: number): number {
    const reused = this.#free[log2]!.pop();
    if (reused !== undefined) return reused;
    const size = 1 << log2;
    // A block never straddles two pages.
    if (Math.floor(this.#next / PAGE_SIZE) !== Math.floor((this.#next + size - 1) / PAGE_SIZE)) {
      this.#next = Math.ceil(this.#next / PAGE_SIZE) * PAGE_SIZE;
    }
    const block = this.#next;
    if (block >>> PAGE_BITS === this.times.length) {
      this.times.push(new Float64Array(PAGE_SIZE));
      this.counts.push(new Uint32Array(PAGE_SIZE));
    }
    this.#next += size;
    return block;
  }

  release(block: number, log2: number): void {
    this.#free[log2]!.push(block);
  }
}

/** A copy of `from` at the start of the larger array `next`. */
export function grown<T extends { set(from: T): void }>(next: T, from: T): T {
  next.set(from);
  return next;
}

/** The windows of every slot. Slots are whole numbers below the size last given to {@link WindowTracks.grow}. */
export class WindowTracks {
  readonly #pool = new RingPool();
  // WINDOWS_PER_SLOT tracks for each slot; a span of 0 marks an unused one.
  #span = new Uint32Array(0);
  #limit = new Uint32Array(0);
  #total = new Uint32Array(0);
  #block = new Uint32Array(0);
  #log2 = new Uint8Array(0);
  #first = new Uint16Array(0);
  #length = new Uint16Array(0);
  // Up to `sharedUntil` a use is counted in the entry `newest`, without a look at the ring. That is sooner than any of its
  // uses leaves its window.
  #sharedUntil = new Float64Array(0);
  #newest = new Uint32Array(0);

  grow(slots: number): void {
    const tracks = slots * WINDOWS_PER_SLOT;
    this.#span = grown(new Uint32Array(tracks), this.#span);
    this.#limit = grown(new Uint32Array(tracks), this.#limit);
    this.#total = grown(new Uint32Array(tracks), this.#total);
    this.#block = grown(new Uint32Array(tracks), this.#block);
    this.#log2 = grown(new Uint8Array(tracks), this.#log2);
    this.#first = grown(new Uint16Array(tracks), this.#first);
    this.#length = grown(new Uint16Array(tracks), this.#length);
    this.#sharedUntil = grown(new Float64Array(tracks), this.#sharedUntil);
    this.#newest = grown(new Uint32Array(tracks), this.#newest);
  }

  /**
   * Counts one use at `now` in every window of the slot, also in those that the present check does not name: a key's
   * history must not depend on who asked last. Returns the time until which one of them is at its limit, or 0.
   */
  count(slot: number, now: number): number {
    let until = 0;
    for (let track = slot * WINDOWS_PER_SLOT; track < (slot + 1) * WINDOWS_PER_SLOT; track++) {
      if (this.#span[track] === 0) continue;
      if (now < this.#sharedUntil[track]!) this.#share(track, this.#newest[track]!, now, 1);
      else {
        this.#expire(track, now);
        this.#push(track, now, 1);
      }
      if (this.#total[track]! < this.#limit[track]!) continue;
      this.#expire(track, now);
      const wait = this.wait(track, now);
      if (wait > 0 && now + wait > until) until = now + wait;
    }
    return until;
  }

  /** The longest window of the slot in milliseconds. */
  longestSpan(slot: number): number {
    let longest = 0;
    for (let track = slot * WINDOWS_PER_SLOT; track < (slot + 1) * WINDOWS_PER_SLOT; track++) {
      if (this.#span[track]! > longest) longest = this.#span[track]!;
    }
    return longest;
  }

  clear(slot: number): void {
    for (let track = slot * WINDOWS_PER_SLOT; track < (slot + 1) * WINDOWS_PER_SLOT; track++)
      this.#drop(track);
  }

  /** Where a slot keeps a window that `find` has seen: until another window takes the place, which `isOpen` notices. */
  trackOf(slot: number, window: LimitWindow): number {
    const start = slot * WINDOWS_PER_SLOT;
    return start + this.#span.subarray(start, start + WINDOWS_PER_SLOT).indexOf(window.windowMs);
  }

  /** Whether a track is of just this window, and admits a use now. */
  isOpen(track: number, window: LimitWindow, now: number): boolean {
    if (this.#span[track] !== window.windowMs || this.#limit[track] !== window.limit) return false;
    if (this.#total[track]! < window.limit) return true;
    this.#expire(track, now);
    return this.#total[track]! < window.limit;
  }

  /** The track of a window, brought up to `now`; a window not seen before is filled from the longest one known. */
  find(slot: number, window: LimitWindow, now: number): number {
    const start = slot * WINDOWS_PER_SLOT;
    let vacant = NONE;
    let longest = NONE;
    let shortest = start;
    for (let track = start; track < start + WINDOWS_PER_SLOT; track++) {
      const span = this.#span[track]!;
      if (span === window.windowMs) {
        if (this.#limit[track] !== window.limit) this.#sharedUntil[track] = 0;
        this.#limit[track] = window.limit;
        this.#expire(track, now);
        return track;
      }
      if (span === 0) {
        if (vacant === NONE) vacant = track;
        continue;
      }
      if (longest === NONE || span > this.#span[longest]!) longest = track;
      if (span < this.#span[shortest]!) shortest = track;
    }
    // All tracks taken after several changes of settings: the shortest window forgets soonest anyway.
    const track = vacant === NONE ? shortest : vacant;
    if (vacant === NONE) this.#drop(track);
    this.#span[track] = window.windowMs;
    this.#limit[track] = window.limit;
    this.#total[track] = 0;
    this.#first[track] = 0;
    this.#length[track] = 0;
    this.#log2[track] = NO_RING;
    this.#sharedUntil[track] = 0;
    if (longest !== NONE && longest !== track) {
      for (let i = 0; i < this.#length[longest]!; i++) {
        const entry = this.#entry(longest, i);
        this.#push(track, this.#time(entry), this.#pool.counts[entry >>> PAGE_BITS]![entry & IN_PAGE]!);
      }
      this.#expire(track, now);
    }
    return track;
  }

  #entry(track: number, position: number): number {
    return this.#block[track]! + ((this.#first[track]! + position) & ((1 << this.#log2[track]!) - 1));
  }

  #time(entry: number): number {
    return this.#pool.times[entry >>> PAGE_BITS]![entry & IN_PAGE]!;
  }

  #expire(track: number, now: number): void {
    const span = this.#span[track]!;
    while (this.#length[track]! > 0) {
      const entry = this.#entry(track, 0);
      if (this.#time(entry) + span > now) return;
      this.#total[track]! -= this.#pool.counts[entry >>> PAGE_BITS]![entry & IN_PAGE]!;
      this.#first[track] = (this.#first[track]! + 1) & ((1 << this.#log2[track]!) - 1);
      this.#length[track]!--;
    }
  }

  /** Counts in an entry, which lives as long as its latest use: sharing can only be stricter than the truth. */
  #share(track: number, entry: number, time: number, count: number): void {
    this.#total[track]! += count;
    this.#pool.times[entry >>> PAGE_BITS]![entry & IN_PAGE] = time;
    this.#pool.counts[entry >>> PAGE_BITS]![entry & IN_PAGE]! += count;
  }

  #push(track: number, time: number, count: number): void {
    const length = this.#length[track]!;
    const grain = this.#limit[track]! <= EXACT_LIMIT ? 0 : this.#span[track]! / SUB_BUCKETS;
    if (length > 0) {
      const newest = this.#entry(track, length - 1);
      const latest = this.#time(newest);
      const shared =
        latest === time || (grain > 0 && Math.floor(latest / grain) === Math.floor(time / grain));
      if (shared || length === 1 << MAX_RING_LOG2) {
        this.#share(track, newest, time, count);
        return;
      }
    }
    if (this.#log2[track] === NO_RING || length === 1 << this.#log2[track]!) this.#enlarge(track);
    const entry = this.#entry(track, length);
    this.#total[track]! += count;
    this.#pool.times[entry >>> PAGE_BITS]![entry & IN_PAGE] = time;
    this.#pool.counts[entry >>> PAGE_BITS]![entry & IN_PAGE] = count;
    this.#length[track]!++;
    this.#newest[track] = entry;
    this.#sharedUntil[track] = grain === 0 ? 0 : (Math.floor(time / grain) + 1) * grain;
  }

  #enlarge(track: number): void {
    const from = this.#log2[track]!;
    const to = from === NO_RING ? 0 : from + 1;
    const block = this.#pool.allocate(to);
    const page = block >>> PAGE_BITS;
    for (let i = 0; i < this.#length[track]!; i++) {
      const entry = this.#entry(track, i);
      this.#pool.times[page]![(block & IN_PAGE) + i] = this.#time(entry);
      this.#pool.counts[page]![(block & IN_PAGE) + i] =
        this.#pool.counts[entry >>> PAGE_BITS]![entry & IN_PAGE]!;
    }
    if (from !== NO_RING) this.#pool.release(this.#block[track]!, from);
    this.#block[track] = block;
    this.#log2[track] = to;
    this.#first[track] = 0;
  }

  #drop(track: number): void {
    if (this.#span[track] !== 0 && this.#log2[track] !== NO_RING)
      this.#pool.release(this.#block[track]!, this.#log2[track]!);
    this.#span[track] = 0;
  }

  /** Milliseconds until this track admits one more use; 0 when it does now. The track is already up to `now`. */
  wait(track: number, now: number): number {
    const limit = this.#limit[track]!;
    if (this.#total[track]! < limit) return 0;
    if (limit === 0) return this.#span[track]!;
    let excess = this.#total[track]! - limit + 1;
    let position = 0;
    for (; ; position++) {
      const entry = this.#entry(track, position);
      excess -= this.#pool.counts[entry >>> PAGE_BITS]![entry & IN_PAGE]!;
      if (excess <= 0) return this.#until(track, position, now);
    }
  }

  /** Whole milliseconds until the entry at `position` has left the window, never rounded below the truth. */
  #until(track: number, position: number, now: number): number {
    const end = this.#time(this.#entry(track, position)) + this.#span[track]!;
    const wait = Math.ceil(end - now);
    return now + wait < end ? wait + 1 : wait;
  }
}
