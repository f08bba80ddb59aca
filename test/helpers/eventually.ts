// Owns waiting: until something is so, never for a while.

/**
 * Waits until `check` passes.
 * @param check throws while it is not so yet
 * @throws what `check` last threw, once it has been asked for too long
 */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 120_000): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
