// Attacks /docs: it must read without scripts, without anybody else's server, and hold
// everything that the document holds, each under a name that can be linked to.
import { parse, type DefaultTreeAdapterMap } from 'parse5';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliDecompressSync } from 'node:zlib';
import { openApiDocument } from '../../src/http/openapi.ts';
import { routes } from '../../src/http/operation-routes.ts';
import { docsIndexPage } from '../../src/http/pages/guides.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { buildPdf, pdfLine } from '../helpers/document-files.ts';
import { plainRequest } from '../helpers/plain-request.ts';
import { createConversation, createMember, createOrganization, createVisitor } from '../helpers/fixtures.ts';

let app: TestApp;
let response: Response;
let html: string;
let elements: Element[];

type Node = DefaultTreeAdapterMap['node'];
type Element = DefaultTreeAdapterMap['element'];

function walk(node: Node, found: Element[] = []): Element[] {
  if ('tagName' in node) found.push(node);
  if ('childNodes' in node) for (const child of node.childNodes) walk(child, found);
  return found;
}

const attribute = (element: Element, name: string): string | undefined =>
  element.attrs.find((one) => one.name === name)?.value;
const textOf = (node: Node): string =>
  'value' in node ? node.value : 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';

beforeAll(async () => {
  app = await startApp();
  response = await fetch(`${app.url}/docs`);
  html = await response.text();
  elements = walk(parse(html));
});

afterAll(async () => {
  await app.stop();
});

