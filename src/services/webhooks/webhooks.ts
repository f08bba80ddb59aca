// The rules of webhooks: where an organization wants to be told of what happens, the
// secret it checks that by, and the log of what was sent. Sending is webhook-delivery.ts.
import type { Input, Output } from '../../protocol/operations.ts';
import type { Webhook, WebhookDelivery, WebhookEvent } from '../../protocol/webhooks.ts';
import type { DeliveryFilter } from '../../engine/repositories/webhooks.ts';
import type { LoggedEventType, ToldEventType, WebhookDeliveryRow, WebhookRow } from '../../engine/rows.ts';
import { accessOrganization, accessWebhook } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { badField, ServiceError, notFound } from '../core/errors.ts';
import { countLog, readLogPage, type LogQuestion } from '../core/log-pages.ts';
import { scopeOfWebhook } from '../core/scopes.ts';
import { isoTime } from '../core/serializers.ts';
import { readSlice, removeInSlices, type SliceOwner } from '../core/slices.ts';
import { whileAllowed, writeAs } from '../auth/standing.ts';
import { leadsInside } from '../../net/ip-ranges.ts';
import type { OwnerCall, Reader, Service, Tx } from '../service.ts';
import { createWebhookSecret } from './signature.ts';

/** Every event of the log can be sent but what only staff in a room hear: a new type that is missing in the contract does not compile. */
const sameEvents: (type: ToldEventType) => WebhookEvent = (type) => type;

/** Whether webhooks may be told of events of a type. */
export function isTold(type: LoggedEventType): type is ToldEventType {
  return type !== 'message:emailed';
}
export const maxWebhooks = 20;
/** How long a delivery is tried for: a day. */
export const retryForMs = 86_400_000;

function sealContext(row: Pick<WebhookRow, 'id' | 'organization_id'>) {
  return { table: 'webhooks.sealed', row: row.id, organizationId: row.organization_id };
}

/** The place of the secret before a rotation: one of its own, so that neither opens as the other. */
function previousContext(row: Pick<WebhookRow, 'id' | 'organization_id'>) {
  return { table: 'webhooks.previous_sealed', row: row.id, organizationId: row.organization_id };
}

function openWebhookSecret(service: Service, row: WebhookRow): string {
  return service.secrets.open(row.sealed, sealContext(row));
}

/** A secret as its row has it, and how to open it. */
export interface SealedSecret {
  readonly sealed: Uint8Array;
  open(): string;
}

/** The secrets to sign with: the present one, and after a rotation the one before it, as long as that holds. */
export function signingSecrets(service: Service, row: WebhookRow): SealedSecret[] {
  const { sealed, previous_sealed: previous } = row;
  const secrets: SealedSecret[] = [{ sealed, open: () => openWebhookSecret(service, row) }];
  if (previous !== null && overlapEnd(service, row) !== null)
    secrets.push({ sealed: previous, open: () => service.secrets.open(previous, previousContext(row)) });
  return secrets;
}

/** Until when the previous secret signs as well, ms; null: it does not. */
function overlapEnd({ engine: { clock } }: Service, { previous_until }: WebhookRow): number | null {
  return previous_until !== null && previous_until > clock.now() ? previous_until : null;
}

/** The events that a webhook wants; null: all. */
export function getSelection(row: WebhookRow): readonly WebhookEvent[] | null {
  return row.events === null ? null : (JSON.parse(row.events) as ToldEventType[]).map(sameEvents);
}

/**
 * The address of a webhook, in the URL parser's own spelling. What a name leads to is looked at when connecting.
 * @throws ServiceError bad_request
 */
export function checkUrl(service: Service, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw badField('url', 'must be a URL that begins with https://');
  if (url.username !== '' || url.password !== '')
    throw badField('url', 'must not hold a user name or a password');
  url.hash = '';
  const inside = leadsInside(url.hostname);
  if (inside && !service.settings.webhookPrivate)
    throw badField(
      'url',
      "must not lead to a private or local address (the server's owner can allow it with DESKBELL_WEBHOOK_PRIVATE=allow)",
    );
  if (url.protocol === 'http:' && !inside)
    throw badField('url', 'must begin with https://: messages must not travel in the clear');
  return url.href;
}

function serializeWebhook(service: Service, row: WebhookRow, waiting: number): Webhook {
  const until = overlapEnd(service, row);
  return {
    id: row.id,
    organizationId: row.organization_id,
    url: row.url,
    events: getSelection(row)?.slice() ?? null,
    enabled: row.enabled === 1,
    waiting,
    previousSecretUntil: until === null ? null : isoTime(until),
    createdAt: isoTime(row.created_at),
  };
}

