// What a row of an imported file must be: the schemas and rules that hold for what is typed in, column by column.
// Each row is read by itself; what binds it to other rows is import.ts. Stores nothing.
import { z } from 'zod';
import { applicationSettingsPatch, locale, timezone } from '../../protocol/application-settings.ts';
import { knowledgeFormat, synonyms } from '../../protocol/assistant.ts';
import { assistantLimits, fileLimits, sizeLimits } from '../../protocol/codes.ts';
import * as entity from '../../protocol/entities.ts';
import { documentSource } from '../../protocol/operations/assistant.ts';
import {
  clientMessageId,
  email,
  name,
  organizationSlug,
  shortcut,
} from '../../protocol/operations/shared.ts';
import { escalation, notificationSettingsPatch } from '../../protocol/notifications.ts';
import { tagName, viewName, viewQuery } from '../../protocol/queue.ts';
import { credentialId, publicKey } from '../../protocol/sign-in.ts';
import { exactText, text } from '../../protocol/text.ts';
import { webhookSelection, webhookUrl } from '../../protocol/webhooks.ts';
import type * as rows from '../../engine/rows.ts';
import { isWebAddress } from '../assistant/knowledge/documents.ts';
import { normaliseDomain } from '../auth/origins.ts';
import { storedAttachment } from '../files/links.ts';
import { cleanFileName } from '../files/names.ts';
import { isIdentitySecret, isPasswordHash, readApiKey } from '../auth/secrets.ts';
import { isTotpSecret } from '../auth/totp.ts';
import { foldTag } from '../chat/tag-names.ts';
import { prepareContent } from '../content/content.ts';
import { isOneAddress } from '../mail/inbound/parsed-mail.ts';
import type { Service } from '../service.ts';
import { noPassword } from '../tenants/members.ts';
import { defaultSettings, patchSettings } from '../tenants/settings.ts';
import { isWebhookSecret } from '../webhooks/signature.ts';
import { checkUrl } from '../webhooks/webhooks.ts';

/** The rows of a file, by table: as they are stored, but with secrets as text. */
export interface FileRows {
  organizations: rows.OrganizationRow;
  applications: Omit<rows.ApplicationRow, 'identity_secret'> & { identity_secret: string };
  domains: rows.DomainRow;
  api_keys: Omit<rows.ApiKeyRow, 'digest' | 'sealed'> & { sealed: string };
  members: rows.MemberRow;
  member_totp: Omit<rows.MemberTotpRow, 'sealed'> & { sealed: string };
  member_passkeys: rows.PasskeyRow;
  canned_replies: rows.CannedReplyRow;
  tags: rows.TagRow;
  views: rows.ViewRow;
  webhooks: Omit<rows.WebhookRow, 'sealed'> & { sealed: string };
  /** `no_mail`: their address takes no mails, since when and why. It stands here because another server knows it by another digest. */
  visitors: rows.VisitorRow & { no_mail?: Pick<rows.MailAddressRow, 'state' | 'created_at'> | undefined };
  visitor_blocks: rows.VisitorBlockRow;
  conversations: rows.ConversationRow;
  conversation_tags: rows.ConversationTagRow;
  participants: rows.ParticipantRow;
  messages: rows.MessageRow;
  files: Omit<rows.FileRow, 'object'>;
  knowledge_documents: rows.KnowledgeDocumentRow;
  knowledge_questions: rows.KnowledgeQuestionRow;
  knowledge_synonyms: rows.KnowledgeSynonymsRow;
  audit: rows.AuditRow;
}

export type FileTable = keyof FileRows;

/** A schema for every table: a table or a column that is missing here does not compile. */
export type FileSchemas = { readonly [Table in FileTable]: z.ZodType<FileRows[Table]> };

/** How far another server's clock may be ahead of this one's, ms. */
const clockSkewMs = 60_000;
/** The longest time that a key which was rotated still works, ms. */
const maxGraceMs = 90 * 86_400_000;
/** What the audit log says in one column. */
const auditText = exactText(0, 1_000);
/** What a page or a member may say, or a mail that came in. */
const visitorEmail = exactText(0, 254)
  .toLowerCase()
  .refine((value) => isOneAddress(value) || email.safeParse(value).success, 'must be an e-mail address');
const flag = z.union([z.literal(0), z.literal(1)]);
const count = z.int().min(0);

/**
 * The schemas of all tables.
 * @param service whose rules hold
 */
