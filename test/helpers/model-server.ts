// Owns a small OpenAI-compatible server for tests: answers as it is told, streamed or whole, and fails in every way
// that a real one may. Must not know what the assistant makes of it.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.ts';

export interface ModelRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly input: readonly string[];
    readonly stream?: boolean;
    readonly response_format?: object;
    readonly max_tokens?: number;
  };
}

export type ModelAnswer = (response: ServerResponse, asked: ModelRequest) => void;

/** A stream of a text in pieces, ended as the protocol says. */
export function streamAnswer(text: string | ((asked: ModelRequest) => string), pieces = 5): ModelAnswer {
  return (response, asked) => {
    const whole = typeof text === 'string' ? text : text(asked);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const step = Math.max(1, Math.ceil(whole.length / pieces));
    for (let at = 0; at < whole.length; at += step) response.write(delta(whole.slice(at, at + step)));
    response.end(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
  };
}

/** One event of a stream. */
export function delta(content: string): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
}

/** An answer in one piece, as servers give that do not stream. */
export function wholeAnswer(text: string): ModelAnswer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] }),
    );
  };
}

/** A streamed answer that comes when the test says so. */
export function deferredAnswer(text: string): { readonly answer: ModelAnswer; go(): void } {
  const open: (() => void)[] = [];
  const go = (): void => {
    for (const one of open.splice(0)) one();
  };
  return { answer: (response, asked) => open.push(() => streamAnswer(text)(response, asked)), go };
}

/** What a model that keeps to the schema says. */
export function answerOf(answer: string, citations: readonly number[], action = 'answer'): string {
  return JSON.stringify({ action, answer, citations });
}

export function statusAnswer(status: number, headers: Readonly<Record<string, string>> = {}): ModelAnswer {
  return (response) =>
    response.writeHead(status, headers).end('{"error":{"message":"no, and here is sk-SECRET"}}');
}

export class ModelServer {
  readonly requests: ModelRequest[] = [];
  answer: ModelAnswer = streamAnswer(answerOf('', [], 'handover'));
  /** Answers for the next requests, before `answer`. */
  readonly next: ModelAnswer[] = [];
  url = '';
  #closed = 0;
  readonly #server = createServer((request, response) => void this.#take(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    response.on('close', () => {
      if (!response.writableFinished) this.#closed += 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const asked: ModelRequest = {
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()) as ModelRequest['body'],
    };
    this.requests.push(asked);
    (this.next.shift() ?? this.answer)(response, asked);
  }

  /** How many answers the client left before their end. */
  get abortedCount(): number {
    return this.#closed;
  }

  /** Everything of the last request that the model would read. */
  get prompt(): string {
    return (this.requests.at(-1)?.body.messages ?? []).map(({ content }) => content).join('\n');
  }

  /** Waits until it was asked so often. */
  async waitForRequests(times: number): Promise<void> {
    await eventually(() => {
      if (this.requests.length < times) throw new Error(`asked ${this.requests.length} of ${times} times`);
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
