// Queries on tags, and on which conversations have them.
import type { TagsRepository } from '../../repositories/tags.ts';
import type { TagRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) => db.selectFrom('tags').selectAll().where('id', '=', p.id));
const byName = prepare<{ organization_id: string; folded: string }>()((db, p) =>
  db
    .selectFrom('tags')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('folded', '=', p.folded),
);
const page = prepare<{ organization_id: string; limit: number; offset: number }>()((db, p) =>
  db
    .selectFrom('tags')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .orderBy('folded')
    .limit(p.limit)
    .offset(p.offset),
);
const count = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('tags')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id),
);
const insert = prepare<TagRow>()((db, p) =>
  db.insertInto('tags').values({
    id: p.id,
    organization_id: p.organization_id,
    name: p.name,
    folded: p.folded,
    created_at: p.created_at,
  }),
);
type Naming = Pick<TagRow, 'id' | 'name' | 'folded'>;
const rename = prepare<Naming>()((db, p) =>
  db.updateTable('tags').set({ name: p.name, folded: p.folded }).where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('tags').where('id', '=', p.id));
const ofConversation = prepare<{ conversation_id: string }>()((db, p) =>
  db
    .selectFrom('conversation_tags as held')
    .innerJoin('tags', 'tags.id', 'held.tag_id')
    .select('tags.name')
    .where('held.conversation_id', '=', p.conversation_id)
    .orderBy('tags.folded'),
);
type Holding = { conversation_id: string; tag_id: string };
const add = prepare<Holding>()((db, p) =>
  db
    .insertInto('conversation_tags')
    .values({ conversation_id: p.conversation_id, tag_id: p.tag_id })
    .onConflict((conflict) => conflict.doNothing()),
);
const take = prepare<Holding>()((db, p) =>
  db
    .deleteFrom('conversation_tags')
    .where('conversation_id', '=', p.conversation_id)
    .where('tag_id', '=', p.tag_id),
);
const takeOffSome = prepare<{ tag_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('conversation_tags')
    .where('tag_id', '=', p.tag_id)
    .where('conversation_id', 'in', (e) =>
      e
        .selectFrom('conversation_tags as some')
        .select('some.conversation_id')
        .where('some.tag_id', '=', p.tag_id)
        .limit(p.limit),
    ),
);

export function createTagsRepository(runner: Runner): TagsRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    byName: (organizationId: string, folded: string) =>
      first(runner, byName, { organization_id: organizationId, folded }),
    page: (organizationId: string, limit: number, offset: number) =>
      all(runner, page, { organization_id: organizationId, limit, offset }),
    count: async (organizationId: string) =>
      (await first(runner, count, { organization_id: organizationId }))?.n ?? 0,
    insert: (row: TagRow) => run(runner, insert, row),
    rename: (values: Naming) => run(runner, rename, values),
    remove: (id: string) => run(runner, remove, { id }),
    ofConversation: async (conversationId: string) =>
      (await all(runner, ofConversation, { conversation_id: conversationId })).map(({ name }) => name),
    add: (conversationId: string, tagId: string) =>
      run(runner, add, { conversation_id: conversationId, tag_id: tagId }),
    take: (conversationId: string, tagId: string) =>
      run(runner, take, { conversation_id: conversationId, tag_id: tagId }),
    takeOffSome: (tagId: string, limit: number) => run(runner, takeOffSome, { tag_id: tagId, limit }),
  };
}
