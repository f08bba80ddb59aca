// Owns a browser that is subscribed to pushes, and the push service that carries them to it: remembers what came, and
// opens it with an implementation that is not ours.
import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decrypt } from 'http_ece';
import { eventually } from './eventually.ts';

export interface ReceivedPush {
  /** The path that the browser was given. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** `performance.now()` when it was there. */
  readonly at: number;
}

/** A push service on this machine. */
export class PushService {
  readonly all: ReceivedPush[] = [];
  /** What is answered: a status, and headers with it. */
  answer: (push: ReceivedPush) => number | readonly [number, Record<string, string>] = () => 201;
  origin = '';
  readonly #server = createServer((request, response) => void this.#take(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const push = {
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
      at: performance.now(),
    };
    this.all.push(push);
    const answer = this.answer(push);
    const [status, headers] = typeof answer === 'number' ? [answer, {}] : answer;
    response.writeHead(status, headers).end();
  }

  /** Waits until so many came. */
  has(count: number): Promise<readonly ReceivedPush[]> {
    return eventually(() => {
      if (this.all.length < count) throw new Error(`${this.all.length} of ${count} pushes came`);
      return this.all;
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** What a push says once it is opened. */
export interface PushContent {
  readonly title: string;
  readonly body: string;
  readonly conversationId: string | null;
  readonly [field: string]: unknown;
}

/** A browser with a subscription. */
export class PushBrowser {
  readonly subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
  readonly path: string;
  readonly #keys = createECDH('prime256v1');
  readonly #service: PushService;

  constructor(service: PushService) {
    this.#service = service;
    this.path = `/push/${randomBytes(12).toString('base64url')}`;
    this.subscription = {
      endpoint: `${service.origin}${this.path}`,
      keys: {
        p256dh: this.#keys.generateKeys().toString('base64url'),
        auth: randomBytes(16).toString('base64url'),
      },
    };
  }

  get received(): readonly ReceivedPush[] {
    return this.#service.all.filter(({ path }) => path === this.path);
  }

  open({ body }: ReceivedPush): PushContent {
    const { auth } = this.subscription.keys;
    const text = decrypt(body, { version: 'aes128gcm', privateKey: this.#keys, authSecret: auth }).toString();
    return JSON.parse(text) as PushContent;
  }

  /** What it was told, oldest first. */
  get told(): readonly PushContent[] {
    return this.received.map((push) => this.open(push));
  }
}

/** Whether a push is signed for this origin, with the key that browsers were given (RFC 8292). */
export function isSignedPush({ headers }: ReceivedPush, publicKey: string, origin: string): boolean {
  const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(String(headers.authorization)) ?? [];
  const [head = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const made = createPublicKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    },
  });
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<
    string,
    unknown
  >;
  return (
    key === publicKey &&
    verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: made, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    ) &&
    aud === origin &&
    typeof exp === 'number' &&
    /^(?:https:|mailto:)/.test(String(sub))
  );
}
