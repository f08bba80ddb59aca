// What the service deletes by itself, once an hour: old events, old deliveries, expired sessions, imports that were
// cut off, and what retention says is too old.
import type { Output } from '../../protocol/operations.ts';
import { JobLoop } from '../core/job-loop.ts';
import { bounceRestMs } from '../mail/mail-addresses.ts';
import { removeAbandonedArrivals } from './arrivals.ts';
import { purge } from './retention.ts';
import { removeInSlices } from '../core/slices.ts';
import type { Service, Tx } from '../service.ts';

const eventRetentionMs = 7 * 86_400_000;
const deliveryRetentionMs = 30 * 86_400_000;
const intervalMs = 3_600_000;
/** Removed text leaves the files so soon after it was removed; several removals share one clearing. */
const clearAfterMs = 5_000;
const clearAgainAfterMs = 1_000;
const clearAfterErrorMs = 60_000;

/** Deletes what has expired. @param stopped asked between slices; once true, the rest stays */
export async function runMaintenance(service: Service, stopped?: () => boolean): Promise<void> {
  const { engine } = service;
  const now = engine.clock.now();
  const remove = (some: (tx: Tx, most: number) => Promise<number>): Promise<void> =>
    removeInSlices(service, 'server', some, stopped, 'background');
  await remove(({ repositories }, most) => repositories.events.prune(now - eventRetentionMs, most));
  await remove(({ repositories }, most) => repositories.webhooks.prune(now - deliveryRetentionMs, most));
  await remove(({ repositories }, most) => repositories.effects.prune(now - deliveryRetentionMs, most));
  await remove(({ repositories }, most) => repositories.mail.removeBounces(now - bounceRestMs, most));
  await engine.store.write('server', async ({ repositories }) => {
    await repositories.members.removeExpiredSessions(now);
    await repositories.secondFactors.removeExpiredTickets(now);
    await repositories.passwordResets.removeExpired(now);
    await repositories.passkeys.removeExpiredRegistrations(now);
    await repositories.webhooks.removeExpiredSecrets(now);
    await repositories.blocks.removeExpired(now);
  });
  await removeAbandonedArrivals(service, stopped);
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
      await runMaintenance(service, () => signal.aborted).catch(onError);
      onPurged(await purge(service, { stopped: () => signal.aborted }));
    },
  });
  const stopClearing = clearAfterRemovals(service, onError);
  return async () => {
    stopClearing();
    await loop.stop();
  };
}

/** Clears the files soon after messages were deleted or edited, or configuration was changed. */
function clearAfterRemovals({ engine }: Service, onError: (error: unknown) => void): () => void {
  let cancel: (() => void) | null = null;
  let stopped = false;
  const plan = (ms: number): void => {
    if (stopped) return;
    cancel ??= engine.clock.after(ms, () => {
      engine.maintenance.clearRemoved().then(
        (cleared) => {
          cancel = null;
          // A reader of another process kept a part back.
          if (!cleared) plan(clearAgainAfterMs);
        },
        (error: unknown) => {
          cancel = null;
          onError(error);
          plan(clearAfterErrorMs);
        },
      );
    });
  };
  const unsubscribe = engine.store.subscribe(({ events, configuration }) => {
    const removed = events.some(({ type }) => type === 'message:deleted' || type === 'message:edited');
    if (removed || configuration !== null) plan(clearAfterMs);
  });
  return () => {
    stopped = true;
    unsubscribe();
    cancel?.();
  };
}
