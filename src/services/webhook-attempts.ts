// One attempt to tell a webhook something: what is told, and what is written down after
// it. Decides when to try again and whose turn is next; sends nothing itself.
import type { WebhookDeliveryRow, WebhookRow } from '../engine/rows.ts';
import { loadEvent } from './feed.ts';
import { isoTime } from './present.ts';
import type { Service, Tx } from './service.ts';

export interface OutgoingAnswer {
  /** null: there was no answer. */
  readonly status: number | null;
  /** Why there was none, for a person; nothing that the receiver sent. */
  readonly error: string | null;
}

const firstDelayMs = 5_000;
export const longestDelayMs = 7_200_000;

/**
 * How long to wait after a failed attempt: three times as long each time, up to two hours, give or take a fifth.
 * @param attempts how many were made, 1 or more
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, random: number): number {
  return Math.round(Math.min(firstDelayMs * 3 ** (attempts - 1), longestDelayMs) * (0.8 + 0.4 * random));
}

/** The body as it is now, so that what was edited or deleted meanwhile leaves in no other form. null: nothing is left to tell. */
export function readBody(service: Service, webhook: WebhookRow, row: WebhookDeliveryRow): Promise<string | null> {
  return service.engine.store.read(async (tx) => {
    const { type, conversation_id, actor_id } = row;
    const timestamp = isoTime(row.event_at);
    if (type === 'webhook:test')
      return JSON.stringify({
        type,
        timestamp,
        data: { webhookId: webhook.id, message: 'This is what Deskbell sends to test a webhook.' },
      });
    const conversation = conversation_id === null ? undefined : await tx.tables.conversations.byId(conversation_id);
    if (conversation === undefined || actor_id === null) return null;
    const { payload } = await loadEvent(tx, {
      seq: row.event_seq ?? 0,
      organization_id: webhook.organization_id,
      conversation_id: conversation.id,
      mode: conversation.mode,
      type,
      audience: 'staff',
      actor_id,
      message_id: row.message_id,
      member_id: row.member_id,
      created_at: row.event_at,
    });
    return payload === undefined
      ? null
      : JSON.stringify({ type, timestamp, data: { ...payload, applicationId: conversation.application_id } });
  });
}

/** Writes down how an attempt went, and whose turn it is now. @param answer null: there was nothing to send */
export function recordAttempt(service: Service, deliveryId: string, answer: OutgoingAnswer | null, durationMs: number): Promise<void> {
  const { store, clock } = service.engine;
  return store.write(async (tx) => {
    const { webhooks } = tx.tables;
    const row = await webhooks.delivery(deliveryId);
    // Erased, or its webhook removed, meanwhile.
    if (row === undefined) return;
    const now = clock.now();
    const after = answer === null ? skipped(row) : attempted(row, answer, durationMs, now);
    await webhooks.setDelivery(after);
    service.measures.webhooks[after.status === 'waiting' ? 'retried' : after.status] += 1;
    if (after.status === 'waiting') return;
    if (row.in_turn === 1 && row.conversation_id !== null) {
      const next = await webhooks.nextInTurn(row.webhook_id, row.conversation_id);
      if (next !== undefined) await webhooks.setNextAttempt(next, now);
    }
    // It is back: nothing else needs to wait out its delay.
    if (after.status === 'delivered' && row.attempts > 0) await webhooks.hasten(row.webhook_id, now);
    if (answer?.status === 410) await switchOff(service, tx, row.webhook_id);
  });
}

function skipped(row: WebhookDeliveryRow): WebhookDeliveryRow {
  return { ...row, status: 'skipped', next_attempt_at: null };
}

function attempted(row: WebhookDeliveryRow, { status, error }: OutgoingAnswer, durationMs: number, now: number): WebhookDeliveryRow {
  const attempts = row.attempts + 1;
  const made = { ...row, attempts, last_attempt_at: now, duration_ms: durationMs, response_status: status };
  if (status !== null && status >= 200 && status < 300) return { ...made, status: 'delivered', next_attempt_at: null, error: null };
  const why = error ?? describeStatus(status);
  if (now >= row.give_up_at || status === 410) return { ...made, status: 'failed', next_attempt_at: null, error: why };
  return { ...made, next_attempt_at: Math.min(now + retryDelay(attempts, Math.random()), row.give_up_at), error: why };
}

function describeStatus(status: number | null): string {
  if (status !== null && status >= 300 && status < 400) return `answered ${status}: redirects are not followed`;
  if (status === 410) return 'answered 410: the receiver wants no more, so the webhook was switched off';
  return `answered ${status}`;
}

/** 410 Gone is how a receiver says that it wants no more (Standard Webhooks). */
async function switchOff({ engine: { clock } }: Service, tx: Tx, webhookId: string): Promise<void> {
  const webhook = await tx.tables.webhooks.byId(webhookId);
  if (webhook === undefined || (await tx.tables.webhooks.disable(webhookId)) === 0) return;
  await tx.tables.audit.insert({
    id: clock.newId(),
    organization_id: webhook.organization_id,
    actor: 'service',
    action: 'webhooks.update',
    subject: `webhook:${webhookId}`,
    detail: JSON.stringify({ enabled: false, reason: 'answered 410' }),
    address: null,
    created_at: clock.now(),
  });
  tx.configurationChanged();
}
