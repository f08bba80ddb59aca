// The audit log: appended, never changed.
import type { AuditRow } from '../rows.ts';
import { all, prepare, run, type Runner } from './query.ts';

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

export function auditTable(runner: Runner) {
  return {
    insert: (row: AuditRow) => run(runner, insert, row),
    /** Newest first. */
    byOrganization: (organizationId: string, limit: number, offset: number) =>
      all(runner, byOrganization, { organization_id: organizationId, limit, offset }),
  };
}
