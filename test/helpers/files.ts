// Owns making files for tests and carrying them to the server and back, as a client would. Must not judge the answers.
import { readdir } from 'node:fs/promises';
import { request as requestHttp } from 'node:http';
import { basename, join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import type { HeaderMap, Reply } from './client.ts';
import type { FixtureApp, TestClient, TestMember } from './fixtures.ts';

export interface UploadOptions {
  readonly name?: string;
  /** As it stands in the header, for names that are not encoded. */
  readonly rawName?: string;
  readonly type?: string;
  readonly headers?: HeaderMap;
}

/** Who uploads: a visitor by the headers of one, a member by theirs. */
type Uploader = Pick<TestClient, 'headers'> | Pick<TestMember, 'headers' | 'token'>;

/** Uploads a file as a visitor or a member. */
export function uploadFile(
  app: Pick<FixtureApp, 'url'>,
  person: Uploader,
  bytes: Buffer,
  { name = 'file.bin', rawName, type = 'application/octet-stream', headers = {} }: UploadOptions = {},
): Promise<Reply> {
  const path = 'token' in person ? '/api/v1/staff/files' : '/api/v1/files';
  const all = {
    ...person.headers,
    'content-type': type,
    'x-file-name': rawName ?? encodeURIComponent(name),
    ...headers,
  };
  return exchange(new URL(app.url + path), 'POST', all, bytes).then(({ bytes: answer, ...rest }) => {
    const text = answer.toString();
    return { ...rest, text, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
  });
}

export interface Download {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Reads what a link names. */
export function download(url: string, headers: HeaderMap = {}, method = 'GET'): Promise<Download> {
  return exchange(new URL(url), method, headers);
}

function exchange(url: URL, method: string, headers: HeaderMap, body?: Buffer): Promise<Download> {
  const { promise, resolve, reject } = Promise.withResolvers<Download>();
  const asked = requestHttp(url, { method, headers, agent: false }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('error', reject);
    response.once('end', () => {
      const got = new Headers();
      for (let at = 0; at < response.rawHeaders.length; at += 2)
        got.append(response.rawHeaders[at] ?? '', response.rawHeaders[at + 1] ?? '');
      resolve({ status: response.statusCode ?? 0, headers: got, bytes: Buffer.concat(chunks) });
    });
  });
  asked.once('error', reject);
  asked.end(body);
  return promise;
}

/** A chunk of a PNG. */
export function pngChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

export const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex');

/** A grey PNG. @param extra chunks between its head and its data */
export function pngPicture(width: number, height: number, extra: readonly Buffer[] = []): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const rows = Buffer.alloc((width + 1) * height, 0x80);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  return Buffer.concat([
    pngSignature,
    pngChunk('IHDR', head),
    ...extra,
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The objects in a server's folder of files, in their order. */
export async function storedObjects({ folder }: { readonly folder: string }): Promise<string[]> {
  const names = await readdir(join(folder, 'files'), { recursive: true }).catch(() => []);
  return names
    .map((name) => basename(name))
    .filter((name) => /^[0-9a-f]{64}$/.test(name))
    .toSorted();
}
