// The table of operations: name → who may ask, where it lives in REST, what it
// takes and what it answers. Doors are generated from it and rules are checked
// against it; it holds no rule itself.
import { z } from 'zod';
import { limits } from './codes.ts';
import * as entity from './entities.ts';
import * as webhook from './webhooks.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call: `embedder` is a page with only app id and origin; `visitor` adds
 * the visitor id; `anyone` carries no credential yet; `operator` is any member,
 * `admin` only admins; `local` is the command line on the data folder. The local
 * actor may also call every `admin` operation, for any organization.
 */
export type Who = 'anyone' | 'embedder' | 'visitor' | 'operator' | 'admin' | 'local';

export interface Operation<I extends z.ZodType, O extends z.ZodType> {
  readonly who: Who;
  /** Method and path below /api/v1; null: no REST door. Path parameters are fields of the input. */
  readonly rest: readonly [Method, string] | null;
  readonly input: I;
  readonly output: O;
  /** HTTP status of success; 200 where absent. */
  readonly status?: 201;
  /** The input field that an `Idempotency-Key` header fills. */
  readonly idempotency?: 'clientMessageId' | 'idempotencyKey';
  /** The name under which REST answers the one thing that the rule answers bare. */
  readonly envelope?: string;
  /** True where the answer may be cached by clients (everything else is no-store). */
  readonly cacheable?: true;
}

function operation<I extends z.ZodType, O extends z.ZodType>(definition: Operation<I, O>): Operation<I, O> {
  return definition;
}

/** A whole number that may arrive as a query string; `+5`, `1e1`, ` 5` and an empty string are refused. */
function wholeNumber(min: number, max: number): z.ZodType<number> {
  const problem =
    max === Number.MAX_SAFE_INTEGER ? `must be a whole number of at least ${min}` : `must be a whole number from ${min} to ${max}`;
  return z
    .union(
      [
        z.int(),
        z
          .string()
          .regex(/^[0-9]{1,15}$/)
          .transform(Number),
      ],
      { error: problem },
    )
    .pipe(z.int({ error: problem }).min(min, problem).max(max, problem));
}

const page = {
  limit: wholeNumber(1, limits.pageMax).default(limits.pageDefault),
  offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
};
/** Owners' lists are short: a page holds them all unless asked otherwise. */
const ownerPage = {
  limit: wholeNumber(1, 1_000).default(1_000),
  offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
};
const pageOut = { limit: z.int(), offset: z.int() };
const listOut = { total: z.int(), ...pageOut };
const done = z.object({ success: z.literal(true) });
const nothing = z.object({});

const conversationId = entity.uuid;
const messageId = entity.uuid;
const clientMessageId = z.string().min(1).max(limits.clientMessageId);
const name = z.string().trim().min(1).max(100);
const organizationRef = z.string().trim().min(1).max(100).optional().describe('slug or id; an admin may leave it out');

const messageContent = {
  // Lengths and meaning are checked by the content rules, which know the door's own limit.
  content: z.string(),
  contentFormat: entity.contentFormat.default('plain'),
};

const history = z.object({
  conversationId,
  ...page,
  order: z.enum(['asc', 'desc']).default('asc'),
  after: messageId.optional(),
  before: messageId.optional(),
});

const historyOut = z.object({ messages: z.array(entity.message), ...pageOut });
const staffActOut = z.object({ conversation: entity.staffConversation });
const email = z.string().trim().toLowerCase().max(254).pipe(z.email('must be an e-mail address'));
const shortcut = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,49}$/u, 'must be 1 to 50 letters, digits, hyphens or underscores');
const moment = z.iso.datetime({ offset: true, error: 'must be a time like 2026-11-21T12:00:00Z' });
/** A part of an application's settings; which names there are and what they take is checked against the whole. */
const settingsPart = z.record(z.string(), z.unknown());
const password = z
  .string()
  .min(8, 'must be at least 8 characters')
  .max(1024)
  .refine((text) => !text.includes('\u0000'), 'must not hold the character U+0000');

const session = z.object({
  expiresAt: entity.timestamp,
  member: entity.member,
  organization: entity.organization,
});

