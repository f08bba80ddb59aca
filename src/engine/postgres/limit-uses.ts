// The uses of one key in its sliding windows, as they are stored in a row, and what they admit. The same rules as in
// memory (memory/window-tracks.ts): a use is never counted for less time than its window lasts. Pure.
import type { LimitWindow } from '../engine.ts';

/** When, and how many; oldest first. Large windows put the uses of 1/64 of theirs together, under the latest time. */
type Entry = [time: number, count: number];

// Up to this limit each use has an entry of its own; above it, those of one sub-bucket share one.
const exactLimit = 256;
const subBuckets = 64;
const maxEntries = 512;

interface Track {
  limit: number;
  entries: Entry[];
}

export class LimitUses {
  /** By the length of the window. */
  readonly #tracks: Map<number, Track>;
  /** Whether a use was counted since it was read. */
  changed = false;

  /** @param text of `toText`; empty: nothing was used */
  constructor(text: string) {
    this.#tracks = new Map();
    if (text === '') return;
    for (const [span, limit, entries] of parse(text)) this.#tracks.set(span, { limit, entries });
  }

  /** As it is stored. */
  toText(): string {
    return JSON.stringify([...this.#tracks].map(([span, { limit, entries }]) => [span, limit, entries]));
  }

  /** When nothing of it counts any more. */
  endsAt(): number {
    let end = 0;
    for (const [span, { entries }] of this.#tracks) end = Math.max(end, (entries.at(-1)?.[0] ?? 0) + span);
    return end;
  }

  /** Milliseconds until a window admits one more use; 0: now. */
  wait({ limit, windowMs }: LimitWindow, now: number): number {
    const { entries } = this.#track({ limit, windowMs }, now);
    let total = 0;
    for (const [, count] of entries) total += count;
    if (total < limit) return 0;
    if (limit === 0) return windowMs;
    let excess = total - limit + 1;
    for (const [time, count] of entries) {
      excess -= count;
      if (excess <= 0) return Math.max(1, time + windowMs - now);
    }
    return windowMs;
  }

  /** Counts a use in every window of the key, also in those that were not asked for. */
  count(windows: readonly LimitWindow[], now: number): void {
    for (const window of windows) this.#track(window, now);
    for (const [span, track] of this.#tracks) {
      expire(track, span, now);
      if (track.entries.length === 0 && !windows.some(({ windowMs }) => windowMs === span)) {
        // Of limits that were changed since.
        this.#tracks.delete(span);
        continue;
      }
      const latest = track.entries.at(-1);
      const grain = track.limit <= exactLimit ? 0 : span / subBuckets;
      const shares =
        latest !== undefined &&
        (latest[0] === now ||
          (grain > 0 && Math.floor(latest[0] / grain) === Math.floor(now / grain)) ||
          track.entries.length >= maxEntries);
      if (shares) {
        latest[0] = now;
        latest[1] += 1;
      } else track.entries.push([now, 1]);
    }
    this.changed = true;
  }

  /** A window that was not known before begins with what the longest one knows. */
  #track({ limit, windowMs }: LimitWindow, now: number): Track {
    let track = this.#tracks.get(windowMs);
    if (track === undefined) {
      const longest = this.#tracks.get(Math.max(0, ...this.#tracks.keys()));
      track = { limit, entries: (longest?.entries ?? []).map(([time, count]): Entry => [time, count]) };
      this.#tracks.set(windowMs, track);
    }
    track.limit = limit;
    expire(track, windowMs, now);
    return track;
  }
}

/** What `toText` has made. */
function parse(text: string): [span: number, limit: number, entries: Entry[]][];
function parse(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return value;
}

/** Forgets what has left the window. A use that lies ahead, by the clock of another node, is taken for one of now. */
function expire(track: Track, span: number, now: number): void {
  const first = track.entries.findIndex(([time]) => time + span > now);
  track.entries.splice(0, first < 0 ? track.entries.length : first);
  for (const entry of track.entries) if (entry[0] > now) entry[0] = now;
}
