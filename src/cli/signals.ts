// SIGINT and SIGTERM for commands that run until they are stopped.

export interface StopSignal {
  /** Aborted once the command is asked to end. */
  readonly signal: AbortSignal;
  /** Resolves after a while, or as soon as it is time to end. */
  sleep(ms: number): Promise<void>;
  /** Resolves when it is time to end. */
  readonly requested: Promise<void>;
  [Symbol.dispose](): void;
}

const names = ['SIGINT', 'SIGTERM'] as const;

/**
 * From now on the first SIGINT or SIGTERM asks for an end instead of ending the process; a second one ends it at once.
 * @param alsoWhen another reason to end
 */
export function onStopSignal(alsoWhen?: AbortSignal): StopSignal {
  const asked = new AbortController();
  const { promise: wanted, resolve } = Promise.withResolvers<void>();
  const end = (): void => {
    asked.abort();
    resolve();
  };
  const onSignal = (): void => {
    // The second signal ends the process at once: nothing else can end what still runs.
    if (asked.signal.aborted) process.exit(1);
    end();
  };
  for (const name of names) process.on(name, onSignal);
  alsoWhen?.addEventListener('abort', end, { once: true });
  if (alsoWhen?.aborted === true) end();
  return {
    signal: asked.signal,
    requested: wanted,
    sleep: async (ms) => {
      const { promise, resolve: wake } = Promise.withResolvers<void>();
      const timer = setTimeout(wake, ms);
      await Promise.race([promise, wanted]);
      clearTimeout(timer);
    },
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal);
      alsoWhen?.removeEventListener('abort', end);
    },
  };
}
