// Bytes ↔ frames: reads what a client sent, writes what it is sent, and translates a ServiceError into the
// protocol's error codes. Knows no connection.
import type { z } from 'zod';
import { sizeLimits, type ErrorCode, type SocketErrorCode } from '../protocol/codes.ts';
import type { EventPayloads, EventType, ServerFrame } from '../protocol/events.ts';
import { clientFrames, type ClientFrame, type ClientFrameType } from '../protocol/frames.ts';
import { isJsonObject, parseJson } from '../services/content/json.ts';
import type { ServiceError } from '../services/core/errors.ts';

/** A frame that could not be processed: answered with `error`, never with the end of the connection. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly code: SocketErrorCode;
  readonly ids: FrameIds;
  constructor(code: SocketErrorCode, message: string, ids: FrameIds = {}) {
    super(message);
    this.code = code;
    this.ids = ids;
  }
}

/** The ids of the frame that an error answers, as far as it had them. */
export type FrameIds = Pick<EventPayloads['error'], 'conversationId' | 'clientMessageId' | 'messageId'>;

const idNames = ['conversationId', 'clientMessageId', 'messageId'] as const;
/** Longer than any id may be: what is refused for its length is still told apart. */
const maxEchoedIdLength = 500;

/** The ids in a payload that has not been checked yet. */
export function frameIds(payload: unknown): FrameIds {
  const ids: Record<string, string> = {};
  if (!isJsonObject(payload)) return ids;
  for (const name of idNames) {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
    if (typeof value === 'string' && value.length <= maxEchoedIdLength) ids[name] = value;
  }
  return ids;
}

/**
 * @param text one text frame
 * @throws FrameError
 */
export function readFrame(text: string): ClientFrame {
  const parsed = parseJson(text, sizeLimits.jsonDepth);
  if (!parsed.ok) {
    if (parsed.reason === 'syntax') throw new FrameError('PARSE_ERROR', 'The frame is not valid JSON.');
    throw new FrameError(
      'VALIDATION_ERROR',
      `The frame is nested deeper than ${sizeLimits.jsonDepth} levels.`,
    );
  }
  const { value } = parsed;
  if (!isJsonObject(value))
    throw new FrameError('VALIDATION_ERROR', 'The frame must be an object {type, payload}.');
  const { type, payload } = value;
  if (!isFrameType(type))
    throw new FrameError(
      'VALIDATION_ERROR',
      `The frame's type must be one of ${Object.keys(clientFrames).join(', ')}.`,
      frameIds(payload),
    );
  const schema: z.ZodType | null = clientFrames[type];
  if (schema === null) return { type, payload: undefined } as ClientFrame;
  const checked = schema.safeParse(payload);
  if (checked.success) return { type, payload: checked.data } as ClientFrame;
  const [issue] = checked.error.issues;
  const path = ['payload', ...(issue?.path ?? [])].map(String).join('.');
  throw new FrameError(
    'VALIDATION_ERROR',
    `The field ${path} of ${type} is not valid: ${issue?.message ?? 'see the protocol'}.`,
    frameIds(payload),
  );
}

function isFrameType(type: unknown): type is ClientFrameType {
  return typeof type === 'string' && Object.hasOwn(clientFrames, type);
}

/** A frame as it goes over the wire: made once for all who receive it. */
export function writeFrame(frame: ServerFrame): Buffer {
  return textFrame(JSON.stringify(frame));
}

/** An event as a frame. Its payload has the shape that its type names: handlers write it so, the event log rebuilds it so. */
export function writeEvent(type: EventType, payload: object): Buffer {
  return textFrame(JSON.stringify({ type, payload }));
}

/** The frame of `message:ack`, as `writeFrame` would write it. */
export function writeAck({
  clientMessageId,
  serverMessageId,
  createdAt,
}: EventPayloads['message:ack']): Buffer {
  // Every message is answered by one: only the client's own id may hold something that JSON escapes.
  return textFrame(
    `{"type":"message:ack","payload":{"clientMessageId":${JSON.stringify(clientMessageId)},"serverMessageId":"${serverMessageId}","createdAt":"${createdAt}"}}`,
  );
}

const finalText = 0x81;
/** Lengths from these on are written in 2 bytes, and in 8. */
const longLength = 126;
const veryLongLength = 0x10000;
/**
 * The frames of short texts are cut from blocks of so many bytes. A text is written there before its length in bytes is known:
 * to measure it first, and to take memory for each, costs more than to write it. A frame that waits keeps its block.
 */
const blockSize = 16_384;
/** Longer texts, in UTF-16 units, have memory of their own. */
const longText = 4_096;
const mostBytesPerUnit = 3;

let block = Buffer.allocUnsafeSlow(blockSize);
/** So much of it is taken. */
let taken = 0;

/** An unmasked text frame of one piece (RFC 6455, 5.2). */
function textFrame(text: string): Buffer {
  if (text.length > longText) return longFrame(text);
  if (taken + 4 + text.length * mostBytesPerUnit > blockSize) {
    block = Buffer.allocUnsafeSlow(blockSize);
    taken = 0;
  }
  const start = taken;
  let head = text.length < longLength ? 2 : 4;
  let length = block.write(text, start + head);
  if (head === 2 && length >= longLength) {
    head = 4;
    length = block.write(text, start + head);
  }
  block[start] = finalText;
  if (head === 2) block[start + 1] = length;
  else {
    block[start + 1] = 126;
    block.writeUInt16BE(length, start + 2);
  }
  taken = start + head + length;
  return block.subarray(start, taken);
}

function longFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < veryLongLength ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + length);
  frame[0] = finalText;
  if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeUInt32BE(0, 2);
    frame.writeUInt32BE(length, 6);
  }
  frame.write(text, head);
  return frame;
}

/** The socket's code for each code of REST. Not found is forbidden, so that nothing tells whether a conversation exists. */
const socketCodes: Readonly<Partial<Record<ErrorCode, SocketErrorCode>>> = {
  bad_request: 'VALIDATION_ERROR',
  forbidden: 'FORBIDDEN',
  visitor_blocked: 'FORBIDDEN',
  identity_required: 'FORBIDDEN',
  origin_not_allowed: 'FORBIDDEN',
  not_found: 'FORBIDDEN',
  conversation_not_active: 'FORBIDDEN',
  plan_limit: 'FORBIDDEN',
  conflict: 'FORBIDDEN',
  unauthorized: 'UNAUTHORIZED',
  edit_window_expired: 'EDIT_WINDOW_EXPIRED',
  file_rejected: 'VALIDATION_ERROR',
  rate_limit_exceeded: 'RATE_LIMITED',
  // The protocol's list is exhaustive and has no code of its own for this: wait and send again fits both.
  unavailable: 'RATE_LIMITED',
};

/** The `error` payload for a ServiceError; null for an internal error, of which a client is told nothing. */
export function toErrorPayload(error: ServiceError, ids: FrameIds): EventPayloads['error'] | null {
  const missingMessage = error.code === 'not_found' && error.context.resource === 'message';
  const code = missingMessage ? 'MESSAGE_NOT_FOUND' : socketCodes[error.code];
  return code === undefined ? null : { code, message: error.message, ...ids };
}
