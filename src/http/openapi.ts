// The description of the API as OpenAPI 3.1, made from the table of operations, so that
// it says what the transports do. Pure: no request, no server, no version of ours.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { z } from 'zod';
import { closeCodes, socketErrorCodes, socketPath, visitorApiPrefix } from '../protocol/codes.ts';
import { clientFrames } from '../protocol/frames.ts';
import { operationNames, operationRow } from '../protocol/operations.ts';
import * as webhooks from '../protocol/webhooks.ts';
import { describeOperation, errorResponses } from './openapi-operations.ts';
import { errorSchema, jsonSchema, type Definitions, type JsonObject } from './openapi-schemas.ts';
import {
  clientFrameTexts,
  fileLinkText,
  overview,
  serverFrameTexts,
  socketText,
  webhookText,
} from './openapi-texts.ts';

export type { Json, JsonObject } from './openapi-schemas.ts';

const tags = [
  {
    name: 'Visitors',
    description: "The visitor's side: by API key from a backend, or by origin from a page.",
  },
  { name: 'Staff', description: 'Operators and admins, signed in.' },
  { name: 'Administration', description: 'Admins only: what belongs to their organization.' },
  { name: 'WebSocket', description: 'Live, both ways.' },
  { name: 'Service', description: 'For machines that watch over the service.' },
];

const securitySchemes: JsonObject = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'dbk_…',
    description: "An application's API key. For servers only.",
  },
  session: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'dbs_…',
    description:
      'The token of `POST /api/v1/staff/session`, or a staff token (`dbt_…`) with the scope that it takes.',
  },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-deskbell',
    description:
      'The session of a page of this server (`cookie: true` at sign-in). It counts for such pages only.',
  },
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
};

/** Operations that are described in one turn of the loop: all together take longer than a request may hold it. */
const describedAtOnce = 20;

/** The whole description. The same text every time. */
export async function openApiDocument(): Promise<JsonObject> {
  const definitions: Definitions = new Map();
  const paths: Record<string, JsonObject> = {};
  for (const [at, name] of operationNames.entries()) {
    if (at % describedAtOnce === 0) await yieldToLoop();
    const operation = operationRow(name);
    if (operation.rest === null) continue;
    const [method, path] = operation.rest;
    const place = `${visitorApiPrefix}${path.replace(/:(\w+)/g, '{$1}')}`;
    paths[place] = {
      ...paths[place],
      [method.toLowerCase()]: describeOperation(name, operation, definitions),
    };
  }
  const socket = socketPathItem(definitions);
  const webhookItems = describeWebhooks(definitions);
  definitions.set('Error', errorSchema);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Deskbell',
      version: '1',
      description: overview,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that this came from.' }],
    tags,
    paths: { ...paths, [fileLinkPath]: fileLinkItem, [socketPath]: socket, ...servicePaths },
    webhooks: webhookItems,
    components: {
      schemas: Object.fromEntries([...definitions].toSorted(([one], [other]) => (one < other ? -1 : 1))),
      securitySchemes,
    },
  };
}

function socketPathItem(definitions: Definitions): JsonObject {
  const payloads = new Map<string, z.ZodType | null>(Object.entries(clientFrames));
  const client: JsonObject = {};
  for (const [type, description] of Object.entries(clientFrameTexts)) {
    const schema = payloads.get(type) ?? null;
    client[type] =
      schema === null ? { description } : { description, payload: jsonSchema(schema, 'input', definitions) };
  }
  return {
    get: {
      operationId: 'socket',
      summary: 'Open the WebSocket',
      description: socketText,
      tags: ['WebSocket'],
      security: [],
      parameters: [{ name: 'token', in: 'query', required: true, schema: { type: 'string' } }],
      responses: {
        '101': { description: 'Switched to WebSocket.' },
        ...errorResponses(['upgrade_required', 'rate_limit_exceeded', 'unavailable']),
      },
      'x-websocket': {
        clientFrames: client,
        serverFrames: Object.fromEntries(
          Object.entries(serverFrameTexts).map(([type, description]) => [type, { description }]),
        ),
        errorCodes: [...socketErrorCodes],
        closeCodes: Object.fromEntries(
          Object.entries(closeCodes).map(([name, { code, reconnect }]) => [
            String(code),
            { name, reconnect },
          ]),
        ),
      },
    },
  };
}

const bytes: JsonObject = { content: { '*/*': { schema: {} } } };

/** The `url` of an attachment. No operation of the table: what it answers is no JSON. */
const fileLinkPath = `${visitorApiPrefix}/files/{fileId}`;
const fileLinkItem: JsonObject = {
  get: {
    operationId: 'files.download',
    summary: 'Read a file of a message by its link',
    description: fileLinkText,
    tags: ['Visitors'],
    security: [],
    parameters: [
      { name: 'fileId', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
      { name: 'expires', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'signature', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'Range', in: 'header', required: false, schema: { type: 'string' } },
    ],
    responses: {
      '200': { description: 'The file, as it is.', ...bytes },
      '206': { description: 'The part of it that `Range` asks for.', ...bytes },
      '304': { description: 'Not changed since the ETag that was sent.' },
      ...errorResponses(['forbidden', 'not_found', 'invalid_range', 'rate_limit_exceeded', 'unavailable']),
    },
  },
};

function serviceOperation(
  operationId: string,
  summary: string,
  type: string,
  schema: JsonObject,
  more: JsonObject = {},
): JsonObject {
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
const servicePaths: JsonObject = {
  '/healthz': serviceOperation('healthz', 'Is the process alive', 'application/json', status('ok')),
  '/readyz': serviceOperation(
    'readyz',
    'Does the database answer',
    'application/json',
    status('ready'),
    errorResponses(['unavailable']),
  ),
  '/metrics': serviceOperation(
    'metrics',
    'Read what is counted, as Prometheus text: from the same machine, or with the token in DESKBELL_METRICS_TOKEN',
    'text/plain',
    { type: 'string' },
    errorResponses(['unauthorized', 'not_found', 'rate_limit_exceeded']),
  ),
  '/openapi.json': serviceOperation('openapi', 'This document', 'application/json', { type: 'object' }),
  '/docs': serviceOperation('docs', 'This document, for people', 'text/html', { type: 'string' }),
};

function describeWebhooks(definitions: Definitions): JsonObject {
  const items: JsonObject = {};
  for (const type of webhooks.webhookEvents)
    items[type] = webhookItem(
      type,
      serverFrameTexts[type],
      jsonSchema(webhooks.webhookData[type], 'output', definitions),
    );
  items[webhooks.webhookTest] = webhookItem(
    webhooks.webhookTest,
    'The sample that a test sends',
    jsonSchema(webhooks.webhookTestData, 'output', definitions),
  );
  return items;
}

function webhookItem(type: string, summary: string, data: JsonObject): JsonObject {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      type: { type: 'string', const: type },
      timestamp: { type: 'string', format: 'date-time' },
      data,
    },
    required: ['type', 'timestamp', 'data'],
  };
  return {
    post: {
      operationId: `webhook.${type}`,
      summary,
      description: webhookText,
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema: { type: 'string' },
      })),
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: {
        '2XX': { description: 'Received.' },
        '410': { description: 'No more: switches the webhook off.' },
      },
    },
  };
}
