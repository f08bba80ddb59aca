// Organizations whose import is under way. Their rows come in slices, and they are found once the last one is
// there; what an import that was cut off has left is removed by the next import, or within the hour by the server.
import { ServiceError } from '../core/errors.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import type { Service, Tx } from '../service.ts';
import { removeOrganizationData } from './retention.ts';

/** An import that has not worked for so long was cut off: its slices are milliseconds. */
const abandonedAfterMs = 60_000;

/** One import of an organization: another one of the same is another arrival. */
export interface Arrival {
  readonly id: string;
  readonly token: string;
}

/**
 * Makes room for an organization's rows, in the transaction that looks whether it is here.
 * @throws ServiceError conflict while another import brings the same one
 */
export async function beginArrival(
  tx: Tx,
  row: OrganizationRow,
  { token }: Arrival,
  now: number,
): Promise<void> {
  if ((await tx.repositories.exportImport.beginArrival(row, token, now)) === 0)
    throw new ServiceError(
      'conflict',
      'This organization is being imported already, or deleted, or was until a minute ago. Try again in a minute; nothing was changed.',
    );
}

/**
 * Notes that an import goes on, in the transaction that writes its next rows: what is given up takes none.
 * @throws ServiceError conflict when it was given up, because it had not worked for a minute
 */
export async function continueArrival(tx: Tx, { id, token }: Arrival, now: number): Promise<void> {
  if ((await tx.repositories.exportImport.workOnArrival(id, token, now)) === 0)
    throw new ServiceError(
      'conflict',
      'The import was held up for more than a minute, and what had come in was removed. Import the file again.',
    );
}

/** Removes what an import has brought so far, in slices; what another import of the same brings stays. */
export async function removeArrival(service: Service, { id, token }: Arrival): Promise<void> {
  await giveUp(service, id, { token });
}

/** Removes what imports that were cut off have left. @param stopped asked between them; once true, the rest stays */
export async function removeAbandonedArrivals(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<void> {
  const { store, clock } = service.engine;
  const arrivals = await store.read(({ repositories }) => repositories.exportImport.arrivals());
  for (const { id, workedAt } of arrivals) {
    const workedBefore = clock.now() - abandonedAfterMs;
    if (!stopped() && workedAt < workedBefore) await giveUp(service, id, { workedBefore });
  }
}

/** Given up first: an import that is only slow is told so, instead of putting rows in beside their removal. */
async function giveUp(
  service: Service,
  id: string,
  which: Parameters<Tx['repositories']['exportImport']['giveUpArrival']>[1],
): Promise<void> {
  const { store, maintenance } = service.engine;
  const given = await store.write('server', ({ repositories }) =>
    repositories.exportImport.giveUpArrival(id, which),
  );
  if (given === 0) return;
  await removeOrganizationData(service, id);
  await store.write('server', async (tx) => {
    await tx.repositories.organizations.remove(id);
    // Its domains may be among those that are kept of all.
    tx.configurationChanged(id);
  });
  await maintenance.clearRemoved();
}
