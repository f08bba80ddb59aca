// Owns requests as an attack sends them: any body as bytes, whole or in pieces, over connections that are kept.
// Must not judge the reply.
import { Agent, request as open } from 'node:http';
import type { Reply } from '../helpers/client.ts';

export interface RestRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** How many pieces the body goes out in. */
  readonly pieces: number;
  /** Without a length, in chunks. */
  readonly chunked: boolean;
}

export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  close(): void {
    this.#agent.destroy();
  }

  send(wanted: RestRequest): Promise<Reply> {
    return this.#exchange(wanted, this.#agent);
  }

  /** @param agent false: over a connection of its own */
  #exchange(wanted: RestRequest, agent: Agent | false): Promise<Reply> {
    const { method, path, headers, body, pieces, chunked } = wanted;
    const length = body === null || chunked ? {} : { 'content-length': String(body.length) };
    return new Promise((resolve, reject) => {
      const call = open(
        `${this.#url}/`,
        { agent, method, path, headers: { ...headers, ...length } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            const names = Object.entries(response.headers);
            resolve({
              status: response.statusCode ?? 0,
              headers: new Headers(names.map(([name, value]): [string, string] => [name, String(value)])),
              text,
              body: text === '' ? undefined : JSON.parse(text),
            });
          });
        },
      );
      call.on('error', (error: NodeJS.ErrnoException) => {
        // The server closed a connection that had waited, just as it was taken again: on a slow machine that is often so.
        if (call.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE'))
          this.#exchange(wanted, false).then(resolve, reject);
        else reject(error);
      });
      if (body === null) return void call.end();
      const size = Math.ceil(body.length / pieces);
      for (let at = 0; at < body.length; at += size) call.write(body.subarray(at, at + size));
      call.end();
    });
  }
}
