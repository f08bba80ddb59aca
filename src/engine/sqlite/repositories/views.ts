// Queries on saved views of the queue.
import type { ViewsRepository } from '../../repositories/views.ts';
import type { ViewRow } from '../../rows.ts';
import { jsonText } from '../dialect.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) => db.selectFrom('views').selectAll().where('id', '=', p.id));
const visible = prepare<{ organization_id: string; member_id: string }>()((db, p) =>
  db
    .selectFrom('views')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where((e) => e.or([e('shared', '=', 1), e('created_by', '=', p.member_id)]))
    .orderBy('created_at')
    .orderBy('id'),
);
const countShared = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('views')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id)
    .where('shared', '=', 1),
);
const countOwn = prepare<{ organization_id: string; member_id: string }>()((db, p) =>
  db
    .selectFrom('views')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id)
    .where('shared', '=', 0)
    .where('created_by', '=', p.member_id),
);
const withTags = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('views')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where(jsonText('query', '$.tag'), 'is not', null),
);
const insert = prepare<ViewRow>()((db, p) =>
  db.insertInto('views').values({
    id: p.id,
    organization_id: p.organization_id,
    name: p.name,
    shared: p.shared,
    query: p.query,
    created_by: p.created_by,
    created_at: p.created_at,
    updated_at: p.updated_at,
  }),
);
const update = prepare<ViewRow>()((db, p) =>
  db
    .updateTable('views')
    .set({ name: p.name, shared: p.shared, query: p.query, updated_at: p.updated_at })
    .where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('views').where('id', '=', p.id));
const removeOwnOf = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('views').where('created_by', '=', p.member_id).where('shared', '=', 0),
);
const removeNaming = prepare<{ organization_id: string; visitor_id: string }>()((db, p) =>
  db
    .deleteFrom('views')
    .where('organization_id', '=', p.organization_id)
    .where(jsonText('query', '$.visitorId'), '=', p.visitor_id),
);

export function createViewsRepository(runner: Runner): ViewsRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    visible: (organizationId: string, memberId: string) =>
      all(runner, visible, { organization_id: organizationId, member_id: memberId }),
    count: async (organizationId: string, ownerId: string | null) =>
      (ownerId === null
        ? await first(runner, countShared, { organization_id: organizationId })
        : await first(runner, countOwn, { organization_id: organizationId, member_id: ownerId })
      )?.n ?? 0,
    withTags: (organizationId: string) => all(runner, withTags, { organization_id: organizationId }),
    insert: (row: ViewRow) => run(runner, insert, row),
    update: (row: ViewRow) => run(runner, update, row),
    remove: (id: string) => run(runner, remove, { id }),
    removeOwnOf: (memberId: string) => run(runner, removeOwnOf, { member_id: memberId }),
    removeNaming: (organizationId: string, visitorId: string) =>
      run(runner, removeNaming, { organization_id: organizationId, visitor_id: visitorId }),
  };
}
