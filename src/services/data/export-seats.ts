// Places for exports of visitors' data: each reads as much as the visitor has ever written, at its reader's pace.
import type { Actor } from '../core/actor.ts';
import { rateLimited, ServiceError } from '../core/errors.ts';
import type { Service } from '../service.ts';

/**
 * Exports at once of one organization, and of all together; so many of these are an organization's second: a few that read
 * slowly would hold all places otherwise.
 */
export const exportLimits = { organization: 2, second: 3, all: 8 } as const;

/**
 * Takes a place of an organization.
 * @param actor who asks; the server's owner, who works on the data folder alone, takes none
 * @returns gives it back; twice is once
 * @throws ServiceError rate_limit_exceeded; unavailable where others have all places
 */
export async function takeExportSeat({ engine }: Pick<Service, 'engine'>, actor: Actor): Promise<() => void> {
  if (actor.kind !== 'member') return () => undefined;
  const own = `export:${actor.organizationId}`;
  const all = { key: 'export', most: exportLimits.all };
  const first = await engine.seats.take([{ key: own, most: 1 }, all]);
  if (typeof first === 'function') return first;
  const seat =
    first.full === 1
      ? first
      : await engine.seats.take([
          { key: own, most: exportLimits.organization },
          { key: 'export:second', most: exportLimits.second },
          all,
        ]);
  if (typeof seat === 'function') return seat;
  if (seat.full > 0)
    throw new ServiceError(
      'unavailable',
      'The server makes as many exports as it can at once. Try again in a moment.',
    );
  const window = { limit: exportLimits.organization, windowMs: 1_000 };
  throw rateLimited(
    'per_organization',
    [window],
    window,
    window.windowMs,
    `Your organization has ${exportLimits.organization} exports under way, which is as many as it may have at once`,
  );
}
