// Files in a bucket of an S3-compatible store. Requests are signed by aws4fetch and sent by Node's own client, which
// streams a body of known length and follows no redirect.
import { createReadStream } from 'node:fs';
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import type { ByteRange, FileStore, ListedObject, SpooledFile } from '../services/files/file-store.ts';

export interface S3Place {
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
  /** Origin of the store; null: Amazon's. */
  readonly endpoint: string | null;
  readonly region: string;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

interface S3Call {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'HEAD';
  readonly object: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly stream: () => Readable; readonly size: number };
}

/** Without a byte for so long, a request has failed, ms. */
const stallMs = 30_000;
const emptyDigest = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const maxAnswerBytes = 8 * 1_048_576;

/** Asks nothing of the bucket before it is used. */
export function createS3Store(place: S3Place, credentials: S3Credentials): FileStore {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  const send = (call: S3Call): Promise<IncomingMessage> => sendSigned(place, credentials, agents, call);
  const list = async (limit: number, token: string | null): Promise<string> => {
    const query = {
      'list-type': '2',
      'max-keys': String(limit),
      ...(place.prefix === '' ? {} : { prefix: `${place.prefix}/` }),
      ...(token === null ? {} : { 'continuation-token': token }),
    };
    return readText(await expectStatus(await send({ method: 'GET', object: '', query }), [200]));
  };
  return {
    kind: 's3',
    place: `${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`,
    put: async (object, { path, size, digest }: SpooledFile) => {
      const answer = await send({
        method: 'PUT',
        object,
        headers: { 'content-length': String(size), 'x-amz-content-sha256': digest },
        body: { stream: () => createReadStream(path), size },
      });
      (await expectStatus(answer, [200])).resume();
    },
    open: async (object, range?: ByteRange) => {
      const headers = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` };
      const answer = await send({ method: 'GET', object, headers });
      if (answer.statusCode === 404) {
        answer.resume();
        return null;
      }
      return expectStatus(answer, [range === undefined ? 200 : 206]);
    },
    remove: async (object) => {
      (await expectStatus(await send({ method: 'DELETE', object }), [200, 204, 404])).resume();
    },
    list: async function* () {
      for (let token: string | null = null; ;) {
        const answer = await list(1_000, token);
        yield* readObjects(answer);
        token = tagsOf(answer, 'NextContinuationToken')[0] ?? null;
        if (token === null) return;
      }
    },
    check: async () => {
      await list(1, null);
    },
  };
}

async function sendSigned(
  place: S3Place,
  credentials: S3Credentials,
  agents: { readonly http: HttpAgent; readonly https: HttpsAgent },
  { method, object, query = {}, headers = {}, body }: S3Call,
): Promise<IncomingMessage> {
  const { AwsV4Signer } = await import('aws4fetch');
  const url = urlOf(place, object);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const signed = await new AwsV4Signer({
    accessKeyId: credentials.accessKeyId,
    secretAccessKey: credentials.secretAccessKey,
    ...(credentials.sessionToken === null ? {} : { sessionToken: credentials.sessionToken }),
    method,
    url: url.href,
    service: 's3',
    region: place.region,
    headers: { 'x-amz-content-sha256': emptyDigest, ...headers },
    // The length is part of what is signed.
    allHeaders: true,
  }).sign();
  const target = signed.url;
  const tls = target.protocol === 'https:';
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = (tls ? requestHttps : requestHttp)(
    target,
    {
      method: signed.method,
      headers: Object.fromEntries(signed.headers),
      agent: tls ? agents.https : agents.http,
      timeout: stallMs,
    },
    resolve,
  );
  asked.once('timeout', () => asked.destroy(new Error(`${place.bucket} does not answer`)));
  asked.once('error', reject);
  if (body === undefined) asked.end();
  else
    body
      .stream()
      .once('error', (error) => asked.destroy(error))
      .pipe(asked);
  return promise;
}

/** By path where an endpoint is named, as every store knows it; else by the bucket's own host. */
function urlOf({ bucket, prefix, endpoint, region }: S3Place, object: string): URL {
  const key = [prefix, object].filter((part) => part !== '' && object !== '').join('/');
  return endpoint === null
    ? new URL(`https://${bucket}.s3.${region}.amazonaws.com/${key}`)
    : new URL(`${endpoint.replace(/\/+$/, '')}/${bucket}${key === '' ? '' : `/${key}`}`);
}

async function expectStatus(answer: IncomingMessage, wanted: readonly number[]): Promise<IncomingMessage> {
  const { statusCode = 0 } = answer;
  if (wanted.includes(statusCode)) return answer;
  const text = await readText(answer);
  const code = tagsOf(text, 'Code')[0];
  throw new Error(`the store of files answered ${statusCode}${code === undefined ? '' : ` ${code}`}`);
}

async function readText(answer: IncomingMessage): Promise<string> {
  let text = '';
  answer.setEncoding('utf8');
  for await (const piece of answer) {
    text += String(piece);
    if (text.length > maxAnswerBytes) throw new Error('the store of files answered too much');
  }
  return text;
}

function readObjects(list: string): ListedObject[] {
  return tagsOf(list, 'Contents').flatMap((entry) => {
    const object = tagsOf(entry, 'Key')[0]?.split('/').at(-1) ?? '';
    const modifiedAt = Date.parse(tagsOf(entry, 'LastModified')[0] ?? '');
    return /^[0-9a-f]{64}$/.test(object) && !Number.isNaN(modifiedAt) ? [{ object, modifiedAt }] : [];
  });
}

/** The contents of elements by their name; what is read here is hex, times and tokens. */
function tagsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, content = '']) =>
    content
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}
