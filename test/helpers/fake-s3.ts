// Owns a bucket of the tests: keeps objects in memory, and holds every request against the rules of Signature Version 4
// as Amazon publishes them, written anew here. Can be told to fail. Must not know the client.
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** RFC 3986, as Signature Version 4 wants it. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyDigest: string;
}

/** The signature that a request must have. */
export function signatureOf(
  { method, path, query, headers, bodyDigest }: SignedRequest,
  secret: string,
  scope: { readonly date: string; readonly region: string; readonly service: string },
  signedHeaders: string,
): string {
  const canonical = [
    method,
    path
      .split('/')
      .map((part) => encode(decodeURIComponent(part)))
      .join('/'),
    query
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    bodyDigest,
  ].join('\n');
  const day = scope.date.slice(0, 8);
  const place = `${day}/${scope.region}/${scope.service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', scope.date, place, sha256(canonical)].join('\n');
  const key = [day, scope.region, scope.service, 'aws4_request'].reduce<Buffer | string>(
    (from, part) => hmac(from, part),
    `AWS4${secret}`,
  );
  return hmac(key, toSign).toString('hex');
}

export class FakeS3 {
  readonly objects = new Map<string, { readonly bytes: Buffer; modifiedAt: number }>();
  /** What was asked, as `PUT bucket/key`. */
  readonly asked: string[] = [];
  readonly accessKeyId = 'AKIDEXAMPLE';
  readonly secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
  readonly region = 'eu-central-1';
  readonly bucket = 'desk-files';
  /** Requests of a method are refused with this status. */
  readonly failing = new Map<string, number>();
  /** How many keys a list holds. */
  pageSize = 2;
  /** What a list is answered with instead, and what is asked for is not looked at. */
  listed: ((token: string | null) => string) | null = null;
  /** Takes the place of every answer that a rightful request gets. */
  instead: ((response: ServerResponse) => void) | null = null;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  /** @returns its endpoint */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = new URL(request.url ?? '/', 'http://s3');
    const { method = 'GET' } = request;
    const fail = (status: number, code: string): void => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
    };
    const problem = this.#problemOf(request, url, body);
    if (problem !== null) return fail(403, problem);
    const [, bucket = '', ...rest] = decodeURIComponent(url.pathname).split('/');
    if (bucket !== this.bucket) return fail(404, 'NoSuchBucket');
    const key = rest.join('/');
    this.asked.push(`${method} ${bucket}/${key}`);
    if (this.instead !== null) return this.instead(response);
    const failing = this.failing.get(method);
    if (failing !== undefined) return fail(failing, 'SlowDown');
    if (method === 'GET' && key === '') return this.#list(url, response);
    const found = this.objects.get(key);
    switch (method) {
      case 'PUT':
        if (request.headers['transfer-encoding'] !== undefined) return fail(411, 'MissingContentLength');
        this.objects.set(key, { bytes: body, modifiedAt: Date.now() });
        response.end();
        return undefined;
      case 'DELETE':
        this.objects.delete(key);
        response.writeHead(204).end();
        return undefined;
      default: {
        if (found === undefined) return fail(404, 'NoSuchKey');
        const [, from = '0', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        response.statusCode = to === '' ? 200 : 206;
        response.end(to === '' ? found.bytes : found.bytes.subarray(Number(from), Number(to) + 1));
        return undefined;
      }
    }
  }

  #problemOf(request: IncomingMessage, url: URL, body: Buffer): string | null {
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const form =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/;
    const [, id, day, region, signed = '', signature] = form.exec(headers['authorization'] ?? '') ?? [];
    const date = headers['x-amz-date'] ?? '';
    const digest = headers['x-amz-content-sha256'] ?? '';
    if (id !== this.accessKeyId || region !== this.region || !date.startsWith(day ?? '?'))
      return 'AccessDenied';
    const names = signed.split(';');
    if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.includes(name)))
      return 'AccessDenied';
    if (digest !== sha256(body)) return 'XAmzContentSHA256Mismatch';
    const wanted = signatureOf(
      {
        method: request.method ?? '',
        path: url.pathname,
        query: [...url.searchParams],
        headers,
        bodyDigest: digest,
      },
      this.secret,
      { date, region, service: 's3' },
      signed,
    );
    return wanted === signature ? null : 'SignatureDoesNotMatch';
  }

  #list(url: URL, response: ServerResponse): void {
    if (this.listed !== null)
      return void response.end(this.listed(url.searchParams.get('continuation-token')));
    const prefix = url.searchParams.get('prefix') ?? '';
    const after = url.searchParams.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    const page = keys.slice(0, this.pageSize);
    const entries = page.map(
      (key) =>
        `<Contents><Key>${key}</Key><LastModified>${new Date(this.objects.get(key)?.modifiedAt ?? 0).toISOString()}</LastModified></Contents>`,
    );
    const next =
      keys.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    response.end(`<?xml version="1.0"?><ListBucketResult>${entries.join('')}${next}</ListBucketResult>`);
  }
}