export function createFileSchemas(service: Service): FileSchemas {
  const now = service.engine.clock.now();
  const past = z
    .int()
    .min(0)
    .max(now + clockSkewMs, "must not be later than this machine's clock");
  const any = z
    .int()
    .min(0)
    .max(Date.UTC(9999, 11, 31));
  const row = { id: entity.uuid, created_at: past };
  const owned = { ...row, organization_id: entity.uuid };
  const ofApplication = { ...owned, application_id: entity.uuid };
  return {
    organizations: organizationRow(past),
    applications: z.strictObject({
      ...owned,
      name,
      settings: json(applicationSettingsPatch, (patch) => patchSettings(defaultSettings, patch)),
      identity_secret: z.string().refine(isIdentitySecret, 'is no identity secret'),
    }),
    domains: z.strictObject({ ...row, application_id: entity.uuid, domain: domain() }),
    api_keys: apiKey(
      z.strictObject({
        ...ofApplication,
        mode: entity.mode,
        name,
        public_id: z.string(),
        sealed: z.string(),
        last_used_at: past.nullable(),
        expires_at: any.max(now + clockSkewMs + maxGraceMs).nullable(),
        revoked_at: past.nullable(),
      }),
    ),
    members: memberRow(past),
    member_totp: z.strictObject({
      ...owned,
      member_id: entity.uuid,
      sealed: z.string().refine(isTotpSecret, 'is no secret of an authenticator'),
      last_step: count,
      confirmed_at: past.nullable(),
    }),
    member_passkeys: z.strictObject({
      ...owned,
      member_id: entity.uuid,
      name,
      credential_id: credentialId,
      public_key: publicKey,
      counter: z
        .int()
        .min(0)
        .max(2 ** 32 - 1),
      transports: exactText(0, 400).regex(/^[\w -]*$/, 'names no way to an authenticator'),
      last_used_at: past.nullable(),
    }),
    canned_replies: rendered(
      z.strictObject({
        ...owned,
        shortcut,
        content: z.string(),
        content_format: entity.contentFormat,
        content_html: z.string().nullable(),
        updated_at: past,
      }),
    ),
    webhooks: z.strictObject({
      ...owned,
      url: webhookUrl.transform((url, context) => attempt(context, () => checkUrl(service, url))),
      events: json(webhookSelection.unwrap()).nullable(),
      sealed: z.string().refine(isWebhookSecret, 'is no secret of a webhook'),
      // A secret that was rotated stays with the server that rotated it.
      previous_sealed: z.null(),
      previous_until: z.null(),
      enabled: flag,
      position: count,
    }),
    visitors: z.strictObject({
      ...ofApplication,
      visitor_id: entity.visitorUuid,
      mode: entity.mode,
      name: name.nullable(),
      email: visitorEmail.nullable(),
      verified: flag,
      verified_fields: z
        .string()
        .regex(/^(?:(?:name|email|attributes)(?:,(?!$)|$))*$/, 'names no fields of a visitor'),
      attributes: json(entity.attributes),
      address_digest: z.null(),
      no_mail: z.strictObject({ state: z.enum(['stopped', 'bounced']), created_at: past }).optional(),
    }),
    visitor_blocks: z.strictObject({
      ...owned,
      visitor_key: entity.uuid,
      expires_at: any.nullable(),
      created_by: entity.uuid,
    }),
    conversations: conversationRow(past, any),
    ...queueOrderRows(past),
    participants: z.strictObject({
      conversation_id: entity.uuid,
      user_id: entity.uuid,
      role: entity.participant.shape.role,
      joined_at: past,
      left_at: past.nullable(),
      last_read_message_id: entity.uuid.nullable(),
      last_read_seq: count,
    }),
    messages: messageRow(past),
    files: fileRow(past),
    ...knowledgeRows(past),
    audit: auditRow(past),
  };
}

/**
 * Reads a row of a file.
 * @param refusal the error for what is wrong with it
 * @returns the row as it may be stored
 * @throws what `refusal` makes
 */
export function checkFileRow(
  schemas: FileSchemas,
  table: string,
  row: unknown,
  refusal: (problem: string) => Error,
): Readonly<Record<string, unknown>> {
  const schema: z.ZodType<object> | undefined = Object.entries(schemas).find(([name]) => name === table)?.[1];
  if (schema === undefined) throw refusal('is of no table that travels');
  const read = schema.safeParse(row);
  if (read.success) return { ...read.data };
  const [issue] = read.error.issues;
  if (issue?.code === 'unrecognized_keys') throw refusal(`has an unknown column ${issue.keys[0] ?? ''}`);
  throw refusal(
    issue === undefined || issue.path.length === 0
      ? 'is no row'
      : `column ${issue.path.join('.')}: ${issue.message}`,
  );
}

/** Days, or -1: unlimited. */
const storedRetention = z.union([z.int().min(1), z.literal(-1)]).nullable();

