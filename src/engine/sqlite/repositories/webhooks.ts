// Queries on webhooks and their deliveries. What is due, and what waits for whom, is
// decided by the rows alone, so that a restart changes nothing.
import { sql } from 'kysely';
import type { WebhookSecrets, WebhooksRepository } from '../../repositories/webhooks.ts';
import type { WebhookDeliveryRow, WebhookRow } from '../../rows.ts';
import { isOrAny } from '../dialect.ts';
import { ownerIsFound } from './found.ts';
import { all, first, prepare, run, type Runner, type Builder } from '../query.ts';

const insert = prepare<WebhookRow>()((db, p) =>
  db.insertInto('webhooks').values({
    id: p.id,
    organization_id: p.organization_id,
    url: p.url,
    events: p.events,
    sealed: p.sealed,
    previous_sealed: p.previous_sealed,
    previous_until: p.previous_until,
    enabled: p.enabled,
    position: p.position,
    created_at: p.created_at,
  }),
);
const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', p.id),
);
const byOrganization = prepare<{ organization_id: string; limit: number; offset: number }>()((db, p) =>
  db
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .orderBy('created_at')
    .orderBy('id')
    .limit(p.limit)
    .offset(p.offset),
);
const count = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('webhooks')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('organization_id', '=', p.organization_id),
);
const enabled = prepare<object>()((db) =>
  db
    .selectFrom('webhooks')
    .selectAll()
    .where('enabled', '=', 1)
    .where(ownerIsFound('webhooks.organization_id')),
);
const update = prepare<Pick<WebhookRow, 'id' | 'url' | 'events' | 'enabled' | 'position'>>()((db, p) =>
  db
    .updateTable('webhooks')
    .set({ url: p.url, events: p.events, enabled: p.enabled, position: p.position })
    .where('id', '=', p.id),
);
const setSecrets = prepare<WebhookSecrets>()((db, p) =>
  db
    .updateTable('webhooks')
    .set({ sealed: p.sealed, previous_sealed: p.previous_sealed, previous_until: p.previous_until })
    .where('id', '=', p.id),
);
const removeExpiredSecrets = prepare<{ now: number }>()((db, p) =>
  db
    .updateTable('webhooks')
    .set({ previous_sealed: null, previous_until: null })
    .where('previous_until', '<=', p.now),
);
const setPosition = prepare<{ id: string; position: number }>()((db, p) =>
  db
    .updateTable('webhooks')
    .set({ position: p.position })
    .where('id', '=', p.id)
    .where('position', '<', p.position),
);
const disable = prepare<{ id: string }>()((db, p) =>
  db.updateTable('webhooks').set({ enabled: 0 }).where('id', '=', p.id).where('enabled', '=', 1),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('webhooks').where('id', '=', p.id));

const insertDelivery = prepare<WebhookDeliveryRow>()((db, p) =>
  db
    .insertInto('webhook_deliveries')
    .values({
      id: p.id,
      webhook_id: p.webhook_id,
      type: p.type,
      event_seq: p.event_seq,
      event_at: p.event_at,
      conversation_id: p.conversation_id,
      actor_id: p.actor_id,
      message_id: p.message_id,
      member_id: p.member_id,
      in_turn: p.in_turn,
      status: p.status,
      attempts: p.attempts,
      next_attempt_at: p.next_attempt_at,
      give_up_at: p.give_up_at,
      last_attempt_at: p.last_attempt_at,
      duration_ms: p.duration_ms,
      response_status: p.response_status,
      error: p.error,
      created_at: p.created_at,
    })
    .onConflict((conflict) => conflict.doNothing()),
);
const delivery = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('webhook_deliveries').selectAll().where('id', '=', p.id),
);
const nextInTurn = prepare<{ webhook_id: string; conversation_id: string }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('conversation_id', '=', p.conversation_id)
    .where('webhook_id', '=', p.webhook_id)
    // As literals on both databases: the index of those that wait in turn is asked by them.
    .where('status', '=', sql.lit('waiting'))
    .where('in_turn', '=', sql.lit(1))
    .orderBy('event_seq', (order) => order.asc().nullsFirst())
    .limit(1),
);
// A time too far ahead was written before the clock was set back. What waits for its turn has no time: without the bound
// all of it is passed by, from the beginning of the index.
const due = prepare<{ webhook_id: string; now: number; latest: number; limit: number }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', p.webhook_id)
    .where('status', '=', sql.lit('waiting'))
    .where('next_attempt_at', '>=', 0)
    .where((e) => e.or([e('next_attempt_at', '<=', p.now), e('next_attempt_at', '>', p.latest)]))
    .orderBy('next_attempt_at')
    .orderBy('event_seq', (order) => order.asc().nullsFirst())
    .limit(p.limit),
);
const nextDue = prepare<{ webhook_id: string; now: number }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .select('next_attempt_at')
    .where('webhook_id', '=', p.webhook_id)
    .where('status', '=', sql.lit('waiting'))
    .where('next_attempt_at', '>', p.now)
    .orderBy('next_attempt_at')
    .limit(1),
);
const setDelivery = prepare<
  Pick<
    WebhookDeliveryRow,
    | 'id'
    | 'in_turn'
    | 'status'
    | 'attempts'
    | 'next_attempt_at'
    | 'give_up_at'
    | 'last_attempt_at'
    | 'duration_ms'
    | 'response_status'
    | 'error'
  >
