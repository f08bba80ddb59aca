// Queries on where applications' widgets were seen last.
import type { SightingsRepository } from '../../repositories/sightings.ts';
import type { ApplicationSightingRow } from '../../rows.ts';
import { first, prepare, run, type Runner } from '../query.ts';

const get = prepare<{ application_id: string }>()((db, p) =>
  db.selectFrom('application_sightings').selectAll().where('application_id', '=', p.application_id),
);
const put = prepare<ApplicationSightingRow>()((db, p) =>
  db
    .insertInto('application_sightings')
    .values({ application_id: p.application_id, origin: p.origin, seen_at: p.seen_at })
    .onConflict((conflict) =>
      conflict.column('application_id').doUpdateSet({ origin: p.origin, seen_at: p.seen_at }),
    ),
);

export function createSightingsRepository(runner: Runner): SightingsRepository {
  return {
    get: (applicationId) => first(runner, get, { application_id: applicationId }),
    put: (row) => run(runner, put, row),
  };
}
