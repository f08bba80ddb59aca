// The prose of the API's description: errors, frames, webhooks, and the overview. An operation's
// own summary is in its row of the protocol.
import type { ErrorCode } from '../protocol/codes.ts';
import type { EventType } from '../protocol/events.ts';
import type { ClientFrame } from '../protocol/frames.ts';

export const overview = `Customer-support chat: visitors write from a website, operators answer, live.

**Who calls.** A website's backend sends an API key (\`Authorization: Bearer dbk_…\`) with \`X-App-Id\` and \`X-Visitor-Id\`; the key must never reach a browser. The widget sends only \`X-App-Id\` and \`X-Visitor-Id\`, and its \`Origin\` must be a domain registered for the application. Operators and admins sign in (\`POST /api/v1/staff/session\`) and send \`Authorization: Bearer dbs_…\`.

**Bodies** are JSON objects in UTF-8 of at most 64 KiB. Unknown fields are ignored, here and in what clients receive: new ones may come. Times are ISO 8601 in UTC with milliseconds, ids are UUIDs in lower case.

**Errors** are \`{error, message}\`; \`error\` is what a program goes by. What does not exist and what belongs to another organization or visitor give the same answer.

**Limits.** A 429 says in \`cause\` what it was counted against and in \`Retry-After\` when to come back.

**Repeating.** Where an \`Idempotency-Key\` is taken, the same key gets the first answer again and nothing is stored twice.

**Versions.** Changes within /api/v1 only add.`;

export const errorTexts: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'The request is not valid; `details` says where.',
  unauthorized: 'The credential is missing or not valid.',
  second_factor:
    'The password is right and a second factor is needed; `ticket` and `methods` say how to go on.',
  forbidden: 'The caller may not do this.',
  origin_not_allowed: 'The Origin is not registered for the application.',
  visitor_blocked: 'The visitor, or the address, has been blocked.',
  identity_required:
    "The application serves signed-in visitors only, and no backend has signed this one's identity.",
  plan_limit: "The organization's plan does not have this; the message names the one that has.",
  not_found: 'It does not exist, or it is not for the caller.',
  method_not_allowed: 'The path knows other methods; `Allow` names them.',
  request_timeout: 'The request took too long to arrive.',
  conflict:
    'The state does not allow it any more; `status` and `assignedTo` say how it is now, where it is a conversation.',
  payload_too_large: 'The body is larger than 64 KiB; a file is larger than files may be.',
  unsupported_media_type: 'The body is not plain JSON.',
  invalid_range: 'The file is shorter; `Content-Range` says how long it is.',
  upgrade_required: 'The path is a WebSocket; `Upgrade` says so.',
  conversation_not_active: 'The conversation is closed.',
  edit_window_expired: 'More than 15 minutes have passed.',
  file_rejected: 'The file is of a kind that is not taken, or the scanner found something in it.',
  rate_limit_exceeded: 'Too many requests: wait as long as `Retry-After` says.',
  ai_model_required: 'This needs a language model, and the server has none.',
  ai_unavailable: 'The language model gave no usable answer.',
  internal_error: 'Something went wrong inside; report `requestId`.',
  unavailable:
    'The service is restarting or could not store this; nothing was kept, unless `message` says that it may be. Try again.',
};

export const socketText = `Frames are JSON text of the form \`{type, payload}\`. Connect with the token of \`POST /api/v1/widget/ws-token\` (visitors) or \`POST /api/v1/staff/ws-token\` (staff) as \`?token=\`; the Origin must be the one that the token was made for. Staff may add \`mode=test\` or \`mode=all\` to hear of test conversations, and \`changes=1\` to hear of \`conversation:outdated\` and \`tag:changed\`.

A connection that may not come in gets one \`error\` frame and is closed. Keep the id of the last message received; after a disconnect connect again with growing pauses (1 s up to 30 s), send \`room:join\` with it as \`lastMessageId\`, and take in what \`messages:sync\` brings. Send \`ping\` about every 30 seconds.`;

export const fileLinkText = `The \`url\` of an attachment is such a link. It needs no credential, any page may read what it names, and it holds for an hour at least: read the message again for a new one. A link that is over is a 403, one that was never given out a 404. PNG, JPEG, GIF, WebP and AVIF come \`inline\`, everything else as an \`attachment\`.`;

