// What the service throws away by itself, once an hour: events that everybody has
// had time to read, and sessions that are over. Conversations are retention's business.
import type { Service } from './service.ts';

const eventsLiveMs = 7 * 86_400_000;
const everyMs = 3_600_000;

/** Removes what is over now. */
export async function tidy({ engine }: Service): Promise<void> {
  const now = engine.clock.now();
  await engine.store.write(async ({ tables }) => {
    await tables.events.prune(now - eventsLiveMs);
    await tables.members.removeExpiredSessions(now);
  });
}

/**
 * Tidies every hour.
 * @param onFault hears of a run that failed; the next one comes all the same
 * @returns how to stop
 */
export function keepTidy(service: Service, onFault: (error: unknown) => void): () => void {
  let cancel = (): void => undefined;
  const plan = (): void => {
    cancel = service.engine.clock.after(everyMs, () => {
      tidy(service).catch(onFault);
      plan();
    });
  };
  plan();
  return () => cancel();
}
