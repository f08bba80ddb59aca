// Retention of the audit log: rows older than the server keeps go, in slices. Must never act on a clock that has jumped.
import type { PurgeReport } from '../../protocol/entities.ts';
import { countLog } from '../core/log-pages.ts';
import { writeSlice } from '../core/slices.ts';
import type { ReadTx, Service } from '../service.ts';
import type { PurgeOptions } from './retention.ts';

const dayMs = 86_400_000;
/** Removed by one slice. */
const sliceRows = 400;

/**
 * Removes rows of the audit log that are older than the server keeps them. Where more than half would go at once, they
 * wait for a confirmation (`force`): a clock that has jumped looks just like that.
 * @param now by the clock, which has been held against the newest row
 * @returns what went; where it is held, what waits
 */
export async function purgeAudit(
  service: Service,
  now: number,
  options: PurgeOptions,
): Promise<PurgeReport['audit']> {
  const retentionDays = service.settings.auditDays;
  if (retentionDays === null) return { retentionDays, state: 'kept', entries: 0 };
  const before = now - retentionDays * dayMs;
  const all = { log: (tx: ReadTx) => tx.repositories.audit.log, filter: { organizationId: null } };
  const due = await countLog({ service }, 'server', { ...all, before });
  if (due === 0) return { retentionDays, state: 'kept', entries: 0 };
  if (options.force !== true && due > (await countLog({ service }, 'server', { ...all, from: before })))
    return { retentionDays, state: 'held', entries: due };
  if (options.dryRun === true) return { retentionDays, state: 'purged', entries: due };
  let entries = 0;
  while (options.stopped?.() !== true) {
    const removed = await writeSlice(
      service,
      'server',
      ({ repositories }) => repositories.audit.removeOld(before, sliceRows),
      'background',
    );
    entries += removed;
    if (removed < sliceRows) break;
  }
  return { retentionDays, state: 'purged', entries };
}
