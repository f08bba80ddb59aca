// Attacks the serving of the dashboard: its page, policy, files, manifest and service worker, at every host.
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceWorkerScript } from '../../src/http/pages/service-worker.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { HeaderMap } from '../helpers/client.ts';
import { createMember, createOrganization, memberPassword } from '../helpers/fixtures.ts';
import { plainRequest } from '../helpers/plain-request.ts';

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
let app: TestApp;
let local: TestApp;

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'https://chat.example' } });
  local = await startApp({ alone: true });
  await createOrganization(app, 'acme');
});
afterAll(async () => {
  await app.stop();
  await local.stop();
});

const get = async (
  path: string,
  headers: HeaderMap = {},
  on = app,
): Promise<{ status: number; text: string; headers: Readonly<Record<string, unknown>> }> => {
  const reply = await plainRequest(`${on.url}${path}`, headers);
  return { status: reply.status, text: reply.bytes.toString(), headers: reply.headers };
};

describe('the page', () => {
  it.each(['/', '/inbox'])('is at %s for browsers, and for them alone', async (path) => {
    const page = await get(path, html);
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['cache-control']).toBe('private, no-cache');
    expect((await get(path, { ...html, 'if-none-match': String(page.headers['etag']) })).status).toBe(304);
    for (const accept of ['application/json', '*/*']) expect((await get(path, { accept })).status).toBe(404);
  });

  it('allows nothing but its own files, and no page to frame it', async () => {
    const policy = (scheme: string, files = 'https://chat.example'): string =>
      `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${scheme}; img-src 'self' blob: ${files}; manifest-src 'self'; worker-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types deskbell`;
    const page = await get('/', { ...html, host: 'acme.chat.example' });
    expect(page.headers['content-security-policy']).toBe(policy('wss:'));
    expect(page.headers['cross-origin-opener-policy']).toBe('same-origin');
    expect(page.headers['x-content-type-options']).toBe('nosniff');
    expect((await get('/', html, local)).headers['content-security-policy']).toBe(policy('ws:', local.url));
    expect(
      (await get('/', { ...html, host: '192.0.2.7:4600' }, local)).headers['content-security-policy'],
    ).toBe(policy('wss:', local.url));
  });

  it('has nothing inline, and relative addresses only', async () => {
    const { text } = await get('/', html);
    expect(text).not.toMatch(/<style|\son\w+=|style=|javascript:/i);
    for (const [, attributes = '', inside = ''] of text.matchAll(/<script([^>]*)>([^]*?)<\/script>/g))
      expect([/src="assets\/[\w.-]+"/.test(attributes), inside]).toEqual([true, '']);
    for (const [, address = ''] of text.matchAll(/(?:href|src)="([^"]*)"/g))
      expect(address).toMatch(/^[\w.-]+(?:\/[\w.-]+)?$/);
  });

  it('names the organization of its host, whether there is one or not', async () => {
    const named = async (host: string): Promise<string | undefined> =>
      /name="deskbell-organization" content="([^"]*)"/.exec((await get('/', { ...html, host })).text)?.[1];
    expect(await named('acme.chat.example')).toBe('acme');
    expect(await named('unknown.chat.example')).toBe('unknown');
    expect(await named('chat.example')).toBeUndefined();
    const hostile = await get('/', { ...html, host: '"><img>.chat.example' });
    expect(hostile.text).not.toContain('<img');
    expect(await named('a$`b.chat.example')).toBe('a$`b');
  });
});

describe('what the page’s links begin early', () => {
  const linked = async (headers: HeaderMap, path = '/'): Promise<string[]> => {
    const { text } = await get(path, { ...html, ...headers });
    return [...text.matchAll(/<link rel="(?:module)?preload"[^>]* href="([^"]*)"/g)].map(
      ([, href = '']) => href,
    );
  };
  const session = [
    'api/v1/staff/session',
    'api/v1/staff/conversations?status=pending&amp;limit=20&amp;mode=live',
  ];

  it('is the file of the browser’s language, English where it speaks none of ours', async () => {
    for (const [wish, language] of [
      ['de-AT,de;q=0.9,en;q=0.8', 'de'],
      ['tlh, ar;q=0.5', 'ar'],
      ['tlh', 'en'],
      ['', 'en'],
      ['*', 'en'],
    ] as const) {
      const [file = '', ...others] = await linked({ 'accept-language': wish });
      expect([wish, file, others]).toEqual([
        wish,
        expect.stringMatching(new RegExp(`^assets/${language}-\\w+\\.js$`)),
        [],
      ]);
      expect((await get(`/${file}`)).status).toBe(200);
    }
  });

  it('is the session and the queue where there is a session’s cookie, and is told apart by caches', async () => {
    for (const name of ['__Host-deskbell', 'deskbell'])
      expect((await linked({ cookie: `theme=dark; ${name}=anything` })).slice(1)).toEqual(session);
    for (const cookie of ['notdeskbell=1', 'deskbell', 'theme=deskbell'])
      expect(await linked({ cookie })).toHaveLength(1);
    expect(await linked({ cookie: 'deskbell=1' }, '/invitation')).toHaveLength(1);
    const { headers } = await get('/', html);
    expect(headers['vary']).toMatch(/Accept, Accept-Language, Cookie/);
  });
});

