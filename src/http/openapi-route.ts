// GET /openapi.json and GET /docs: the contract for programs and for people, made once,
// at the first request, and kept with its compressed forms.
import { createHash } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type Koa from 'koa';
import { Failure } from '../services/failure.ts';
import { openApiDocument } from '../services/openapi.ts';
import { docsPage } from './docs-page.ts';
import { chooseEncoding, type Encoding } from './static-files.ts';

interface Made {
  readonly type: string;
  readonly policy: string | null;
  readonly digest: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<Encoding, Buffer>;
}

export const documentPaths = ['/openapi.json', '/docs'] as const;
type DocumentPath = (typeof documentPaths)[number];

function make(path: DocumentPath): Made {
  const document = openApiDocument();
  const page = path === '/docs' ? docsPage(document) : null;
  const plain = Buffer.from(page === null ? `${JSON.stringify(document, null, 1)}\n` : page.html);
  return {
    type: page === null ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8',
    policy: page === null ? null : page.policy,
    digest: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    plain,
    encoded: new Map<Encoding, Buffer>([
      ['br', brotliCompressSync(plain)],
      ['gzip', gzipSync(plain)],
    ]),
  };
}

/** Serves both, to any origin, for 5 minutes and then with revalidation. */
export function serveDocuments(): Koa.Middleware {
  const made = new Map<DocumentPath, Made>();
  return async (ctx, next) => {
    const path = documentPaths.find((one) => one === ctx.path);
    if (path === undefined) {
      await next();
      return undefined;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD');
      throw new Failure('method_not_allowed', `${ctx.method} is not possible here.`);
    }
    let document = made.get(path);
    if (document === undefined) {
      document = make(path);
      made.set(path, document);
    }
    const encoding = chooseEncoding(ctx.get('Accept-Encoding'), document.encoded);
    ctx.set({
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Cache-Control': 'public, max-age=300, stale-while-revalidate=86400',
      'Content-Type': document.type,
      ETag: `"${document.digest}${encoding === null ? '' : `-${encoding}`}"`,
      Vary: 'Accept-Encoding',
      ...(document.policy === null ? {} : { 'Content-Security-Policy': document.policy }),
    });
    ctx.status = 200;
    if (ctx.fresh) {
      ctx.status = 304;
      return undefined;
    }
    if (encoding !== null) ctx.set('Content-Encoding', encoding);
    ctx.body = (encoding === null ? undefined : document.encoded.get(encoding)) ?? document.plain;
    return undefined;
  };
}
