// The API reference: the OpenAPI document as HTML. Every route, event and shape has an id of its own, so that it can be
// linked to.
import { asObject, type Json, type JsonObject } from '../openapi-schemas.ts';
import { escapeHtml } from '../../text/escape-html.ts';
import { elementId, listHtml, tableHtml } from './html.ts';

/**
 * @param document as openApiDocument makes it
 * @returns finished HTML: entries for the page's navigation, and the chapters
 */
export function apiReference(document: JsonObject): { readonly nav: string; readonly main: string } {
  const chapters = readChapters(document);
  const schemas = children(child(document, 'components'), 'schemas');
  const nav = [
    ...chapters.map(
      ({ title, entries }) =>
        `<p><a href="#${elementId(title)}">${escapeHtml(title)}</a></p>\n${listHtml(entries.map(({ id, summary }) => link(id, summary)))}`,
    ),
    `<p><a href="#shapes">Shapes</a></p>\n${listHtml(schemas.map(([name]) => link(`shape-${name}`, name)))}`,
  ].join('\n');
  const main = `${prose(text(child(document, 'info'), 'description'))}
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI ${escapeHtml(text(document, 'openapi'))}).</p>
${chapters.map((chapter) => chapterHtml(chapter, document)).join('\n')}
<h2 id="shapes">Shapes</h2>
${schemas.map(([name, schema]) => `<h3 id="shape-${elementId(name)}">${escapeHtml(name)}</h3>\n${fieldsTable(schema)}`).join('\n')}`;
  return { nav, main };
}

interface Entry {
  readonly id: string;
  readonly summary: string;
  readonly method: string;
  readonly path: string;
  readonly operation: JsonObject;
}

interface Chapter {
  readonly title: string;
  readonly about: string;
  readonly entries: readonly Entry[];
}

function readChapters(document: JsonObject): Chapter[] {
  const entries: Entry[] = children(document, 'paths').flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      readEntry(method.toUpperCase(), path, asObject(operation)),
    ),
  );
  const webhooks = children(document, 'webhooks').map(([type, item]) =>
    readEntry('', type, child(item, 'post')),
  );
  const chapters = objects(document, 'tags').map((tag) => {
    const title = text(tag, 'name');
    return {
      title,
      about: text(tag, 'description'),
      entries: entries.filter(({ operation }) => texts(operation, 'tags').includes(title)),
    };
  });
  return [
    ...chapters,
    { title: 'Webhooks', about: text(webhooks[0]?.operation ?? {}, 'description'), entries: webhooks },
  ];
}

function readEntry(method: string, path: string, operation: JsonObject): Entry {
  return {
    id: text(operation, 'operationId'),
    summary: method === '' ? path : text(operation, 'summary'),
    method,
    path,
    operation,
  };
}

function chapterHtml({ title, about, entries }: Chapter, document: JsonObject): string {
  return `<h2 id="${elementId(title)}">${escapeHtml(title)}</h2>\n${prose(about)}\n${entries.map((entry) => entryHtml(entry, document)).join('\n')}`;
}

