// The operations of mail and of the outbox: an organization's mail server and keys, what was sent and what became of it,
// mails that come in, links that end mails, transcripts. Rows of the one table in ../operations.ts; holds no logic.
import { z } from 'zod';
import { effectKinds } from '../enums.ts';
import * as entity from '../entities.ts';
import { exactText } from '../text.ts';
import { deliveryStatus } from '../webhooks.ts';
import {
  conversationId,
  defineOperation,
  email,
  listOutput,
  organizationRef,
  pageInput,
  successOutput,
} from './shared.ts';

export const effectKind = z.enum(effectKinds);
export type EffectKind = z.infer<typeof effectKind>;

/** A mail or push of the outbox. */
const effect = z.object({
  id: entity.uuid,
  /** `mail`, `push` or `escalation`. */
  kind: z.string(),
  /** What it is: `reply`, `transcript`, `password-reset`. */
  about: z.string(),
  recipient: z.string().nullable(),
  conversationId: entity.uuid.nullable(),
  status: deliveryStatus,
  attempts: z.int(),
  /** Why the last attempt failed, or why there was nothing to send; for a person. */
  error: z.string().nullable(),
  durationMs: z.int().nullable(),
  lastAttemptAt: entity.timestamp.nullable(),
  nextAttemptAt: entity.timestamp.nullable(),
  createdAt: entity.timestamp,
});
export type OutboxEffect = z.infer<typeof effect>;

const mailState = z.object({
  organizationId: entity.uuid,
  /** By which server mails leave; `none`: none is configured. */
  server: z.enum(['none', 'server', 'organization']),
  /** The organization's own mail server, without its password. */
  host: z.string().nullable(),
  /** The address that mails come from. */
  address: z.string().nullable(),
  /** Whether answers by mail come back. */
  receives: z.boolean(),
  /** The applications under whose keys mails are handed in, and since when. */
  keys: z.array(z.object({ applicationId: entity.uuid, createdAt: entity.timestamp })),
  /** Mails to visitors that may go in a day; null: any number. */
  mailsPerDay: z.int().nullable(),
});
export type MailState = z.infer<typeof mailState>;

const bytes = z.custom<AsyncIterable<Uint8Array>>(
  (value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value,
  'must be the bytes of a mail',
);
const effectInput = z.object({ effectId: entity.uuid });
const listInput = z.object({
  organization: organizationRef,
  status: deliveryStatus.optional(),
  ...pageInput,
});
const transcript = z.object({ subject: z.string(), text: z.string(), html: z.string() });

export const emailOperations = {
  'email.get': defineOperation({
    summary: 'Get how mails leave and come back',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/email'],
    input: z.object({ organization: organizationRef }),
    output: mailState,
  }),
  'email.update': defineOperation({
    summary: "Set the organization's own mail server, or remove it",
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['PATCH', '/admin/email'],
    input: z.object({
      organization: organizationRef,
      server: z
        .object({
          url: exactText(1, 500).describe('smtp://user:password@host:587 or smtps://…; it is kept sealed'),
          address: email.describe('the address that mails come from'),
        })
        .nullable()
        .describe('null: the server’s own'),
    }),
    output: mailState,
  }),
  'email.createKey': defineOperation({
    summary: 'Make the key under which mails for an application are handed in; an earlier one ends',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['POST', '/admin/email/keys'],
    status: 201,
    input: z.object({ applicationId: entity.uuid }),
    output: z.object({ key: z.string(), path: z.string().describe('where mails are posted under it') }),
  }),
  'email.test': defineOperation({
    summary: 'Send a mail to see whether mails arrive',
    audience: 'Administration',
    errors: ['not_found', 'conflict', 'rate_limit_exceeded'],
    who: 'admin',
    rest: ['POST', '/admin/email/test'],
    status: 201,
    envelope: 'delivery',
    input: z.object({ organization: organizationRef, to: email }),
    output: effect,
  }),
  'email.deliveries': defineOperation({
    summary: 'List mails, newest first, and how each stands',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/email/deliveries'],
    input: listInput,
    output: z.object({ deliveries: z.array(effect), ...listOutput }),
  }),
  'outbox.list': defineOperation({
    summary: 'List what was sent or waits to be sent: mails, pushes, escalations',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['GET', '/admin/outbox'],
    input: listInput.extend({ kind: effectKind.optional() }),
    output: z.object({ effects: z.array(effect), ...listOutput }),
  }),
  'outbox.replay': defineOperation({
    summary: 'Send something of the outbox now, or once more',
    audience: 'Administration',
    errors: ['not_found', 'conflict'],
    who: 'admin',
    rest: ['POST', '/admin/outbox/:effectId/replay'],
    envelope: 'effect',
    input: effectInput,
    output: effect,
  }),
  'email.receive': defineOperation({
    summary: 'Hand in a mail that has come (message/rfc822), under the key of an application',
    audience: 'Administration',
    errors: ['not_found', 'payload_too_large', 'unsupported_media_type'],
    who: 'anyone',
    rest: ['POST', '/inbound/email/:key'],
    body: 'stream',
    input: z.object({
      key: exactText(1, 200),
      body: bytes,
      announcedBytes: z.int().min(0).nullable(),
      mediaType: exactText(0, 1_000),
      fileName: exactText(0, 1_000).optional(),
    }),
    output: z.object({
      state: z.enum(['taken', 'bounce-noted', 'ignored']),
      why: z.string().optional().describe('why it was ignored'),
    }),
  }),
  'email.stop': defineOperation({
    summary: 'End mails, by the token of a link in one of them',
    audience: 'Visitors',
    errors: ['not_found'],
    who: 'anyone',
    rest: ['POST', '/email/stop'],
    input: z.object({
      token: exactText(1, 100),
      scope: z
        .enum(['conversation', 'address'])
        .default('conversation')
        .describe('address: no mails of this organization any more'),
    }),
    output: successOutput,
  }),
  'conversations.transcript': defineOperation({
    summary: 'Have the conversation sent to the own address',
    audience: 'Visitors',
    errors: ['not_found', 'conflict', 'rate_limit_exceeded'],
    who: 'visitor',
    rest: ['POST', '/conversations/:conversationId/transcript'],
    input: z.object({ conversationId }),
    output: successOutput,
  }),
  'staff.conversations.transcript': defineOperation({
    summary: 'Get a conversation as text and HTML, without notes',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['GET', '/staff/conversations/:conversationId/transcript'],
    envelope: 'transcript',
    input: z.object({ conversationId }),
    output: transcript,
  }),
  'staff.conversations.sendTranscript': defineOperation({
    summary: 'Send a conversation to its visitor, without notes',
    audience: 'Staff',
    errors: ['not_found', 'conflict', 'rate_limit_exceeded'],
    who: 'operator',
    rest: ['POST', '/staff/conversations/:conversationId/transcript'],
    input: z.object({ conversationId }),
    output: successOutput,
  }),
} as const;
