// What the service deletes by itself, once an hour: old events, old deliveries, expired sessions, and what retention says
// is too old.
import type { Output } from '../../protocol/operations.ts';
import { JobLoop } from '../core/job-loop.ts';
import { purge } from './retention.ts';
import type { Service } from '../service.ts';

const eventRetentionMs = 7 * 86_400_000;
const deliveryRetentionMs = 30 * 86_400_000;
const intervalMs = 3_600_000;

/** Deletes what has expired. */
export async function runMaintenance({ engine }: Service): Promise<void> {
  const now = engine.clock.now();
  await engine.store.write('server', async ({ repositories }) => {
    await repositories.events.prune(now - eventRetentionMs);
    await repositories.webhooks.prune(now - deliveryRetentionMs);
    await repositories.members.removeExpiredSessions(now);
    await repositories.secondFactors.removeExpiredTickets(now);
    await repositories.blocks.removeExpired(now);
  });
}

/**
 * Runs maintenance and retention every hour, counted from the end of the last run.
 * @param onError called with the error of a failed run; the next one comes all the same
 * @param onPurged called with what retention removed, and what it holds back
 * @returns stops the job; resolves when nothing runs any more
 */
export function startMaintenance(
  service: Service,
  onError: (error: unknown) => void,
  onPurged: (report: Output<'retention.purge'>) => void = () => undefined,
): () => Promise<void> {
  const loop = new JobLoop({
    clock: service.engine.clock,
    intervalMs,
    onError,
    run: async (signal) => {
      await runMaintenance(service).catch(onError);
      onPurged(await purge(service, { stopped: () => signal.aborted }));
    },
  });
  return () => loop.stop();
}
