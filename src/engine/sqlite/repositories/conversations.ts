// Queries on conversations: a visitor's own, the operators' queue, and the guarded
// changes of state, each of which matches only the state that it starts from.
import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { ConversationStatus, Mode, Priority } from '../../../protocol/entities.ts';
import type { QueueSort } from '../../../protocol/queue.ts';
import type {
  ConversationFilter,
  ConversationsRepository,
  ConversationStep,
  QueueStretch,
  StateStretch,
  TagStretch,
} from '../../repositories/conversations.ts';
import type { ConversationRow, ConversationWithVisitor, QueueRow } from '../../rows.ts';
import { bound, containsText, isOneOf, isOneOfNumbers, joined, tagNames, withoutIndex } from '../dialect.ts';
import type { KnownConversations } from '../known-conversations.ts';
import { ownerHasArrived } from './organizations.ts';
import {
  all,
  attempt,
  builder,
  first,
  isImmediate,
  prepare,
  run,
  type ImmediateRunner,
  type Runner,
} from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .innerJoin('visitors', 'visitors.id', 'conversations.visitor_key')
    .selectAll('conversations')
    .select(['visitors.visitor_id', 'visitors.name as visitor_name'])
    .where('conversations.id', '=', p.id),
);
const byIdempotencyKey = prepare<{ visitor_key: string; idempotency_key: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('id')
    .where('visitor_key', '=', p.visitor_key)
    .where('idempotency_key', '=', p.idempotency_key)
    .where('idempotency_key', 'is not', null),
);
const countPending = prepare<{ visitor_key: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('visitor_key', '=', p.visitor_key)
    .where('status', '=', 'pending'),
);
const ofVisitor = prepare<{ visitor_key: string; limit: number; offset: number }>()((db, p) =>
  db
    .selectFrom('conversations')
    .selectAll()
    .where('visitor_key', '=', p.visitor_key)
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);
const countOfVisitor = prepare<{ visitor_key: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('visitor_key', '=', p.visitor_key),
);
const insert = prepare<ConversationRow>()((db, p) =>
  db.insertInto('conversations').values({
    id: p.id,
    organization_id: p.organization_id,
    application_id: p.application_id,
    visitor_key: p.visitor_key,
    mode: p.mode,
    status: p.status,
    subject: p.subject,
    assigned_to: p.assigned_to,
    resolved_by: p.resolved_by,
    resolved_at: p.resolved_at,
    last_seq: p.last_seq,
    waiting_since: p.waiting_since,
    first_response_at: p.first_response_at,
    idempotency_key: p.idempotency_key,
    priority: p.priority,
    snoozed_until: p.snoozed_until,
    last_visitor_seq: p.last_visitor_seq,
    channel: p.channel,
    continues: p.continues,
    created_at: p.created_at,
    updated_at: p.updated_at,
  }),
);

export type Step = Pick<
  ConversationRow,
  'last_seq' | 'last_visitor_seq' | 'waiting_since' | 'first_response_at' | 'updated_at'
>;

/** The one statement that takes a conversation a step on. */
export const writeStep = prepare<Step & { id: string }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({
      last_seq: p.last_seq,
      last_visitor_seq: p.last_visitor_seq,
      waiting_since: p.waiting_since,
      first_response_at: p.first_response_at,
      updated_at: p.updated_at,
    })
    .where('id', '=', p.id),
);

/** The next sequence number, and what the step changes about the conversation. */
export function stepOn(from: Step, by: ConversationStep, now: number): Step {
  const { last_visitor_seq, waiting_since, first_response_at, updated_at } = from;
  const last_seq = from.last_seq + 1;
  const unchanged = { last_seq, last_visitor_seq, waiting_since, first_response_at, updated_at };
  switch (by) {
    case 'visitor':
      return {
        ...unchanged,
        last_visitor_seq: last_seq,
        waiting_since: waiting_since ?? now,
        updated_at: now,
      };
    case 'operator':
      return {
        ...unchanged,
        waiting_since: null,
        first_response_at: first_response_at ?? now,
        updated_at: now,
      };
    case 'other':
      return { ...unchanged, updated_at: now };
    case 'note':
      return unchanged;
  }
}

/** A conversation as the connection reads it now, by the row that it knows or by a query. */
export function readConversation(
  { direct }: ImmediateRunner,
  known: KnownConversations | undefined,
  id: string,
): ConversationWithVisitor | undefined {
  const kept = known?.get(id);
  if (kept !== undefined) return kept;
  const row = direct.first(byId.compiled, byId.bind({ id }));
  if (row !== undefined) known?.put(row);
  return row;
}

/** The same where the database is asked over a connection. */
export function loadConversation(runner: Runner, id: string): Promise<ConversationWithVisitor | undefined> {
  return first(runner, byId, { id });
}

function byIdOf(runner: Runner, known: KnownConversations | undefined): ConversationsRepository['byId'] {
  return isImmediate(runner)
    ? (id) => readConversation(runner, known, id)
    : (id) => loadConversation(runner, id);
}

