// Owns measuring how long this process holds its event loop, in CPU time of its thread: other programs on the machine
// do not count.

export interface LoopDelay {
  /** ms */
  readonly p99: number;
  readonly longest: number;
  /** All turns together: what of it the longest is says whether the work gave way, however fast the machine. */
  readonly total: number;
}

/** Measures while `work` runs: the CPU time between two turns of the loop. */
export async function measureLoop(work: () => Promise<unknown>): Promise<LoopDelay> {
  const turns: number[] = [];
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const now = process.threadCpuUsage();
    turns.push((now.user - last.user + now.system - last.system) / 1_000);
    last = now;
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  turns.sort((one, other) => one - other);
  return {
    p99: turns[Math.floor(turns.length * 0.99)] ?? 0,
    longest: turns.at(-1) ?? 0,
    total: turns.reduce((sum, one) => sum + one, 0),
  };
}
