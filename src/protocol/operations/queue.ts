// The operations that put the queue in order: tags, priority, snooze, reopen, unread, saved views, many at once.
// Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import { queueLimits, sizeLimits } from '../codes.ts';
import { bulkActs } from '../queue-enums.ts';
import * as entity from '../entities.ts';
import * as queue from '../queue.ts';
import { text } from '../text.ts';
import {
  adminPageInput,
  conversationId,
  dateTime,
  defineOperation,
  listOutput,
  messageId,
  noInput,
  staffConversationOutput,
  successOutput,
} from './shared.ts';

const tagOutput = z.object({ tag: queue.tag });
const viewOutput = z.object({ view: queue.view });
const until = dateTime.describe('a time within a year from now');

export type BulkAct = (typeof bulkActs)[number];

/** What acts on many conversations need to be told. */
const bulkNeeds: Readonly<Partial<Record<BulkAct, 'tag' | 'priority' | 'until' | 'memberId'>>> = {
  tag: 'tag',
  untag: 'tag',
  priority: 'priority',
  snooze: 'until',
  transfer: 'memberId',
};

export const queueOperations = {
  'staff.conversations.update': defineOperation({
    summary: 'Change the priority or the subject of a conversation',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['PATCH', '/staff/conversations/:conversationId'],
    input: z.object({
      conversationId,
      priority: entity.priority.optional(),
      subject: text(1, sizeLimits.subject).nullable().optional().describe('null: none'),
    }),
    output: staffConversationOutput,
  }),
  'staff.conversations.tag': defineOperation({
    summary:
      'Add a tag to a conversation; a new name becomes a tag of the organization, for which a token needs `settings:write`',
    audience: 'Staff',
    errors: ['not_found', 'conflict', 'forbidden'],
    who: 'operator',
    rest: ['PUT', '/staff/conversations/:conversationId/tags/:tag'],
    input: z.object({ conversationId, tag: queue.tagName }),
    output: staffConversationOutput,
  }),
  'staff.conversations.untag': defineOperation({
    summary: 'Take a tag off a conversation',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/conversations/:conversationId/tags/:tag'],
    input: z.object({ conversationId, tag: queue.tagName }),
    output: staffConversationOutput,
  }),
  'staff.conversations.snooze': defineOperation({
    summary: 'Leave a conversation out of the queue until a time, or until the visitor writes',
    audience: 'Staff',
    errors: ['not_found', 'conflict'],
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/snooze'],
    input: z.object({ conversationId, until }),
    output: staffConversationOutput,
  }),
  'staff.conversations.unsnooze': defineOperation({
    summary: 'Put a snoozed conversation back into the queue',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/conversations/:conversationId/snooze'],
    input: z.object({ conversationId }),
    output: staffConversationOutput,
  }),
  'staff.conversations.reopen': defineOperation({
    summary: 'Open a closed conversation again, assigned to the caller',
    audience: 'Staff',
    errors: ['not_found', 'conflict'],
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/reopen'],
    input: z.object({ conversationId }),
    output: staffConversationOutput,
  }),
  'staff.conversations.unread': defineOperation({
    summary: 'Mark a conversation as unread from a message on; for the caller alone',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/unread'],
    input: z.object({
      conversationId,
      messageId: messageId.optional().describe("left out: the visitor's newest message"),
    }),
    output: staffConversationOutput,
  }),
  'staff.conversations.bulk': defineOperation({
    summary: 'Do the same to many conversations, to each as if alone',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['POST', '/staff/conversations/bulk'],
    input: z
      .object({
        ids: z
          .array(conversationId)
          .min(1)
          .max(queueLimits.bulk)
          .refine((ids) => new Set(ids).size === ids.length, 'must name each conversation once'),
        act: z.enum(bulkActs),
        tag: queue.tagName.optional().describe('needed by tag and untag'),
        priority: entity.priority.optional().describe('needed by priority'),
        until: until.optional().describe('needed by snooze'),
        memberId: entity.uuid.optional().describe('needed by transfer'),
      })
      .superRefine((input, context) => {
        const need = bulkNeeds[input.act];
        if (need !== undefined && input[need] === undefined)
          context.addIssue({ code: 'custom', path: [need], message: `is needed by ${input.act}` });
      }),
    output: z.object({
      /** In the order of the ids. */
      results: z.array(
        z.union([
          z.object({ id: entity.uuid, ok: z.literal(true), conversation: entity.staffConversation }),
          z.object({
            id: entity.uuid,
            ok: z.literal(false),
            /** The code that the act alone would have been answered with. */
            error: z.string(),
            message: z.string(),
            /** For a conflict: how the conversation stands. */
            status: entity.conversationStatus.optional(),
            assignedTo: entity.uuid.nullable().optional(),
          }),
        ]),
      ),
    }),
  }),

  'tags.list': defineOperation({
    summary: 'List the tags of the organization, in the order of the alphabet',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/tags'],
    input: z.object(adminPageInput),
    output: z.object({ tags: z.array(queue.tag), ...listOutput }),
  }),
  'tags.create': defineOperation({
    summary: 'Add a tag',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/tags'],
    status: 201,
    input: z.object({ name: queue.tagName }),
    output: tagOutput,
  }),
  'tags.update': defineOperation({
    summary: 'Rename a tag, on every conversation and in every view',
    audience: 'Staff',
    errors: ['not_found', 'conflict'],
    who: 'operator',
    rest: ['PATCH', '/staff/tags/:tagId'],
    input: z.object({ tagId: entity.uuid, name: queue.tagName }),
    output: tagOutput,
  }),
  'tags.delete': defineOperation({
    summary: 'Delete a tag, and take it off every conversation',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/tags/:tagId'],
    input: z.object({ tagId: entity.uuid }),
    output: successOutput,
  }),

  'views.list': defineOperation({
    summary: "List the caller's views and the shared ones",
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/views'],
    input: z.object(adminPageInput),
    output: z.object({ views: z.array(queue.view), ...listOutput }),
  }),
  'views.counts': defineOperation({
    summary: 'Count the conversations of every view; counted again at most once a second',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/views/counts'],
    input: noInput,
    output: z.object({ counts: z.array(z.object({ id: entity.uuid, count: z.int() })) }),
  }),
  'views.create': defineOperation({
    summary: 'Save a view: a name and a question to the queue',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/views'],
    status: 201,
    input: z.object({
      name: queue.viewName,
      query: queue.viewQuery,
      shared: z.boolean().default(false).describe('true: every member sees it'),
    }),
    output: viewOutput,
  }),
  'views.update': defineOperation({
    summary: 'Change a view; a shared one only its maker or an admin',
    audience: 'Staff',
    errors: ['not_found', 'conflict'],
    who: 'operator',
    rest: ['PATCH', '/staff/views/:viewId'],
    input: z.object({
      viewId: entity.uuid,
      name: queue.viewName.optional(),
      query: queue.viewQuery.optional(),
      shared: z.boolean().optional(),
    }),
    output: viewOutput,
  }),
  'views.delete': defineOperation({
    summary: 'Delete a view; a shared one only its maker or an admin',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/views/:viewId'],
    input: z.object({ viewId: entity.uuid }),
    output: successOutput,
  }),
} as const;
