// The operations of visitors, and of the pages that show the widget.
// Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import { sizeLimits } from '../codes.ts';
import * as entity from '../entities.ts';
import { exactText, text } from '../text.ts';
import {
  clientMessageId,
  conversationId,
  successOutput,
  email,
  historyInput,
  historyOutput,
  listOutput,
  messageContent,
  messageId,
  name,
  noInput,
  defineOperation,
  pageInput,
} from './shared.ts';

export const visitorOperations = {
  'conversations.create': defineOperation({
    summary: 'Open a conversation',
    audience: 'Visitors',
    errors: [],
    who: 'visitor',
    rest: ['POST', '/conversations'],
    status: 201,
    idempotency: 'idempotencyKey',
    input: z.object({
      subject: text(1, sizeLimits.subject).optional(),
      idempotencyKey: clientMessageId.optional(),
    }),
    output: z.object({ conversation: entity.conversation }),
  }),
  'conversations.list': defineOperation({
    summary: "List the visitor's conversations, most recently updated first",
    audience: 'Visitors',
    errors: [],
    who: 'visitor',
    rest: ['GET', '/conversations'],
    input: z.object(pageInput),
    output: z.object({ conversations: z.array(entity.conversationListItem), ...listOutput }),
  }),
  'conversations.get': defineOperation({
    summary: 'Get a conversation with its participants',
    audience: 'Visitors',
    errors: ['not_found'],
    who: 'visitor',
    rest: ['GET', '/conversations/:conversationId'],
    input: z.object({ conversationId }),
    output: z.object({ conversation: entity.conversation }),
  }),
  'conversations.read': defineOperation({
    summary: 'Mark everything up to a message as read; moves forward only',
    audience: 'Visitors',
    errors: ['not_found'],
    who: 'visitor',
    rest: ['POST', '/conversations/:conversationId/read'],
    input: z.object({ conversationId, messageId }),
    output: successOutput,
  }),
  'conversations.unread': defineOperation({
    summary: 'Count the messages of staff that the visitor has not read',
    audience: 'Visitors',
    errors: ['not_found'],
    who: 'visitor',
    rest: ['GET', '/conversations/:conversationId/unread'],
    input: z.object({ conversationId }),
    output: z.object({ unreadCount: z.int() }),
  }),
  'messages.send': defineOperation({
    summary: 'Send a message',
    audience: 'Visitors',
    errors: ['forbidden', 'not_found', 'conversation_not_active'],
    who: 'visitor',
    rest: ['POST', '/conversations/:conversationId/messages'],
    status: 201,
    idempotency: 'clientMessageId',
    input: z.object({
      conversationId,
      ...messageContent,
      clientMessageId: clientMessageId.optional(),
      /** True: the visitor asks for a person, and no assistant answers in this conversation any more. */
      person: z.boolean().optional(),
      /** The id of one of the `choices` that the assistant offered: it answers with that passage. */
      choice: entity.uuid.optional(),
    }),
    output: z.object({ message: entity.sentMessage }),
  }),
  'messages.list': defineOperation({
    summary: 'Read the history, oldest first unless asked otherwise',
    audience: 'Visitors',
    errors: ['not_found'],
    who: 'visitor',
    rest: ['GET', '/conversations/:conversationId/messages'],
    input: historyInput,
    output: historyOutput,
  }),
  'messages.edit': defineOperation({
    summary: 'Edit an own message, within 15 minutes',
    audience: 'Visitors',
    errors: ['forbidden', 'not_found', 'edit_window_expired'],
    who: 'visitor',
    rest: ['PATCH', '/conversations/:conversationId/messages/:messageId'],
    input: z.object({ conversationId, messageId, ...messageContent }),
    output: z.object({ message: entity.message }),
  }),
  'messages.delete': defineOperation({
    summary: 'Delete an own message, within 15 minutes',
    audience: 'Visitors',
    errors: ['forbidden', 'not_found', 'edit_window_expired'],
    who: 'visitor',
    rest: ['DELETE', '/conversations/:conversationId/messages/:messageId'],
    input: z.object({ conversationId, messageId }),
    output: successOutput,
  }),
  'visitor.get': defineOperation({
    summary: 'Get what is known of the visitor',
    audience: 'Visitors',
    errors: [],
    who: 'visitor',
    rest: ['GET', '/visitor'],
    input: noInput,
    output: z.object({ visitor: entity.visitor }),
  }),
  'visitor.update': defineOperation({
    summary: 'Name the visitor',
    audience: 'Visitors',
    errors: [],
    who: 'visitor',
    rest: ['PUT', '/visitor'],
    input: z.object({
      name: name.optional(),
      email: email.optional(),
      attributes: z
        .unknown()
        .refine((value) => value !== null && typeof value === 'object' && !Array.isArray(value), {
          error: 'must be an object',
          abort: true,
        })
        .refine((value) => Object.keys(value ?? {}).length <= 20, 'must have at most 20 entries')
        .pipe(entity.attributes)
        .optional(),
      signature: exactText(0, 200).optional(),
    }),
    output: z.object({ visitor: entity.visitor }),
  }),
  'widget.token': defineOperation({
    summary: 'Get a token for the WebSocket',
    audience: 'Visitors',
    errors: [],
    who: 'visitor',
    rest: ['POST', '/widget/ws-token'],
    input: noInput,
    output: z.object({ token: z.string() }),
  }),
  'widget.config': defineOperation({
    summary: 'Get what the widget needs to show itself',
    audience: 'Visitors',
    errors: [],
    who: 'hostSite',
    rest: ['GET', '/widget/config'],
    cacheable: true,
    input: noInput,
    output: z.object({ application: entity.widgetConfig }),
  }),
} as const;
