// Queries on the outbox. What is due is decided by the rows alone, so that a restart changes nothing.
import type { AttemptedEffect, EffectFilter, EffectsRepository } from '../../repositories/effects.ts';
import type { LogStretch } from '../../repositories/log-stretches.ts';
import type { EffectRow } from '../../rows.ts';
import { isOrAny } from '../dialect.ts';
import { all, first, prepare, run, type Runner, type Builder } from '../query.ts';

const insert = prepare<EffectRow>()((db, p) =>
  db
    .insertInto('effects')
    .values({
      id: p.id,
      organization_id: p.organization_id,
      kind: p.kind,
      key: p.key,
      about: p.about,
      conversation_id: p.conversation_id,
      message_id: p.message_id,
      member_id: p.member_id,
      recipient: p.recipient,
      payload: p.payload,
      sealed: p.sealed,
      state: p.state,
      attempts: p.attempts,
      due_at: p.due_at,
      give_up_at: p.give_up_at,
      last_attempt_at: p.last_attempt_at,
      duration_ms: p.duration_ms,
      error: p.error,
      created_at: p.created_at,
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'kind', 'key']).doNothing()),
);
const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('effects').selectAll().where('id', '=', p.id),
);
const waiting = prepare<object>()((db) =>
  db
    .selectFrom('effects')
    .select((e) => ['kind', 'organization_id', e.fn.min<number>('due_at').as('due_at')])
    .where('state', '=', 'waiting')
    .groupBy(['kind', 'organization_id']),
);
type Queue = { kind: string; organization_id: string };
type Due = Queue & { now: number; latest: number; limit: number };
const due = prepare<Due>()((db, p) =>
  db
    .selectFrom('effects')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('kind', '=', p.kind)
    .where('organization_id', '=', p.organization_id)
    .where((e) => e.or([e('due_at', '<=', p.now), e('due_at', '>', p.latest)]))
    .orderBy('due_at')
    .orderBy('id')
    .limit(p.limit),
);
const nextDue = prepare<Queue & { now: number }>()((db, p) =>
  db
    .selectFrom('effects')
    .select('due_at')
    .where('state', '=', 'waiting')
    .where('kind', '=', p.kind)
    .where('organization_id', '=', p.organization_id)
    .where('due_at', '>', p.now)
    .orderBy('due_at')
    .limit(1),
);
const setAttempt = prepare<AttemptedEffect>()((db, p) =>
  db
    .updateTable('effects')
    .set({
      state: p.state,
      attempts: p.attempts,
      due_at: p.due_at,
      give_up_at: p.give_up_at,
      last_attempt_at: p.last_attempt_at,
      duration_ms: p.duration_ms,
      error: p.error,
      sealed: p.sealed,
    })
    .where('id', '=', p.id),
);
const setClaim = prepare<{ id: string; payload: string; recipient: string }>()((db, p) =>
  db
    .updateTable('effects')
    .set({ payload: p.payload, recipient: p.recipient })
    .where('id', '=', p.id)
    .where('state', '=', 'waiting'),
);
/** The statements that write what becomes of effects: they touch no conversation. */
export const effectStatements = [insert, setAttempt, setClaim];
const prune = prepare<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('effects')
    .where('id', 'in', (e) =>
      e
        .selectFrom('effects')
        .select('id')
        .where('created_at', '<', p.before)
        .where('state', '!=', 'waiting')
        .limit(p.limit),
    ),
);
const keysOf = prepare<{ kind: string; conversation_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('effects')
    .select('key')
    .where('conversation_id', '=', p.conversation_id)
    .where('kind', '=', p.kind)
    .limit(p.limit),
);
const waitsUnclaimed = prepare<{ kind: string; about: string; conversation_id: string }>()((db, p) =>
  db
    .selectFrom('effects')
    .select('id')
    .where('conversation_id', '=', p.conversation_id)
    .where('kind', '=', p.kind)
    .where('about', '=', p.about)
    .where('state', '=', 'waiting')
    .where('payload', '=', '{}')
    .limit(1),
);
type OfMember = { kind: string; about: string; conversation_id: string; member_id: string };
const newestOfMember = prepare<OfMember>()((db, p) =>
  db
    .selectFrom('effects')
    .selectAll()
    .where('conversation_id', '=', p.conversation_id)
    .where('member_id', '=', p.member_id)
    .where('kind', '=', p.kind)
    .where('about', '=', p.about)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1),
);
const removeOfConversation = prepare<{ conversation_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('effects')
    .where('id', 'in', (e) =>
      e.selectFrom('effects').select('id').where('conversation_id', '=', p.conversation_id).limit(p.limit),
    ),
);
const removeOfOrganization = prepare<{ organization_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('effects')
    .where('id', 'in', (e) =>
      e.selectFrom('effects').select('id').where('organization_id', '=', p.organization_id).limit(p.limit),
    ),
);

