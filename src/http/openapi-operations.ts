// One REST operation as OpenAPI describes it, read from its row in the table of operations.
import { errorCodes, fileKinds, type ErrorCode } from '../protocol/codes.ts';
import type { AnyOperation, OperationName } from '../protocol/operations.ts';
import { errorTexts } from './openapi-texts.ts';
import {
  asObject,
  jsonSchema,
  schemaRef,
  type Definitions,
  type Json,
  type JsonObject,
} from './openapi-schemas.ts';

/** What the transport fills of an upload. */
const streamFields: ReadonlySet<string> = new Set(['body', 'announcedBytes', 'mediaType', 'fileName']);

interface Field {
  readonly schema: JsonObject;
  readonly required: boolean;
}

/** Input fields: as the handler gets them (numbers are numbers), required as the caller sees them (defaults are not). */
function inputFields(operation: AnyOperation, definitions: Definitions): Map<string, Field> {
  const { properties } = jsonSchema(operation.input, 'output', definitions);
  const { required } = jsonSchema(operation.input, 'input', definitions);
  const requiredNames = Array.isArray(required) ? required : [];
  const fields = new Map<string, Field>();
  for (const [name, schema] of Object.entries(asObject(properties))) {
    if (operation.body === 'file' && (name === 'file' || name === 'mediaType')) continue;
    if (operation.body === 'stream' && streamFields.has(name)) continue;
    // A member's own organization; another's is never theirs to name.
    if (name === 'organization' && operation.who !== 'anyone') continue;
    fields.set(name, { schema: asObject(schema), required: requiredNames.includes(name) });
  }
  return fields;
}

const security: Readonly<Record<AnyOperation['who'], Json>> = {
  anyone: [],
  hostSite: [{ appId: [] }],
  visitor: [
    { appId: [], visitorId: [] },
    { apiKey: [], appId: [], visitorId: [] },
  ],
  operator: [{ session: [] }, { cookie: [] }],
  admin: [{ session: [] }, { cookie: [] }],
  local: [],
};

const codeOrder = Object.keys(errorCodes);

/** What an operation is likely to answer besides success: what its row says, and what its way in may refuse. */
function errorsOf({ who, rest, errors }: AnyOperation): ErrorCode[] {
  const [method = 'GET'] = rest ?? [];
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const isStaff = who === 'operator' || who === 'admin';
  const isWeb = who === 'visitor' || who === 'hostSite';
  const wayIn: readonly ErrorCode[] = [
    'bad_request',
    'unauthorized',
    ...(isStaff ? (['forbidden'] as const) : []),
    ...(isWeb ? (['origin_not_allowed', 'visitor_blocked'] as const) : []),
    ...(who === 'visitor' ? (['identity_required'] as const) : []),
    ...(hasBody ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    'rate_limit_exceeded',
    'unavailable',
  ];
  const all = new Set<ErrorCode>([...wayIn, ...errors]);
  return [...all].toSorted((one, other) => codeOrder.indexOf(one) - codeOrder.indexOf(other));
}

/** Error responses by status; `default` stands for every other. */
export function errorResponses(codes: readonly ErrorCode[]): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: JsonObject = {};
  for (const [status, those] of byStatus)
    responses[String(status)] = {
      description: those.map((code) => `\`${code}\`: ${errorTexts[code]}`).join(' '),
      content: { 'application/json': { schema: schemaRef('Error') } },
      ...(status in errorHeaders ? { headers: errorHeaders[status] } : {}),
    };
  responses['default'] = {
    description: 'Any other error.',
    content: { 'application/json': { schema: schemaRef('Error') } },
  };
  return responses;
}

function header(description: string): JsonObject {
  return { description, schema: { type: 'string' } };
}

const retryAfter = { 'Retry-After': header('Whole seconds to wait.') };

