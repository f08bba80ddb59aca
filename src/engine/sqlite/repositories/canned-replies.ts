// Queries on canned replies.
import type { CannedRepliesRepository } from '../../repositories/canned-replies.ts';
import type { CannedReplyRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('canned_replies').selectAll().where('id', '=', p.id),
);
const byShortcut = prepare<{ organization_id: string; shortcut: string }>()((db, p) =>
  db
    .selectFrom('canned_replies')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('shortcut', '=', p.shortcut),
);
const page = prepare<{ organization_id: string; limit: number; offset: number }>()((db, p) =>
  db
    .selectFrom('canned_replies')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .orderBy('shortcut')
    .limit(p.limit)
    .offset(p.offset),
);
const count = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('canned_replies')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id),
);
const insert = prepare<CannedReplyRow>()((db, p) =>
  db.insertInto('canned_replies').values({
    id: p.id,
    organization_id: p.organization_id,
    shortcut: p.shortcut,
    content: p.content,
    content_format: p.content_format,
    content_html: p.content_html,
    created_at: p.created_at,
    updated_at: p.updated_at,
  }),
);
const update = prepare<CannedReplyRow>()((db, p) =>
  db
    .updateTable('canned_replies')
    .set({
      shortcut: p.shortcut,
      content: p.content,
      content_format: p.content_format,
      content_html: p.content_html,
      updated_at: p.updated_at,
    })
    .where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('canned_replies').where('id', '=', p.id));

export function createCannedRepliesRepository(runner: Runner): CannedRepliesRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    byShortcut: (organizationId: string, shortcut: string) =>
      first(runner, byShortcut, { organization_id: organizationId, shortcut }),
    page: (organizationId: string, limit: number, offset: number) =>
      all(runner, page, { organization_id: organizationId, limit, offset }),
    count: async (organizationId: string) =>
      (await first(runner, count, { organization_id: organizationId }))?.n ?? 0,
    insert: (row: CannedReplyRow) => run(runner, insert, row),
    update: (row: CannedReplyRow) => run(runner, update, row),
    remove: (id: string) => run(runner, remove, { id }),
  };
}
