// Queries on the staff's queue: which conversations of a stretch fit a filter and in which order they stand, what a line of
// the list shows, and what the index in memory is made of and kept by.
import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { ConversationStatus, Mode } from '../../../protocol/entities.ts';
import type { QueueSort } from '../../../protocol/queue.ts';
import type {
  ConversationFilter,
  ConversationsRepository,
  QueueStretch,
  StateStretch,
  TagStretch,
} from '../../repositories/conversations.ts';
import type { QueueRow } from '../../rows.ts';
import { bound, containsText, isOneOf, isOneOfNumbers, joined, tagNames, withoutIndex } from '../dialect.ts';
import { all, builder, first, prepare, type Runner } from '../query.ts';
import { applicationIsFound } from './found.ts';

function queueBase(filter: ConversationFilter, stretch: QueueStretch) {
  const base = builder
    .selectFrom('conversations as c')
    // Left: SQLite leaves the visitors alone where nothing is looked for in them.
    .leftJoin('visitors as v', 'v.id', 'c.visitor_key');
  if ('tagId' in stretch)
    return base
      .where(withoutIndex('c.organization_id'), '=', filter.organizationId)
      .where('c.id', 'in', withEveryTag(stretch, filter.tagIds ?? []));
  if ('ofVisitor' in stretch || 'ids' in stretch || 'places' in stretch) {
    const own = base.where(withoutIndex('c.organization_id'), '=', filter.organizationId);
    if ('ids' in stretch) return own.where(isOneOf('c.id', JSON.stringify(stretch.ids)));
    if ('places' in stretch) return own.where(isOneOfNumbers('c.rowid', JSON.stringify(stretch.places)));
    return own;
  }
  return base
    .where('c.organization_id', '=', filter.organizationId)
    .where('c.mode', '=', stretch.mode)
    .where('c.status', '=', stretch.status)
    .where(sql`c.rowid`, '>', bound(stretch.after))
    .where(sql`c.rowid`, '<=', bound(stretch.through));
}

function queue(filter: ConversationFilter, stretch: QueueStretch) {
  let query = queueBase(filter, stretch);
  const { visitorOf } = filter;
  if (filter.mode !== undefined) query = query.where('c.mode', '=', filter.mode);
  if (visitorOf !== undefined)
    query = query.where('c.visitor_key', '=', (e) =>
      e.selectFrom('conversations as one').select('one.visitor_key').where('one.id', '=', visitorOf),
    );
  if (filter.status !== undefined) query = query.where('c.status', '=', filter.status);
  if (filter.assignedTo === null) query = query.where('c.assigned_to', 'is', null);
  else if (filter.assignedTo !== undefined) query = query.where('c.assigned_to', '=', filter.assignedTo);
  if (filter.applicationId !== undefined) query = query.where('c.application_id', '=', filter.applicationId);
  if (filter.goingApplicationIds !== undefined)
    query = query.where('c.application_id', 'not in', filter.goingApplicationIds);
  return orderFilters(query, filter, stretch);
}

/** The ids of the conversations of a stretch that have every one of these tags: one tag leads to them, the others are looked up. */
function withEveryTag({ tagId: first, after, through }: TagStretch, tagIds: readonly string[]) {
  let query = builder
    .selectFrom('conversation_tags as held')
    .select('held.conversation_id')
    .where('held.tag_id', '=', first)
    .where('held.conversation_id', '>', bound(after))
    .where('held.conversation_id', '<=', bound(through));
  for (const tagId of tagIds)
    if (tagId !== first) query = query.where(holdsTag('held.conversation_id', tagId));
  return query;
}

/** A visitor's rows: one for each application and mode, by the index under which they are unique. */
function visitorsNamed(organizationId: string, visitorId: string) {
  return builder
    .selectFrom('applications as own')
    .innerJoin('visitors as named', 'named.application_id', 'own.id')
    .select('named.id')
    .where('own.organization_id', '=', organizationId)
    .where('named.mode', 'in', ['live', 'test'])
    .where('named.visitor_id', '=', visitorId);
}

/** Whether a conversation has a tag. @param id the column of its id */
const holdsTag = (id: string, tagId: string) => sql<boolean>`exists (select 1 from conversation_tags as other
  where other.conversation_id = ${sql.ref(id)} and other.tag_id = ${tagId})`;