/** What errors of a status carry beside their body. */
const errorHeaders: Readonly<Record<number, JsonObject>> = {
  401: { 'WWW-Authenticate': header('`Bearer`: the kind of credential.') },
  429: {
    ...retryAfter,
    RateLimit: header('What is left.'),
    'RateLimit-Policy': header('The limits.'),
  },
  503: retryAfter,
};

function parameter(
  name: string,
  place: 'path' | 'query' | 'header',
  { schema, required }: Field,
): JsonObject {
  return { name, in: place, required: place === 'path' || required, schema };
}

/** Path, header and query parameters. Takes out of `fields` what the body does not carry. */
function takeParameters(operation: AnyOperation, fields: Map<string, Field>): JsonObject[] {
  const [method, path] = operation.rest ?? ['GET', ''];
  const take = (name: string): Field => {
    const field = fields.get(name) ?? { schema: { type: 'string' }, required: true };
    fields.delete(name);
    return field;
  };
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) =>
    parameter(name, 'path', take(name)),
  );
  const { idempotency } = operation;
  if (idempotency !== undefined) {
    // A `clientMessageId` may also stand in the body; an `idempotencyKey` comes by the header only.
    const { schema } = (idempotency === 'idempotencyKey' ? take(idempotency) : fields.get(idempotency)) ?? {
      schema: { type: 'string' },
    };
    parameters.push(parameter('Idempotency-Key', 'header', { schema, required: false }));
  }
  if (operation.body === 'stream')
    parameters.push(
      parameter('X-File-Name', 'header', {
        schema: { type: 'string', description: 'The name, percent-encoded UTF-8.' },
        required: false,
      }),
    );
  if (method === 'GET' || method === 'DELETE' || operation.body !== undefined) {
    for (const [name, field] of fields) parameters.push(parameter(name, 'query', field));
    fields.clear();
  }
  return parameters;
}

function requestBody(fields: ReadonlyMap<string, Field>): JsonObject {
  const required = [...fields].flatMap(([name, field]) => (field.required ? [name] : []));
  const schema: JsonObject = {
    type: 'object',
    properties: Object.fromEntries([...fields].map(([name, field]) => [name, field.schema])),
    ...(required.length === 0 ? {} : { required }),
  };
  return { required: required.length > 0, content: { 'application/json': { schema } } };
}

/** The body that is a file: what it holds is no JSON Schema's affair. */
const fileBody: JsonObject = {
  required: true,
  content: Object.fromEntries(Object.keys(fileKinds).map((type) => [type, { schema: {} }])),
};

/** Any file, as it is. */
const streamBody: JsonObject = { required: true, content: { '*/*': { schema: {} } } };

function successSchema({ envelope, output }: AnyOperation, definitions: Definitions): JsonObject {
  const schema = jsonSchema(output, 'output', definitions);
  return envelope === undefined
    ? schema
    : { type: 'object', properties: { [envelope]: schema }, required: [envelope] };
}

/** The description of one operation. */
export function describeOperation(
  name: OperationName,
  operation: AnyOperation,
  definitions: Definitions,
): JsonObject {
  const fields = inputFields(operation, definitions);
  const parameters = takeParameters(operation, fields);
  return {
    operationId: name,
    summary: operation.summary,
    tags: [operation.audience],
    security: security[operation.who],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === 'file' ? { requestBody: fileBody } : {}),
    ...(operation.body === 'stream' ? { requestBody: streamBody } : {}),
    ...(fields.size === 0 ? {} : { requestBody: requestBody(fields) }),
    responses: {
      [String(operation.status ?? 200)]: {
        description: 'Done.',
        headers: { 'X-Request-Id': header('Names this request in the log of the server.') },
        content: { 'application/json': { schema: successSchema(operation, definitions) } },
      },
      ...(operation.cacheable === true
        ? { '304': { description: 'Not changed since the ETag that was sent.' } }
        : {}),
      ...errorResponses(errorsOf(operation)),
    },
  };
}
