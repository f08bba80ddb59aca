// What visitors may ask, and the pages that show the widget.
// Rows of the one table in ../operations.ts; holds no rule.
import { z } from 'zod';
import { limits } from '../codes.ts';
import * as entity from '../entities.ts';
import {
  clientMessageId,
  conversationId,
  done,
  email,
  history,
  historyOut,
  listOut,
  messageContent,
  messageId,
  name,
  nothing,
  operation,
  page,
} from './shared.ts';

export const visitorOperations = {
  'conversations.create': operation({
    who: 'visitor',
    rest: ['POST', '/conversations'],
    status: 201,
    idempotency: 'idempotencyKey',
    input: z.object({
      subject: z.string().trim().min(1, 'must not be empty').max(limits.subject).optional(),
      idempotencyKey: clientMessageId.optional(),
    }),
    output: z.object({ conversation: entity.conversation }),
  }),
  'conversations.list': operation({
    who: 'visitor',
    rest: ['GET', '/conversations'],
    input: z.object(page),
    output: z.object({ conversations: z.array(entity.conversationListItem), ...listOut }),
  }),
  'conversations.get': operation({
    who: 'visitor',
    rest: ['GET', '/conversations/:conversationId'],
    input: z.object({ conversationId }),
    output: z.object({ conversation: entity.conversation }),
  }),
  'conversations.read': operation({
    who: 'visitor',
    rest: ['POST', '/conversations/:conversationId/read'],
    input: z.object({ conversationId, messageId }),
    output: done,
  }),
  'conversations.unread': operation({
    who: 'visitor',
    rest: ['GET', '/conversations/:conversationId/unread'],
    input: z.object({ conversationId }),
    output: z.object({ unreadCount: z.int() }),
  }),
  'messages.send': operation({
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
    }),
    output: z.object({ message: entity.sentMessage }),
  }),
  'messages.list': operation({
    who: 'visitor',
    rest: ['GET', '/conversations/:conversationId/messages'],
    input: history,
    output: historyOut,
  }),
  'messages.edit': operation({
    who: 'visitor',
    rest: ['PATCH', '/conversations/:conversationId/messages/:messageId'],
    input: z.object({ conversationId, messageId, ...messageContent }),
    output: z.object({ message: entity.message }),
  }),
  'messages.delete': operation({
    who: 'visitor',
    rest: ['DELETE', '/conversations/:conversationId/messages/:messageId'],
    input: z.object({ conversationId, messageId }),
    output: done,
  }),
  'visitor.get': operation({
    who: 'visitor',
    rest: ['GET', '/visitor'],
    input: nothing,
    output: z.object({ visitor: entity.visitor }),
  }),
  'visitor.update': operation({
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
        .refine((value) => Object.keys(value as object).length <= 20, 'must have at most 20 entries')
        .pipe(entity.attributes)
        .optional(),
      signature: z.string().max(200).optional(),
    }),
    output: z.object({ visitor: entity.visitor }),
  }),
  'widget.token': operation({
    who: 'visitor',
    rest: ['POST', '/widget/ws-token'],
    input: nothing,
    output: z.object({ token: z.string() }),
  }),
  'widget.config': operation({
    who: 'embedder',
    rest: ['GET', '/widget/config'],
    cacheable: true,
    input: nothing,
    output: z.object({ application: entity.widgetConfig }),
  }),
} as const;
