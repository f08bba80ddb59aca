// Queries on conversations: a visitor's own, and the guarded changes of state, each of which matches only the state that it
// starts from.
import { sql } from 'kysely';
import type { Priority } from '../../../protocol/entities.ts';
import type { ConversationsRepository, ConversationStep } from '../../repositories/conversations.ts';
import type { ConversationRow, ConversationWithVisitor } from '../../rows.ts';
import type { KnownConversation, KnownConversations } from '../known-conversations.ts';
import { createQueueQueries } from './conversation-queue.ts';
import { applicationIsFound, ownerIsFound } from './found.ts';
import {
  all,
  attempt,
  first,
  isImmediate,
  prepare,
  prepareForSqlite,
  run,
  type Builder,
  type ImmediateRunner,
  type Runner,
} from '../query.ts';

const withVisitor = (db: Builder) =>
  db
    .selectFrom('conversations')
    .innerJoin('visitors', 'visitors.id', 'conversations.visitor_key')
    .selectAll('conversations')
    .select(['visitors.visitor_id', 'visitors.name as visitor_name']);
const oneWithVisitor = (db: Builder, id: string) =>
  withVisitor(db)
    .where('conversations.id', '=', id)
    .where(applicationIsFound('conversations.application_id'));
const byId = prepare<{ id: string }>()((db, p) => oneWithVisitor(db, p.id));
/** Where the database answers at once: with SQLite's own key, and the number that stands for it beside the messages. */
const byIdWithKeys = prepareForSqlite<{ id: string }>()((db, p) =>
  oneWithVisitor(db, p.id)
    .innerJoin('conversation_numbers', 'conversation_numbers.conversation_id', 'conversations.id')
    .select([sql<number>`conversations.rowid`.as('rowid'), 'conversation_numbers.number']),
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

const columnsOf = (p: Step): Step => ({
  last_seq: p.last_seq,
  last_visitor_seq: p.last_visitor_seq,
  waiting_since: p.waiting_since,
  first_response_at: p.first_response_at,
  updated_at: p.updated_at,
});
/** Takes a conversation a step on. */
export const writeStep = prepare<Step & { id: string }>()((db, p) =>
  db.updateTable('conversations').set(columnsOf(p)).where('id', '=', p.id),
);
/** The same by SQLite's own key. */
export const writeStepAt = prepareForSqlite<Step & { rowid: number }>()((db, p) =>
  db
    .updateTable('conversations')
    .set(columnsOf(p))
    .where(sql<number>`rowid`, '=', p.rowid),
);

/** The next sequence number, and what the step changes about the conversation. */
export function stepOn(from: Step, by: ConversationStep, now: number): Step {
  let { last_visitor_seq, waiting_since, first_response_at, updated_at } = from;
  const last_seq = from.last_seq + 1;
  if (by !== 'note') updated_at = now;
  if (by === 'visitor') {
    last_visitor_seq = last_seq;
    waiting_since ??= now;
  } else if (by === 'operator') {
    waiting_since = null;
    first_response_at ??= now;
  }
  return { last_seq, last_visitor_seq, waiting_since, first_response_at, updated_at };
}

/** Writes a step on a database that answers at once. @returns the conversation after it, which is known from now on */
export function takeStep(
  { direct }: ImmediateRunner,
  known: KnownConversation,
  step: Step,
): ConversationWithVisitor {
  // As `writeStepAt.bind` lays them out, without a look at each name.
  direct.run(writeStepAt.compiled, [
    step.last_seq,
    step.last_visitor_seq,
    step.waiting_since,
    step.first_response_at,
    step.updated_at,
    known.rowid,
  ]);
  // Written out: two rows spread into one are copied name by name, and every message comes this way.
  known.row = {
    ...known.row,
    last_seq: step.last_seq,
    last_visitor_seq: step.last_visitor_seq,
    waiting_since: step.waiting_since,
    first_response_at: step.first_response_at,
    updated_at: step.updated_at,
  };
  return known.row;
}

/** A conversation as the connection reads it now, by what it knows or by a query. */
export function readConversation(
  { direct }: ImmediateRunner,
  conversations: KnownConversations | undefined,
  id: string,
): KnownConversation | undefined {
  const kept = conversations?.get(id);
  if (kept !== undefined) return kept;
  const found = direct.first(byIdWithKeys.compiled, byIdWithKeys.bind({ id }));
  if (found === undefined) return undefined;
  const { rowid, number, ...row } = found;
  const known: KnownConversation = { rowid, number, row };
  conversations?.put(known);
  return known;
}

/** The same where the database is asked over a connection. */
export function loadConversation(runner: Runner, id: string): Promise<ConversationWithVisitor | undefined> {
  return first(runner, byId, { id });
}

function byIdOf(runner: Runner, known: KnownConversations | undefined): ConversationsRepository['byId'] {
  return isImmediate(runner)
    ? (id) => readConversation(runner, known, id)?.row
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
      return takeStep(runner, conversation, stepOn(conversation.row, by, now));
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
    .where(ownerIsFound('conversations.organization_id'))
    .orderBy('snoozed_until')
    .limit(p.limit),
);
const nextSnooze = prepare<object>()((db) =>
  db
    .selectFrom('conversations')
    .select('snoozed_until')
    .where('snoozed_until', 'is not', null)
    .where(ownerIsFound('conversations.organization_id'))
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
      // It belongs to no one now, and must not be hidden from those who could take it.
      snoozed_until: null,
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
/** As the index of them says it (migrations/0028-held-conversations.ts). */
const isActive = sql<boolean>`status = 'active'`;
const assignedTo = prepare<{ organization_id: string; assigned_to: string; limit: number }>()((db, p) =>
  db
    .selectFrom('conversations')
    .select('id')
    .where('organization_id', '=', p.organization_id)
    .where('assigned_to', '=', p.assigned_to)
    .where(isActive)
    .limit(p.limit),
);

/** From the members, who are few beside the conversations. */
const holdersAmong = (db: Builder) =>
  db
    .selectFrom('members as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['m.organization_id', 'm.id as member_id', 'm.disabled_at', 'o.release_after_minutes'])
    .where((e) =>
      e.exists(
        e
          .selectFrom('conversations')
          .select(sql<number>`1`.as('one'))
          .whereRef('organization_id', '=', 'm.organization_id')
          .whereRef('assigned_to', '=', 'm.id')
          .where(isActive),
      ),
    );
const disabledHolders = prepare<object>()((db) => holdersAmong(db).where('m.disabled_at', 'is not', null));
const holdersWithTime = prepare<object>()((db) =>
  holdersAmong(db).where('m.disabled_at', 'is', null).where('o.release_after_minutes', 'is not', null),
);

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
    assignedTo: async (organizationId: string, memberId: string, limit: number) =>
      (await all(runner, assignedTo, { organization_id: organizationId, assigned_to: memberId, limit })).map(
        (row) => row.id,
      ),
    holders: async () => [
      ...(await all(runner, disabledHolders, {})),
      ...(await all(runner, holdersWithTime, {})),
    ],
    ...createQueueQueries(runner),
  };
}
