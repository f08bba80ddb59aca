// Owns a webhook's receiver: remembers what came, checks signatures as Standard Webhooks
// says (written from its text, not from ours), and fails in whatever way a test asks for.
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.ts';

export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

export type Answer = (response: ServerResponse, received: Received) => void;

export class Receiver {
  readonly all: Received[] = [];
  /** What was answered with success, in order. */
  readonly taken: Received[] = [];
  answer: Answer = (response) => response.writeHead(204).end();
  url = '';
  readonly #server = createServer((request, response) => void this.#take(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
    return this;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const received: Received = {
      id: String(request.headers['webhook-id']),
      headers: request.headers,
      body,
      event: JSON.parse(body) as Received['event'],
    };
    this.all.push(received);
    response.on('finish', () => {
      if (response.statusCode < 300) this.taken.push(received);
    });
    this.answer(response, received);
  }

  /** From now on: a status and nothing else. */
  answers(status: number): void {
    this.answer = (response) => response.writeHead(status).end();
  }

  /** Waits until so many were taken. */
  async has(count: number): Promise<readonly Received[]> {
    return eventually(() => {
      if (this.taken.length < count)
        throw new Error(`${this.taken.length} of ${count} arrived, ${this.all.length} attempts`);
      return this.taken;
    });
  }

  /** Waits until so many attempts were made, whatever was answered. */
  async tried(count: number): Promise<void> {
    await eventually(() => {
      if (this.all.length < count) throw new Error(`${this.all.length} of ${count} attempts`);
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** True when the signature is right for the secret. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  // Blanks between: after a rotation there are two.
  return String(headers['webhook-signature'])
    .split(' ')
    .includes(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
}
