// What the API answers, as zod schemas and the types inferred from them.
// Owns shapes only: how a row becomes one of these is services/core/serializers.ts.
import { z } from 'zod';
import { applicationSettings } from './application-settings.ts';
import { assistantLimits, fileLimits } from './codes.ts';
import { notificationWays, plans, secondFactorDemands } from './enums.ts';
import { conversationStatuses, priorities } from './queue-enums.ts';
import { exactText } from './text.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Any letter case comes in; ids are compared and returned in lower case. */
export const uuid = z.string().regex(uuidPattern, 'must be a UUID').toLowerCase();

/** Whether the schema of a UUID takes a text, without what a schema says of it. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** A UUID of version 4 and the RFC 9562 variant, as X-Visitor-Id must be. */
export const visitorUuid = z
  .string()
  .regex(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i,
    'must be a UUID of version 4',
  )
  .toLowerCase();

export const timestamp = z.string().meta({ format: 'date-time' });

export const mode = z.enum(['live', 'test']);
export type Mode = z.infer<typeof mode>;

export const plan = z.enum(plans);
export type Plan = z.infer<typeof plan>;

export const role = z.enum(['admin', 'operator']);
export type Role = z.infer<typeof role>;

export const secondFactorDemand = z.enum(secondFactorDemands);
export type SecondFactorDemand = z.infer<typeof secondFactorDemand>;

export const conversationStatus = z.enum(conversationStatuses);
export type ConversationStatus = z.infer<typeof conversationStatus>;

export const priority = z.enum(priorities);
export type Priority = z.infer<typeof priority>;

export const contentFormat = z.enum(['plain', 'lexical']);
export type ContentFormat = z.infer<typeof contentFormat>;
/** What members may write in. Markdown is stored and answered as `lexical`. */
export const staffContentFormat = z.enum([...contentFormat.options, 'markdown']);
export type StaffContentFormat = z.infer<typeof staffContentFormat>;

export const senderRole = z.enum(['visitor', 'operator', 'assistant', 'system']);
export type SenderRole = z.infer<typeof senderRole>;

export const participant = z.object({
  userId: uuid,
  role: z.enum(['visitor', 'operator']),
  joinedAt: timestamp,
});
export type Participant = z.infer<typeof participant>;

export const conversationListItem = z.object({
  id: uuid,
  status: conversationStatus,
  subject: z.string().optional(),
  createdAt: timestamp,
  updatedAt: timestamp,
  /** How it was begun; absent: in the chat. */
  channel: z.literal('email').optional(),
  /** The closed conversation that it goes on with. */
  continues: uuid.optional(),
});
export type ConversationListItem = z.infer<typeof conversationListItem>;

export const conversation = conversationListItem.extend({
  assignedTo: uuid.optional(),
  participants: z.array(participant),
});
export type Conversation = z.infer<typeof conversation>;

/** A passage that may be meant; `id` is the passage's, `title` its heading. */
export const aiChoice = z.object({ id: uuid, title: z.string() });
export type AiChoice = z.infer<typeof aiChoice>;

const fileFields = {
  id: uuid,
  name: z.string(),
  /** The media type that its bytes have, whatever was said. */
  type: z.string(),
  /** Bytes. */
  size: z.int(),
  /** Of a picture, in pixels as they are stored; null where it is none or says nothing. */
  width: z.int().nullable(),
  height: z.int().nullable(),
};

/** A file of a message. */
export const attachment = z.object({
  ...fileFields,
  /** Signed; holds for an hour at least. */
  url: z.string(),
});
export type Attachment = z.infer<typeof attachment>;

/** A file that was uploaded and waits for its message. */
export const uploadedFile = z.object({
  ...fileFields,
  /** `scanning`: the scanner has not looked at it yet, and it can't be sent. */
  state: z.enum(['ready', 'scanning']),
});
export type UploadedFile = z.infer<typeof uploadedFile>;

