// The description of the API as OpenAPI 3.1, made from the table of operations, so that
// it can't say anything else than the doors do. Pure: no request, no server, no version of ours.
import { z } from 'zod';
import { closeCodes, errorCodes, socketErrorCodes, socketPath, visitorApiPrefix, type ErrorCode } from '../protocol/codes.ts';
import * as entities from '../protocol/entities.ts';
import { clientFrames } from '../protocol/frames.ts';
import { operations, type Operation, type OperationName } from '../protocol/operations.ts';
import * as webhooks from '../protocol/webhooks.ts';
import { clientFrameTexts, errorTexts, overview, serverFrameTexts, socketText, summaries, webhookText } from './openapi-texts.ts';

export interface JsonObject {
  [name: string]: Json;
}
export type Json = string | number | boolean | null | Json[] | JsonObject;

type AnyOperation = Operation<z.ZodType, z.ZodType>;

/** Shapes that have a name of their own in the document. */
const named = z.registry<{ id: string }>();
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
  ApplicationSettings: entities.applicationSettings,
  Application: entities.application,
  ApplicationDetail: entities.applicationDetail,
  WidgetConfig: entities.widgetConfig,
  Domain: entities.domain,
  ApiKey: entities.apiKey,
  ApiKeyWithSecret: entities.apiKeyWithSecret,
  Member: entities.member,
  Webhook: webhooks.webhook,
  WebhookWithSecret: webhooks.webhookWithSecret,
  WebhookDelivery: webhooks.webhookDelivery,
};
for (const [id, schema] of Object.entries(components)) named.add(schema, { id });

const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** Collects the named shapes that were met on the way. */
type Definitions = Map<string, JsonObject>;

function jsonSchema(schema: z.ZodType, io: 'input' | 'output', definitions: Definitions): JsonObject {
  const made = z.toJSONSchema(schema, {
    io,
    metadata: named,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: json }) => {
      const { format, description } = z.globalRegistry.get(zodSchema as unknown as z.ZodType) ?? {};
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
    },
  });
  const {
    $schema: _dialect,
    $defs = {},
    ...rest
  } = JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonObject;
  for (const [name, definition] of Object.entries($defs as JsonObject)) definitions.set(name, definition as JsonObject);
  return rest;
}

interface Field {
  readonly schema: JsonObject;
  readonly required: boolean;
}

/** The fields of an input: as the rule sees them (numbers are numbers), required as the caller sees them (defaults are not). */
function inputFields(operation: AnyOperation, definitions: Definitions): Map<string, Field> {
  const { properties = {} } = jsonSchema(operation.input, 'output', definitions);
  const { required = [] } = jsonSchema(operation.input, 'input', definitions);
  const fields = new Map<string, Field>();
  for (const [name, schema] of Object.entries(properties as JsonObject)) {
    // A member's own organization; another's is never theirs to name.
    if (name === 'organization' && operation.who !== 'anyone') continue;
    fields.set(name, { schema: schema as JsonObject, required: (required as string[]).includes(name) });
  }
  return fields;
}

const security: Readonly<Record<AnyOperation['who'], Json>> = {
  anyone: [],
  embedder: [{ appId: [] }],
  visitor: [
    { appId: [], visitorId: [] },
    { apiKey: [], appId: [], visitorId: [] },
  ],
  operator: [{ session: [] }],
  admin: [{ session: [] }],
  local: [],
};

const tags: Readonly<Record<AnyOperation['who'], string>> = {
  anyone: 'Staff',
  embedder: 'Visitors',
  visitor: 'Visitors',
  operator: 'Staff',
  admin: 'Administration',
  local: 'Administration',
};

const changesMessages = /^(staff\.)?messages\.(send|edit|delete)$/;
const mayConflict =
  /^(staff\.conversations\.(accept|release|resolve|transfer)|domains\.add|keys\.rotate|members\.|cannedReplies\.|applications\.|invitations\.|webhooks\.(create|test|replay))/;

/** The errors that an operation is likely to answer; any other has the same shape. */
function errorsOf(name: OperationName, { who, rest }: AnyOperation): ErrorCode[] {
  const [method = 'GET', path = ''] = rest ?? [];
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const isWeb = who === 'visitor' || who === 'embedder';
  const codes: [ErrorCode, boolean][] = [
    ['bad_request', true],
    ['unauthorized', true],
    ['forbidden', who === 'operator' || who === 'admin' || changesMessages.test(name)],
    ['origin_not_allowed', isWeb],
    ['plan_limit', who === 'admin' && method !== 'GET'],
    ['not_found', path.includes(':')],
    ['conflict', mayConflict.test(name)],
    ['payload_too_large', hasBody],
    ['unsupported_media_type', hasBody],
    ['conversation_not_active', name.endsWith('messages.send')],
    ['edit_window_expired', /messages\.(edit|delete)$/.test(name)],
    ['rate_limit_exceeded', true],
    ['unavailable', true],
  ];
  return codes.flatMap(([code, applies]) => (applies ? [code] : []));
}