function organizationRow(past: z.ZodNumber): z.ZodType<rows.OrganizationRow> {
  return z.strictObject({
    id: entity.uuid,
    created_at: past,
    slug: organizationSlug,
    name,
    plan: entity.plan,
    requests_per_minute: entity.organizationLimits.shape.requestsPerMinute,
    retention_days: storedRetention,
    own_retention_days: storedRetention,
    max_applications: entity.organizationLimits.shape.applications,
    max_seats: entity.organizationLimits.shape.seats,
    max_file_bytes: entity.organizationLimits.shape.fileBytes,
    release_after_minutes: z.int().min(1).max(1_440).nullable(),
    second_factor: entity.secondFactorDemand,
    escalation: json(escalation),
    plan_changed_at: past,
  });
}

function knowledgeRows(
  past: z.ZodNumber,
): Pick<FileSchemas, 'knowledge_documents' | 'knowledge_questions' | 'knowledge_synonyms'> {
  const row = { id: entity.uuid, application_id: entity.uuid, created_at: past };
  return {
    knowledge_documents: z.strictObject({
      ...row,
      organization_id: entity.uuid,
      source: documentSource,
      title: exactText(0, assistantLimits.title),
      url: text(1, assistantLimits.source)
        .refine(isWebAddress, 'must be an address like https://…')
        .nullable(),
      format: knowledgeFormat,
      content: exactText(1, assistantLimits.content),
      // Its passages are cut here.
      edition: z.int().transform(() => 0),
      updated_at: past,
    }),
    knowledge_questions: z.strictObject({
      ...row,
      document_id: entity.uuid,
      heading: z.string().max(assistantLimits.content).nullable(),
      question: text(1, assistantLimits.title),
    }),
    knowledge_synonyms: z.strictObject({ application_id: entity.uuid, synonyms: json(synonyms) }),
  };
}

function queueOrderRows(past: z.ZodNumber): Pick<FileSchemas, 'tags' | 'views' | 'conversation_tags'> {
  const owned = { id: entity.uuid, organization_id: entity.uuid, created_at: past };
  return {
    tags: z
      .strictObject({ ...owned, name: tagName, folded: z.string() })
      .transform((tag) => ({ ...tag, folded: foldTag(tag.name) })),
    views: z.strictObject({
      ...owned,
      name: viewName,
      shared: flag,
      query: json(viewQuery),
      created_by: entity.uuid,
      updated_at: past,
    }),
    conversation_tags: z.strictObject({ conversation_id: entity.uuid, tag_id: entity.uuid }),
  };
}

function auditRow(past: z.ZodNumber): FileSchemas['audit'] {
  return z.strictObject({
    id: entity.uuid,
    created_at: past,
    organization_id: entity.uuid,
    actor: auditText,
    action: auditText,
    subject: auditText,
    detail: json(entity.auditEntry.shape.detail),
    address: auditText.nullable(),
  });
}

function memberRow(past: z.ZodNumber): z.ZodType<rows.MemberRow> {
  return z.strictObject({
    id: entity.uuid,
    created_at: past,
    organization_id: entity.uuid,
    email,
    name,
    role: entity.role,
    password_hash: z
      .string()
      .refine((hash) => hash === noPassword || isPasswordHash(hash), 'is no hash of a password'),
    disabled_at: past.nullable(),
    locale,
    timezone: timezone.nullable(),
    signature: text(0, 1_000),
    notifications: json(notificationSettingsPatch),
  });
}

function conversationRow(past: z.ZodNumber, any: z.ZodNumber): z.ZodType<rows.ConversationRow> {
  return z
    .strictObject({
      id: entity.uuid,
      organization_id: entity.uuid,
      application_id: entity.uuid,
      visitor_key: entity.uuid,
      mode: entity.mode,
      status: entity.conversationStatus,
      subject: text(1, sizeLimits.subject).nullable(),
      assigned_to: entity.uuid.nullable(),
      resolved_by: entity.uuid.nullable(),
      resolved_at: past.nullable(),
      last_seq: count,
      waiting_since: past.nullable(),
      first_response_at: past.nullable(),
      idempotency_key: clientMessageId.nullable(),
      assistant_muted_at: past.nullable(),
      priority: entity.priority,
      snoozed_until: any.nullable(),
      last_visitor_seq: count,
      channel: z.literal('email').nullable(),
      continues: entity.uuid.nullable(),
      mail_stopped_at: past.nullable(),
      created_at: past,
      updated_at: past,
    })
    .refine(({ status, assigned_to }) => status !== 'active' || assigned_to !== null, {
      path: ['assigned_to'],
      error: 'must name a member, because the conversation is active',
    })
    .refine(({ status, snoozed_until }) => status !== 'closed' || snoozed_until === null, {
      path: ['snoozed_until'],
      error: 'must be null, because the conversation is closed',
    });
}

