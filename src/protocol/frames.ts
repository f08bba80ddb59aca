// What a WebSocket client may send: one zod schema per frame type.
// Owns the inbound half of the protocol; what a frame means is a rule in services.
import { z } from 'zod';
import { fileLimits, sizeLimits } from './codes.ts';
import { contentFormat, uuid } from './entities.ts';
import { exactText } from './text.ts';

/** Payload schema by frame type; null: the frame carries no payload. */
export const clientFrames = {
  'room:join': z.object({
    conversationId: uuid,
    lastMessageId: uuid.optional(),
    echo: z.boolean().optional(),
  }),
  'room:leave': z.object({ conversationId: uuid }),
  'message:send': z.object({
    conversationId: uuid,
    content: z.string(),
    contentFormat: contentFormat.optional(),
    clientMessageId: exactText(1, sizeLimits.clientMessageId),
    internal: z.boolean().optional(),
    person: z.boolean().optional(),
    choice: uuid.optional(),
    attachments: z.array(uuid).max(fileLimits.perMessage).optional(),
  }),
  'message:edit': z.object({
    conversationId: uuid,
    messageId: uuid,
    content: z.string(),
    contentFormat: contentFormat.optional(),
    attachments: z.array(uuid).max(fileLimits.perMessage).optional(),
  }),
  'message:delete': z.object({ conversationId: uuid, messageId: uuid }),
  'conversation:read': z.object({ conversationId: uuid, messageId: uuid }),
  'typing:start': z.object({ conversationId: uuid }),
  'typing:stop': z.object({ conversationId: uuid }),
  'desk:focus': z.object({ conversationId: uuid.nullable() }),
  ping: null,
} as const;

export type ClientFrameType = keyof typeof clientFrames;

export type ClientPayloads = {
  [T in ClientFrameType]: (typeof clientFrames)[T] extends z.ZodType
    ? z.output<(typeof clientFrames)[T]>
    : undefined;
};

/** One inbound frame after the check. */
export type ClientFrame = {
  [T in ClientFrameType]: { type: T; payload: ClientPayloads[T] };
}[ClientFrameType];
