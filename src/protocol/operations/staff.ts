// What members of an organization may ask: session, queue, conversations, canned replies.
// Rows of the one table in ../operations.ts; holds no rule.
import { z } from 'zod';
import * as entity from '../entities.ts';
import {
  clientMessageId,
  conversationId,
  done,
  history,
  historyOut,
  listOut,
  messageContent,
  messageId,
  moment,
  nothing,
  operation,
  page,
  password,
  session,
  shortcut,
  staffActOut,
} from './shared.ts';

export const staffOperations = {
  'session.create': operation({
    who: 'anyone',
    rest: ['POST', '/staff/session'],
    status: 201,
    input: z.object({
      organization: z.string().trim().toLowerCase().min(1).max(100),
      email: z.string().trim().toLowerCase().min(1).max(254),
      password: z.string().min(1).max(1024),
    }),
    output: session.extend({ token: z.string() }),
  }),
  /** Without a password, for whoever owns the data folder anyway: the console on the server's own machine. */
  'session.createLocal': operation({
    who: 'local',
    rest: null,
    input: z.object({ memberId: entity.uuid }),
    output: session.extend({ token: z.string() }),
  }),
  'session.get': operation({ who: 'operator', rest: ['GET', '/staff/session'], input: nothing, output: session }),
  'session.delete': operation({ who: 'operator', rest: ['DELETE', '/staff/session'], input: nothing, output: done }),
  'staff.token': operation({
    who: 'operator',
    rest: ['POST', '/staff/ws-token'],
    input: nothing,
    output: z.object({ token: z.string() }),
  }),
  'staff.conversations.list': operation({
    who: 'operator',
    rest: ['GET', '/staff/conversations'],
    input: z.object({
      ...page,
      status: entity.conversationStatus.optional(),
      assignedTo: z
        .string()
        .refine(
          (value) => value === 'me' || value === 'none' || entity.uuid.safeParse(value).success,
          'must be me, none or the id of a member',
        )
        .toLowerCase()
        .optional(),
      applicationId: entity.uuid.optional(),
      /** `all`: live and test together. */
      mode: z.enum([...entity.mode.options, 'all']).default('live'),
      /** Only those of the visitor who has this conversation. */
      visitorOf: conversationId.optional(),
      q: z.string().trim().min(1).max(200).optional(),
    }),
    output: z.object({ conversations: z.array(entity.staffConversationListItem), ...listOut }),
  }),
  'staff.conversations.get': operation({
    who: 'operator',
    rest: ['GET', '/staff/conversations/:conversationId'],
    input: z.object({ conversationId }),
    output: staffActOut,
  }),
  'staff.messages.list': operation({
    who: 'operator',
    rest: ['GET', '/staff/conversations/:conversationId/messages'],
    input: history,
    output: historyOut,
  }),
  'staff.messages.send': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/messages'],
    status: 201,
    idempotency: 'clientMessageId',
    input: z.object({
      conversationId,
      ...messageContent,
      clientMessageId: clientMessageId.optional(),
      internal: z.boolean().default(false),
    }),
    output: z.object({ message: entity.sentMessage }),
  }),
  'staff.messages.edit': operation({
    who: 'operator',
    rest: ['PATCH', '/staff/conversations/:conversationId/messages/:messageId'],
    input: z.object({ conversationId, messageId, ...messageContent }),
    output: z.object({ message: entity.message }),
  }),
  'staff.messages.delete': operation({
    who: 'operator',
    rest: ['DELETE', '/staff/conversations/:conversationId/messages/:messageId'],
    input: z.object({ conversationId, messageId }),
    output: done,
  }),
  'staff.conversations.accept': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/accept'],
    input: z.object({ conversationId }),
    output: staffActOut,
  }),
  'staff.conversations.release': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/release'],
    input: z.object({ conversationId }),
    output: staffActOut,
  }),
  'staff.conversations.resolve': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/resolve'],
    input: z.object({ conversationId }),
    output: staffActOut,
  }),
  'staff.conversations.transfer': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/transfer'],
    input: z.object({ conversationId, memberId: entity.uuid }),
    output: staffActOut,
  }),
  'staff.conversations.read': operation({
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/read'],
    input: z.object({ conversationId, messageId }),
    output: done,
  }),

  'cannedReplies.list': operation({
    who: 'operator',
    rest: ['GET', '/staff/canned-replies'],
    input: z.object(page),
    output: z.object({ cannedReplies: z.array(entity.cannedReply), ...listOut }),
  }),
  'cannedReplies.create': operation({
    who: 'operator',
    rest: ['POST', '/staff/canned-replies'],
    status: 201,
    input: z.object({ shortcut, ...messageContent }),
    output: z.object({ cannedReply: entity.cannedReply }),
  }),
  'cannedReplies.update': operation({
    who: 'operator',
    rest: ['PATCH', '/staff/canned-replies/:cannedReplyId'],
    input: z.object({
      cannedReplyId: entity.uuid,
      shortcut: shortcut.optional(),
      content: z.string().optional(),
      contentFormat: entity.contentFormat.optional(),
    }),
    output: z.object({ cannedReply: entity.cannedReply }),
  }),
  'cannedReplies.delete': operation({
    who: 'operator',
    rest: ['DELETE', '/staff/canned-replies/:cannedReplyId'],
    input: z.object({ cannedReplyId: entity.uuid }),
    output: done,
  }),
  'staff.members.list': operation({
    who: 'operator',
    rest: ['GET', '/staff/members'],
    input: nothing,
    output: z.object({ members: z.array(entity.colleague) }),
  }),
  'staff.stats': operation({
    who: 'operator',
    rest: ['GET', '/staff/stats'],
    input: z.object({ from: moment.optional(), to: moment.optional() }),
    output: z.object({ stats: entity.stats }),
  }),
  'invitations.accept': operation({
    who: 'anyone',
    rest: ['POST', '/staff/invitation'],
    status: 201,
    input: z.object({ token: z.string().min(1).max(200), password }),
    output: z.object({ member: entity.member, organization: entity.organization }),
  }),
} as const;
