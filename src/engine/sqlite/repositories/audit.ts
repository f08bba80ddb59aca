// The audit log: appended, never changed.
import { sql } from 'kysely';
import type { AuditFilter, AuditRepository } from '../../repositories/audit.ts';
import type { LogStretch } from '../../repositories/log-stretches.ts';
import type { AuditRow } from '../../rows.ts';
import { bound, containsText } from '../dialect.ts';
import { builder, first, prepare, run, type Runner } from '../query.ts';

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
/** The rows of a filter's log within a stretch. */
function within({ organizationId }: AuditFilter, { from, before }: LogStretch) {
  // The ends of a stretch differ from run to run.
  const query = builder
    .selectFrom('audit')
    .where('created_at', '>=', bound(from))
    .where('created_at', '<', bound(before));
  return organizationId === null ? query : query.where('organization_id', '=', organizationId);
}

function fittingRows(filter: AuditFilter, stretch: LogStretch) {
  const { action, actor, subject, text } = filter;
  let query = within(filter, stretch);
  if (action !== undefined) query = query.where(beginsWith('action', action));
  if (subject !== undefined) query = query.where(beginsWith('subject', subject));
  if (actor !== undefined)
    query = query.where((e) =>
      e.or([
        e('actor', '=', actor),
        e('actor', '=', `member:${actor}`),
        beginsWith('actor', `member:${actor}/`),
      ]),
    );
  if (text !== undefined)
    query = query.where((e) =>
      e.or(['actor', 'action', 'subject', 'detail', 'address'].map((column) => containsText(column, text))),
    );
  return query;
}

const beginsWith = (column: string, text: string) =>
  sql<boolean>`substr(${sql.ref(column)}, 1, ${text.length}) = ${text}`;

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
    log: {
      timeOf: async (filter, stretch, most) =>
        (
          await runner.first(
            within(filter, stretch)
              .select('created_at')
              .orderBy('created_at', 'desc')
              .limit(1)
              .offset(most - 1)
              .compile(),
          )
        )?.created_at,
      count: async (filter, stretch) =>
        (
          await runner.first(
            fittingRows(filter, stretch)
              .select((e) => e.fn.countAll<number>().as('n'))
              .compile(),
          )
        )?.n ?? 0,
      page: (filter, stretch, limit, offset) =>
        runner.all(
          fittingRows(filter, stretch)
            .selectAll()
            .orderBy('created_at', 'desc')
            .orderBy('id', 'desc')
            .limit(limit)
            .offset(offset)
            .compile(),
        ),
    },
    has: async (organizationId: string, action: string, after: number) =>
      (await first(runner, since, { organization_id: organizationId, action, after })) !== undefined,
    removeOfOrganization: (organizationId: string, limit: number) =>
      run(runner, removeOfOrganization, { organization_id: organizationId, limit }),
    removeOld: (before: number, most: number) => run(runner, removeOld, { before, most }),
  };
}
