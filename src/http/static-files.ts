// Owns serving what runs in browsers: the built files of dist/web, by exact name.
// Must not build anything and must not turn a path into a file name: it only looks names up.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import type Koa from 'koa';
import type { Context } from 'koa';
import { ServiceError } from '../services/core/errors.ts';

export type Encoding = 'br' | 'gzip';

export interface StaticFile {
  readonly type: string;
  readonly digest: string;
  /** A name with a hash of the content never means anything else. */
  readonly immutable: boolean;
  readonly plain: () => Buffer;
  readonly encoded: ReadonlyMap<Encoding, () => Buffer>;
}

const types: ReadonlyMap<string, string> = new Map([
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['json', 'application/json; charset=utf-8'],
]);
/** The better one first. */
const encodings: readonly Encoding[] = ['br', 'gzip'];
/** What a file's name ends with where it is kept compressed. */
const compressed = '.br';
const hashedName = /-[0-9A-Z]{8}\.[a-z]+$/;

/** The folder of the built files: beside the bundle when published, in the checkout otherwise; null before the first build. */
export function webFolder(): string | null {
  const candidates = [join(import.meta.dirname, 'web'), join(import.meta.dirname, '../../dist/web')];
  return candidates.find((folder) => existsSync(folder)) ?? null;
}

/**
 * Serves /widget.js, /sdk.js and what they load (settled §11): pre-compressed, to any origin, names with a hash
 * for ever and stable names for 5 minutes with revalidation.
 *
 * @param folder where the built files are; null when nothing was built, and then nothing is served
 */
export function staticFiles(folder: string | null = webFolder()): Koa.Middleware {
  const files = folder === null ? new Map<string, StaticFile>() : readFiles(folder);
  return async (ctx, next) => {
    const file = files.get(ctx.path);
    if (file === undefined) {
      await next();
      return;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', 'GET, HEAD');
      throw new ServiceError('method_not_allowed', `${ctx.method} is not possible here.`);
    }
    ctx.set({
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Timing-Allow-Origin': '*',
    });
    sendFile(ctx, file);
  };
}

/** Answers a GET or HEAD with a file, compressed as the client takes it. */
export function sendFile(ctx: Context, file: StaticFile): void {
  const encoding = chooseEncoding(ctx.get('Accept-Encoding'), file.encoded);
  ctx.set({
    'Cache-Control': file.immutable
      ? 'public, max-age=31536000, immutable'
      : 'public, max-age=300, stale-while-revalidate=86400',
    'Content-Type': file.type,
    ETag: `"${file.digest}${encoding === null ? '' : `-${encoding}`}"`,
    Vary: 'Accept-Encoding',
  });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  if (encoding !== null) ctx.set('Content-Encoding', encoding);
  ctx.body = (encoding === null ? undefined : file.encoded.get(encoding)?.()) ?? file.plain();
}

/**
 * Every file of a folder by its path on the server. They are there with brotli alone, few and small, so they stay in memory.
 * @param prefix of the paths
 */
export function readFiles(folder: string, prefix = '/'): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const packed of readdirSync(folder).filter((one) => one.endsWith(compressed))) {
    const name = packed.slice(0, -compressed.length);
    const type = types.get(name.slice(name.lastIndexOf('.') + 1));
    if (type === undefined) continue;
    const bytes = readFileSync(join(folder, packed));
    // Few clients take no brotli. Their copies are made when the first of them asks, and are not in the package.
    let unpacked: Buffer | undefined;
    const plain = (): Buffer => (unpacked ??= brotliDecompressSync(bytes));
    let zipped: Buffer | undefined;
    files.set(prefix + name, {
      type,
      digest: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
      immutable: hashedName.test(name),
      plain,
      encoded: new Map<Encoding, () => Buffer>([
        ['br', () => bytes],
        ['gzip', () => (zipped ??= gzipSync(plain(), { level: 9 }))],
      ]),
    });
  }
  return files;
}

/**
 * The best encoding that the client takes (RFC 9110, 12.5.3); null: as it is.
 * @param accepts the header's text, empty when there was none
 */
export function chooseEncoding(accepts: string, offered: ReadonlyMap<Encoding, unknown>): Encoding | null {
  const weights = new Map<string, number>();
  for (const part of accepts.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  const wanted = (name: string): number => weights.get(name) ?? weights.get('*') ?? 0;
  return encodings.find((encoding) => offered.has(encoding) && wanted(encoding) > 0) ?? null;
}
