// GET /api/v1/files/:id: the bytes of a file, for those who have its link. Whatever is in a file, no page of this origin runs
// it: it is shown or saved, never interpreted.
import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { visitorApiPrefix } from '../protocol/codes.ts';
import { notFound, ServiceError } from '../services/core/errors.ts';
import { findLinkedFile } from '../services/files/download.ts';
import { takeTransferSeat } from '../services/files/transfer-seats.ts';
import { contentDisposition } from '../services/files/names.ts';
import type { ByteRange } from '../services/files/file-store.ts';
import type { Service } from '../services/service.ts';
import { clientAddressOf, queryValues } from './request.ts';
import { untilClosed } from './responses.ts';

const filePath = new RegExp(`^${visitorApiPrefix}/files/([0-9a-f-]{36})$`, 'i');
const methods = 'GET, HEAD, OPTIONS';

/** The path of downloads, as the metrics name it. */
export const fileRoute = `${visitorApiPrefix}/files/:fileId`;

/** True for the path of a download. */
export function isFilePath(path: string): boolean {
  return filePath.test(path);
}

/**
 * Serves files. On a host of their own nothing else is served.
 * @param trustProxy how many reverse proxies are in front, whose X-Forwarded-For is believed
 */
export function serveFiles(service: Service, trustProxy: number): Middleware {
  const ownHost = service.files.publicUrl === null ? null : new URL(service.files.publicUrl).host;
  return (ctx, next) => {
    const id = filePath.exec(ctx.path)?.[1];
    if (id === undefined) {
      if (ownHost !== null && ctx.req.headers.host === ownHost && ctx.path !== '/healthz')
        throw notFound('path');
      return next();
    }
    // A link is right enough, so any page may read what it names.
    ctx.set('Access-Control-Allow-Origin', '*');
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set({
        Allow: methods,
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': 'Range',
      });
      return undefined;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('Allow', methods);
      throw new ServiceError(
        'method_not_allowed',
        `${ctx.method} is not possible here. Possible are ${methods}.`,
      );
    }
    return sendFile(ctx, service, id, trustProxy);
  };
}

async function sendFile(ctx: Context, service: Service, id: string, trustProxy: number): Promise<void> {
  const query = queryValues(ctx);
  const { row, inline, expires } = await findLinkedFile(service, {
    id,
    expires: single(query.get('expires')),
    signature: single(query.get('signature')),
  });
  const etag = `"${row.digest.slice(0, 32)}"`;
  const seconds = Math.max(0, Math.floor((expires - service.engine.clock.now()) / 1000));
  ctx.set({
    'Accept-Ranges': 'bytes',
    'Access-Control-Expose-Headers': 'Content-Disposition, Content-Range, ETag',
    'Cache-Control': `private, max-age=${seconds}, immutable`,
    'Content-Disposition': contentDisposition(inline ? 'inline' : 'attachment', row.name),
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Content-Type': row.type,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    ETag: etag,
  });
  if (ctx.get('If-None-Match') === etag) {
    ctx.status = 304;
    return;
  }
  const range = readRange(ctx, row.size, etag);
  if (range === 'unsatisfiable') {
    ctx.set('Content-Range', `bytes */${row.size}`);
    throw new ServiceError(
      'invalid_range',
      `The file has ${row.size} bytes. Ask for a Range that begins within them.`,
    );
  }
  const length = range === null ? row.size : range.end - range.start + 1;
  if (ctx.method === 'GET')
    untilClosed(ctx, await takeTransferSeat(service, 'download', clientAddressOf(ctx, trustProxy)));
  const bytes = ctx.method === 'HEAD' ? null : await service.files.store.open(row.object, range ?? undefined);
  if (bytes === null && ctx.method !== 'HEAD') throw notFound('file');
  ctx.status = range === null ? 200 : 206;
  if (range !== null) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${row.size}`);
  if (bytes !== null) ctx.body = bytes instanceof Readable ? bytes : Readable.from(bytes);
  // Koa guesses for a stream that has no type.
  ctx.set('Content-Type', row.type);
  ctx.length = length;
}

function single(values: readonly string[] = []): string {
  return values.length === 1 ? (values[0] ?? '') : '';
}

/** One range; several at once, or what can't be read, is answered with the whole file. */
function readRange(ctx: Context, size: number, etag: string): ByteRange | 'unsatisfiable' | null {
  const [, from = '', to = ''] = /^bytes=([0-9]{0,15})-([0-9]{0,15})$/.exec(ctx.get('Range')) ?? [];
  const condition = ctx.get('If-Range');
  if ((from === '' && to === '') || (condition !== '' && condition !== etag)) return null;
  if (from === '') {
    const last = Math.min(Number(to), size);
    return last === 0 ? 'unsatisfiable' : { start: size - last, end: size - 1 };
  }
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== '' && Number(to) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}
