// What the service throws away by itself, once an hour: events that everybody has
// had time to read, sessions that are over, and what retention says is too old.
import type { Output } from '../protocol/operations.ts';
import { purge } from './retention.ts';
import type { Service } from './service.ts';

const eventsLiveMs = 7 * 86_400_000;
const deliveriesLiveMs = 30 * 86_400_000;
const everyMs = 3_600_000;

/** Removes what is over now. */
export async function tidy({ engine }: Service): Promise<void> {
  const now = engine.clock.now();
  await engine.store.write(async ({ tables }) => {
    await tables.events.prune(now - eventsLiveMs);
    await tables.webhooks.prune(now - deliveriesLiveMs);
    await tables.members.removeExpiredSessions(now);
  });
}

/**
 * Tidies every hour, and purges. A run that takes longer than the hour is not overtaken by the next.
 * @param onFault hears of a run that failed; the next one comes all the same
 * @param onPurged hears what retention removed, and what it holds back
 * @returns how to stop; the promise resolves when nothing runs any more
 */
export function keepTidy(
  service: Service,
  onFault: (error: unknown) => void,
  onPurged: (report: Output<'retention.purge'>) => void = () => undefined,
): () => Promise<void> {
  let cancel = (): void => undefined;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    await tidy(service).catch(onFault);
    await purge(service, { stopped: () => stopped }).then(onPurged, onFault);
    if (!stopped) plan();
  };
  const plan = (): void => {
    cancel = service.engine.clock.after(everyMs, () => {
      running = once();
    });
  };
  plan();
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}
