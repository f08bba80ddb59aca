// Whether a process that takes only the time that no other wants gets so little of it that its work is better done
// otherwise. Looks at nothing itself: time and measurements are handed in.

/** How far a backup is: its process starts, copies the database, or has copied it. */
export type Phase = 'starting' | 'copying' | 'copied';

/** What a process has done since it began. */
export interface Progress {
  /** Bytes that it has read and written, by whatever call. */
  readonly moved: number;
  /** Time of the processor, ms. */
  readonly cpuMs: number;
}

/** What is asked of a process over a stretch of time. It is enough to do one of the two. */
interface Floor {
  readonly stretchMs: number;
  /** Bytes in a second. */
  readonly movedPerSecond: number;
  /** Part of one core; Infinity: only what is moved counts. */
  readonly cpuPart: number;
}

const MiB = 1_048_576;

const floors: Readonly<Record<Phase, Floor>> = {
  // It computes most of the time, and has done so for a second when the copy begins. To end it costs nothing yet.
  starting: { stretchMs: 10_000, movedPerSecond: 8 * MiB, cpuPart: 0.05 },
  // The database can't clear its log until the copy is over. A busy server writes tens of MiB to it in a second, and it
  // should not become many times as large as the database. A copy moves each byte twice, so this is a GiB of the database
  // in a minute; where nothing else is at work it takes two to ten seconds. A disk that is slower than this is taken for
  // want of time: the backup is then made as it would have been, two seconds later.
  copying: { stretchMs: 2_000, movedPerSecond: 32 * MiB, cpuPart: Infinity },
  // Nothing waits for the rest, and to end it costs all that was done: only what would take for ever.
  copied: { stretchMs: 60_000, movedPerSecond: 8 * MiB, cpuPart: 0.05 },
};

/** After so long without a look both processes were stopped, as by a terminal or a container, ms. */
const pausedMs = 15_000;

/** Looks at one process from its start on. */
export class StarvationWatch {
  #phase: Phase = 'starting';
  #lookedAt = 0;
  #begun: { readonly at: number; readonly progress: Progress } | null = null;

  /**
   * Called again and again, more often than once in a stretch.
   * @param now ms of a clock that is never set
   * @returns true when less was done over a whole stretch of one phase than it takes
   */
  isStarving(now: number, phase: Phase, progress: Progress): boolean {
    const begun = this.#begun;
    const wasPaused = now - this.#lookedAt >= pausedMs;
    this.#lookedAt = now;
    if (begun === null || phase !== this.#phase || wasPaused) {
      this.#phase = phase;
      this.#begun = { at: now, progress };
      return false;
    }
    const { stretchMs, movedPerSecond, cpuPart } = floors[phase];
    const ms = now - begun.at;
    if (ms < stretchMs) return false;
    this.#begun = { at: now, progress };
    const moved = progress.moved - begun.progress.moved;
    const cpuMs = progress.cpuMs - begun.progress.cpuMs;
    return moved < (movedPerSecond * ms) / 1_000 && cpuMs < cpuPart * ms;
  }
}