function messageRow(past: z.ZodNumber): z.ZodType<rows.MessageRow> {
  return rendered(
    z
      .strictObject({
        id: entity.uuid,
        conversation_id: entity.uuid,
        organization_id: entity.uuid,
        seq: count,
        changed_seq: count,
        sender_id: entity.uuid,
        sender_role: entity.senderRole,
        sender_label: name.nullable(),
        content: z.string(),
        content_format: entity.contentFormat,
        content_html: z.string().nullable(),
        content_text: z.string().nullable(),
        internal: flag,
        choices: json(entity.message.shape.choices.unwrap()).nullable(),
        choice: entity.uuid.nullable(),
        attachments: json(z.array(storedAttachment).min(1).max(fileLimits.perMessage)).nullable(),
        client_message_id: clientMessageId.nullable(),
        created_at: past,
        edited_at: past.nullable(),
        deleted_at: past.nullable(),
        via: z.literal('email').nullable(),
        mail_id: exactText(1, 998).nullable(),
        emailed: entity.emailedState.nullable(),
        emailed_at: past.nullable(),
      })
      .refine(({ seq, changed_seq }) => changed_seq >= seq, {
        path: ['changed_seq'],
        error: 'must not be before its seq',
      }),
  );
}

function fileRow(past: z.ZodNumber): z.ZodType<FileRows['files']> {
  return z.strictObject({
    id: entity.uuid,
    organization_id: entity.uuid,
    uploader: entity.uuid,
    visitor_key: entity.uuid.nullable(),
    message_id: entity.uuid,
    name: exactText(1, fileLimits.name).refine((one) => cleanFileName(one) === one, 'is no name of a file'),
    // As an upload finds it by the bytes: `audio/ogg; codecs=opus`, `video/MP2P`.
    type: exactText(1, 200).regex(/^[\w.+-]+\/[\w.+-]+(?:; [\w-]+=[\w.+-]+)?$/, 'is no media type'),
    size: z.int().min(1).max(fileLimits.staffBytes),
    width: count.nullable(),
    height: count.nullable(),
    digest: z.string().regex(/^[0-9a-f]{64}$/, 'is no SHA-256 digest'),
    state: z.literal('ready'),
    idempotency_key: clientMessageId.nullable(),
    created_at: past,
  });
}

interface Content {
  readonly content: string;
  readonly content_format: entity.ContentFormat;
  readonly content_html: string | null;
  readonly content_text?: string | null;
  readonly deleted_at?: number | null;
}

/** Checks a text and makes its HTML anew: what goes to browsers never comes out of a file. */
function rendered<R extends Content>(schema: z.ZodType<R>): z.ZodType<R> {
  return schema.transform((row, context) => {
    if (row.deleted_at !== undefined && row.deleted_at !== null)
      return {
        ...row,
        content: '',
        content_html: null,
        content_text: null,
        choices: null,
        choice: null,
        attachments: null,
      };
    const prepared = prepareContent(row.content, row.content_format, sizeLimits.contentSocket);
    if (!prepared.ok) return refuse(context, prepared.problem, ['content']);
    const { content, contentFormat, contentHtml, text: readable } = prepared.value;
    return {
      ...row,
      content,
      content_html: contentHtml,
      ...('content_text' in row ? { content_text: contentFormat === 'plain' ? null : readable } : {}),
    };
  });
}

function apiKey(schema: z.ZodType<FileRows['api_keys']>): z.ZodType<FileRows['api_keys']> {
  return schema.refine(
    ({ sealed, mode, public_id }) => {
      const key = readApiKey(sealed);
      return key?.mode === mode && key.publicId === public_id;
    },
    { path: ['sealed'], error: 'is not the API key that the row describes' },
  );
}

function domain(): z.ZodType<string> {
  return z.string().transform((written, context) => {
    const result = normaliseDomain(written);
    return result.ok ? result.domain : refuse(context, result.problem);
  });
}

/** A column that holds JSON: stored anew as its schema reads it. */
function json<S extends z.ZodType>(
  schema: S,
  complete: (value: z.output<S>) => unknown = (value) => value,
): z.ZodType<string> {
  return z.string().transform((stored, context) => {
    const read = schema.safeParse(parseJson(stored));
    if (read.success) return JSON.stringify(complete(read.data));
    for (const { message, path } of read.error.issues)
      context.issues.push({ code: 'custom', input: stored, message, path });
    return z.NEVER;
  });
}

function parseJson(stored: string): unknown {
  try {
    return JSON.parse(stored);
  } catch {
    return undefined;
  }
}

function attempt<T>(context: z.RefinementCtx, work: () => T): T {
  try {
    return work();
  } catch (error) {
    return refuse(context, error instanceof Error ? error.message : String(error));
  }
}

function refuse(context: z.RefinementCtx, message: string, path: readonly string[] = []): never {
  context.issues.push({ code: 'custom', input: context.value, message, path: [...path] });
  return z.NEVER;
}