export const clientFrameTexts: Readonly<Record<ClientFrame['type'], string>> = {
  'room:join':
    'Join a conversation to receive its messages; with `lastMessageId` first what was missed. `echo: true`: own messages from elsewhere too.',
  'room:leave': 'Leave a conversation.',
  'message:send': 'Send a message; answered with `message:ack`.',
  'message:edit': 'Edit an own message, within 15 minutes.',
  'message:delete': 'Delete an own message, within 15 minutes.',
  'conversation:read': 'Read up to a message; nothing answers it, and the conversation hears of it.',
  'typing:start': 'The caller types; lapses after 10 s unless said again.',
  'typing:stop': 'The caller no longer types.',
  'desk:focus':
    'Staff: the conversation before their eyes, of which they are told nothing; `null`: none any more.',
  ping: 'Answered with `pong`; carries no payload.',
};

export const serverFrameTexts: Readonly<Record<EventType | 'pong', string>> = {
  'message:new':
    'A new message in a joined conversation: `id`, `conversationId`, `senderId`, `senderName`, `senderRole`, `type`, `content`, `contentFormat`, `contentHtml`, `createdAt`, and where it has them `attachments`, `choices`, `choice`, `via`, `internal`; not to its sender.',
  'message:ack': '`clientMessageId`, `serverMessageId`, `createdAt`: the message is stored.',
  'message:edited':
    'A message was edited: `conversationId`, `messageId`, its new content, `editedAt`, `senderId`.',
  'message:deleted': 'A message was deleted: `conversationId`, `messageId`, `senderId`.',
  'message:emailed':
    '`conversationId`, `messageId`, `state`: how the mail stands by which a message goes to its visitor; to staff in the conversation.',
  'typing:start': 'Another participant types: `conversationId`, `userId`, `userName`, `senderRole`.',
  'typing:stop': 'Another participant no longer types: `conversationId`, `userId`.',
  'conversation:new':
    'A conversation was opened: `id`, `organizationId`, `applicationId`, `status`, `subject`, `createdAt`; to staff.',
  'conversation:accepted': '`conversationId`, `assignedTo`, `assignedToName`; to staff and the conversation.',
  'conversation:released': '`conversationId`: back in the queue; to staff and the conversation.',
  'conversation:resolved': '`conversationId`, `resolvedBy`: closed; to staff and the conversation.',
  'conversation:reopened':
    '`conversationId`, `reopenedBy`: open again; `conversation:accepted` follows. To staff and the conversation.',
  'conversation:changed':
    '`conversationId`, `tags`, `priority`, `snoozedUntil`, `subject`, as they are now; to staff.',
  'conversation:read': '`conversationId`, `userId`, `messageId`: a participant has read up to there.',
  'conversation:activity':
    '`conversationId`, `lastMessageId`, `updatedAt`, `preview`, `waiting`, and of the message `senderId`, `senderRole`, `senderName`, `createdAt`, `internal`: something was written; to staff.',
  'conversation:outdated':
    '`conversationId`, `messageId`: this message was edited or deleted, and what the queue shows of its conversation may have changed; to staff.',
  'tag:changed':
    '`tag`, `renamed`: a tag has another name, or with `null` is gone from every conversation; to staff.',
  'room:joined': '`conversationId`, `status`, `lastMessageId`: from here on it is live.',
  'messages:sync':
    '`conversationId`, `messages` (each as in `message:new`, with `editedAt` and without `conversationId`), `hasMore`; behind the last message also `edited` (such messages) and `deleted` (ids).',
  'notification:new':
    '`event` (`mention`, `assigned`, `due`, `waiting`, `test`), `conversationId`, `messageId`, `name`, `minutes`: something that the other events do not tell; to the one member whom it concerns.',
  'notification:cleared':
    '`conversationId`: the member has read it elsewhere, and notifications of it can go; to that member.',
  presence: '`online`: whether staff of the organization are there; to visitors.',
  error: '`code`, `message`, and the ids of the frame that it answers.',
  pong: 'The answer to `ping`; carries no payload.',
};

export const webhookText = `Sent as \`POST\` and signed as Standard Webhooks says: \`webhook-signature\` is \`v1,\` and the base64 HMAC-SHA256 of \`<webhook-id>.<webhook-timestamp>.<body>\` under the secret (what follows \`whsec_\`, decoded from base64). Check it, refuse a \`webhook-timestamp\` more than five minutes off, and drop a \`webhook-id\` that was seen before: a delivery may come twice.

Any 2xx within 10 seconds is success. Everything else is tried again with growing pauses for a day, in order within a conversation; 410 switches the webhook off. Redirects are not followed. Internal notes and test data are never sent. The body is read when it is sent, so a message that was edited or deleted in between comes as it is then, or not at all.`;
