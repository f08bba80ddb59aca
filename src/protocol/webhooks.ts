// The contract of webhooks: which events can be sent, what each carries, and how the
// webhook itself and its deliveries look from outside. Shapes only; holds no rule.
import { z } from 'zod';
import { deliveryStatuses } from './enums.ts';
import { contentFormat, message, priority, sentMessage, timestamp, uuid } from './entities.ts';
import { text } from './text.ts';

/** Says of which application the conversation is: an organization may have several. */
const about = { conversationId: uuid, applicationId: uuid };

/** What `data` carries, by event: the payload that WebSocket clients get, and the application's id. */
export const webhookData = {
  'conversation:new': z.object({
    id: uuid,
    organizationId: uuid,
    applicationId: uuid,
    status: z.literal('pending'),
    subject: z.string().optional(),
    createdAt: timestamp,
  }),
  'conversation:accepted': z.object({ ...about, assignedTo: uuid, assignedToName: z.string() }),
  'conversation:released': z.object(about),
  'conversation:resolved': z.object({ ...about, resolvedBy: uuid }),
  'conversation:reopened': z.object({ ...about, reopenedBy: uuid }),
  'conversation:changed': z.object({
    ...about,
    tags: z.array(z.string()),
    priority,
    snoozedUntil: timestamp.nullable(),
    subject: z.string().nullable(),
  }),
  'conversation:read': z.object({ ...about, userId: uuid, messageId: uuid }),
  'message:new': sentMessage.omit({ internal: true }).extend({ applicationId: uuid }),
  'message:edited': z.object({
    ...about,
    messageId: uuid,
    content: z.string(),
    contentFormat,
    contentHtml: message.shape.contentHtml,
    editedAt: timestamp,
    senderId: uuid,
  }),
  'message:deleted': z.object({ ...about, messageId: uuid, senderId: uuid }),
};

export type WebhookEvent = keyof typeof webhookData;
export const webhookEvents = Object.keys(webhookData) as [WebhookEvent, ...WebhookEvent[]];
export const webhookEvent = z.enum(webhookEvents);

/** The sample that `test` sends; it stands for no event. */
export const webhookTest = 'webhook:test';
export const webhookTestData = z.object({ webhookId: uuid, message: z.string() });

export const webhookUrl = text(1, 2_000);
/** null: every event, those of later versions included. */
export const webhookSelection = z.array(webhookEvent).min(1).max(webhookEvents.length).nullable();

export const webhook = z.object({
  id: uuid,
  organizationId: uuid,
  url: z.string(),
  events: z.array(webhookEvent).nullable(),
  enabled: z.boolean(),
  /** Deliveries that have not been made yet. */
  waiting: z.int(),
  /** Until when the secret before the last rotation signs as well; null: it does not. */
  previousSecretUntil: timestamp.nullable(),
  createdAt: timestamp,
});
export type Webhook = z.infer<typeof webhook>;

/** A webhook with its signing secret: the answer to creating or revealing one, and nowhere else. */
export const webhookWithSecret = webhook.extend({ secret: z.string() });

export const deliveryStatus = z.enum(deliveryStatuses);
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

export const webhookDelivery = z.object({
  /** Also the header `webhook-id`: the same for every attempt. */
  id: uuid,
  webhookId: uuid,
  type: z.enum([...webhookEvents, webhookTest]),
  conversationId: uuid.nullable(),
  status: deliveryStatus,
  attempts: z.int(),
  /** What the receiver answered last; null: it never answered. */
  responseStatus: z.int().nullable(),
  /** Why the last attempt failed, for a person. */
  error: z.string().nullable(),
  durationMs: z.int().nullable(),
  lastAttemptAt: timestamp.nullable(),
  nextAttemptAt: timestamp.nullable(),
  createdAt: timestamp,
});
export type WebhookDelivery = z.infer<typeof webhookDelivery>;