function advanceOf(
  runner: Runner,
  known: KnownConversations | undefined,
): ConversationsRepository['advance'] {
  if (!isImmediate(runner))
    return async (id, by, now) => {
      const conversation = await loadConversation(runner, id);
      if (conversation === undefined) throw new Error(`No conversation ${id}.`);
      const step = stepOn(conversation, by, now);
      await run(runner, writeStep, { id, ...step });
      return step;
    };
  return (id, by, now) =>
    attempt(() => {
      const conversation = readConversation(runner, known, id);
      if (conversation === undefined) throw new Error(`No conversation ${id}.`);
      const step = stepOn(conversation, by, now);
      runner.direct.run(writeStep.compiled, writeStep.bind({ id, ...step }));
      known?.put({ ...conversation, ...step });
      return step;
    });
}

const accept = prepare<{ id: string; assigned_to: string; updated_at: number }>()((db, p) =>
  db
    .updateTable('conversations')
    // Where a person has once taken over, the assistant stays silent, even after they give it back.
    .set({
      status: 'active',
      assigned_to: p.assigned_to,
      updated_at: p.updated_at,
      assistant_muted_at: sql<number>`coalesce(assistant_muted_at, ${p.updated_at})`,
      // Who takes it wants to see it.
      snoozed_until: null,
    })
    .where('id', '=', p.id)
    .where('status', '=', 'pending'),
);
const reopen = prepare<{ id: string; assigned_to: string; now: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({
      status: 'active',
      assigned_to: p.assigned_to,
      resolved_by: null,
      resolved_at: null,
      updated_at: p.now,
      assistant_muted_at: sql<number>`coalesce(assistant_muted_at, ${p.now})`,
    })
    .where('id', '=', p.id)
    .where('status', '=', 'closed'),
);
const setPriority = prepare<Pick<ConversationRow, 'id' | 'priority'>>()((db, p) =>
  db.updateTable('conversations').set({ priority: p.priority }).where('id', '=', p.id),
);
const setSubject = prepare<Pick<ConversationRow, 'id' | 'subject' | 'updated_at'>>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ subject: p.subject, updated_at: p.updated_at })
    .where('id', '=', p.id),
);
const stopMail = prepare<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ mail_stopped_at: p.now })
    .where('id', '=', p.id)
    .where('mail_stopped_at', 'is', null),
);
const snooze = prepare<{ id: string; until: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ snoozed_until: p.until })
    .where('id', '=', p.id)
    .where('status', '<>', 'closed'),
);
const wake = prepare<{ id: string; due_at: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ snoozed_until: null })
    .where('id', '=', p.id)
    .where('snoozed_until', '<=', p.due_at),
);
const dueSnoozes = prepare<{ now: number; limit: number }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select(['id', 'organization_id'])
    .where('snoozed_until', '<=', p.now)
    .where(ownerHasArrived('conversations.organization_id'))
    .orderBy('snoozed_until')
    .limit(p.limit),
);
const nextSnooze = prepare<object>()((db) =>
  db
    .selectFrom('conversations')
    .select('snoozed_until')
    .where('snoozed_until', 'is not', null)
    .where(ownerHasArrived('conversations.organization_id'))
    .orderBy('snoozed_until')
    .limit(1),
);
const muteAssistant = prepare<{ id: string; now: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ assistant_muted_at: p.now })
    .where('id', '=', p.id)
    .where('assistant_muted_at', 'is', null),
);
const release = prepare<{ id: string; assigned_to: string; now: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({
      status: 'pending',
      assigned_to: null,
      waiting_since: sql<number>`coalesce(waiting_since, ${p.now})`,
      updated_at: p.now,
    })
    .where('id', '=', p.id)
    .where('status', '=', 'active')
    .where('assigned_to', '=', p.assigned_to),
);
type Resolving = Pick<ConversationRow, 'id' | 'status' | 'assigned_to'> & {
  resolved_by: string;
  resolved_at: number;
};
const resolve = prepare<Resolving>()((db, p) =>
  db
    .updateTable('conversations')
    .set({
      status: 'closed',
      resolved_by: p.resolved_by,
      resolved_at: p.resolved_at,
      waiting_since: null,
      snoozed_until: null,
      updated_at: p.resolved_at,
    })
    .where('id', '=', p.id)
    .where('status', '=', p.status)
    .where('assigned_to', 'is not distinct from', p.assigned_to)
    .where('status', '<>', 'closed'),
);
const transfer = prepare<{ id: string; from: string; to: string; now: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set({ assigned_to: p.to, updated_at: p.now, snoozed_until: null })
    .where('id', '=', p.id)
    .where('status', '=', 'active')
    .where('assigned_to', '=', p.from),
);
const assignedTo = prepare<{ organization_id: string; assigned_to: string }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('id')
    .where('organization_id', '=', p.organization_id)
    .where('status', '=', 'active')
    .where('assigned_to', '=', p.assigned_to),
);

