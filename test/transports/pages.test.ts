// Attacks the pages for people: the start page under /about, the documentation, the icons. They must read without scripts and
// without another host, on a phone too, and must not get in the way of clients of the API.
import { parse, type DefaultTreeAdapterMap } from 'parse5';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startPage } from '../../src/http/pages/start.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { launchBrowser, openBrowserPage } from '../helpers/browser.ts';
import { repository } from '../helpers/command.ts';
import { plainRequest } from '../helpers/plain-request.ts';

const asBrowser = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
};
const guides = readdirSync(join(repository, 'docs'))
  .filter((name) => name !== 'README.md')
  .map((name) => `/docs/${name.replace(/\.md$/, '')}`);

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});

afterAll(async () => {
  await app.stop();
});

type Node = DefaultTreeAdapterMap['node'];

function addresses(node: Node): string[] {
  const own =
    'attrs' in node ? node.attrs.filter(({ name }) => name === 'href').map(({ value }) => value) : [];
  return 'childNodes' in node ? [...own, ...node.childNodes.flatMap(addresses)] : own;
}

function ids(node: Node): string[] {
  const own = 'attrs' in node ? node.attrs.filter(({ name }) => name === 'id').map(({ value }) => value) : [];
  return 'childNodes' in node ? [...own, ...node.childNodes.flatMap(ids)] : own;
}

async function page(
  path: string,
): Promise<{ readonly status: number; readonly html: string; readonly headers: Headers }> {
  const response = await fetch(app.url + path, { headers: asBrowser });
  return { status: response.status, html: await response.text(), headers: response.headers };
}

describe('the start page', () => {
  it('says to a browser what this is and where to go', async () => {
    const { status, html, headers } = await page('/about');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('vary')).toBe('Accept-Encoding');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/,
    );
    for (const part of ['/docs', '/docs#api-reference', '/openapi.json', '/readyz'])
      expect(addresses(parse(html))).toContain(part);
    for (const command of ['deskbell snippet --app APP_ID', 'deskbell console', 'deskbell demo'])
      expect(html).toContain(command);
  });

  it('links to the shop where the demo serves it', () => {
    expect(addresses(parse(startPage(true)))).toContain('/demo');
    expect(addresses(parse(startPage(false)))).not.toContain('/demo');
  });

  it.each([{ accept: 'application/json' }, { accept: '*/*' }, {}])(
    'leaves / to clients of the API as it is: %j',
    async (headers) => {
      const reply = await plainRequest(`${app.url}/`, headers);
      expect(reply.status).toBe(404);
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(reply.headers.vary).toBe('Accept');
      expect(JSON.parse(reply.bytes.toString())).toEqual({
        error: 'not_found',
        message: 'No such path. The API lives below /api/v1.',
      });
    },
  );

  it('answers no other method', async () => {
    expect((await plainRequest(`${app.url}/`, asBrowser, 'POST')).status).toBe(404);
    expect(await plainRequest(`${app.url}/`, asBrowser, 'HEAD')).toMatchObject({
      status: 200,
      bytes: Buffer.alloc(0),
    });
  });
});

describe('the documentation', () => {
  it('serves every page, and no link of one leads nowhere', async () => {
    const known = new Map<string, string[]>();
    for (const path of ['/about', '/docs', ...guides]) known.set(path, ids(parse((await page(path)).html)));
    for (const path of known.keys()) {
      const { status, html, headers } = await page(path);
      expect(status, path).toBe(200);
      expect(headers.get('cache-control')).toBe('public, max-age=300, stale-while-revalidate=86400');
      for (const address of addresses(parse(html)).filter((one) => !one.startsWith('https://'))) {
        const [target = '', anchor] = address.split('#');
        const place = target === '' ? path : target;
        if (anchor === undefined) expect((await page(place)).status, `${path}: ${address}`).toBe(200);
        else expect(known.get(place), `${path}: ${address}`).toContain(anchor);
      }
    }
  });

  it('has no page of another name', async () => {
    for (const path of [
      '/docs/nothing',
      '/docs/README',
      '/docs/rest-api.md',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
    ])
      expect((await plainRequest(app.url + path, asBrowser)).status, path).toBe(404);
  });
});

describe('the icons', () => {
  it.each([
    ['/favicon.ico', 'image/x-icon'],
    ['/icon.svg', 'image/svg+xml; charset=utf-8'],
  ])('%s is there, with its type, for a while', async (path, type) => {
    const reply = await plainRequest(app.url + path);
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': type } });
    expect(reply.headers['cache-control']).toBe('public, max-age=300, stale-while-revalidate=86400');
    const again = await plainRequest(app.url + path, { 'if-none-match': reply.headers.etag! });
    expect({ status: again.status, size: again.bytes.length }).toEqual({ status: 304, size: 0 });
    expect((await plainRequest(app.url + path, {}, 'DELETE')).headers.allow).toBe('GET, HEAD');
  });

  it('/favicon.ico holds two pictures of the sizes that it names', async () => {
    const { bytes } = await plainRequest(`${app.url}/favicon.ico`);
    expect([...bytes.subarray(0, 6)]).toEqual([0, 0, 1, 0, 2, 0]);
    for (const [index, size] of [16, 32].entries()) {
      const entry = bytes.subarray(6 + 16 * index);
      expect([entry[0], entry[1]]).toEqual([size, size]);
      const png = bytes.subarray(entry.readUInt32LE(12), entry.readUInt32LE(12) + entry.readUInt32LE(8));
      expect(png.subarray(1, 4).toString()).toBe('PNG');
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([size, size]);
    }
  });
});

describe('in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  it.each(['/about', '/docs', '/docs/rest-api', '/docs/console', '/invitation'])(
    '%s complains of nothing and fits a phone',
    async (path) => {
      const one = await openBrowserPage(browser, app.url + path, { viewport: { width: 360, height: 740 } });
      try {
        const failed: string[] = [];
        one.page.on('response', (response) => {
          if (response.status() >= 400) failed.push(response.url());
        });
        await one.page.reload({ waitUntil: 'networkidle' });
        expect(await one.page.evaluate('document.scrollingElement.scrollWidth')).toBe(360);
        expect({ problems: one.problems, failed }).toEqual({ problems: [], failed: [] });
      } finally {
        await one.close();
      }
    },
    30_000,
  );
});