function serializeDelivery(row: WebhookDeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    type: row.type,
    conversationId: row.conversation_id,
    status: row.status,
    attempts: row.attempts,
    responseStatus: row.response_status,
    error: row.error,
    durationMs: row.duration_ms,
    lastAttemptAt: row.last_attempt_at === null ? null : isoTime(row.last_attempt_at),
    nextAttemptAt: row.next_attempt_at === null ? null : isoTime(row.next_attempt_at),
    createdAt: isoTime(row.created_at),
  };
}

/** As many that wait are counted in one look, by their own index; it takes some ms. More are counted in the log, in slices. */
const mostInOneLook = 50_000;

function deliveryLog(filter: DeliveryFilter): LogQuestion<DeliveryFilter, WebhookDeliveryRow> {
  return { log: (tx) => tx.repositories.webhooks.log, filter };
}

/** How many deliveries of a webhook wait; undefined: more than are counted in one look. */
async function countFewWaiting(reader: Reader, row: WebhookRow): Promise<number | undefined> {
  const waiting = await readSlice(reader, row.organization_id, ({ repositories }) =>
    repositories.webhooks.countWaiting(row.id, mostInOneLook + 1),
  );
  return waiting > mostInOneLook ? undefined : waiting;
}

async function countAllWaiting(reader: Reader, row: WebhookRow): Promise<number> {
  const log = deliveryLog({ webhookId: row.id, status: 'waiting' });
  return (await countFewWaiting(reader, row)) ?? countLog(reader, row.organization_id, log);
}

/**
 * How many deliveries of a webhook have not been made yet. Not asked in the transaction that changes it: to count a
 * million takes longer than one may.
 * @throws ServiceError not_found
 */
export async function countWaiting(
  { service, actor }: OwnerCall,
  { webhookId }: Input<'webhooks.get'>,
): Promise<number> {
  // Also for a caller who has hung up: the change that it goes before is made all the same.
  return countAllWaiting(
    { service },
    await service.engine.store.read((tx) => accessWebhook(tx, actor, webhookId)),
  );
}

/**
 * From now on the organization is told of what happens. The secret is shown here, and again only when asked for.
 * @throws ServiceError not_found, bad_request (the address), conflict (as many as may be)
 */
export async function createWebhook(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.create'>,
): Promise<Output<'webhooks.create'>> {
  const organization = await accessOrganization(tx, call.actor, input.organization);
  const { service } = call;
  const url = checkUrl(service, input.url);
  if ((await tx.repositories.webhooks.count(organization.id)) >= maxWebhooks)
    throw new ServiceError(
      'conflict',
      `An organization has at most ${maxWebhooks} webhooks: delete one first.`,
    );
  const secret = createWebhookSecret();
  const base = { id: service.engine.clock.newId(), organization_id: organization.id };
  const row: WebhookRow = {
    ...base,
    url,
    events: input.events === null ? null : JSON.stringify(input.events),
    sealed: service.secrets.seal(secret, sealContext(base)),
    previous_sealed: null,
    previous_until: null,
    enabled: 1,
    position: await tx.repositories.events.lastSeq(),
    created_at: service.engine.clock.now(),
  };
  await tx.repositories.webhooks.insert(row);
  tx.configurationChanged(organization.id);
  await audit(tx, call, {
    organizationId: organization.id,
    action: 'webhooks.create',
    subject: `webhook:${row.id}`,
    detail: { host: new URL(url).host },
  });
  return { ...serializeWebhook(service, row, 0), secret };
}

export async function listWebhooks(
  call: OwnerCall,
  { organization, limit, offset }: Input<'webhooks.list'>,
): Promise<Output<'webhooks.list'>> {
  const { service, actor } = call;
  const { rows, total } = await service.engine.store.read(async (tx) => {
    const { id } = await accessOrganization(tx, actor, organization);
    const { webhooks } = tx.repositories;
    return { rows: await webhooks.byOrganization(id, limit, offset), total: await webhooks.count(id) };
  });
  const webhooks: Webhook[] = [];
  for (const row of rows) webhooks.push(serializeWebhook(service, row, await countAllWaiting(call, row)));
  return { webhooks, total, limit, offset };
}

/** @throws ServiceError not_found */
export async function getWebhook(
  call: OwnerCall,
  { webhookId }: Input<'webhooks.get'>,
): Promise<Output<'webhooks.get'>> {
  const { service, actor } = call;
  const row = await service.engine.store.read((tx) => accessWebhook(tx, actor, webhookId));
  return serializeWebhook(service, row, await countAllWaiting(call, row));
}