/** A message as the send response carries it: without `editedAt`. */
export const sentMessage = z.object({
  id: uuid,
  conversationId: uuid,
  senderId: uuid,
  senderName: z.string(),
  senderRole,
  type: z.literal('text'),
  content: z.string(),
  contentFormat,
  contentHtml: z.string().nullable(),
  createdAt: timestamp,
  internal: z.literal(true).optional(),
  /** Titles that the assistant offers; a visitor's message names the chosen one as `choice`. */
  choices: z.array(aiChoice).max(assistantLimits.choices).optional(),
  choice: uuid.optional(),
  /** Absent where there are none. */
  attachments: z.array(attachment).max(fileLimits.perMessage).optional(),
  /** How it came in; absent: by the chat. */
  via: z.literal('email').optional(),
});
export type SentMessage = z.infer<typeof sentMessage>;

/** How the mail stands by which a message goes to its visitor. */
export const emailedState = z.enum(['queued', 'sent', 'bounced']);
export type EmailedState = z.infer<typeof emailedState>;

export const message = sentMessage.extend({
  editedAt: timestamp.nullable(),
  /** For staff, where it goes or went to the visitor by mail. */
  emailed: z.object({ state: emailedState, at: timestamp }).optional(),
});
export type Message = z.infer<typeof message>;

export const attributes = z.record(exactText(1, 100), z.union([exactText(0, 1000), z.number(), z.boolean()]));

/** What of a visitor was said by a backend or signed by one; everything else is what a page claims. */
export const verifiedField = z.enum(['id', 'name', 'email', 'attributes']);
export type VerifiedField = z.infer<typeof verifiedField>;

export const visitor = z.object({
  id: visitorUuid,
  name: z.string().nullable(),
  email: z.string().nullable(),
  /** Whether the id was proven: `verifiedFields` has `id`. */
  verified: z.boolean(),
  verifiedFields: z.array(verifiedField),
  attributes,
  createdAt: timestamp,
});
export type Visitor = z.infer<typeof visitor>;

/** An application as staff's lists name it. */
const applicationRef = z.object({ id: uuid, name: z.string() });

export const staffConversationListItem = conversationListItem.extend({
  mode,
  assignedTo: uuid.nullable(),
  assignedToName: z.string().nullable(),
  visitor,
  application: applicationRef,
  lastMessage: z
    .object({
      id: uuid,
      senderId: uuid,
      senderRole,
      senderName: z.string(),
      preview: z.string(),
      createdAt: timestamp,
      internal: z.literal(true).optional(),
    })
    .nullable(),
  /** Of the visitor's messages, among the newest 200. */
  unreadCount: z.int(),
  /** Whether the visitor has written something that the caller has not read. */
  unread: z.boolean(),
  waitingSince: timestamp.nullable(),
  /** In the order of the alphabet. */
  tags: z.array(z.string()),
  priority,
  /** Until then it is left out of the queue, unless the visitor writes; null: it is not snoozed. */
  snoozedUntil: timestamp.nullable(),
  /** When an answer is due; null while nothing sets such a time. */
  dueAt: timestamp.nullable(),
});
export type StaffConversationListItem = z.infer<typeof staffConversationListItem>;

export const staffConversation = staffConversationListItem.extend({
  participants: z.array(participant),
  resolvedBy: uuid.nullable(),
  resolvedAt: timestamp.nullable(),
});
export type StaffConversation = z.infer<typeof staffConversation>;

export const organization = z.object({
  id: uuid,
  name: z.string(),
  slug: z.string(),
  plan,
});
export type Organization = z.infer<typeof organization>;

/** An organization's own numbers; null means what the plan says. */
export const organizationLimits = z.object({
  requestsPerMinute: z.int().min(1).nullable(),
  retentionDays: z.union([z.int().min(1), z.literal('unlimited')]).nullable(),
  applications: z.int().min(1).nullable(),
  seats: z.int().min(1).nullable(),
  /** Of the files that were sent with messages. */
  fileBytes: z.int().min(0).nullable(),
});

