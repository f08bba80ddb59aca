// Owns: how the browser's files are served (settled: Widget and SDK): encodings, caching, who may load them,
// and that a path can name nothing else. And their size, which every visitor of a customer's site pays.
import { readdir, readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { repository } from '../helpers/command.ts';

const web = join(repository, 'dist/web');
let app: TestApp;
let names: string[];

beforeAll(async () => {
  const packed = await readdir(web).catch(() => {
    throw new Error('There is no dist/web: run npm run build first, as npm test does.');
  });
  names = packed.map((name) => name.replace(/\.br$/, ''));
  app = await startApp();
});

afterAll(() => app.stop());

/** A file as it is in the browser: the build keeps it compressed. */
async function unpacked(name: string): Promise<Buffer> {
  return brotliDecompressSync(await readFile(join(web, `${name}.br`)));
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A request exactly as given: fetch would normalize the path and unpack the body. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const request = get({ hostname, port, path, headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject);
  });
}

function hashed(kind: string): string {
  return names.find((name) => new RegExp(`^${kind}-[0-9A-Z]{8}\\.js$`).test(name))!;
}

describe('the size', () => {
  const brotli = async (name: string): Promise<number> => brotliCompressSync(await unpacked(name)).length;

  test('widget.js is at most 5 kB', async () => {
    expect(await brotli('widget.js')).toBeLessThanOrEqual(5_000);
  });

  test('everything up to a usable composer is at most 14 kB', async () => {
    expect((await brotli('widget.js')) + (await brotli(hashed('panel')))).toBeLessThanOrEqual(14_000);
  });

  test('what the clip needs is at most 4 kB, in one file that is loaded with the first file chosen', async () => {
    expect(await brotli(hashed('tray'))).toBeLessThanOrEqual(4_000);
    const text = (await unpacked(hashed('tray'))).toString();
    const panel = (await unpacked(hashed('panel'))).toString();
    // Neither takes anything from a file of its own: that would be one more request before a visitor can write.
    for (const one of [text, panel]) expect(one).not.toMatch(/(?:^|;)import(?!\()|from"\.\//);
    expect(panel).toContain(`import(new URL("${hashed('tray')}"`);
  });

  test('each language is a file of its own, and none carries another', async () => {
    const german = (await unpacked(hashed('de'))).toString();
    const panel = (await unpacked(hashed('panel'))).toString();
    expect(german).toContain('Nachricht schreiben');
    expect(panel).toContain('Write a message');
    for (const foreign of ['Nachricht schreiben', 'Escriba un mensaje', 'اكتب رسالة', 'Napisz wiadomość'])
      expect(panel).not.toContain(foreign);
    for (const language of ['ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt'])
      expect(hashed(language)).toBeDefined();
  });

  test('nothing parses HTML, evaluates text or writes styles into the page', async () => {
    for (const name of names.filter((one) => one.endsWith('.js'))) {
      const text = (await unpacked(name)).toString();
      expect(text, name).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|DOMParser|createContextualFragment|document\.write|\beval\(|new Function|srcdoc|postMessage\([^)]*"\*"/,
      );
    }
  });
});

describe('how files are served', () => {
  test.each(['/widget.js', '/sdk.js', '/panel.js'])(
    '%s: to anybody, for 5 minutes, then asked again',
    async (path) => {
      const { status, headers, body } = await ask(path);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
        vary: 'Accept-Encoding',
      });
      expect(headers['cache-control']).toContain('max-age=300');
      expect(headers['cache-control']).not.toContain('immutable');
      expect(headers['set-cookie']).toBeUndefined();
      expect(body).toEqual(await unpacked(path));
      const again = await ask(path, { 'if-none-match': headers.etag! });
      expect(again.status).toBe(304);
      expect(again.body.length).toBe(0);
      expect((await ask(path, { 'if-none-match': '"other"' })).status).toBe(200);
    },
  );

  test('a name with a hash is for ever', async () => {
    for (const kind of ['panel', 'conversation', 'de']) {
      const { headers } = await ask(`/${hashed(kind)}`);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
  });

  test('the stable name of the panel is the panel', async () => {
    expect((await ask('/panel.js')).body).toEqual((await ask(`/${hashed('panel')}`)).body);
  });

  test.each([
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['GZIP', 'gzip'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['br;q=0', undefined],
    ['br;q=nonsense', undefined],
    ['', undefined],
    ['brotli', undefined],
  ])('Accept-Encoding %j is answered with %s', async (accepts, encoding) => {
    const plain = await unpacked('widget.js');
    const { headers, body } = await ask('/widget.js', { 'accept-encoding': accepts });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['content-length']).toBe(String(body.length));
    expect(
      encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body,
    ).toEqual(plain);
  });

  test('each encoding has an ETag of its own', async () => {
    const tags = await Promise.all(
      ['br', 'gzip', 'identity'].map(
        async (encoding) => (await ask('/widget.js', { 'accept-encoding': encoding })).headers.etag,
      ),
    );
    expect(new Set(tags).size).toBe(3);
  });

  test('HEAD tells the same without the body', async () => {
    const whole = await ask('/widget.js', { 'accept-encoding': 'br' });
    const head = await ask('/widget.js', { 'accept-encoding': 'br' }, 'HEAD');
    expect(head.status).toBe(200);
    expect(head.body.length).toBe(0);
    for (const name of ['content-length', 'content-type', 'content-encoding', 'etag', 'cache-control']) {
      expect(head.headers[name], name).toBe(whole.headers[name]);
    }
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is not possible', async (method) => {
    const { status, headers } = await ask('/widget.js', {}, method);
    expect(status).toBe(405);
    expect(headers.allow).toBe('GET, HEAD');
  });

  test.each([
    '/Widget.js',
    '/widget.js/',
    '//widget.js',
    '/./widget.js',
    '/widget.js%00',
    '/widget%2ejs',
    '/widget.js.br',
    '/widget.js.gz',
    '/web/widget.js',
    '/../cli.mjs',
    '/..%2fcli.mjs',
    '/%2e%2e/package.json',
    '/..\\cli.mjs',
    '/panel-00000000.js',
    '/constructor',
    '/__proto__',
  ])('%s names nothing', async (path) => {
    const { status, body } = await ask(path);
    expect(status).toBe(404);
    expect(body.toString()).toContain('not_found');
  });

  test('a query changes nothing', async () => {
    expect((await ask('/panel.js?1')).status).toBe(200);
  });
});