describe('/docs', () => {
  it('needs nothing from anywhere else, and its policy lets nothing else in', () => {
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const style = elements.filter(({ tagName }) => tagName === 'style');
    expect(style).toHaveLength(1);
    const hash = createHash('sha256').update(textOf(style[0]!)).digest('base64');
    expect(response.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    );
    expect(
      elements.filter(({ tagName }) =>
        ['script', 'img', 'link', 'iframe', 'object', 'form', 'video', 'base'].includes(tagName),
      ),
    ).toEqual([]);
    expect(
      elements.flatMap(({ attrs }) =>
        attrs.filter(({ name }) => name === 'src' || name === 'style' || name.startsWith('on')),
      ),
    ).toEqual([]);
    expect(textOf(style[0]!)).not.toMatch(/url\(|@import/);
    expect(textOf(style[0]!)).toContain('prefers-color-scheme: dark');
    for (const link of elements.filter(({ tagName }) => tagName === 'a'))
      expect(attribute(link, 'href')).toMatch(/^#|^\/openapi\.json$|^\/docs(\/[\w-]+)?(#[\w-]+)?$/);
  });

  it('has a place for every route and shape, and no link that leads nowhere', () => {
    const ids = elements.flatMap((element) => attribute(element, 'id') ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { name } of routes) expect(ids).toContain(name);
    for (const link of elements.filter(({ tagName }) => tagName === 'a')) {
      const target = attribute(link, 'href')!;
      if (target.startsWith('#')) expect(ids, target).toContain(target.slice(1));
    }
    const text = textOf(parse(html));
    for (const { path } of routes) expect(text).toContain(path.replace(/:(\w+)/g, '{$1}'));
    expect(text).not.toMatch(/undefined|\[object|NaN/);
    expect(
      attribute(
        elements.find(({ tagName }) => tagName === 'html')!,
        'lang',
      ),
    ).toBe('en');
    expect(elements.filter(({ tagName }) => tagName === 'h1')).toHaveLength(1);
  });

  it('shows for every route a request that can be pasted', () => {
    const examples = elements.filter(({ tagName }) => tagName === 'pre').map(textOf);
    for (const { method, path } of routes) {
      const target = path.replace(
        /:(\w+)/g,
        (_, name: string) => `$${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      );
      const start = `curl${method === 'GET' ? '' : ` -X ${method}`} "$BASE_URL${target}`;
      const example = examples.find((one) => one.startsWith(`${start}"`) || one.startsWith(`${start}?`));
      expect(example, `${method} ${path}`).toBeDefined();
      const body = / -d '(.*)'$/s.exec(example!)?.[1];
      if (body !== undefined) expect(typeof JSON.parse(body)).toBe('object');
      expect(example).not.toMatch(/dbk_|dbs_|whsec_/);
    }
  });

  it('shows requests that work as they are, once their variables are set', async () => {
    const acme = await createOrganization(app, 'acme');
    const visitor = createVisitor(app, acme.application);
    const admin = await createMember(app, 'acme', 'admin');
    const conversationId = await createConversation(visitor);
    await admin.call('POST', `/conversations/${conversationId}/accept`);
    const variables: Record<string, string> = {
      BASE_URL: app.url,
      API_KEY: acme.application.key,
      APP_ID: acme.application.id,
      APPLICATION_ID: acme.application.id,
      ORIGIN: acme.application.origin,
      VISITOR_ID: visitor.id,
      SESSION: admin.token,
      CONVERSATION_ID: conversationId,
      DOMAIN: acme.application.domain,
    };
    const outcomes: string[] = [];
    // What they send is right for one person at one moment: a password, a link, a ticket, a code, a browser's answer.
    const secretsOfTheMoment = new Set([
      'session.create',
      'invitations.accept',
      'session.secondFactor',
      'session.fromLink',
      'session.setUpSecondFactor',
      'passkeys.add',
      'password.reset',
      'push.add',
      'totp.confirm',
      'totp.disable',
    ]);
    for (const { name, method } of routes) {
      // Whatever removes what the others need has been looked at elsewhere.
      if (method === 'DELETE' || name === 'applications.identitySecret') continue;
      const section = elements.find(
        ({ tagName, childNodes }) =>
          tagName === 'section' &&
          childNodes.some((node) => 'tagName' in node && attribute(node, 'id') === name),
      )!;
      const example = textOf(walk(section).find(({ tagName }) => tagName === 'pre')!);
      const filled = example.replace(
        /\$([A-Z_]+)/g,
        (_, variable: string) => variables[variable] ?? '00000000-0000-4000-8000-000000000000',
      );
      const headers = Object.fromEntries(
        [...filled.matchAll(/-H "([^:]+): ([^"]*)"/g)].map(([, header, value]) => [header!, value!]),
      );
      const body = filled.endsWith(' --data-binary @FILE')
        ? Buffer.from(buildPdf([pdfLine('Hello', 12, 700)]))
        : / -d '(.*)'$/s.exec(filled)?.[1]?.replaceAll(String.raw`'\''`, "'");
      const reply = await fetch(/"(http[^"]+)"/.exec(filled)![1]!, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      const text = await reply.text();
      // What is missing may be missing; the request itself must be right.
      if (![200, 201, 404, 409].includes(reply.status) && !secretsOfTheMoment.has(name))
        outcomes.push(`${name}: ${reply.status} ${text}`);
    }
    expect(outcomes).toEqual([]);
  });

  it('lets nothing of the document become markup', async () => {
    const evil = '<script>alert(1)</script>"\'&';
    const page = await docsIndexPage(null, {
      openapi: '3.1.0',
      info: { title: evil, description: evil },
      tags: [{ name: evil, description: `${evil} \`${evil}\`` }],
      paths: {
        [`/${evil}`]: {
          get: {
            operationId: evil,
            summary: evil,
            tags: [evil],
            security: [],
            parameters: [
              { name: evil, in: 'query', schema: { enum: [evil], description: evil, default: evil } },
            ],
            responses: { '200': { description: evil } },
          },
        },
      },
      webhooks: {},
      components: { schemas: { [evil]: { properties: { [evil]: { type: 'string', const: evil } } } } },
    });
    expect(page).not.toContain('<script');
    expect(walk(parse(page)).some(({ tagName }) => tagName === 'script')).toBe(false);
  });

  it('describes a few operations in each turn of the loop', async () => {
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      for (; !isOver; turns += 1) await nextTurn();
    })();
    await openApiDocument();
    isOver = true;
    await counting;
    expect(turns).toBeGreaterThan(routes.length / 25);
  });

  it('is kept for a while', async () => {
    expect(response.headers.get('cache-control')).toBe('public, max-age=300, stale-while-revalidate=86400');
    const first = await plainRequest(`${app.url}/docs`, { 'accept-encoding': 'br' });
    expect(brotliDecompressSync(first.bytes).toString()).toBe(html);
    const again = await plainRequest(`${app.url}/docs`, {
      'accept-encoding': 'br',
      'if-none-match': first.headers.etag!,
    });
    expect({ status: again.status, size: again.bytes.length }).toEqual({ status: 304, size: 0 });
  });
});