type Within = { organization_id: string; from: number; before: number };
type Fitting = Within & { kind: string | null; state: EffectRow['state'] | null };
const timeOf = prepare<Within & { offset: number }>()((db, p) =>
  db
    .selectFrom('effects')
    .select('created_at')
    .where('organization_id', '=', p.organization_id)
    .where('created_at', '>=', p.from)
    .where('created_at', '<', p.before)
    .orderBy('created_at', 'desc')
    .limit(1)
    .offset(p.offset),
);
const fittingRows = (db: Builder, p: Fitting) =>
  db
    .selectFrom('effects')
    .where('organization_id', '=', p.organization_id)
    .where('created_at', '>=', p.from)
    .where('created_at', '<', p.before)
    .where(isOrAny('kind', p.kind))
    .where(isOrAny('state', p.state));
const count = prepare<Fitting>()((db, p) =>
  fittingRows(db, p).select((e) => e.fn.countAll<number>().as('n')),
);
const page = prepare<Fitting & { limit: number; offset: number }>()((db, p) =>
  fittingRows(db, p)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);

function fitting({ organizationId, kind, state }: EffectFilter, { from, before }: LogStretch): Fitting {
  return { organization_id: organizationId, kind: kind ?? null, state: state ?? null, from, before };
}

export function createEffectsRepository(runner: Runner): EffectsRepository {
  return {
    insert: (row) => run(runner, insert, row),
    byId: (id) => first(runner, byId, { id }),
    waiting: () => all(runner, waiting, {}),
    due: (kind, organizationId, now, latest, limit) =>
      all(runner, due, { kind, organization_id: organizationId, now, latest, limit }),
    nextDue: async (kind, organizationId, now) =>
      (await first(runner, nextDue, { kind, organization_id: organizationId, now }))?.due_at ?? null,
    setAttempt: (row) => run(runner, setAttempt, row),
    setClaim: (id, payload, recipient) => run(runner, setClaim, { id, payload, recipient }),
    log: {
      timeOf: async ({ organizationId }, { from, before }, most) =>
        (await first(runner, timeOf, { organization_id: organizationId, from, before, offset: most - 1 }))
          ?.created_at,
      count: async (filter, stretch) => (await first(runner, count, fitting(filter, stretch)))?.n ?? 0,
      page: (filter, stretch, limit, offset) =>
        all(runner, page, { ...fitting(filter, stretch), limit, offset }),
    },
    prune: (before, limit) => run(runner, prune, { before, limit }),
    keysOf: async (kind, conversationId, limit) =>
      (await all(runner, keysOf, { kind, conversation_id: conversationId, limit })).map(({ key }) => key),
    waitsUnclaimed: async (kind, about, conversationId) =>
      (await first(runner, waitsUnclaimed, { kind, about, conversation_id: conversationId })) !== undefined,
    newestOfMember: (kind, about, conversationId, memberId) =>
      first(runner, newestOfMember, { kind, about, conversation_id: conversationId, member_id: memberId }),
    removeOfConversation: (conversationId, limit) =>
      run(runner, removeOfConversation, { conversation_id: conversationId, limit }),
    removeOfOrganization: (organizationId, limit) =>
      run(runner, removeOfOrganization, { organization_id: organizationId, limit }),
  };
}
