// JSON Schema for OpenAPI, made from the zod schemas of the protocol.
import { z } from 'zod';
import { applicationSettings, businessHours } from '../protocol/application-settings.ts';
import { errorCodes } from '../protocol/codes.ts';
import * as entities from '../protocol/entities.ts';
import {
  passkey,
  passkeyRequest,
  secondFactorMethod,
  staffSession,
  staffToken,
} from '../protocol/sign-in.ts';
import * as webhooks from '../protocol/webhooks.ts';

export interface JsonObject {
  [name: string]: Json;
}
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** Shapes that have a name of their own in the document. */
const namedSchemas = z.registry<{ id: string }>();
const components: Readonly<Record<string, z.ZodType>> = {
  Participant: entities.participant,
  ConversationListItem: entities.conversationListItem,
  Conversation: entities.conversation,
  SentMessage: entities.sentMessage,
  Message: entities.message,
  Visitor: entities.visitor,
  StaffConversationListItem: entities.staffConversationListItem,
  StaffConversation: entities.staffConversation,
  Organization: entities.organization,
  OrganizationDetail: entities.organizationDetail,
  ApplicationSettings: applicationSettings,
  BusinessHours: businessHours,
  Application: entities.application,
  ApplicationDetail: entities.applicationDetail,
  WidgetConfig: entities.widgetConfig,
  Domain: entities.domain,
  ApiKey: entities.apiKey,
  ApiKeyWithSecret: entities.apiKeyWithSecret,
  Member: entities.member,
  Block: entities.block,
  Passkey: passkey,
  StaffSession: staffSession,
  StaffToken: staffToken,
  Webhook: webhooks.webhook,
  WebhookWithSecret: webhooks.webhookWithSecret,
  WebhookDelivery: webhooks.webhookDelivery,
};
for (const [id, schema] of Object.entries(components)) namedSchemas.add(schema, { id });

export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** Collects the named shapes that were met on the way. */
export type Definitions = Map<string, JsonObject>;

/** An object of the document; an empty one where there is none. */
export function asObject(json: Json | undefined): JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {};
}

/** Makes the library's answer fit for a reader: formats instead of patterns, no bounds that say nothing. */
function simplify(schema: z.core.$ZodType, json: z.core.JSONSchema.BaseSchema): void {
  const { format, description, minLength, maxLength } = z.globalRegistry.get(schema) ?? {};
  if (typeof minLength === 'number') json.minLength = minLength;
  if (typeof maxLength === 'number') json.maxLength = maxLength;
  if (typeof format === 'string') json.format = format;
  if (description !== undefined) json.description = description;
  if (json.pattern?.startsWith('^[0-9a-f]{8}-') === true) {
    json.format = 'uuid';
    delete json.pattern;
  }
  // The library's own pattern for addresses says less than the format and reads worse.
  if (json.format === 'email' || json.format === 'date-time') delete json.pattern;
  // What is added later must not be a fault in a client that checks.
  if (json.additionalProperties === false) delete json.additionalProperties;
  // Every whole number that JSON can carry: that is what integer means.
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  delete json.id;
}

/**
 * @param io `input`: what a caller may send; `output`: what is left after the check, or what the service answers
 * @param definitions takes the named shapes that the schema refers to
 */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output', definitions: Definitions): JsonObject {
  const made = z.toJSONSchema(schema, {
    io,
    metadata: namedSchemas,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: json }) => simplify(zodSchema, json),
  });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _dialect, $defs, ...rest } = parseObject(text);
  for (const [name, definition] of Object.entries(asObject($defs)))
    definitions.set(name, asObject(definition));
  return rest;
}

function parseObject(text: string): JsonObject {
  // Just made by JSON.stringify from an object: there is nothing else that it could be.
  return JSON.parse(text) as JsonObject;
}

/** The body of every error. */
export const errorSchema: JsonObject = {
  type: 'object',
  properties: {
    error: { type: 'string', enum: Object.keys(errorCodes), description: 'What a program goes by.' },
    message: { type: 'string', description: 'For a person.' },
    details: {
      type: 'array',
      description: 'What is wrong where; with `bad_request`.',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, message: { type: 'string' } },
        required: ['path', 'message'],
      },
    },
    cause: {
      type: 'string',
      enum: ['per_visitor', 'per_application', 'per_organization', 'per_address'],
      description: 'With `rate_limit_exceeded`.',
    },
    retryAfter: { type: 'integer', description: 'Seconds; with `rate_limit_exceeded`.' },
    status: { type: 'string', description: 'The state as it now is; with `conflict`.' },
    assignedTo: { type: ['string', 'null'], description: 'Who has it now; with `conflict`.' },
    ticket: {
      type: 'string',
      description: 'With `second_factor`: for `POST /api/v1/staff/session/second-factor`, for five minutes.',
    },
    methods: {
      type: 'array',
      items: { type: 'string', enum: secondFactorMethod.options },
      description: 'With `second_factor`: how the sign-in may go on.',
    },
    passkey: {
      ...jsonSchema(passkeyRequest, 'output', new Map()),
      description: 'With `second_factor`: what `navigator.credentials.get` needs, as JSON.',
    },
    requestId: { type: 'string', format: 'uuid', description: 'With `internal_error`.' },
  },
  required: ['error', 'message'],
};
