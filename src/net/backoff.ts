// How long to wait before the next attempt. Pure: it keeps no time and waits for nothing.

/** Delays that grow by a factor with each attempt. */
export interface Backoff {
  /** ms before the second attempt. */
  readonly firstMs: number;
  readonly factor: number;
  /** ms that no delay exceeds before jitter. */
  readonly maxMs: number;
  /** A delay is multiplied by a random number between these two. */
  readonly jitter: readonly [number, number];
}

/**
 * @param attempt how many attempts have failed: 1 or more
 * @param random 0 to 1
 * @returns ms, not rounded
 */
export function backoffDelay(
  { firstMs, factor, maxMs, jitter: [from, to] }: Backoff,
  attempt: number,
  random = Math.random(),
): number {
  return Math.min(firstMs * factor ** (attempt - 1), maxMs) * (from + (to - from) * random);
}