>()((db, p) =>
  db
    .updateTable('webhook_deliveries')
    .set({
      in_turn: p.in_turn,
      status: p.status,
      attempts: p.attempts,
      next_attempt_at: p.next_attempt_at,
      give_up_at: p.give_up_at,
      last_attempt_at: p.last_attempt_at,
      duration_ms: p.duration_ms,
      response_status: p.response_status,
      error: p.error,
    })
    .where('id', '=', p.id),
);
const setNextAttempt = prepare<{ id: string; at: number }>()((db, p) =>
  db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: p.at })
    .where('id', '=', p.id)
    .where('status', '=', 'waiting'),
);
const hasten = prepare<{ webhook_id: string; now: number; most: number }>()((db, p) =>
  db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: p.now })
    .where('id', 'in', (e) =>
      e
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('webhook_id', '=', p.webhook_id)
        .where('status', '=', sql.lit('waiting'))
        .where('next_attempt_at', '>', p.now)
        .orderBy('next_attempt_at')
        .limit(p.most),
    ),
);
/** The statements that write what becomes of deliveries: they touch no conversation. */
export const deliveryStatements = [insertDelivery, setDelivery, setNextAttempt, hasten, setPosition];
type Status = WebhookDeliveryRow['status'];
type Deliveries = { webhook_id: string; status: Status | null; from: number; before: number };
const deliveryTime = prepare<Omit<Deliveries, 'status'> & { offset: number }>()((db, p) =>
  db
    .selectFrom('webhook_deliveries')
    .select('created_at')
    .where('webhook_id', '=', p.webhook_id)
    .where('created_at', '>=', p.from)
    .where('created_at', '<', p.before)
    .orderBy('created_at', 'desc')
    .limit(1)
    .offset(p.offset),
);
const fittingDeliveries = (db: Builder, p: Deliveries) =>
  db
    .selectFrom('webhook_deliveries')
    .where('webhook_id', '=', p.webhook_id)
    .where('created_at', '>=', p.from)
    .where('created_at', '<', p.before)
    .where(isOrAny('status', p.status));