export const organizationDetail = organization.extend({
  limits: z.object({
    requestsPerMinute: z.int(),
    retentionDays: z.int().nullable(),
    applications: z.int().nullable(),
    seats: z.int().nullable(),
    fileBytes: z.int().nullable(),
    ai: z.boolean(),
    /** Mails to visitors; null: any number. */
    mailsPerDay: z.int().nullable(),
  }),
  ownLimits: organizationLimits,
  releaseAfterMinutes: z.int().nullable(),
  /** Which members must show a second factor. */
  signIn: z.object({ secondFactor: secondFactorDemand }),
  /** What is done when no member accepts a conversation, step by step. */
  escalation: z.array(
    z.object({
      afterMinutes: z.int(),
      to: z.string(),
      ways: z.array(z.enum(notificationWays)),
    }),
  ),
  applications: z.int(),
  members: z.int(),
  createdAt: timestamp,
});
export type OrganizationDetail = z.infer<typeof organizationDetail>;

export const organizationUsage = z.object({
  organizationId: uuid,
  from: timestamp,
  to: timestamp,
  conversations: z.int(),
  messages: z.int(),
  visitors: z.int(),
  seats: z.int(),
  /** What messages take. */
  storageBytes: z.int(),
  /** Files that are stored at present, and their bytes. */
  files: z.int(),
  fileBytes: z.int(),
});
export type OrganizationUsage = z.infer<typeof organizationUsage>;

export const application = z.object({
  id: uuid,
  appId: uuid,
  organizationId: uuid,
  name: z.string(),
  domains: z.array(z.string()),
});
export type Application = z.infer<typeof application>;

export const applicationDetail = application.extend({
  settings: applicationSettings,
  createdAt: timestamp,
});
export type ApplicationDetail = z.infer<typeof applicationDetail>;

/** What `GET /widget/config` answers: public, so nothing in it may be private. */
export const widgetConfig = z.object({
  appId: uuid,
  name: z.string(),
  appearance: applicationSettings.shape.appearance,
  behavior: z.object({
    isOpen: z.boolean(),
    nextOpenAt: timestamp.nullable(),
    ...applicationSettings.shape.behavior.shape,
  }),
  online: z.boolean(),
  ai: z.object({ enabled: z.boolean() }),
  locale: z.string().nullable(),
});
export type WidgetConfig = z.infer<typeof widgetConfig>;

export const domain = z.object({ id: uuid, applicationId: uuid, domain: z.string(), createdAt: timestamp });
export type Domain = z.infer<typeof domain>;

export const apiKey = z.object({
  id: uuid,
  applicationId: uuid,
  name: z.string(),
  mode,
  /** The prefix and public id: enough to recognise a key, useless to use one. */
  hint: z.string(),
  createdAt: timestamp,
  lastUsedAt: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
  revokedAt: timestamp.nullable(),
});
export type ApiKey = z.infer<typeof apiKey>;

/** A key with its text: the answer to creating, rotating or revealing one, and nowhere else. */
export const apiKeyWithSecret = apiKey.extend({ key: z.string() });
export type ApiKeyWithSecret = z.infer<typeof apiKeyWithSecret>;

export const member = z.object({
  id: uuid,
  organizationId: uuid,
  email: z.string(),
  name: z.string(),
  role,
  disabled: z.boolean(),
  createdAt: timestamp,
});
export type Member = z.infer<typeof member>;

/** An answer that its member has not sent yet; no other member sees it. */
export const draft = z.object({ content: z.string(), updatedAt: timestamp });
export type Draft = z.infer<typeof draft>;

/** A member as admins see them in a list. */
export const listedMember = member.extend({
  /** What they must show beside the password, or may show instead; empty: the password is enough. */
  secondFactors: z.array(z.enum(['passkey', 'totp'])),
});
export type ListedMember = z.infer<typeof listedMember>;

