// Serves what is made once and kept: the contract, the documentation, the start page, the icons. Each is made at its first
// request and kept with its compressed forms. Knows no document by name.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type Koa from 'koa';
import { ServiceError } from '../services/core/errors.ts';
import { chooseEncoding, type Encoding } from './static-files.ts';

export interface Document {
  /** The media type with its charset. */
  readonly type: string;
  /** The Content-Security-Policy; absent: what every answer has. */
  readonly policy?: string;
  /** False: the path answers only clients that prefer HTML to JSON, and others get on to the next middleware. */
  readonly forAll?: false;
  readonly make: () => Promise<string | Buffer> | string | Buffer;
}

interface Made {
  readonly digest: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<Encoding, Buffer>;
}

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

async function make({ type, make: run }: Document): Promise<Made> {
  const plain = Buffer.from(await run());
  const encoded = new Map<Encoding, Buffer>();
  // Icons are compressed already, or so small that it gains nothing.
  if (!type.startsWith('image/x-icon')) {
    encoded.set(
      'br',
      await compressBrotli(plain, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
      }),
    );
    encoded.set('gzip', await compressGzip(plain));
  }
  return { digest: createHash('sha256').update(plain).digest('base64url').slice(0, 22), plain, encoded };
}

/**
 * Serves documents to any origin, for 5 minutes and then with revalidation.
 * @param documents by path
 */
export function serveDocuments(documents: ReadonlyMap<string, Document>): Koa.Middleware {
  const kept = new Map<string, Promise<Made>>();
  return async (ctx, next) => {
    const document = documents.get(ctx.path);
    if (document === undefined) {
      await next();
      return;
    }
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
    if (document.forAll === false) {
      ctx.vary('Accept');
      if (!isRead || ctx.accepts('json', 'html') !== 'html') {
        await next();
        return;
      }
    }
    if (!isRead) {
      ctx.set('Allow', 'GET, HEAD');
      throw new ServiceError('method_not_allowed', `${ctx.method} is not possible here.`);
    }
    let making = kept.get(ctx.path);
    if (making === undefined) {
      making = make(document);
      kept.set(ctx.path, making);
      // The next request tries again.
      making.catch(() => kept.delete(ctx.path));
    }
    const { digest, plain, encoded } = await making;
    const encoding = chooseEncoding(ctx.get('Accept-Encoding'), encoded);
    ctx.vary('Accept-Encoding');
    ctx.set({
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Cache-Control': 'public, max-age=300, stale-while-revalidate=86400',
      'Content-Type': document.type,
      ETag: `"${digest}${encoding === null ? '' : `-${encoding}`}"`,
      ...(document.policy === undefined ? {} : { 'Content-Security-Policy': document.policy }),
    });
    ctx.status = 200;
    if (ctx.fresh) {
      ctx.status = 304;
      return undefined;
    }
    if (encoding !== null) ctx.set('Content-Encoding', encoding);
    ctx.body = (encoding === null ? undefined : encoded.get(encoding)) ?? plain;
    return undefined;
  };
}
