// Where an application's widget was seen last: what tells an admin that the snippet is in place.
import { StoreUnavailableError } from '../../engine/engine.ts';
import type { CachedApplication } from '../core/config-cache.ts';
import type { Service } from '../service.ts';

const sightingIntervalMs = 60_000;
/** When each application's widget was last written down as seen, as far as this process knows. */
const sightings = new WeakMap<Service, Map<string, number>>();

/** A clock that was set back must not stop it. */
const isRecent = (at: number, now: number): boolean => Math.abs(now - at) < sightingIntervalMs;

/** Keeps where and when an application's widget was seen, once a minute at most. Not knowing it refuses nothing. */
export async function recordSighting(
  service: Service,
  { row }: CachedApplication,
  origin: string | null,
): Promise<void> {
  if (origin === null) return;
  const now = service.engine.clock.now();
  const times = sightings.get(service) ?? new Map<string, number>();
  sightings.set(service, times);
  const before = times.get(row.id);
  if (before !== undefined && isRecent(before, now)) return;
  times.set(row.id, now);
  const scope = { organization: row.organization_id, part: `row:${row.id}` } as const;
  const sighting = { application_id: row.id, origin, seen_at: now };
  await service.engine.store
    .write(scope, async (tx) => {
      // The application may have been deleted in between.
      if ((await tx.repositories.applications.byId(row.id)) === undefined) return;
      const kept = await tx.repositories.sightings.get(row.id);
      if (kept !== undefined && isRecent(kept.seen_at, now)) {
        // Another server has written it down.
        times.set(row.id, kept.seen_at);
        return;
      }
      await tx.repositories.sightings.put(sighting);
    })
    .catch((error: unknown) => {
      if (!(error instanceof StoreUnavailableError)) throw error;
    });
}
