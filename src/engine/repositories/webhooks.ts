// What is asked of webhooks and their deliveries.
import type { WebhookDeliveryRow, WebhookRow } from '../rows.ts';
import type { LogStretches } from './log-stretches.ts';

/** Which deliveries of a webhook are meant. */
export interface DeliveryFilter {
  readonly webhookId: string;
  /** Left out: all. */
  readonly status?: WebhookDeliveryRow['status'] | undefined;
}

/** What rotating a webhook's secret changes. */
export type WebhookSecrets = Pick<WebhookRow, 'id' | 'sealed' | 'previous_sealed' | 'previous_until'>;

export interface WebhooksRepository {
  insert(row: WebhookRow): Promise<number>;
  byId(id: string): Promise<WebhookRow | undefined>;
  /** In the order in which they were made. */
  byOrganization(organizationId: string, limit: number, offset: number): Promise<WebhookRow[]>;
  count(organizationId: string): Promise<number>;
  /** Those of all organizations that are switched on. */
  enabled(): Promise<WebhookRow[]>;
  update(row: Pick<WebhookRow, 'id' | 'url' | 'events' | 'enabled' | 'position'>): Promise<number>;
  setSecrets(row: WebhookSecrets): Promise<number>;
  /** Removes previous secrets whose time was over before `now`. */
  removeExpiredSecrets(now: number): Promise<number>;
  /** Moves forward only; 0 when it is there or further already. */
  setPosition(id: string, position: number): Promise<number>;
  /** 0 when it was disabled already. */
  disable(id: string): Promise<number>;
  remove(id: string): Promise<number>;

  /** 0 when this webhook has that event already. */
  insertDelivery(row: WebhookDeliveryRow): Promise<number>;
  delivery(id: string): Promise<WebhookDeliveryRow | undefined>;
  /** The id of the earliest delivery that waits in a conversation, or undefined. */
  nextInTurn(webhookId: string, conversationId: string): Promise<string | undefined>;
  /** What may be attempted at `now`, longest due first, tests before events; a time beyond `latest` can't have been meant and is due too. */
  due(webhookId: string, now: number, latest: number, limit: number): Promise<WebhookDeliveryRow[]>;
  /** When the next attempt after `now` is due, or null. */
  nextDue(webhookId: string, now: number): Promise<number | null>;
  setDelivery(row: WebhookDeliveryRow): Promise<number>;
  /** 0 when it waits no more. */
  setNextAttempt(id: string, at: number): Promise<number>;
  /** Makes at most so many of those that wait for a later attempt due now, the soonest first. */
  hasten(webhookId: string, now: number, most: number): Promise<number>;
  /** Newest first; of those made in the same ms, tests (which have no event) last. */
  readonly log: LogStretches<DeliveryFilter, WebhookDeliveryRow>;
  /** How many wait; at most `most`. */
  countWaiting(webhookId: string, most: number): Promise<number>;
  /** Removes at most `limit` rows of what waits no more and was made before a time. */
  prune(before: number, limit: number): Promise<number>;
  /** Removes at most `limit` deliveries of a webhook. */
  removeDeliveries(webhookId: string, limit: number): Promise<number>;
  /** Removes at most `limit` deliveries of what happened in a conversation. */
  removeDeliveriesOfConversation(conversationId: string, limit: number): Promise<number>;
}