function entryHtml({ id, summary, method, path, operation }: Entry, document: JsonObject): string {
  const parameters = objects(operation, 'parameters');
  const body = bodySchema(operation['requestBody'], document);
  const answers = children(operation, 'responses');
  const isWebhook = method === '';
  return [
    `<section>`,
    `<h3 id="${elementId(id)}"><a href="#${elementId(id)}">${escapeHtml(summary)}</a></h3>`,
    isWebhook
      ? `<p>${inline(text(operation, 'summary'))}</p>`
      : `<p><code>${method} ${escapeHtml(path)}</code></p>`,
    isWebhook ? '' : prose(text(operation, 'description')),
    isWebhook ? '' : `<p class="soft">${callers(operation)}</p>`,
    parameters.length === 0 || isWebhook
      ? ''
      : `<h4>Parameters</h4>\n${tableHtml(['Name', 'In', 'Type', ''], parameters.map(parameterRow))}`,
    body === null ? '' : `<h4>Body</h4>\n${fieldsTable(body)}`,
    fileTypes(operation).length === 0
      ? ''
      : `<h4>Body</h4>\n<p>The file: ${fileTypes(operation)
          .map((type) => `<code>${escapeHtml(type)}</code>`)
          .join(', ')}.</p>`,
    ...(isWebhook ? [] : answersHtml(answers, document)),
    socketHtml(operation['x-websocket']),
    isWebhook || method === ''
      ? ''
      : `<h4>Example</h4>\n<pre tabindex="0"><code>${escapeHtml(curl({ id, summary, method, path, operation }, document))}</code></pre>`,
    `</section>`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

const whoText: Readonly<Record<string, string>> = {
  apiKey: '<code>Authorization: Bearer &lt;API key&gt;</code>',
  session: '<code>Authorization: Bearer &lt;session&gt;</code>',
  appId: '<code>X-App-Id</code>',
  visitorId: '<code>X-Visitor-Id</code>',
};

function callers(operation: JsonObject): string {
  const ways = objects(operation, 'security').map((way) =>
    Object.keys(way)
      .map((name) => whoText[name] ?? escapeHtml(name))
      .join(', '),
  );
  const origin =
    ways.length > 0 && objects(operation, 'security').some((way) => 'appId' in way && !('apiKey' in way));
  return ways.length === 0
    ? 'No credential.'
    : `With ${ways.join(', or with ')}${origin ? '; without a key the <code>Origin</code> must be registered' : ''}.`;
}

function parameterRow(parameter: JsonObject): string[] {
  const schema = child(parameter, 'schema');
  return [
    `<code>${escapeHtml(text(parameter, 'name'))}</code>`,
    escapeHtml(text(parameter, 'in')),
    typeOf(schema),
    notes(schema, parameter['required'] === true),
  ];
}

function answersHtml(answers: readonly [string, JsonObject][], document: JsonObject): string[] {
  const isError = (status: string): boolean => status === 'default' || Number(status) >= 400;
  const good = answers
    .filter(([status]) => !isError(status))
    .map(([status, answer]) => {
      const schema = bodySchema(answer, document);
      return schema === null
        ? `<p><strong>${escapeHtml(status)}</strong> ${inline(text(answer, 'description'))}</p>`
        : `<h4>Answer ${escapeHtml(status)}</h4>\n${fieldsTable(schema)}`;
    });
  const errors = answers
    .filter(([status]) => isError(status))
    .map(([status, answer]) => [escapeHtml(status), inline(text(answer, 'description'))]);
  return errors.length === 0 ? good : [...good, `<h4>Errors</h4>\n${tableHtml(['Status', ''], errors)}`];
}

function socketHtml(socket: Json | undefined): string {
  if (socket === undefined) return '';
  const description = asObject(socket);
  const client = children(description, 'clientFrames');
  const server = children(description, 'serverFrames');
  const closing = children(description, 'closeCodes');
  return [
    '<h4>Frames that a client sends</h4>',
    tableHtml(
      ['type', 'payload', ''],
      client.map(([type, frame]) => [
        `<code>${escapeHtml(type)}</code>`,
        Object.entries(child(child(frame, 'payload'), 'properties'))
          .map(([name]) => `<code>${escapeHtml(name)}</code>`)
          .join(' '),
        inline(text(frame, 'description')),
      ]),
    ),
    '<h4>Frames that the server sends</h4>',
    tableHtml(
      ['type', ''],
      server.map(([type, frame]) => [`<code>${escapeHtml(type)}</code>`, inline(text(frame, 'description'))]),
    ),
    '<h4>Codes of <code>error</code> frames</h4>',
    `<p>${texts(description, 'errorCodes')
      .map((code) => `<code>${escapeHtml(code)}</code>`)
      .join(' ')}</p>`,
    '<h4>Close codes</h4>',
    tableHtml(
      ['Code', 'Why', 'Come back?'],
      closing.map(([code, { name, reconnect }]) => [
        escapeHtml(code),
        escapeHtml(words(name ?? null)),
        reconnect === true ? 'yes' : 'no',
      ]),
    ),
  ].join('\n');
}

/** The JSON shape of a request's or an answer's body; null: it has none. */
function bodySchema(holder: Json | undefined, document: JsonObject): JsonObject | null {
  if (holder === undefined) return null;
  const media = child(child(asObject(holder), 'content'), 'application/json');
  return media['schema'] === undefined ? null : resolve(child(media, 'schema'), document);
}

/** The media types of a request whose body is a file; none where it is JSON. */
function fileTypes(operation: JsonObject): string[] {
  return Object.keys(child(child(operation, 'requestBody'), 'content')).filter(
    (type) => type !== 'application/json',
  );
}

function resolve(schema: JsonObject, document: JsonObject): JsonObject {
  const name = refName(schema);
  return name === null ? schema : child(child(child(document, 'components'), 'schemas'), name);
}

function refName(schema: JsonObject): string | null {
  return typeof schema['$ref'] === 'string' ? schema['$ref'].replace('#/components/schemas/', '') : null;
}

/** One row a field; the fields of an inner object below it, by their path. */
function fieldsTable(schema: JsonObject): string {
  const rows = fieldRows(schema, '');
  return rows.length === 0 ? `<p>${typeOf(schema)}</p>` : tableHtml(['Field', 'Type', ''], rows);
}

function fieldRows(schema: JsonObject, prefix: string): string[][] {
  const required = texts(schema, 'required');
  return children(schema, 'properties').flatMap(([name, one]) => {
    const path = `${prefix}${name}`;
    const inner =
      one['type'] === 'array' ? fieldRows(child(one, 'items'), `${path}[].`) : fieldRows(one, `${path}.`);
    return [[`<code>${escapeHtml(path)}</code>`, typeOf(one), notes(one, required.includes(name))], ...inner];
  });
}

function typeOf(schema: JsonObject): string {
  const name = refName(schema);
  if (name !== null) return `<a href="#shape-${elementId(name)}">${escapeHtml(name)}</a>`;
  if (schema['const'] !== undefined) return `<code>${escapeHtml(JSON.stringify(schema['const']))}</code>`;
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((value) => `<code>${escapeHtml(words(value))}</code>`).join(' ');
  if (Array.isArray(schema['anyOf'])) return objects(schema, 'anyOf').map(typeOf).join(' or ');
  if (schema['type'] === 'array') return `list of ${typeOf(child(schema, 'items'))}`;
  if (Array.isArray(schema['type'])) return escapeHtml(schema['type'].map(words).join(' or '));
  return escapeHtml(
    [schema['type'], schema['format']].filter((part) => typeof part === 'string').join(', ') || 'anything',
  );
}

function notes(schema: JsonObject, required: boolean): string {
  const parts = [required ? '' : 'optional'];
  parts.push(
    range(schema['minimum'], schema['maximum'], ''),
    range(schema['minLength'], schema['maxLength'], ' characters'),
    range(schema['minItems'], schema['maxItems'], ' entries'),
  );
  if (schema['default'] !== undefined)
    parts.push(`default <code>${escapeHtml(JSON.stringify(schema['default']))}</code>`);
  if (typeof schema['description'] === 'string') parts.push(inline(schema['description']));
  return parts.filter((part) => part !== '').join(', ');
}

function range(least: Json | undefined, most: Json | undefined, unit: string): string {
  if (least === undefined && most === undefined) return '';
  if (least === undefined) return `up to ${escapeHtml(words(most ?? null))}${unit}`;
  return most === undefined
    ? `at least ${escapeHtml(words(least))}${unit}`
    : `${escapeHtml(words(least))} to ${escapeHtml(words(most))}${unit}`;
}

/** A line to paste into a terminal, with what it needs as variables. */
function curl({ method, path, operation }: Entry, document: JsonObject): string {
  // A cookie is for pages of the server only.
  const way = objects(operation, 'security').findLast((one) => !('cookie' in one)) ?? {};
  const parameters = objects(operation, 'parameters');
  const variable = (name: string): string =>
    `$${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => variable(name));
  const query = parameters
    .filter((one) => one['in'] === 'query' && one['required'] === true)
    .map((one) => `${text(one, 'name')}=${variable(text(one, 'name'))}`);
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "$BASE_URL${target}${query.length === 0 ? '' : `?${query.join('&')}`}"`,
  ];
  if ('apiKey' in way) lines.push('-H "Authorization: Bearer $API_KEY"');
  if ('session' in way) lines.push('-H "Authorization: Bearer $SESSION"');
  if ('appId' in way) lines.push('-H "X-App-Id: $APP_ID"');
  // A token for the WebSocket is bound to a page, even when a backend asks for it.
  if ('appId' in way && (!('apiKey' in way) || path.includes('/widget/'))) lines.push('-H "Origin: $ORIGIN"');
  if ('visitorId' in way) lines.push('-H "X-Visitor-Id: $VISITOR_ID"');
  const body = bodySchema(operation['requestBody'], document);
  const [fileType] = fileTypes(operation);
  if (fileType !== undefined) lines.push(`-H "Content-Type: ${fileType}"`, '--data-binary @FILE');
  else if (body !== null)
    lines.push(
      '-H "Content-Type: application/json"',
      `-d '${JSON.stringify(example(body)).replaceAll("'", String.raw`'\''`)}'`,
    );
  return lines.join(' \\\n  ');
}

const exampleTexts: Readonly<Record<string, string>> = {
  content: 'Hello!',
  subject: 'My order',
  email: 'olivia@example.com',
  to: 'olivia@example.com',
  'server.address': 'support@example.com',
  'server.url': 'smtps://user:password@mail.example.com',
  url: 'https://example.com/hook',
  domain: 'example.com',
  code: '123456',
  address: '192.0.2.1',
  expiresAt: '2027-01-01T00:00:00Z',
  until: '2027-01-01T00:00:00Z',
  shortcut: 'hello',
  name: 'Olivia',
  organization: 'acme',
  password: 'correct horse battery staple',
  id: '018f0d5a-7c1e-7a30-9c4e-3b1f6a2d9e10',
};

/** A body that has every required field, and where none is required the first. */
function example(schema: JsonObject, inside = ''): Json {
  const required = texts(schema, 'required');
  const properties = children(schema, 'properties');
  const wanted =
    required.length === 0 ? properties.slice(0, 1) : properties.filter(([name]) => required.includes(name));
  return Object.fromEntries(wanted.map(([name, field]) => [name, exampleValue(name, field, inside)]));
}

/** @param inside the field that it is in, where one name means two things */
function exampleValue(name: string, schema: JsonObject, inside = ''): Json {
  if (schema['default'] !== undefined && schema['default'] !== null) return schema['default'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0] ?? null;
  if (Array.isArray(schema['anyOf'])) return exampleValue(name, asObject(schema['anyOf'][0]), inside);
  if (schema['type'] === 'object') return schema['properties'] === undefined ? {} : example(schema, name);
  if (schema['type'] === 'array')
    return Array.from({ length: Number(schema['minItems'] ?? 1) }, () =>
      exampleValue(name, child(schema, 'items')),
    );
  if (schema['type'] === 'integer' || schema['type'] === 'number') return schema['minimum'] ?? 1;
  if (schema['type'] === 'boolean') return true;
  const text = schema['format'] === 'uuid' ? exampleTexts['id'] : exampleTexts[`${inside}.${name}`];
  return text ?? exampleTexts[name] ?? name;
}

function child(object: JsonObject, name: string): JsonObject {
  return asObject(object[name]);
}

/** The objects that an object holds under their names. */
function children(object: JsonObject, name: string): [string, JsonObject][] {
  return Object.entries(child(object, name)).map(([key, value]) => [key, asObject(value)]);
}

/** A list of objects; empty where there is none. */
function objects(object: JsonObject, name: string): JsonObject[] {
  const value = object[name];
  return Array.isArray(value) ? value.map(asObject) : [];
}

/** A list of texts; empty where there is none. */
function texts(object: JsonObject, name: string): string[] {
  const value = object[name];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** A value as a reader sees it. */
function words(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function text(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === 'string' ? value : '';
}

function link(id: string, label: string): string {
  return `<a href="#${elementId(id)}">${escapeHtml(label)}</a>`;
}

/** Paragraphs; backquotes and double stars as in Markdown, nothing else. */
function prose(prosaic: string): string {
  return prosaic
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => `<p>${inline(part)}</p>`)
    .join('\n');
}

function inline(plain: string): string {
  return escapeHtml(plain)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
}