/** The filters by tag, priority, snooze, unread and text. */
function orderFilters(base: ReturnType<typeof queueBase>, filter: ConversationFilter, stretch: QueueStretch) {
  let query = base;
  if (!('tagId' in stretch))
    for (const tagId of filter.tagIds ?? []) query = query.where(holdsTag('c.id', tagId));
  if (filter.untagged !== undefined) {
    const tagged = sql<boolean>`exists (select 1 from conversation_tags as any_tag where any_tag.conversation_id = c.id)`;
    query = query.where(filter.untagged ? sql<boolean>`not ${tagged}` : tagged);
  }
  if (filter.channel !== undefined)
    query = query.where('c.channel', filter.channel === 'email' ? 'is not' : 'is', null);
  if (filter.snoozed !== undefined)
    query = query.where('c.snoozed_until', filter.snoozed ? 'is not' : 'is', null);
  if (filter.priorities !== undefined) query = query.where('c.priority', 'in', filter.priorities);
  if (filter.visitorId !== undefined)
    query = query.where('c.visitor_key', 'in', visitorsNamed(filter.organizationId, filter.visitorId));
  if (filter.waitingSince !== undefined) query = query.where('c.waiting_since', '<=', filter.waitingSince);
  if (filter.unread !== undefined) {
    const { readerId, is } = filter.unread;
    const position = sql<number>`coalesce((select reader.last_read_seq from participants as reader
      where reader.conversation_id = c.id and reader.user_id = ${readerId}), 0)`;
    query = query.where('c.last_visitor_seq', is ? '>' : '<=', position);
  }
  if (filter.text !== undefined) {
    const { text } = filter;
    query = query.where((e) =>
      e.or([
        containsText('c.subject', text),
        containsText('v.name', text),
        containsText('v.email', text),
        ...(filter.matching.length === 0 ? [] : [isOneOf('c.id', JSON.stringify(filter.matching))]),
      ]),
    );
  }
  return query;
}

/** The newest messages of a conversation among which a list line counts the unread ones: a long one costs no more. */
const countedMessages = 200;

/**
 * Rows of the operators' queue, with everything that a list line shows. They are chosen first: what a line shows is
 * read for the page alone.
 * @param readerId whose unread messages count
 */
function queueRows<DB, TB extends keyof DB>(
  chosen: SelectQueryBuilder<DB, TB, { id: string }>,
  readerId: string,
) {
  return (
    builder
      .selectFrom('conversations as c')
      .innerJoin('visitors as v', 'v.id', 'c.visitor_key')
      .innerJoin('applications as a', 'a.id', 'c.application_id')
      .where('c.id', 'in', chosen)
      .where(applicationIsFound('c.application_id'))
      .leftJoin('members as assignee', 'assignee.id', 'c.assigned_to')
      // The newest message that still exists.
      .leftJoin('messages as m', (join) =>
        join.on('m.id', '=', (e) =>
          e
            .selectFrom((f) =>
              f
                .selectFrom('ordered_messages as newest')
                .select(['newest.id', 'newest.seq'])
                .whereRef('newest.conversation_id', '=', 'c.id')
                .where('newest.deleted_at', 'is', null)
                .orderBy('newest.seq', 'desc')
                .limit(1)
                .as('last'),
            )
            .select('last.id'),
        ),
      )
      .leftJoin('members as sender', 'sender.id', 'm.sender_id')
      .selectAll('c')
      .select([
        'v.visitor_id',
        'v.name as visitor_name',
        'v.email as visitor_email',
        'v.verified as visitor_verified',
        'v.verified_fields as visitor_verified_fields',
        'v.created_at as visitor_created_at',
        'a.name as application_name',
        'assignee.name as assignee_name',
        'm.id as message_id',
        'm.sender_id as message_sender_id',
        'm.sender_role as message_sender_role',
        'm.sender_label as message_sender_label',
        'm.content as message_content',
        'm.content_text as message_content_text',
        'm.internal as message_internal',
        'm.created_at as message_created_at',
        'sender.name as message_sender_name',
      ])
      .select(tagNames('c.id', tagSeparator).as('tags'))
      .select(
        sql<0 | 1>`c.last_visitor_seq > coalesce((select at.last_read_seq from participants as at
          where at.conversation_id = c.id and at.user_id = ${readerId}), 0)`.as('unread'),
      )
      .select((e) =>
        e
          .selectFrom((f) =>
            f
              .selectFrom('ordered_messages as newest')
              .select(['newest.sender_role', 'newest.seq'])
              .whereRef('newest.conversation_id', '=', 'c.id')
              .where('newest.deleted_at', 'is', null)
              .where('newest.seq', '>', (g) =>
                g.fn.coalesce(
                  g
                    .selectFrom('participants as reader')
                    .select('reader.last_read_seq')
                    .whereRef('reader.conversation_id', '=', 'c.id')
                    .where('reader.user_id', '=', readerId),
                  g.lit(0),
                ),
              )
              .orderBy('newest.seq', 'desc')
              .limit(countedMessages)
              .as('unread'),
          )
          .select((f) => f.fn.countAll<number>().as('n'))
          .where('unread.sender_role', '=', 'visitor')
          .as('unread_count'),
      )
  );
}

