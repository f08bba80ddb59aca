// The audit log: appended, never changed.
import type { AuditRepository } from '../../repositories/audit.ts';
import type { AuditRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const insert = prepare<AuditRow>()((db, p) =>
  db.insertInto('audit').values({
    id: p.id,
    organization_id: p.organization_id,
    actor: p.actor,
    action: p.action,
    subject: p.subject,
    detail: p.detail,
    address: p.address,
    created_at: p.created_at,
  }),
);
const byOrganization = prepare<{ organization_id: string; limit: number; offset: number }>()((db, p) =>
  db
    .selectFrom('audit')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);
const everything = prepare<{ limit: number; offset: number }>()((db, p) =>
  db
    .selectFrom('audit')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);
const countOf = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('audit')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id),
);
const countAll = prepare<object>()((db) =>
  db.selectFrom('audit').select((e) => e.fn.countAll<number>().as('n')),
);
const removeOfOrganization = prepare<{ organization_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('audit')
    .where('id', 'in', (e) =>
      e.selectFrom('audit').select('id').where('organization_id', '=', p.organization_id).limit(p.limit),
    ),
);
const since = prepare<{ organization_id: string; action: string; after: number }>()((db, p) =>
  db
    .selectFrom('audit')
    .select('id')
    .where('organization_id', '=', p.organization_id)
    .where('created_at', '>', p.after)
    .where('action', '=', p.action)
    .limit(1),
);

const countOld = prepare<{ before: number }>()((db, p) =>
  db
    .selectFrom('audit')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('created_at', '<', p.before),
);
const removeOld = prepare<{ before: number; most: number }>()((db, p) =>
  db
    .deleteFrom('audit')
    .where('id', 'in', (e) =>
      e
        .selectFrom('audit')
        .select('id')
        .where('created_at', '<', p.before)
        .orderBy('created_at')
        .limit(p.most),
    ),
);

export function createAuditRepository(runner: Runner): AuditRepository {
  return {
    insert: (row: AuditRow) => run(runner, insert, row),
    byOrganization: (organizationId: string, limit: number, offset: number) =>
      all(runner, byOrganization, { organization_id: organizationId, limit, offset }),
    everything: (limit: number, offset: number) => all(runner, everything, { limit, offset }),
    count: async (organizationId: string | null) =>
      (
        await (organizationId === null
          ? first(runner, countAll, {})
          : first(runner, countOf, { organization_id: organizationId }))
      )?.n ?? 0,
    has: async (organizationId: string, action: string, after: number) =>
      (await first(runner, since, { organization_id: organizationId, action, after })) !== undefined,
    removeOfOrganization: (organizationId: string, limit: number) =>
      run(runner, removeOfOrganization, { organization_id: organizationId, limit }),
    countOld: async (before: number) => (await first(runner, countOld, { before }))?.n ?? 0,
    removeOld: (before: number, most: number) => run(runner, removeOld, { before, most }),
  };
}
