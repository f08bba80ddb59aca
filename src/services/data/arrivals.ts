// Organizations whose import is under way. Their rows come in slices, and they are found once the last one is
// there; what an import that was cut off has left is removed by the next import, or within the hour by the server.
import { ServiceError } from '../core/errors.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import type { Service, Tx } from '../service.ts';
import { removeOrganizationData } from './retention.ts';

/** An import that has not worked for so long was cut off: its slices are milliseconds. */
const abandonedAfterMs = 60_000;

/**
 * Makes room for an organization's rows, in the transaction that looks whether it is here.
 * @throws ServiceError conflict while another import brings the same one
 */
export async function beginArrival(tx: Tx, row: OrganizationRow, now: number): Promise<void> {
  if ((await tx.repositories.exportImport.beginArrival(row, now)) === 0)
    throw new ServiceError(
      'conflict',
      'This organization is being imported already, or was until a minute ago. Try again in a minute; nothing was changed.',
    );
}

/**
 * Notes that an import goes on.
 * @throws ServiceError conflict when its rows were removed, because it had not worked for a minute
 */
export async function continueArrival(tx: Tx, id: string, now: number): Promise<void> {
  if ((await tx.repositories.exportImport.workOnArrival(id, now)) === 0)
    throw new ServiceError(
      'conflict',
      'The import was held up for more than a minute, and what had come in was removed. Import the file again.',
    );
}

/** Removes what an import has brought so far, in slices. */
export async function removeArrival(service: Service, id: string): Promise<void> {
  await removeOrganizationData(service, id);
  await service.engine.store.write('server', ({ repositories }) => repositories.organizations.remove(id));
  await service.engine.maintenance.clearRemoved();
}

/** Removes what imports that were cut off have left. @param stopped asked between them; once true, the rest stays */
export async function removeAbandonedArrivals(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<void> {
  const { store, clock } = service.engine;
  const arrivals = await store.read(({ repositories }) => repositories.exportImport.arrivals());
  for (const { id, workedAt } of arrivals)
    if (!stopped() && clock.now() - workedAt > abandonedAfterMs) await removeArrival(service, id);
}
