// Owns the shapes of all that a WebSocket client may be sent, so that what was sent can be checked: the protocol has
// them as types. Must not allow a field that the protocol does not name.
import { z } from 'zod';
import { socketErrorCodes } from '../../src/protocol/codes.ts';
import * as entity from '../../src/protocol/entities.ts';
import type { EventPayloads, EventType } from '../../src/protocol/events.ts';

const { uuid, timestamp } = entity;
const message = entity.sentMessage;
const syncMessage = entity.message.omit({ conversationId: true }).strict();
const conversationId = uuid;

const payloads: { [T in EventType]: z.ZodType<EventPayloads[T]> } = {
  'message:new': message.strict(),
  'message:ack': z.strictObject({ clientMessageId: z.string(), serverMessageId: uuid, createdAt: timestamp }),
  'message:edited': z.strictObject({
    conversationId,
    messageId: uuid,
    content: z.string(),
    contentFormat: entity.contentFormat,
    contentHtml: z.string().nullable(),
    editedAt: timestamp,
    senderId: uuid,
  }),
  'message:deleted': z.strictObject({ conversationId, messageId: uuid, senderId: uuid }),
  'message:emailed': z.strictObject({ conversationId, messageId: uuid, state: entity.emailedState }),
  'typing:start': z.strictObject({
    conversationId,
    userId: uuid,
    userName: z.string(),
    senderRole: entity.senderRole,
  }),
  'typing:stop': z.strictObject({ conversationId, userId: uuid }),
  'conversation:new': z.strictObject({
    id: uuid,
    organizationId: uuid,
    applicationId: uuid,
    status: entity.conversationStatus,
    subject: z.string().exactOptional(),
    createdAt: timestamp,
  }),
  'conversation:accepted': z.strictObject({ conversationId, assignedTo: uuid, assignedToName: z.string() }),
  'conversation:released': z.strictObject({ conversationId }),
  'conversation:resolved': z.strictObject({ conversationId, resolvedBy: uuid }),
  'conversation:reopened': z.strictObject({ conversationId, reopenedBy: uuid }),
  'conversation:changed': z.strictObject({
    conversationId,
    tags: z.array(z.string()),
    priority: entity.priority,
    snoozedUntil: timestamp.nullable(),
    subject: z.string().nullable(),
  }),
  'conversation:read': z.strictObject({ conversationId, userId: uuid, messageId: uuid }),
  'notification:new': z.strictObject({
    event: z.enum(['mention', 'assigned', 'due', 'waiting', 'test']),
    conversationId: uuid.nullable(),
    messageId: uuid.nullable(),
    name: z.string().nullable(),
    minutes: z.int().nullable(),
  }),
  'notification:cleared': z.strictObject({ conversationId }),
  'conversation:activity': z.strictObject({
    conversationId,
    lastMessageId: uuid,
    updatedAt: timestamp,
    preview: z.string().max(120),
    waiting: z.boolean(),
    senderId: uuid,
    senderRole: entity.senderRole,
    senderName: z.string(),
    createdAt: timestamp,
    internal: z.literal(true).optional(),
  }),
  'conversation:outdated': z.strictObject({ conversationId, messageId: uuid }),
  'tag:changed': z.strictObject({ tag: z.string(), renamed: z.string().nullable() }),
  'room:joined': z.strictObject({
    conversationId,
    status: entity.conversationStatus,
    lastMessageId: uuid.nullable(),
  }),
  'messages:sync': z.strictObject({
    conversationId,
    messages: z.array(syncMessage),
    hasMore: z.boolean(),
    edited: z.array(syncMessage).exactOptional(),
    deleted: z.array(uuid).exactOptional(),
  }),
  presence: z.strictObject({ online: z.boolean() }),
  error: z.strictObject({
    code: z.enum(socketErrorCodes),
    message: z.string().min(5),
    conversationId: z.string().exactOptional(),
    clientMessageId: z.string().exactOptional(),
    messageId: z.string().exactOptional(),
  }),
};

const isEventType = (type: string): type is EventType => Object.hasOwn(payloads, type);

/** @returns what is wrong with a frame of the server's; null: nothing */
export function frameFault(text: string): string | null {
  const { type, payload, ...more } = JSON.parse(text) as { type: string; payload?: unknown };
  if (Object.keys(more).length > 0) return `more than type and payload: ${text}`;
  if (type === 'pong') return payload === undefined ? null : `a pong has no payload: ${text}`;
  if (!isEventType(type)) return `an unknown type: ${text}`;
  const checked = payloads[type].safeParse(payload);
  return checked.success ? null : `${text}: ${checked.error.message}`;
}