function errorResponses(codes: readonly ErrorCode[]): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(errorCodes[code].status, [...(byStatus.get(errorCodes[code].status) ?? []), code]);
  const responses: JsonObject = {};
  for (const [status, those] of byStatus)
    responses[String(status)] = {
      description: those.map((code) => `\`${code}\`: ${errorTexts[code] ?? ''}`).join(' '),
      content: { 'application/json': { schema: ref('Error') } },
      ...(status === 429
        ? {
            headers: {
              'Retry-After': header('Whole seconds to wait.'),
              RateLimit: header('What is left.'),
              'RateLimit-Policy': header('The limits.'),
            },
          }
        : {}),
    };
  responses['default'] = { description: 'Any other error.', content: { 'application/json': { schema: ref('Error') } } };
  return responses;
}

function header(description: string): JsonObject {
  return { description, schema: { type: 'string' } };
}

function parameter(name: string, place: string, { schema, required }: Field): JsonObject {
  return { name, in: place, required: place === 'path' || required, schema };
}

function describeOperation(name: OperationName, operation: AnyOperation, definitions: Definitions): JsonObject {
  const [method, path] = operation.rest ?? ['GET', ''];
  const fields = inputFields(operation, definitions);
  const take = (wanted: string): Field => {
    const field = fields.get(wanted) ?? { schema: { type: 'string' }, required: true };
    fields.delete(wanted);
    return field;
  };
  const parameters: JsonObject[] = [...path.matchAll(/:(\w+)/g)].map(([, field = '']) => parameter(field, 'path', take(field)));
  if (operation.idempotency !== undefined) {
    const field = operation.idempotency === 'idempotencyKey' ? take(operation.idempotency) : fields.get(operation.idempotency);
    parameters.push({ ...parameter('Idempotency-Key', 'header', { schema: field?.schema ?? { type: 'string' }, required: false }) });
  }
  const hasBody = method !== 'GET' && method !== 'DELETE';
  if (!hasBody) for (const [field, one] of fields) parameters.push(parameter(field, 'query', one));
  const required = [...fields].flatMap(([field, one]) => (one.required ? [field] : []));
  const output = jsonSchema(operation.output, 'output', definitions);
  const schema =
    operation.envelope === undefined
      ? output
      : { type: 'object', properties: { [operation.envelope]: output }, required: [operation.envelope] };
  return {
    operationId: name,
    summary: summaries[name] ?? name,
    tags: [tags[operation.who]],
    security: security[operation.who],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(hasBody && fields.size > 0
      ? {
          requestBody: {
            required: required.length > 0,
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: Object.fromEntries([...fields].map(([field, one]) => [field, one.schema])),
                  ...(required.length === 0 ? {} : { required }),
                },
              },
            },
          },
        }
      : {}),
    responses: {
      [String(operation.status ?? 200)]: {
        description: 'Done.',
        headers: { 'X-Request-Id': header('Names this request in the log of the server.') },
        content: { 'application/json': { schema } },
      },
      ...(operation.cacheable === true ? { '304': { description: 'Not changed since the ETag that was sent.' } } : {}),
      ...errorResponses(errorsOf(name, operation)),
    },
  };
}

/** The whole description. The same text every time. */
export function openApiDocument(): JsonObject {
  const definitions: Definitions = new Map();
  const paths: Record<string, JsonObject> = {};
  for (const [name, operation] of Object.entries(operations) as unknown as [OperationName, AnyOperation][]) {
    if (operation.rest === null) continue;
    const [method, path] = operation.rest;
    const place = `${visitorApiPrefix}${path.replace(/:(\w+)/g, '{$1}')}`;
    paths[place] = { ...paths[place], [method.toLowerCase()]: describeOperation(name, operation, definitions) };
  }
  definitions.set('Error', errorSchema);
  return {
    openapi: '3.1.0',
    info: { title: 'Deskbell', version: '1', description: overview, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/', description: 'The server that this came from.' }],
    tags: [
      { name: 'Visitors', description: "The visitor's side: by API key from a backend, or by origin from a page." },
      { name: 'Staff', description: 'Operators and admins, signed in.' },
      { name: 'Administration', description: 'Admins only: what belongs to their organization.' },
      { name: 'WebSocket', description: 'Live, both ways.' },
      { name: 'Service', description: 'For machines that watch over the service.' },
    ],
    paths: { ...paths, [socketPath]: socketPathItem(definitions), ...servicePaths },
    webhooks: webhookItems(definitions),
    components: {
      schemas: Object.fromEntries([...definitions].toSorted(([one], [other]) => (one < other ? -1 : 1))),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'dbk_…', description: "An application's API key. For servers only." },
        session: { type: 'http', scheme: 'bearer', bearerFormat: 'dbs_…', description: 'The token of `POST /api/v1/staff/session`.' },
        appId: {
          type: 'apiKey',
          in: 'header',
          name: 'X-App-Id',
          description: 'The application. Without an API key the `Origin` must be registered for it.',
        },
        visitorId: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Visitor-Id',
          description: 'The visitor: a UUID of version 4 that the site makes and keeps.',
        },
      },
    },
  };
}