const isIdle = sql<number>`(c.waiting_since is null or c.status <> 'pending')`;
const pendingSince = sql<number>`case when c.status = 'pending' then coalesce(c.waiting_since, 0) else 0 end`;
const rank = sql<number>`case c.priority when 'urgent' then 3 when 'high' then 2 when 'normal' then 1 else 0 end`;
const lastUpdated = sql<number>`-c.updated_at`;
const nothing = sql<number>`0`;

/** Three numbers each, the smaller one first. */
const orders: Readonly<
  Record<QueueSort, readonly [RawBuilder<number>, RawBuilder<number>, RawBuilder<number>]>
> = {
  queue: [isIdle, pendingSince, lastUpdated],
  updated: [lastUpdated, nothing, nothing],
  newest: [sql<number>`-c.created_at`, nothing, nothing],
  oldest: [sql<number>`c.created_at`, nothing, nothing],
  waiting: [sql<number>`(c.waiting_since is null)`, sql<number>`coalesce(c.waiting_since, 0)`, lastUpdated],
  // Those that wait stand before those that don't, the longest waiting first; a number holds both.
  priority: [
    sql<number>`-${rank}`,
    sql<number>`case when ${isIdle} then 9007199254740991 else ${pendingSince} end`,
    lastUpdated,
  ],
};

const stretchByState = prepare<{
  organization_id: string;
  mode: Mode;
  status: ConversationStatus;
  after: number;
  most: number;
}>()((db, p) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('conversations')
        .select(sql<number>`rowid`.as('place'))
        .where('organization_id', '=', p.organization_id)
        .where('mode', '=', p.mode)
        .where('status', '=', p.status)
        .where(sql`rowid`, '>', p.after)
        .orderBy(sql`rowid`)
        .limit(p.most)
        .as('stretch'),
    )
    .select((e) => [e.fn.max('stretch.place').as('through'), e.fn.countAll<number>().as('rows')]),
);
const stretchByTag = prepare<{ tag_id: string; after: string; most: number }>()((db, p) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('conversation_tags')
        .select('conversation_id')
        .where('tag_id', '=', p.tag_id)
        .where('conversation_id', '>', p.after)
        .orderBy('conversation_id')
        .limit(p.most)
        .as('stretch'),
    )
    .select((e) => [e.fn.max('stretch.conversation_id').as('through'), e.fn.countAll<number>().as('rows')]),
);
const facetColumns = builder
  .selectFrom('conversations as c')
  .select([
    'c.id',
    'c.mode',
    'c.status',
    'c.application_id',
    'c.assigned_to',
    'c.priority',
    'c.channel',
    'c.waiting_since',
    'c.created_at',
    'c.updated_at',
  ])
  .select([
    sql<number>`c.rowid`.as('place'),
    sql<number>`c.snoozed_until is not null`.as('snoozed'),
    sql<number>`c.last_visitor_seq > 0`.as('visitor_wrote'),
    sql<string | null>`(select ${joined('held.tag_id', ' ')} from conversation_tags as held
      where held.conversation_id = c.id)`.as('tag_ids'),
    sql<string | null>`(select ${joined('reader.user_id', ' ')} from participants as reader
      where reader.conversation_id = c.id and reader.role <> 'visitor' and c.last_visitor_seq > 0
        and reader.last_read_seq >= c.last_visitor_seq)`.as('readers'),
  ]);
