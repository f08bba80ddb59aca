// Queries on visitors.
import type { NamedVisitor, VisitorsRepository } from '../../repositories/visitors.ts';
import type { Mode } from '../../../protocol/entities.ts';
import type { VisitorRow } from '../../rows.ts';
import { first, prepare, run, type Runner } from '../query.ts';

const byVisitorId = prepare<{ application_id: string; mode: Mode; visitor_id: string }>()((db, p) =>
  db
    .selectFrom('visitors')
    .selectAll()
    .where('application_id', '=', p.application_id)
    .where('mode', '=', p.mode)
    .where('visitor_id', '=', p.visitor_id),
);
const insert = prepare<VisitorRow>()((db, p) =>
  db.insertInto('visitors').values({
    id: p.id,
    visitor_id: p.visitor_id,
    organization_id: p.organization_id,
    application_id: p.application_id,
    mode: p.mode,
    name: p.name,
    email: p.email,
    verified: p.verified,
    verified_fields: p.verified_fields,
    attributes: p.attributes,
    created_at: p.created_at,
    address_digest: p.address_digest,
  }),
);
const exists = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('visitors').select('id').where('id', '=', p.id),
);
const identify = prepare<NamedVisitor>()((db, p) =>
  db
    .updateTable('visitors')
    .set({
      name: p.name,
      email: p.email,
      verified: p.verified,
      verified_fields: p.verified_fields,
      attributes: p.attributes,
    })
    .where('id', '=', p.id),
);

const setAddressDigest = prepare<{ id: string; address_digest: Uint8Array }>()((db, p) =>
  db.updateTable('visitors').set({ address_digest: p.address_digest }).where('id', '=', p.id),
);

export function createVisitorsRepository(runner: Runner): VisitorsRepository {
  return {
    byVisitorId: (applicationId: string, mode: Mode, visitorId: string) =>
      first(runner, byVisitorId, { application_id: applicationId, mode, visitor_id: visitorId }),
    has: async (id: string) => (await first(runner, exists, { id })) !== undefined,
    insert: (row: VisitorRow) => run(runner, insert, row),
    setAddressDigest: (id: string, digest: Uint8Array) =>
      run(runner, setAddressDigest, { id, address_digest: digest }),
    identify: (values: NamedVisitor) => run(runner, identify, values),
  };
}
