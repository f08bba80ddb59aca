// What a WebSocket client may send: one zod schema per frame type.
// Owns the inbound half of the protocol; what a frame means is a rule in services.
import { z } from 'zod';
import { contentFormat, uuid } from './entities.ts';
import type { Input } from './operations.ts';
import { clientMessageId, frameAttachments, messageContent } from './operations/shared.ts';
import { staffOperations } from './operations/staff.ts';
import { visitorOperations } from './operations/visitors.ts';

const { person, choice } = visitorOperations['messages.send'].input.shape;
const { internal } = staffOperations['staff.messages.send'].input.shape;

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
    ...messageContent,
    clientMessageId,
    internal,
    person,
    choice,
    attachments: frameAttachments,
  }),
  'message:edit': z.object({
    conversationId: uuid,
    messageId: uuid,
    content: z.string(),
    contentFormat: contentFormat.optional(),
    attachments: frameAttachments,
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

/** What `messages.send` takes of a frame: just what the operation's own schema would make of it. */
export function readVisitorSend(frame: ClientPayloads['message:send']): Input<'messages.send'> {
  const { conversationId, content, contentFormat, person, choice, attachments } = frame;
  return {
    conversationId,
    content,
    contentFormat,
    clientMessageId: frame.clientMessageId,
    person,
    choice,
    attachments,
  };
}

/** The same for `staff.messages.send`. */
export function readStaffSend(frame: ClientPayloads['message:send']): Input<'staff.messages.send'> {
  const { conversationId, content, contentFormat, internal, attachments } = frame;
  return {
    conversationId,
    content,
    contentFormat,
    clientMessageId: frame.clientMessageId,
    internal,
    attachments,
  };
}
