// The audit log: appended, never changed.
import { sql } from 'kysely';
import type { AuditFilter, AuditPlace, AuditRepository, AuditStretch } from '../../repositories/audit.ts';
import type { AuditRow } from '../../rows.ts';
import { containsText } from '../dialect.ts';
import { all, builder, first, prepare, run, type Runner } from '../query.ts';

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
/** The rows of a filter's organization and times, behind a place. */
function within({ organizationId, from, to }: AuditFilter, before: AuditPlace | null) {
  let query = builder.selectFrom('audit');
  if (organizationId !== null) query = query.where('organization_id', '=', organizationId);
  if (from !== undefined) query = query.where('created_at', '>=', from);
  if (to !== undefined) query = query.where('created_at', '<', to);
  if (before !== null)
    query = query
      .where('created_at', '<=', before.created_at)
      .where(sql<boolean>`(created_at, id) < (${before.created_at}, ${before.id})`);
  return query;
}

function fittingRows(filter: AuditFilter, { before, through }: AuditStretch) {
  const { action, actor, subject, text } = filter;
  let query = within(filter, before)
    .where('created_at', '>=', through.created_at)
    .where(sql<boolean>`(created_at, id) >= (${through.created_at}, ${through.id})`);
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
    stretch: async (filter, before, most) =>
      (
        await runner.all(
          within(filter, before)
            .select(['created_at', 'id'])
            .orderBy('created_at', 'desc')
            .orderBy('id', 'desc')
            .limit(most)
            .compile(),
        )
      ).at(-1),
    countFitting: async (filter, stretch) =>
      (
        await runner.first(
          fittingRows(filter, stretch)
            .select((e) => e.fn.countAll<number>().as('n'))
            .compile(),
        )
      )?.n ?? 0,
    fitting: (filter, stretch, limit, offset) =>
      runner.all(
        fittingRows(filter, stretch)
          .selectAll()
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(limit)
          .offset(offset)
          .compile(),
      ),
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
