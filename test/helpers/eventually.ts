// Owns waiting: until something is so, never for a while.

/**
 * Waits until `check` passes.
 * @param check throws while it is not so yet
 * @throws what `check` last threw, once it has been asked for too long
 */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 120_000): Promise<T> {
  const began = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waited = performance.now() - began;
      if (waited > timeoutMs) throw error;
      // What takes long is asked for less often: each time costs the other tests' time.
      await new Promise((resolve) => setTimeout(resolve, waited < 100 ? 5 : 20));
    }
  }
}
