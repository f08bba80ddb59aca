// Serves the dashboard: its page at /, /inbox and /invitation, its built files under /assets, the manifest by which it is installed,
// and its service worker. Every address in them is relative, so that it works behind a path prefix.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import { z } from 'zod';
import { visitorApiPrefix } from '../../protocol/codes.ts';
import { organizationSlugFromHost } from '../../services/auth/organization-host.ts';
import { isLoopbackHeader, mayHaveSessionCookie } from '../../services/auth/session-cookie.ts';
import { dashboardLook } from '../../services/tenants/dashboard-look.ts';
import type { Service } from '../../services/service.ts';
import { clientAddressOf, readCredentials } from '../request.ts';
import { chooseEncoding, readFiles, sendFile, type Encoding, type StaticFile } from '../static-files.ts';
import { escapeHtml } from '../../text/escape-html.ts';
import { serviceWorkerScript } from './service-worker.ts';

/** Where the dashboard's page is. */
export const dashboardPaths: readonly string[] = ['/', '/inbox', '/invitation'];

/** What the page asks of a signed-in member's browser first: it may begin while the script is on its way. */
const firstRequests: readonly string[] = ['session', 'conversations?status=pending&limit=20&mode=live'].map(
  (path) => `${visitorApiPrefix.slice(1)}/staff/${path}`,
);

/** Opened by people alone; at the others, clients of the API get what they get on every unknown path. */
const pageOnly: ReadonlySet<string> = new Set(['/invitation']);

const built = z.object({
  entry: z.string(),
  css: z.string(),
  languages: z.record(z.string(), z.string()),
});

interface Build {
  /** The page, but for the organization. */
  readonly html: string;
  /** The file of words of each language. */
  readonly languages: ReadonlyMap<string, string>;
  readonly worker: string;
  /** By path. */
  readonly files: ReadonlyMap<string, StaticFile>;
}

/** The folder of the built dashboard: beside the bundle when published, in the checkout otherwise; null before the first build. */
export function dashboardFolder(): string | null {
  const candidates = [
    join(import.meta.dirname, 'dashboard'),
    join(import.meta.dirname, '../../../dist/dashboard'),
  ];
  return candidates.find((folder) => existsSync(join(folder, 'assets.json'))) ?? null;
}

function readBuild(folder: string): Build {
  const { entry, css, languages } = built.parse(
    JSON.parse(readFileSync(join(folder, 'assets.json'), 'utf8')),
  );
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
    .replaceAll('{{entry}}', entry)
    .replaceAll('{{css}}', css);
  const version = createHash('sha256').update(html).digest('base64url').slice(0, 16);
  return {
    html,
    languages: new Map(Object.entries(languages)),
    worker: serviceWorkerScript(version, ['./', `assets/${entry}`, `assets/${css}`]),
    files: readFiles(join(folder, 'assets'), '/assets/'),
  };
}

/**
 * @param scheme of WebSockets: `ws:` only where the page itself is not encrypted
 * @param filesFrom the origins of messages' pictures besides the page's own
 */
function policy(scheme: 'ws:' | 'wss:', filesFrom: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self' ${scheme}`,
    ["img-src 'self' blob:", ...filesFrom].join(' '),
    "manifest-src 'self'",
    "worker-src 'self'",
    // The preview of the widget: no other page of this server may be framed.
    "frame-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types deskbell',
  ].join('; ');
}

/**
 * @param service what knows the organizations
 * @param trustProxy how many reverse proxies are in front
 * @param folder of the built dashboard; null: nothing was built, and nothing is served
 */
export function serveDashboard(
  service: Service,
  trustProxy: number,
  folder: string | null = dashboardFolder(),
): Middleware {
  const build = folder === null ? null : readBuild(folder);
  return async (ctx, next) => {
    if (build === null || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) {
      await next();
      return;
    }
    const file = build.files.get(ctx.path);
    if (file !== undefined) return sendFile(ctx, file);
    if (dashboardPaths.includes(ctx.path)) {
      ctx.vary('Accept');
      if (!pageOnly.has(ctx.path) && ctx.accepts('json', 'html') !== 'html') {
        await next();
        return;
      }
      return sendPage(ctx, service, build);
    }
    if (ctx.path === '/sw.js') return sendWorker(ctx, build);
    if (ctx.path === '/manifest.webmanifest') return sendManifest(ctx, service, trustProxy);
    await next();
  };
}