const countDeliveries = prepare<Deliveries>()((db, p) =>
  fittingDeliveries(db, p).select((e) => e.fn.countAll<number>().as('count')),
);
const deliveries = prepare<Deliveries & { limit: number; offset: number }>()((db, p) =>
  fittingDeliveries(db, p)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('event_seq', (order) => order.desc().nullsLast())
    .orderBy('id', 'desc')
    .limit(p.limit)
    .offset(p.offset),
);
/** Written out, so that the index of those that wait answers it: a parameter could be any status. */
const countWaiting = prepare<{ webhook_id: string; most: number }>()((db, p) =>
  db
    .selectFrom((e) =>
      e
        .selectFrom('webhook_deliveries')
        .select('webhook_id')
        .where('webhook_id', '=', p.webhook_id)
        .where('status', '=', sql.lit('waiting'))
        .limit(p.most)
        .as('some'),
    )
    .select((e) => e.fn.countAll<number>().as('count')),
);
const prune = prepare<{ before: number; limit: number }>()((db, p) =>
  db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (e) =>
      e
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('created_at', '<', p.before)
        .where('status', '!=', 'waiting')
        .limit(p.limit),
    ),
);
const removeDeliveries = prepare<{ webhook_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (e) =>
      e.selectFrom('webhook_deliveries').select('id').where('webhook_id', '=', p.webhook_id).limit(p.limit),
    ),
);
const removeDeliveriesOfConversation = prepare<{ conversation_id: string; limit: number }>()((db, p) =>
  db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (e) =>
      e
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('conversation_id', '=', p.conversation_id)
        .limit(p.limit),
    ),
);

export function createWebhooksRepository(runner: Runner): WebhooksRepository {
  return {
    insert: (row: WebhookRow) => run(runner, insert, row),
    byId: (id: string) => first(runner, byId, { id }),
    byOrganization: (organizationId: string, limit: number, offset: number) =>
      all(runner, byOrganization, { organization_id: organizationId, limit, offset }),
    count: async (organizationId: string): Promise<number> =>
      (await first(runner, count, { organization_id: organizationId }))?.count ?? 0,
    enabled: () => all(runner, enabled, {}),
    update: (row: Pick<WebhookRow, 'id' | 'url' | 'events' | 'enabled' | 'position'>) =>
      run(runner, update, row),
    setSecrets: (row: WebhookSecrets) => run(runner, setSecrets, row),
    removeExpiredSecrets: (now: number) => run(runner, removeExpiredSecrets, { now }),
    setPosition: (id: string, position: number) => run(runner, setPosition, { id, position }),
    disable: (id: string) => run(runner, disable, { id }),
    remove: (id: string) => run(runner, remove, { id }),

    insertDelivery: (row: WebhookDeliveryRow) => run(runner, insertDelivery, row),
    delivery: (id: string) => first(runner, delivery, { id }),
    nextInTurn: async (webhookId: string, conversationId: string): Promise<string | undefined> =>
      (await first(runner, nextInTurn, { webhook_id: webhookId, conversation_id: conversationId }))?.id,
    due: (webhookId: string, now: number, latest: number, limit: number) =>
      all(runner, due, { webhook_id: webhookId, now, latest, limit }),
    nextDue: async (webhookId: string, now: number): Promise<number | null> =>
      (await first(runner, nextDue, { webhook_id: webhookId, now }))?.next_attempt_at ?? null,
    setDelivery: (row: WebhookDeliveryRow) => run(runner, setDelivery, row),
    setNextAttempt: (id: string, at: number) => run(runner, setNextAttempt, { id, at }),
    hasten: (webhookId: string, now: number, most: number) =>
      run(runner, hasten, { webhook_id: webhookId, now, most }),
    log: {
      timeOf: async ({ webhookId }, { from, before }, most) =>
        (await first(runner, deliveryTime, { webhook_id: webhookId, from, before, offset: most - 1 }))
          ?.created_at,
      count: async ({ webhookId, status = null }, { from, before }) =>
        (await first(runner, countDeliveries, { webhook_id: webhookId, status, from, before }))?.count ?? 0,
      page: ({ webhookId, status = null }, { from, before }, limit, offset) =>
        all(runner, deliveries, { webhook_id: webhookId, status, from, before, limit, offset }),
    },
    countWaiting: async (webhookId: string, most: number): Promise<number> =>
      (await first(runner, countWaiting, { webhook_id: webhookId, most }))?.count ?? 0,
    prune: (before: number, limit: number) => run(runner, prune, { before, limit }),
    removeDeliveries: (webhookId: string, limit: number) =>
      run(runner, removeDeliveries, { webhook_id: webhookId, limit }),
    removeDeliveriesOfConversation: (conversationId: string, limit: number) =>
      run(runner, removeDeliveriesOfConversation, { conversation_id: conversationId, limit }),
  };
}