/** What members see of each other: whom a conversation can be handed to. `online`: a console or the like is connected. */
export const colleague = z.object({ id: uuid, name: z.string(), role, online: z.boolean() });
export type Colleague = z.infer<typeof colleague>;

export const cannedReply = z.object({
  id: uuid,
  shortcut: z.string(),
  content: z.string(),
  contentFormat,
  contentHtml: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type CannedReply = z.infer<typeof cannedReply>;

const percentiles = z.object({ medianSeconds: z.int().nullable(), p90Seconds: z.int().nullable() });
const figures = z.object({
  opened: z.int(),
  resolved: z.int(),
  firstResponse: percentiles,
  resolution: percentiles,
});
const namedFigures = figures.extend({ id: uuid, name: z.string() });

/** What was opened and resolved, and how fast, in a span of time. */
export const stats = figures.extend({
  from: timestamp,
  to: timestamp,
  applications: z.array(namedFigures),
  members: z.array(namedFigures),
});
export type Stats = z.infer<typeof stats>;

/** Who or what is blocked. The address itself is not kept, so it can't be told. */
export const block = z.object({
  id: uuid,
  kind: z.enum(['visitor', 'address']),
  visitor: z.object({ id: visitorUuid, name: z.string().nullable(), applicationId: uuid, mode }).nullable(),
  /** null: until it is lifted. */
  until: timestamp.nullable(),
  /** The member who did it. */
  createdBy: uuid,
  createdAt: timestamp,
});
export type Block = z.infer<typeof block>;

/** Everything kept about one visitor, as they may ask for it. Internal notes are staff's own work and not among it. */
export const visitorData = z.object({
  visitor: visitor.extend({ organizationId: uuid, applicationId: uuid, mode }),
  conversations: z.array(
    conversation.extend({
      resolvedAt: timestamp.nullable(),
      lastReadMessageId: uuid.nullable(),
      messages: z.array(message),
    }),
  ),
  /** How many internal notes there are, whose text is not handed out. */
  internalNotes: z.int(),
  /** What they asked the assistant, and what it answered. */
  assistant: z.array(
    z.object({
      conversationId: uuid.nullable(),
      question: z.string(),
      answer: z.string().nullable(),
      outcome: z.string(),
      sources: z.array(z.object({ id: uuid, title: z.string(), url: z.string().nullable() })),
      createdAt: timestamp,
    }),
  ),
  /** Who has looked at or handed out this data before. */
  access: z.array(
    z.object({ action: z.string(), actor: z.string(), address: z.string().nullable(), createdAt: timestamp }),
  ),
  exportedAt: timestamp,
});
export type VisitorData = z.infer<typeof visitorData>;

export const auditEntry = z.object({
  id: uuid,
  organizationId: uuid.nullable(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  address: z.string().nullable(),
  createdAt: timestamp,
});
export type AuditEntry = z.infer<typeof auditEntry>;

const removed = z.object({ conversations: z.int(), messages: z.int(), visitors: z.int() });

/** What a purge removed, or would remove. */
export const purgeReport = z.object({
  dryRun: z.boolean(),
  organizations: z.array(
    z.object({
      id: uuid,
      slug: z.string(),
      /** null: unlimited. */
      retentionDays: z.int().nullable(),
      /** `held`: more than half would go, so it waits for `--yes`; `grace`: the plan changed a short while ago. */
      state: z.enum(['kept', 'purged', 'held', 'grace']),
      /** What went; where it is held, what waits. */
      live: removed,
      test: removed,
    }),
  ),
  /** Everything that went. */
  total: removed,
  /** Rows of the audit log that went; where it is `held`, that wait. */
  audit: z.object({
    /** null: unlimited. */
    retentionDays: z.int().nullable(),
    state: z.enum(['kept', 'purged', 'held']),
    entries: z.int(),
  }),
  /** Backups made by the server itself that were removed because of their age. */
  expiredBackups: z.int(),
});
export type PurgeReport = z.infer<typeof purgeReport>;