/** Where links to files lead: their own host, or the service's, which an organization's host is not. */
function fileOrigins({ files, settings }: Service): readonly string[] {
  const address = files.publicUrl ?? settings.baseUrl();
  if (address === null || !URL.canParse(address)) return [];
  return [new URL(address).origin];
}

function sendPage(ctx: Context, service: Service, build: Build): void {
  const host = ctx.req.headers.host;
  const slug = organizationSlugFromHost(service, host);
  // Whether there is such an organization is not said here.
  const named = slug === null ? '' : `<meta name="deskbell-organization" content="${escapeHtml(slug)}">`;
  const encrypted = service.settings.baseUrl()?.startsWith('https:') === true || !isLoopbackHeader(host);
  ctx.set('Content-Security-Policy', policy(encrypted ? 'wss:' : 'ws:', fileOrigins(service)));
  ctx.type = 'html';
  ctx.vary('Accept-Language');
  ctx.vary('Cookie');
  // A function: a host may hold a dollar sign, which means something in a text that replaces.
  const html = build.html.replace('</head>', () => `${named}${earlyLinks(ctx, build)}</head>`);
  ctx.vary('Accept-Encoding');
  const encoding = chooseEncoding(ctx.get('accept-encoding'), compressed);
  if (encoding !== null) ctx.set('Content-Encoding', encoding);
  ctx.body = encoding === null ? html : (compressed.get(encoding)?.(html) ?? html);
  revalidate(ctx);
}

/** The page is small, and not the same for everyone: it is compressed when it is asked for. */
const compressed: ReadonlyMap<Encoding, (html: string) => Buffer> = new Map([
  ['br', (html) => brotliCompressSync(html, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })],
]);

/** Tells the browser what the script will ask for, so that it comes beside the script and not behind it. */
function earlyLinks(ctx: Context, { languages }: Build): string {
  // English first: the answer where the browser says nothing.
  const language = ctx.acceptsLanguages(['en', ...languages.keys()]);
  const words = languages.get(language === false ? 'en' : language);
  const links = words === undefined ? [] : [`<link rel="modulepreload" href="assets/${words}">`];
  // Only where there is a session to be asked for: whether it still holds, its answer says.
  if (ctx.path !== '/invitation' && mayHaveSessionCookie(ctx.req.headers.cookie))
    for (const path of firstRequests)
      links.push(`<link rel="preload" as="fetch" crossorigin href="${escapeHtml(path)}">`);
  return links.join('');
}

function sendWorker(ctx: Context, build: Build): void {
  // The worker fetches the shell under its own policy.
  ctx.set('Content-Security-Policy', "default-src 'none'; connect-src 'self'; script-src 'self'");
  ctx.type = 'text/javascript';
  ctx.body = build.worker;
  revalidate(ctx);
}

/** What an installed dashboard is called and looks like. Its organization's name is told to its members only. */
async function sendManifest(ctx: Context, service: Service, trustProxy: number): Promise<void> {
  const credentials = readCredentials(ctx, clientAddressOf(ctx, trustProxy));
  const { name, colour } = await dashboardLook(service, credentials);
  ctx.type = 'application/manifest+json';
  ctx.set('Cache-Control', 'private, no-cache');
  ctx.vary('Cookie');
  ctx.body = JSON.stringify({
    id: './',
    name,
    short_name: name.slice(0, 30),
    start_url: './',
    scope: './',
    display: 'standalone',
    theme_color: colour,
    background_color: '#ffffff',
    icons: [{ src: 'icon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' }],
  });
}

/** Kept by browsers, and asked for again each time. */
function revalidate(ctx: Context): void {
  ctx.set('Cache-Control', 'private, no-cache');
  ctx.etag = createHash('sha256')
    .update(Buffer.isBuffer(ctx.body) ? ctx.body : String(ctx.body))
    .digest('base64url')
    .slice(0, 22);
  ctx.status = 200;
  if (!ctx.fresh) return;
  ctx.status = 304;
  ctx.body = null;
}
