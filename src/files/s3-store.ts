// Files in a bucket of an S3-compatible store. Requests are signed by aws4fetch and sent by Node's own client, which
// streams a body of known length and follows no redirect.
import { createReadStream } from 'node:fs';
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { isObjectName } from '../engine/object-path.ts';
import { boundAnswer } from '../net/http-request.ts';
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
/** What an answer in pieces may have between them, to each byte of one. */
const framing = 8;
/** Of a list, in one answer. Each is taken apart, and stores give so many at most. */
const pageObjects = 1_000;
/** Of a key, a time, a token or a code. */
const maxContentLength = 8_192;

/** Asks nothing of the bucket before it is used. */
export function createS3Store(place: S3Place, credentials: S3Credentials): FileStore {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  const ask = (call: S3Call): Promise<Said> => sendSigned(place, credentials, agents, call);
  const send = async (call: S3Call): Promise<IncomingMessage> => (await ask(call)).answer;
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
      const said = await ask({ method: 'GET', object, headers });
      if (said.answer.statusCode === 404) {
        said.answer.resume();
        return null;
      }
      await expectStatus(said.answer, [range === undefined ? 200 : 206]);
      return readObject(said);
    },
    remove: async (object) => {
      (await expectStatus(await send({ method: 'DELETE', object }), [200, 204, 404])).resume();
    },
    list: async function* () {
      const isCircle = circleFinder();
      for (let token: string | null = null; ;) {
        const answer = await list(pageObjects, token);
        yield* readObjects(answer);
        token = firstTag(answer, 'NextContinuationToken');
        if (token === null) return;
        if (isCircle(token))
          throw new Error(
            'the store of files lists in a circle: it named a page that was read before as the next',
          );
      }
    },
    check: async () => {
      await list(1, null);
    },
  };
}

/** An answer, of which a bounded number of bytes comes, what is between its pieces included. */
interface Said {
  readonly answer: IncomingMessage;
  /** Lets so many bytes more come. */
  readonly allow: (bytes: number) => void;
}

/** The bytes of an object, whatever their number: what is between them is bounded. */
function readObject({ answer, allow }: Said): AsyncIterable<Uint8Array> {
  const { 'content-length': length } = answer.headers;
  if (length === undefined) return readPieces({ answer, allow });
  // There is nothing between.
  allow(Number(length));
  return answer;
}

async function* readPieces({ answer, allow }: Said): AsyncGenerator<Uint8Array> {
  for await (const chunk of answer) {
    if (!(chunk instanceof Uint8Array)) continue;
    allow(framing * chunk.length);
    yield chunk;
  }
}

async function sendSigned(
  place: S3Place,
  credentials: S3Credentials,
  agents: { readonly http: HttpAgent; readonly https: HttpsAgent },
  { method, object, query = {}, headers = {}, body }: S3Call,
): Promise<Said> {
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
  let allow: Said['allow'] = () => undefined;
  asked.once('socket', (socket) => {
    allow = boundAnswer(asked, socket, framing * maxAnswerBytes);
  });
  if (body === undefined) asked.end();
  else
    body
      .stream()
      .once('error', (error) => asked.destroy(error))
      .pipe(asked);
  return { answer: await promise, allow };
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
  const code = firstTag(text, 'Code');
  throw new Error(
    `the store of files answered ${statusCode}${code === null ? '' : ` ${code.slice(0, 100)}`}`,
  );
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
  const found: ListedObject[] = [];
  let entries = 0;
  for (const entry of tagsOf(list, 'Contents')) {
    entries += 1;
    if (entries > pageObjects) throw new Error('the store of files lists more than it was asked for');
    const key = firstTag(entry, 'Key') ?? '';
    const object = key.slice(key.lastIndexOf('/') + 1);
    const modifiedAt = Date.parse(firstTag(entry, 'LastModified') ?? '');
    if (isObjectName(object) && !Number.isNaN(modifiedAt)) found.push({ object, modifiedAt });
  }
  return found;
}

/** Tells when a token comes again, soon after a circle is closed, and remembers one of them. */
function circleFinder(): (token: string) => boolean {
  let remembered: string | null = null;
  let steps = 0;
  let rememberAt = 1;
  return (token) => {
    if (token === remembered) return true;
    steps += 1;
    // Further and further apart: at last one that lies in the circle is remembered for the whole of it.
    if (steps === rememberAt) {
      remembered = token;
      rememberAt *= 2;
    }
    return false;
  };
}

function firstTag(xml: string, name: string): string | null {
  const { value } = tagsOf(xml, name).next();
  if (value === undefined) return null;
  if (value.length > maxContentLength)
    throw new Error(`the store of files answered with a ${name} of more than ${maxContentLength} characters`);
  return unescaped(value);
}

/** The contents of elements by their name, one after another. One without an end is the last: none behind it has one. */
function* tagsOf(xml: string, name: string): Generator<string, undefined> {
  const opening = `<${name}>`;
  const closing = `</${name}>`;
  for (let at = 0; ;) {
    const start = xml.indexOf(opening, at);
    const end = start < 0 ? -1 : xml.indexOf(closing, start + opening.length);
    if (end < 0) return undefined;
    yield xml.slice(start + opening.length, end);
    at = end + closing.length;
  }
}

/** What is read here is hex, times and tokens. */
const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