const holders = prepare<object>()((db) =>
  db
    .selectFrom('conversations as c')
    .innerJoin('organizations as o', 'o.id', 'c.organization_id')
    .select(['c.organization_id', 'c.assigned_to', 'o.release_after_minutes'])
    .distinct()
    .where('c.status', '=', 'active')
    .where('o.release_after_minutes', 'is not', null),
);

function queueBase(filter: ConversationFilter, stretch: QueueStretch) {
  const base = builder
    .selectFrom('conversations as c')
    // Left: SQLite leaves the visitors alone where nothing is looked for in them.
    .leftJoin('visitors as v', 'v.id', 'c.visitor_key');
  if ('tagId' in stretch)
    return base
      .where(withoutIndex('c.organization_id'), '=', filter.organizationId)
      .where('c.id', 'in', withEveryTag(stretch, filter.tagIds ?? []));
  if ('ofVisitor' in stretch)
    return base.where(withoutIndex('c.organization_id'), '=', filter.organizationId);
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
      .leftJoin('members as assignee', 'assignee.id', 'c.assigned_to')
      // The newest message that still exists.
      .leftJoin('messages as m', (join) =>
        join.onRef('m.conversation_id', '=', 'c.id').on('m.seq', '=', (e) =>
          e
            .selectFrom('messages as newest')
            .select((f) => f.fn.max('newest.seq').as('seq'))
            .whereRef('newest.conversation_id', '=', 'c.id')
            .where('newest.deleted_at', 'is', null),
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
        'v.attributes as visitor_attributes',
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
              .selectFrom('messages as newest')
              .select('newest.sender_role')
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

/** @param known the rows that the connection knows; left out where others write on the same data */
export function createConversationsRepository(
  runner: Runner,
  known?: KnownConversations,
): ConversationsRepository {
  return {
    byId: byIdOf(runner, known),
    byIdempotencyKey: async (visitorKey: string, key: string) =>
      (await first(runner, byIdempotencyKey, { visitor_key: visitorKey, idempotency_key: key }))?.id,
    countPending: async (visitorKey: string) =>
      (await first(runner, countPending, { visitor_key: visitorKey }))?.n ?? 0,
    ofVisitor: (visitorKey: string, limit: number, offset: number) =>
      all(runner, ofVisitor, { visitor_key: visitorKey, limit, offset }),
    countOfVisitor: async (visitorKey: string) =>
      (await first(runner, countOfVisitor, { visitor_key: visitorKey }))?.n ?? 0,
    insert: (row: ConversationRow) => run(runner, insert, row),
    advance: advanceOf(runner, known),
    accept: (id: string, memberId: string, now: number) =>
      run(runner, accept, { id, assigned_to: memberId, updated_at: now }),
    muteAssistant: (id: string, now: number) => run(runner, muteAssistant, { id, now }),
    release: (id: string, assignedTo: string, now: number) =>
      run(runner, release, { id, assigned_to: assignedTo, now }),
    resolve: (from: Pick<ConversationRow, 'id' | 'status' | 'assigned_to'>, memberId: string, now: number) =>
      run(runner, resolve, {
        id: from.id,
        status: from.status,
        assigned_to: from.assigned_to,
        resolved_by: memberId,
        resolved_at: now,
      }),
    transfer: (id: string, from: string, to: string, now: number) =>
      run(runner, transfer, { id, from, to, now }),
    reopen: (id: string, memberId: string, now: number) =>
      run(runner, reopen, { id, assigned_to: memberId, now }),
    setPriority: (id: string, priority: Priority) => run(runner, setPriority, { id, priority }),
    setSubject: (id: string, subject: string | null, now: number) =>
      run(runner, setSubject, { id, subject, updated_at: now }),
    stopMail: (id, now) => run(runner, stopMail, { id, now }),
    snooze: (id: string, until: number) => run(runner, snooze, { id, until }),
    wake: (id: string, dueAt: number = Number.MAX_SAFE_INTEGER) => run(runner, wake, { id, due_at: dueAt }),
    dueSnoozes: (now: number, limit: number) => all(runner, dueSnoozes, { now, limit }),
    nextSnooze: async () => (await first(runner, nextSnooze, {}))?.snoozed_until ?? null,
    assignedTo: async (organizationId: string, memberId: string) =>
      (await all(runner, assignedTo, { organization_id: organizationId, assigned_to: memberId })).map(
        (row) => row.id,
      ),
    holders: async () =>
      (await all(runner, holders, {})).flatMap(({ organization_id, assigned_to, release_after_minutes }) =>
        assigned_to === null || release_after_minutes === null
          ? []
          : [{ organization_id, member_id: assigned_to, release_after_minutes }],
      ),
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
        ).compile(),
      );
      return row === undefined ? undefined : withTags(row);
    },
  };
}