/**
 * Changes where, what or whether. One that is switched on again receives what happens from then on.
 * @throws ServiceError not_found, bad_request
 */
export async function updateWebhook(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.update'>,
  waiting: number,
): Promise<Output<'webhooks.update'>> {
  const row = await accessWebhook(tx, call.actor, input.webhookId);
  const { url, events, enabled } = input;
  const changed: WebhookRow = {
    ...row,
    url: url === undefined ? row.url : checkUrl(call.service, url),
    events: events === undefined ? row.events : events === null ? null : JSON.stringify(events),
    enabled: enabled === undefined ? row.enabled : enabled ? 1 : 0,
    position: enabled === true && row.enabled === 0 ? await tx.repositories.events.lastSeq() : row.position,
  };
  await tx.repositories.webhooks.update(changed);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'webhooks.update',
    subject: `webhook:${row.id}`,
    detail: { host: new URL(changed.url).host, enabled: changed.enabled === 1 },
  });
  return serializeWebhook(call.service, changed, waiting);
}

/**
 * Removes the log of a webhook's deliveries, before the webhook itself goes. It is switched off first, so that none come;
 * the audit log has that as a change of its own, because it stays where the rest is cut off.
 * @throws ServiceError not_found; unauthorized, forbidden when the right was withdrawn
 */
export async function removeDeliveries(call: OwnerCall, input: Input<'webhooks.delete'>): Promise<void> {
  const row = await call.service.engine.store.read((tx) => accessWebhook(tx, call.actor, input.webhookId));
  await writeAs(call, scopeOfWebhook(row), async (tx, current) => {
    const found = await accessWebhook(tx, current.actor, input.webhookId);
    if (found.enabled === 0) return;
    await tx.repositories.webhooks.disable(found.id);
    tx.configurationChanged(found.organization_id);
    await audit(tx, current, {
      organizationId: found.organization_id,
      action: 'webhooks.update',
      subject: `webhook:${found.id}`,
      detail: { host: new URL(found.url).host, enabled: false },
    });
  });
  await removeWebhookDeliveries(whileAllowed(call), row);
}

/** Removes a webhook's deliveries in slices. */
export function removeWebhookDeliveries(
  service: SliceOwner,
  { id, organization_id: organization }: Pick<WebhookRow, 'id' | 'organization_id'>,
): Promise<void> {
  return removeInSlices(service, { organization }, ({ repositories }, most) =>
    repositories.webhooks.removeDeliveries(id, most),
  );
}

/** Removes a webhook. */
export async function deleteWebhook(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.delete'>,
): Promise<{ success: true }> {
  const row = await accessWebhook(tx, call.actor, input.webhookId);
  await tx.repositories.webhooks.remove(row.id);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'webhooks.delete',
    subject: `webhook:${row.id}`,
  });
  return { success: true };
}

/** Shows the secret again, and leaves a trace of it. */
export async function revealWebhook(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.reveal'>,
  waiting: number,
): Promise<Output<'webhooks.reveal'>> {
  const row = await accessWebhook(tx, call.actor, input.webhookId);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'webhooks.reveal',
    subject: `webhook:${row.id}`,
  });
  return { ...serializeWebhook(call.service, row, waiting), secret: openWebhookSecret(call.service, row) };
}

/**
 * Makes a new secret. Until the overlap ends, every delivery is signed with both, so that the receiver can change over.
 * @throws ServiceError not_found, conflict (the last rotation's overlap is not over)
 */
export async function rotateWebhook(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.rotate'>,
  waiting: number,
): Promise<Output<'webhooks.rotate'>> {
  const { service } = call;
  const row = await accessWebhook(tx, call.actor, input.webhookId);
  const until = overlapEnd(service, row);
  if (until !== null)
    throw new ServiceError(
      'conflict',
      `The secret before this one still signs until ${isoTime(until)}: end that overlap first.`,
    );
  const secret = createWebhookSecret();
  const overlap = input.overlapSeconds * 1000;
  const changed: WebhookRow = {
    ...row,
    sealed: service.secrets.seal(secret, sealContext(row)),
    previous_sealed:
      overlap === 0 ? null : service.secrets.seal(openWebhookSecret(service, row), previousContext(row)),
    previous_until: overlap === 0 ? null : service.engine.clock.now() + overlap,
  };
  await setSecrets(tx, call, changed, 'webhooks.rotate', { overlapSeconds: input.overlapSeconds });
  return { ...serializeWebhook(service, changed, waiting), secret };
}

/**
 * From now on only the present secret signs.
 * @throws ServiceError not_found
 */
