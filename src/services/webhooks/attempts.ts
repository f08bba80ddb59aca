// One attempt of a delivery: its payload, and what is recorded after it. Decides when to try again and which delivery is
// next. Sends nothing itself.
import type { EventRow, WebhookDeliveryRow, WebhookRow } from '../../engine/rows.ts';
import { backoffDelay, type Backoff } from '../../net/backoff.ts';
import type { WebhookResponse } from '../../net/webhook-client.ts';
import { loadEventPayload } from '../core/event-log.ts';
import { scopeOfWebhook } from '../core/scopes.ts';
import { isoTime } from '../core/serializers.ts';
import type { ReadTx, Service, Tx } from '../service.ts';

export const maxDelayMs = 7_200_000;
/** Deliveries that one which got through makes due: to change a hundred thousand holds the loop for a sixth of a second. */
const hastenedAtOnce = 200;
/** Between the attempts of a delivery: three times as long each time, up to two hours, ± 20 %. */
const retryBackoff: Backoff = { firstMs: 5_000, factor: 3, maxMs: maxDelayMs, jitter: [0.8, 1.2] };

/**
 * @param attempts how many have failed: 1 or more
 * @param random 0 to 1
 * @returns ms
 */
export function retryDelay(attempts: number, random: number): number {
  return Math.round(backoffDelay(retryBackoff, attempts, random));
}

/** What one attempt sends. */
export interface Sending {
  /** As it is now: another server may have rotated its secret or changed its address a moment ago. */
  readonly webhook: WebhookRow;
  /** JSON; null: the subject no longer exists. */
  readonly body: string | null;
}

/**
 * Reads webhooks, deliveries and payloads as the rows are now, so that a message that was edited or deleted since is sent in
 * no other form, and what another server has sent since is not sent again.
 * @returns by the delivery's id what to call for its own part: null where the webhook is removed or switched off, or the
 * delivery no longer waits
 * @throws why one delivery could not be read, when its own part is called for
 */
export function readSendings(
  service: Service,
  rows: readonly WebhookDeliveryRow[],
): Promise<Map<string, () => Sending | null>> {
  return service.engine.store.read(async (tx) => {
    const read = new Map<string, () => Sending | null>();
    const webhooks = new Map<string, WebhookRow | undefined>();
    for (const row of rows)
      try {
        const { webhook_id: id } = row;
        const webhook = webhooks.get(id) ?? (await tx.repositories.webhooks.byId(id));
        webhooks.set(id, webhook);
        const waits = (await tx.repositories.webhooks.delivery(row.id))?.status === 'waiting';
        const sending =
          waits && webhook?.enabled === 1
            ? { webhook, body: await buildPayload(tx, service, webhook, row) }
            : null;
        read.set(row.id, () => sending);
      } catch (error) {
        // One that can't be read holds up none of the others.
        read.set(row.id, () => {
          throw error;
        });
      }
    return read;
  });
}

async function buildPayload(
  tx: ReadTx,
  service: Service,
  webhook: WebhookRow,
  row: WebhookDeliveryRow,
): Promise<string | null> {
  const { type, conversation_id, actor_id } = row;
  const timestamp = isoTime(row.event_at);
  if (type === 'webhook:test')
    return JSON.stringify({
      type,
      timestamp,
      data: { webhookId: webhook.id, message: 'This is what Deskbell sends to test a webhook.' },
    });
  const conversation =
    conversation_id === null ? undefined : await tx.repositories.conversations.byId(conversation_id);
  if (conversation === undefined || actor_id === null) return null;
  const event: EventRow = {
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
  };
  const { payload } = await loadEventPayload(tx, event, service);
  return payload === undefined
    ? null
    : JSON.stringify({ type, timestamp, data: { ...payload, applicationId: conversation.application_id } });
}

/**
 * Records how an attempt ended, and makes the conversation's next delivery due.
 * @param response null: there was nothing to send
 */
export async function recordAttempt(
  service: Service,
  webhook: WebhookRow,
  deliveryId: string,
  response: WebhookResponse | null,
  durationMs: number,
): Promise<void> {
  const { store, clock } = service.engine;
  const random = Math.random();
  const status = await store.write(
    scopeOfWebhook(webhook),
    async (tx) => {
      const { webhooks } = tx.repositories;
      const row = await webhooks.delivery(deliveryId);
      // Erased, or its webhook deleted, or settled by another server, since it was sent.
      if (row?.status !== 'waiting') return null;
      const now = clock.now();
      const after =
        response === null ? asSkipped(row) : asAttempted(row, response, { durationMs, now, random });
      await webhooks.setDelivery(after);
      if (after.status === 'waiting') return after.status;
      if (row.in_turn === 1 && row.conversation_id !== null) {
        const next = await webhooks.nextInTurn(row.webhook_id, row.conversation_id);
        if (next !== undefined) await webhooks.setNextAttempt(next, now);
      }
      // The receiver is back: its other deliveries need not wait out their delays. Each of them has the next ones follow.
      if (after.status === 'delivered' && row.attempts > 0)
        await webhooks.hasten(row.webhook_id, now, hastenedAtOnce);
      if (response?.status === 410) await disableWebhook(service, tx, row.webhook_id);
      return after.status;
    },
    'behind',
  );
  if (status !== null) service.metrics.webhooks[status === 'waiting' ? 'retried' : status] += 1;
}

function asSkipped(row: WebhookDeliveryRow): WebhookDeliveryRow {
  return { ...row, status: 'skipped', next_attempt_at: null };
}

function asAttempted(
  row: WebhookDeliveryRow,
  { status, error }: WebhookResponse,
  { durationMs, now, random }: { readonly durationMs: number; readonly now: number; readonly random: number },
): WebhookDeliveryRow {
  const attempts = row.attempts + 1;
  const made = { ...row, attempts, last_attempt_at: now, duration_ms: durationMs, response_status: status };
  if (status !== null && status >= 200 && status < 300)
    return { ...made, status: 'delivered', next_attempt_at: null, error: null };
  const why = error ?? describeStatus(status);
  if (now >= row.give_up_at || status === 410)
    return { ...made, status: 'failed', next_attempt_at: null, error: why };
  return {
    ...made,
    next_attempt_at: Math.min(now + retryDelay(attempts, random), row.give_up_at),
    error: why,
  };
}

function describeStatus(status: number | null): string {
  if (status !== null && status >= 300 && status < 400)
    return `answered ${status}: redirects are not followed`;
  if (status === 410) return 'answered 410: the receiver wants no more, so the webhook was switched off';
  return `answered ${status}`;
}

/** 410 Gone is how a receiver says that it wants no more (Standard Webhooks). */
async function disableWebhook({ engine: { clock } }: Service, tx: Tx, webhookId: string): Promise<void> {
  const webhook = await tx.repositories.webhooks.byId(webhookId);
  if (webhook === undefined || (await tx.repositories.webhooks.disable(webhookId)) === 0) return;
  await tx.repositories.audit.insert({
    id: clock.newId(),
    organization_id: webhook.organization_id,
    actor: 'service',
    action: 'webhooks.update',
    subject: `webhook:${webhookId}`,
    detail: JSON.stringify({ enabled: false, reason: 'answered 410' }),
    address: null,
    created_at: clock.now(),
  });
  tx.configurationChanged(webhook.organization_id);
}