export const operations = {
  // Visitors
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
    input: z.object({ conversationId, ...messageContent, clientMessageId: clientMessageId.optional() }),
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

  // Staff
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
      mode: entity.mode.default('live'),
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

  // Owners: the command line and the admin API, through the same rules
  'organizations.create': operation({
    who: 'local',
    rest: null,
    input: z.object({ name, slug: z.string().trim().toLowerCase().max(63).optional() }),
    output: entity.organization,
  }),
  'organizations.list': operation({
    who: 'local',
    rest: null,
    input: nothing,
    output: z.object({ organizations: z.array(entity.organizationDetail) }),
  }),
  'organizations.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/organization'],
    envelope: 'organization',
    input: z.object({ organization: organizationRef }),
    output: entity.organizationDetail,
  }),
  'organizations.setPlan': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef, plan: entity.plan }),
    output: entity.organizationDetail,
  }),
  'organizations.setLimits': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef, ...entity.organizationLimits.partial().shape }),
    output: entity.organizationDetail,
  }),
  'organizations.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/organization'],
    envelope: 'organization',
    input: z.object({
      organization: organizationRef,
      name: name.optional(),
      plan: entity.plan.optional(),
      limits: entity.organizationLimits.partial().optional(),
      releaseAfterMinutes: z.int().min(1).max(1_440).nullable().optional(),
    }),
    output: entity.organizationDetail,
  }),
  'organizations.usage': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef }),
    output: entity.organizationUsage,
  }),
  'organizations.stats': operation({
    who: 'admin',
    rest: null,
    input: z.object({ organization: organizationRef, from: moment.optional(), to: moment.optional() }),
    output: z.object({ stats: entity.stats }),
  }),
  'organizations.delete': operation({
    who: 'local',
    rest: null,
    input: z.object({ organization: z.string().trim().min(1).max(100) }),
    output: done,
  }),
  'applications.create': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications'],
    status: 201,
    envelope: 'application',
    input: z.object({ organization: organizationRef, name, domains: z.array(z.string()).max(100).default([]) }),
    output: entity.application,
  }),
  'applications.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications'],
    input: z.object({ organization: organizationRef, ...ownerPage }),
    output: z.object({ applications: z.array(entity.application), ...listOut }),
  }),
  'applications.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId'],
    envelope: 'application',
    input: z.object({ applicationId: entity.uuid }),
    output: entity.applicationDetail,
  }),
  'applications.configure': operation({
    who: 'admin',
    rest: null,
    input: z.object({
      applicationId: entity.uuid,
      settings: z
        .array(z.object({ path: z.string().min(1).max(100), value: z.unknown() }))
        .min(1)
        .max(50),
    }),
    output: entity.applicationDetail,
  }),
  'applications.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/applications/:applicationId'],
    envelope: 'application',
    input: z.object({
      applicationId: entity.uuid,
      name: name.optional(),
      appearance: settingsPart.optional(),
      behavior: settingsPart.optional(),
      ai: settingsPart.optional(),
      locale: z.string().nullable().optional(),
    }),
    output: entity.applicationDetail,
  }),
  'applications.identitySecret': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/identity-secret'],
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ identitySecret: z.string() }),
  }),
  'applications.rotateIdentitySecret': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/identity-secret'],
    status: 201,
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ identitySecret: z.string() }),
  }),
  'applications.delete': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/applications/:applicationId'],
    input: z.object({ applicationId: entity.uuid }),
    output: done,
  }),
  'domains.add': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/domains'],
    status: 201,
    envelope: 'domain',
    input: z.object({ applicationId: entity.uuid, domain: z.string().max(300) }),
    output: entity.domain.extend({ warning: z.string().optional() }),
  }),
  'domains.remove': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/applications/:applicationId/domains/:domain'],
    input: z.object({ applicationId: entity.uuid, domain: z.string().max(300) }),
    output: done,
  }),
  'domains.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/domains'],
    input: z.object({ applicationId: entity.uuid, ...ownerPage }),
    output: z.object({ domains: z.array(entity.domain), ...listOut }),
  }),
  'keys.create': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/keys'],
    status: 201,
    envelope: 'key',
    input: z.object({ applicationId: entity.uuid, mode: entity.mode.default('live'), name: name.optional() }),
    output: entity.apiKeyWithSecret,
  }),
  'keys.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/applications/:applicationId/keys'],
    input: z.object({ applicationId: entity.uuid, ...ownerPage }),
    output: z.object({ keys: z.array(entity.apiKey), ...listOut }),
  }),
  'keys.reveal': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/keys/:keyId/reveal'],
    envelope: 'key',
    input: z.object({ keyId: entity.uuid, applicationId: entity.uuid.optional() }),
    output: entity.apiKeyWithSecret,
  }),
  'keys.rotate': operation({
    who: 'admin',
    rest: ['POST', '/admin/applications/:applicationId/keys/:keyId/rotate'],
    status: 201,
    envelope: 'key',
    input: z.object({
      applicationId: entity.uuid.optional(),
      keyId: entity.uuid,
      graceSeconds: z
        .int()
        .min(0)
        .max(90 * 86_400)
        .default(86_400),
    }),
    output: entity.apiKeyWithSecret,
  }),
  'keys.revoke': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/applications/:applicationId/keys/:keyId'],
    input: z.object({ keyId: entity.uuid, applicationId: entity.uuid.optional() }),
    output: done,
  }),
  'members.add': operation({
    who: 'admin',
    rest: ['POST', '/admin/members'],
    status: 201,
    envelope: 'member',
    input: z.object({ organization: organizationRef, email, name, role: entity.role, password }),
    output: entity.member,
  }),
  'members.invite': operation({
    who: 'admin',
    rest: ['POST', '/admin/members/invitations'],
    status: 201,
    input: z.object({ organization: organizationRef, email, name, role: entity.role }),
    output: z.object({ member: entity.member, token: z.string(), url: z.string().nullable(), expiresAt: entity.timestamp }),
  }),
  'members.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/members/:memberId'],
    envelope: 'member',
    input: z.object({
      memberId: entity.uuid,
      role: entity.role.optional(),
      disabled: z.boolean().optional(),
      password: password.optional(),
    }),
    output: entity.member,
  }),
  'members.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/members'],
    input: z.object({ organization: organizationRef, ...ownerPage }),
    output: z.object({ members: z.array(entity.member), ...listOut }),
  }),
  'members.setRole': operation({
    who: 'admin',
    rest: null,
    input: z.object({ memberId: entity.uuid, role: entity.role }),
    output: entity.member,
  }),
  'members.setPassword': operation({
    who: 'admin',
    rest: null,
    input: z.object({ memberId: entity.uuid, password }),
    output: entity.member,
  }),
  'members.disable': operation({ who: 'admin', rest: null, input: z.object({ memberId: entity.uuid }), output: entity.member }),
  'members.enable': operation({ who: 'admin', rest: null, input: z.object({ memberId: entity.uuid }), output: entity.member }),
  'members.remove': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/members/:memberId'],
    input: z.object({ memberId: entity.uuid }),
    output: done,
  }),

  // Data: what is kept, for how long, and who has asked for it
  'visitors.export': operation({
    who: 'admin',
    rest: ['GET', '/admin/visitors/:visitorId'],
    input: z.object({ visitorId: entity.uuid, applicationId: entity.uuid.optional(), mode: entity.mode.optional() }),
    output: entity.visitorData,
  }),
  'visitors.erase': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/visitors/:visitorId'],
    input: z.object({ visitorId: entity.uuid, applicationId: entity.uuid.optional(), mode: entity.mode.optional() }),
    output: done.extend({
      /** False when a reader kept the log of the database from being emptied: it is tried again every hour. */
      filesClean: z.boolean(),
      /** Copies of the database from before this erasure, and when they go. */
      copies: z.array(z.object({ name: z.string(), until: entity.timestamp })),
    }),
  }),
  'audit.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/audit'],
    input: z.object({ organization: organizationRef, ...page }),
    output: z.object({ entries: z.array(entity.auditEntry), ...listOut }),
  }),
  'retention.purge': operation({
    who: 'local',
    rest: null,
    input: z.object({ dryRun: z.boolean().default(false), force: z.boolean().default(false) }),
    output: entity.purgeReport,
  }),
  'webhooks.create': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks'],
    status: 201,
    envelope: 'webhook',
    input: z.object({ organization: organizationRef, url: webhook.webhookUrl, events: webhook.webhookSelection.default(null) }),
    output: webhook.webhookWithSecret,
  }),
  'webhooks.list': operation({
    who: 'admin',
    rest: ['GET', '/admin/webhooks'],
    input: z.object({ organization: organizationRef, ...ownerPage }),
    output: z.object({ webhooks: z.array(webhook.webhook), ...listOut }),
  }),
  'webhooks.get': operation({
    who: 'admin',
    rest: ['GET', '/admin/webhooks/:webhookId'],
    envelope: 'webhook',
    input: z.object({ webhookId: entity.uuid }),
    output: webhook.webhook,
  }),
  'webhooks.update': operation({
    who: 'admin',
    rest: ['PATCH', '/admin/webhooks/:webhookId'],
    envelope: 'webhook',
    input: z.object({
      webhookId: entity.uuid,
      url: webhook.webhookUrl.optional(),
      events: webhook.webhookSelection.optional(),
      enabled: z.boolean().optional(),
    }),
    output: webhook.webhook,
  }),
  'webhooks.delete': operation({
    who: 'admin',
    rest: ['DELETE', '/admin/webhooks/:webhookId'],
    input: z.object({ webhookId: entity.uuid }),
    output: done,
  }),
  'webhooks.reveal': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks/:webhookId/reveal'],
    envelope: 'webhook',
    input: z.object({ webhookId: entity.uuid }),
    output: webhook.webhookWithSecret,
  }),
  'webhooks.test': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks/:webhookId/test'],
    envelope: 'delivery',
    input: z.object({ webhookId: entity.uuid }),
    output: webhook.webhookDelivery,
  }),
  'webhooks.deliveries': operation({
    who: 'admin',
    rest: ['GET', '/admin/webhooks/:webhookId/deliveries'],
    input: z.object({ webhookId: entity.uuid, status: webhook.deliveryStatus.optional(), ...page }),
    output: z.object({ deliveries: z.array(webhook.webhookDelivery), ...listOut }),
  }),
  'webhooks.replay': operation({
    who: 'admin',
    rest: ['POST', '/admin/webhooks/:webhookId/deliveries/:deliveryId/replay'],
    envelope: 'delivery',
    input: z.object({ webhookId: entity.uuid, deliveryId: entity.uuid }),
    output: webhook.webhookDelivery,
  }),
} as const;

export type OperationName = keyof typeof operations;
/** What a rule receives: the input after the check, defaults filled in. */
export type Input<N extends OperationName> = z.output<(typeof operations)[N]['input']>;
/** What a caller may hand in. */
export type RawInput<N extends OperationName> = z.input<(typeof operations)[N]['input']>;
/** What a rule answers. */
export type Output<N extends OperationName> = z.output<(typeof operations)[N]['output']>;