export async function endWebhookOverlap(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.endOverlap'>,
  waiting: number,
): Promise<Output<'webhooks.endOverlap'>> {
  const row = await accessWebhook(tx, call.actor, input.webhookId);
  if (row.previous_until === null) return serializeWebhook(call.service, row, waiting);
  const changed: WebhookRow = { ...row, previous_sealed: null, previous_until: null };
  await setSecrets(tx, call, changed, 'webhooks.endOverlap', {});
  return serializeWebhook(call.service, changed, waiting);
}

async function setSecrets(
  tx: Tx,
  call: OwnerCall,
  row: WebhookRow,
  action: string,
  detail: Record<string, number>,
): Promise<void> {
  await tx.repositories.webhooks.setSecrets(row);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action,
    subject: `webhook:${row.id}`,
    detail,
  });
}

/**
 * Sends a sample, once. The answer comes before the sending: the delivery's row says how it went.
 * @throws ServiceError not_found, conflict (switched off)
 */
export async function testWebhook(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.test'>,
): Promise<Output<'webhooks.test'>> {
  const webhook = await accessWebhook(tx, call.actor, input.webhookId);
  assertEnabled(webhook);
  const { clock } = call.service.engine;
  const now = clock.now();
  const row: WebhookDeliveryRow = {
    id: clock.newId(),
    webhook_id: webhook.id,
    type: 'webhook:test',
    event_seq: null,
    event_at: now,
    conversation_id: null,
    actor_id: null,
    message_id: null,
    member_id: null,
    in_turn: 0,
    status: 'waiting',
    attempts: 0,
    next_attempt_at: now,
    give_up_at: now,
    last_attempt_at: null,
    duration_ms: null,
    response_status: null,
    error: null,
    created_at: now,
  };
  await tx.repositories.webhooks.insertDelivery(row);
  await notifyAndAudit(tx, call, webhook, 'webhooks.test', row.id);
  return serializeDelivery(row);
}

function assertEnabled(row: WebhookRow): void {
  if (row.enabled === 0)
    throw new ServiceError('conflict', 'The webhook is switched off: switch it on first.');
}

/** The log of deliveries, newest first; 30 days long. */
export async function listDeliveries(
  call: OwnerCall,
  { webhookId, status, limit, offset }: Input<'webhooks.deliveries'>,
): Promise<Output<'webhooks.deliveries'>> {
  const { service, actor } = call;
  const webhook = await service.engine.store.read((tx) => accessWebhook(tx, actor, webhookId));
  const { rows, total } = await readLogPage(
    call,
    webhook.organization_id,
    {
      ...deliveryLog({ webhookId, status }),
      // These are among the newest of the log: with their number it need not be gone through to its end.
      known: status === 'waiting' ? await countFewWaiting(call, webhook) : undefined,
    },
    { limit, offset },
  );
  return { deliveries: rows.map(serializeDelivery), total, limit, offset };
}

/**
 * Sends a delivery once more, under the same id. One that waits still is tried now, or whatever it waits for is.
 * @throws ServiceError not_found, conflict (switched off)
 */
export async function replayDelivery(
  tx: Tx,
  call: OwnerCall,
  input: Input<'webhooks.replay'>,
): Promise<Output<'webhooks.replay'>> {
  const webhook = await accessWebhook(tx, call.actor, input.webhookId);
  const { webhooks } = tx.repositories;
  const row = await webhooks.delivery(input.deliveryId);
  if (row?.webhook_id !== webhook.id) throw notFound('delivery');
  assertEnabled(webhook);
  const now = call.service.engine.clock.now();
  if (row.status === 'waiting') {
    const first =
      row.conversation_id === null || row.in_turn === 0
        ? undefined
        : await webhooks.nextInTurn(webhook.id, row.conversation_id);
    await webhooks.setNextAttempt(first ?? row.id, now);
  } else {
    // Out of turn: what came later has been told already, and must not wait for this one.
    await webhooks.setDelivery({
      ...row,
      status: 'waiting',
      in_turn: 0,
      next_attempt_at: now,
      give_up_at: now + retryForMs,
      error: null,
    });
  }
  await notifyAndAudit(tx, call, webhook, 'webhooks.replay', row.id);
  return serializeDelivery((await webhooks.delivery(row.id)) ?? row);
}

/** The server looks again after a change of configuration, whichever process made it. */
async function notifyAndAudit(
  tx: Tx,
  call: OwnerCall,
  webhook: WebhookRow,
  action: string,
  deliveryId: string,
): Promise<void> {
  tx.configurationChanged(webhook.organization_id);
  await audit(tx, call, {
    organizationId: webhook.organization_id,
    action,
    subject: `webhook:${webhook.id}`,
    detail: { delivery: deliveryId },
  });
}