describe('the preview of the widget', () => {
  it('may be framed by the server’s own pages, has no origin, and lets nothing out', async () => {
    const page = await get('/widget-preview', html);
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'sha256-[\w+/=]+'; img-src 'self' https: data:; connect-src 'none'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'; sandbox allow-scripts$/,
    );
    expect(page.headers['set-cookie']).toBeUndefined();
    // Relative, so that it works behind a path prefix.
    for (const [, address = ''] of page.text.matchAll(/src="([^"]*)"/g)) {
      expect(address).toMatch(/^[\w.-]+$/);
      const file = await get(`/${address}`);
      expect([address, file.status, file.headers['cross-origin-resource-policy']]).toEqual([
        address,
        200,
        'cross-origin',
      ]);
    }
    // No other page of the server may be framed by any.
    for (const path of ['/', '/about', '/invitation', '/security', '/docs'])
      expect([path, (await get(path, html)).headers['content-security-policy']]).toEqual([
        path,
        expect.stringContaining("frame-ancestors 'none'"),
      ]);
  });
});

describe('its files', () => {
  it('are compressed, and for ever under their names', async () => {
    const [, name = ''] = /src="(assets\/[^"]+)"/.exec((await get('/', html)).text) ?? [];
    const file = await get(`/${name}`, { 'accept-encoding': 'br' });
    expect(file.status).toBe(200);
    expect(file.headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(file.headers['access-control-allow-origin']).toBeUndefined();
    for (const none of ['/assets/', '/assets/none.js', '/assets/../assets.json', '/assets.json'])
      expect((await get(none)).status).toBe(404);
  });

  it('are found behind a path prefix, which the proxy takes away', async () => {
    const { text } = await get('/inbox', html);
    const [, name = ''] = /src="(assets\/[^"]+)"/.exec(text) ?? [];
    expect(new URL(name, 'https://example.com/desk/inbox').pathname).toBe(`/desk/${name}`);
  });
});

describe('the manifest', () => {
  it("has the organization's name and colour, for its members alone", async () => {
    const ann = await createMember(app, 'acme');
    const host = 'acme.chat.example';
    await app.local('organizations.update', { organization: 'acme', name: 'Acme "Teas"' });
    const { applications } = await app.local('applications.list', { organization: 'acme' });
    await app.local('applications.update', {
      applicationId: applications[0]?.id ?? '',
      appearance: { colors: { primary: '#aa3366' } },
    });
    const signedIn = await fetch(`${app.url}/api/v1/staff/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://chat.example' },
      body: JSON.stringify({
        organization: 'acme',
        email: ann.email,
        password: memberPassword,
        cookie: true,
      }),
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const mine = await get('/manifest.webmanifest', { host, cookie, 'sec-fetch-site': 'same-origin' });
    expect(mine.headers['content-type']).toMatch('application/manifest+json');
    expect(mine.headers['cache-control']).toBe('private, no-cache');
    expect(JSON.parse(mine.text)).toMatchObject({
      name: 'Acme "Teas"',
      theme_color: '#aa3366',
      start_url: './',
      scope: './',
      display: 'standalone',
    });
    for (const headers of [{ host }, { host, cookie, 'sec-fetch-site': 'cross-site' }])
      expect(JSON.parse((await get('/manifest.webmanifest', headers)).text)).toMatchObject({
        name: 'Deskbell',
        theme_color: '#2563eb',
      });
  });
});

describe('the service worker', () => {
  interface Fetched {
    readonly answered: boolean;
  }

  /** Runs the worker's script, and says of which requests it sees to the answer. */
  function worker(base: string): (method: string, url: string, mode?: string) => Fetched {
    const listeners = new Map<string, (event: object) => void>();
    const self = {
      location: { href: `${base}sw.js` },
      addEventListener: (type: string, listener: (event: object) => void) => listeners.set(type, listener),
    };
    const caches = { open: () => Promise.reject(new Error('none')), match: () => Promise.resolve(undefined) };
    const fetched = (): Promise<never> => Promise.reject(new Error('none'));
    runInContext(
      serviceWorkerScript('v', ['./', 'assets/app-X.js']),
      createContext({ self, caches, URL, Request, fetch: fetched }),
    );
    return (method, url, mode = 'cors') => {
      let answered = false;
      const respondWith = (answer: Promise<unknown>): void => {
        answered = true;
        answer.catch(() => undefined);
      };
      listeners.get('fetch')?.({ request: { method, url, mode }, respondWith });
      return { answered };
    };
  }

  it.each(['https://acme.chat.example/', 'https://example.com/desk/'])(
    'at %s sees to the shell, and never to the API',
    (base) => {
      const ask = worker(base);
      expect(ask('GET', `${base}assets/app-X.js`).answered).toBe(true);
      expect(ask('GET', `${base}inbox?x=1`, 'navigate').answered).toBe(true);
      expect(ask('GET', base, 'navigate').answered).toBe(true);
      for (const [method, path, mode] of [
        ['GET', 'api/v1/staff/conversations', 'cors'],
        ['GET', 'api/v1/staff/conversations', 'navigate'],
        ['POST', 'assets/app-X.js', 'cors'],
        ['GET', 'widget.js', 'cors'],
        ['GET', 'docs', 'navigate'],
        ['GET', '', 'cors'],
        ['GET', 'manifest.webmanifest', 'cors'],
      ] as const)
        expect(ask(method, base + path, mode).answered, `${method} ${path}`).toBe(false);
      expect(ask('GET', 'https://evil.example/assets/app-X.js').answered).toBe(false);
    },
  );

  it('is another one for another build, and may only fetch from its own origin', async () => {
    expect(serviceWorkerScript('a', [])).not.toBe(serviceWorkerScript('b', []));
    const { headers, text } = await get('/sw.js');
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; connect-src 'self'; script-src 'self'",
    );
    expect(text).toContain('assets/');
  });
});