const facetsOfStretch = prepare<StateStretch & { organization_id: string }>()((_db, p) =>
  facetColumns
    .where('c.organization_id', '=', p.organization_id)
    .where('c.mode', '=', p.mode)
    .where('c.status', '=', p.status)
    .where(sql`c.rowid`, '>', p.after)
    .where(sql`c.rowid`, '<=', p.through),
);
const facetsOf = prepare<{ organization_id: string; ids: string }>()((_db, p) =>
  facetColumns.where(withoutIndex('c.organization_id'), '=', p.organization_id).where(isOneOf('c.id', p.ids)),
);
const facetsAt = prepare<{ organization_id: string; places: string }>()((_db, p) =>
  facetColumns
    .where(withoutIndex('c.organization_id'), '=', p.organization_id)
    .where(isOneOfNumbers('c.rowid', p.places)),
);
const placesOf = prepare<{ organization_id: string; ids: string }>()((db, p) =>
  db
    .selectFrom('conversations as c')
    .select(sql<number>`c.rowid`.as('place'))
    .where(withoutIndex('c.organization_id'), '=', p.organization_id)
    .where(isOneOf('c.id', p.ids)),
);
const visitorAttributes = prepare<{ organization_id: string; ids: string }>()((db, p) =>
  db
    .selectFrom('conversations as c')
    .innerJoin('visitors as v', 'v.id', 'c.visitor_key')
    .select(['c.id', 'v.attributes as visitor_attributes'])
    .where(withoutIndex('c.organization_id'), '=', p.organization_id)
    .where(isOneOf('c.id', p.ids)),
);
const lastQueueChange = prepare<object>()((db) =>
  db.selectFrom('queue_changes').select((e) => e.fn.max('number').as('number')),
);
const queueChanges = prepare<{ after: number; limit: number }>()((db, p) =>
  db.selectFrom('queue_changes').selectAll().where('number', '>', p.after).orderBy('number').limit(p.limit),
);

/** Stands between tags in one text: no name holds control characters. */
const tagSeparator = '\u001F';

function withTags<R extends { readonly tags: string | null }>(
  row: R,
): Omit<R, 'tags'> & Pick<QueueRow, 'tags'> {
  return { ...row, tags: row.tags === null ? [] : row.tags.split(tagSeparator) };
}

const noStretch = { through: null, rows: 0 };

/** What of a conversations' repository is asked for the queue. */
export function createQueueQueries(
  runner: Runner,
): Pick<
  ConversationsRepository,
  | 'stretchByState'
  | 'stretchByTag'
  | 'queueOfStretch'
  | 'placesOf'
  | 'facetsOfStretch'
  | 'facetsOf'
  | 'facetsAt'
  | 'lastQueueChange'
  | 'queueChanges'
  | 'queuePage'
  | 'visitorAttributes'
  | 'queueItem'
> {
  return {
    stretchByState: async (organizationId, mode, status, after, most) =>
      (await first(runner, stretchByState, { organization_id: organizationId, mode, status, after, most })) ??
      noStretch,
    stretchByTag: async (tagId, after, most) =>
      (await first(runner, stretchByTag, { tag_id: tagId, after, most })) ?? noStretch,
    queueOfStretch: async (filter, stretch, sort, most) => {
      const fitting = queue(filter, stretch);
      const [key0, key1, key2] = orders[sort];
      const rows = await runner.all(
        fitting
          .select(['c.id', key0.as('key0'), key1.as('key1'), key2.as('key2')])
          .select(sql<number>`count(*) over ()`.as('total'))
          .orderBy('key0')
          .orderBy('key1')
          .orderBy('key2')
          .orderBy('c.id', 'desc')
          .limit(most)
          .compile(),
      );
      return { rows, total: rows[0]?.total ?? 0 };
    },
    placesOf: async (organizationId, ids) =>
      (await all(runner, placesOf, { organization_id: organizationId, ids: JSON.stringify(ids) })).map(
        ({ place }) => place,
      ),
    facetsOfStretch: (organizationId, stretch) =>
      all(runner, facetsOfStretch, { ...stretch, organization_id: organizationId }),
    facetsOf: (organizationId, ids) =>
      all(runner, facetsOf, { organization_id: organizationId, ids: JSON.stringify(ids) }),
    facetsAt: (organizationId, places) =>
      all(runner, facetsAt, { organization_id: organizationId, places: JSON.stringify(places) }),
    lastQueueChange: async () => (await first(runner, lastQueueChange, {}))?.number ?? 0,
    queueChanges: (after, limit) => all(runner, queueChanges, { after, limit }),
    queuePage: async (organizationId, ids, readerId) =>
      (
        await runner.all(
          queueRows(
            builder
              .selectFrom('conversations')
              .select('id')
              .where(withoutIndex('organization_id'), '=', organizationId)
              .where(isOneOf('id', JSON.stringify(ids))),
            readerId,
          ).compile(),
        )
      ).map(withTags),
    visitorAttributes: (organizationId, ids) =>
      all(runner, visitorAttributes, { organization_id: organizationId, ids: JSON.stringify(ids) }),
    queueItem: async (
      organizationId: string,
      id: string,
      readerId: string,
    ): Promise<QueueRow | undefined> => {
      const row = await runner.first(
        queueRows(
          builder
            .selectFrom('conversations')
            .select('id')
            .where('organization_id', '=', organizationId)
            .where('id', '=', id),
          readerId,
        )
          .select('v.attributes as visitor_attributes')
          .compile(),
      );
      return row === undefined ? undefined : withTags(row);
    },
  };
}