const errorSchema: JsonObject = {
  type: 'object',
  properties: {
    error: { type: 'string', enum: Object.keys(errorCodes), description: 'What a program goes by.' },
    message: { type: 'string', description: 'For a person.' },
    details: {
      type: 'array',
      description: 'What is wrong where; with `bad_request`.',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } }, required: ['path', 'message'] },
    },
    cause: {
      type: 'string',
      enum: ['per_visitor', 'per_application', 'per_organization', 'per_address'],
      description: 'With `rate_limit_exceeded`.',
    },
    retryAfter: { type: 'integer', description: 'Seconds; with `rate_limit_exceeded`.' },
    status: { type: 'string', description: 'The state as it now is; with `conflict`.' },
    assignedTo: { type: ['string', 'null'], description: 'Who has it now; with `conflict`.' },
    requestId: { type: 'string', format: 'uuid', description: 'With `internal_error`.' },
  },
  required: ['error', 'message'],
};

function socketPathItem(definitions: Definitions): JsonObject {
  const client: JsonObject = {};
  for (const [type, schema] of Object.entries(clientFrames) as [keyof typeof clientFrameTexts, z.ZodType | null][])
    client[type] = {
      description: clientFrameTexts[type],
      ...(schema === null ? {} : { payload: jsonSchema(schema, 'input', definitions) }),
    };
  return {
    get: {
      operationId: 'socket',
      summary: 'Open the WebSocket',
      description: socketText,
      tags: ['WebSocket'],
      security: [],
      parameters: [{ name: 'token', in: 'query', required: true, schema: { type: 'string' } }],
      responses: { '101': { description: 'Switched to WebSocket.' } },
      'x-websocket': {
        clientFrames: client,
        serverFrames: Object.fromEntries(Object.entries(serverFrameTexts).map(([type, description]) => [type, { description }])),
        errorCodes: [...socketErrorCodes],
        closeCodes: Object.fromEntries(
          Object.entries(closeCodes).map(([name, { code, reconnect }]) => [String(code), { name, reconnect }]),
        ),
      },
    },
  };
}

function serviceOperation(operationId: string, summary: string, type: string, schema: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    get: {
      operationId,
      summary,
      tags: ['Service'],
      security: [],
      responses: { '200': { description: 'Done.', content: { [type]: { schema } } }, ...more },
    },
  };
}

const status = (value: string): JsonObject => ({
  type: 'object',
  properties: { status: { type: 'string', const: value } },
  required: ['status'],
});
const failed = (codes: ErrorCode[]): JsonObject => errorResponses(codes);
const servicePaths: JsonObject = {
  '/healthz': serviceOperation('healthz', 'Is the process alive', 'application/json', status('ok')),
  '/readyz': serviceOperation('readyz', 'Does the database answer', 'application/json', status('ready'), failed(['unavailable'])),
  '/metrics': serviceOperation(
    'metrics',
    'Read what is counted, as Prometheus text: from the same machine, or with the session of an admin',
    'text/plain',
    { type: 'string' },
    failed(['unauthorized', 'forbidden', 'not_found']),
  ),
  '/openapi.json': serviceOperation('openapi', 'This document', 'application/json', { type: 'object' }),
  '/docs': serviceOperation('docs', 'This document, for people', 'text/html', { type: 'string' }),
};

function webhookItems(definitions: Definitions): JsonObject {
  const items: JsonObject = {};
  for (const [type, data] of [...Object.entries(webhooks.webhookData), [webhooks.webhookTest, webhooks.webhookTestData] as const])
    items[type] = {
      post: {
        operationId: `webhook.${type}`,
        summary: type === webhooks.webhookTest ? 'The sample that a test sends' : serverFrameTexts[type as webhooks.WebhookEvent],
        description: webhookText,
        parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
          name,
          in: 'header',
          required: true,
          schema: { type: 'string' },
        })),
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  type: { type: 'string', const: type },
                  timestamp: { type: 'string', format: 'date-time' },
                  data: jsonSchema(data, 'output', definitions),
                },
                required: ['type', 'timestamp', 'data'],
              },
            },
          },
        },
        responses: { '2XX': { description: 'Received.' }, '410': { description: 'No more: switches the webhook off.' } },
      },
    };
  return items;
}
