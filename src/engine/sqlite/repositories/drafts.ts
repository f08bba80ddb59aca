// Queries on members' unsent answers.
import type { DraftsRepository } from '../../repositories/drafts.ts';
import type { DraftRow, RetentionScope } from '../../rows.ts';
import { isOrAny } from '../dialect.ts';
import { first, prepare, run, type Runner } from '../query.ts';

type Key = Pick<DraftRow, 'conversation_id' | 'member_id'>;

const get = prepare<Key>()((db, p) =>
  db
    .selectFrom('drafts')
    .selectAll()
    .where('conversation_id', '=', p.conversation_id)
    .where('member_id', '=', p.member_id),
);
const put = prepare<DraftRow>()((db, p) =>
  db
    .insertInto('drafts')
    .values({
      conversation_id: p.conversation_id,
      member_id: p.member_id,
      content: p.content,
      updated_at: p.updated_at,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['conversation_id', 'member_id'])
        .doUpdateSet({ content: p.content, updated_at: p.updated_at }),
    ),
);
const remove = prepare<Key>()((db, p) =>
  db
    .deleteFrom('drafts')
    .where('conversation_id', '=', p.conversation_id)
    .where('member_id', '=', p.member_id),
);
const removeSomeOf = prepare<{ member_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('drafts')
    .where((e) =>
      e(
        e.refTuple('conversation_id', 'member_id'),
        'in',
        e
          .selectFrom('drafts as d')
          .select(['d.conversation_id', 'd.member_id'])
          .where('d.member_id', '=', p.member_id)
          .limit(p.limit)
          .$asTuple('conversation_id', 'member_id'),
      ),
    ),
);
// By its members: they are few, and the index of drafts begins with them.
const removeOld = prepare<RetentionScope & { limit: number }>()((db, p) =>
  db
    .deleteFrom('drafts')
    .where((e) =>
      e(
        e.refTuple('conversation_id', 'member_id'),
        'in',
        e
          .selectFrom('members as m')
          .innerJoin('drafts as d', 'd.member_id', 'm.id')
          .innerJoin('conversations as c', 'c.id', 'd.conversation_id')
          .select(['d.conversation_id', 'd.member_id'])
          .where('m.organization_id', '=', p.organization_id)
          .where(isOrAny('c.application_id', p.application_id))
          .where('c.mode', '=', p.mode)
          .where('d.updated_at', '<', p.cutoff)
          .limit(p.limit)
          .$asTuple('conversation_id', 'member_id'),
      ),
    ),
);

export function createDraftsRepository(runner: Runner): DraftsRepository {
  return {
    get: (conversationId, memberId) =>
      first(runner, get, { conversation_id: conversationId, member_id: memberId }),
    put: (row) => run(runner, put, row),
    remove: (conversationId, memberId) =>
      run(runner, remove, { conversation_id: conversationId, member_id: memberId }),
    removeSomeOf: (memberId, limit) => run(runner, removeSomeOf, { member_id: memberId, limit }),
    removeOld: (scope, limit) => run(runner, removeOld, { ...scope, limit }),
  };
}
