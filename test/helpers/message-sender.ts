// Owns: clients that keep sending while a server comes and goes, and remember what they were
// promised. Must not decide what is right: that is the test's part.
import { WebSocket } from 'ws';

/** Who sends, and where. */
export interface SenderOptions {
  readonly transport: 'rest' | 'ws';
  /** The credentials of a visitor at a web page. */
  readonly headers: Readonly<Record<string, string>> & { readonly origin: string };
  readonly conversationId: string;
  /** Called after every acknowledgement. */
  readonly onAck: () => void;
}

/** A message under way at once, per WebSocket sender: enough for several in one commit. */
const underWay = 4;

export class Sender {
  /** Client id → the server's id, in the order of the acknowledgements. */
  readonly acked = new Map<string, string>();
  /** An acknowledgement that named another id than an earlier one of the same message. */
  readonly contradictions: string[] = [];
  readonly conversationId: string;
  readonly #options: SenderOptions;
  #unacked: string[] = [];
  #next = 0;
  #running = false;
  #socket: WebSocket | null = null;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: SenderOptions) {
    this.#options = options;
    this.conversationId = options.conversationId;
  }

  get unacked(): readonly string[] {
    return this.#unacked;
  }

  /** Connects, sends again whatever was not acknowledged, in the old order, and goes on with `more` new messages. */
  async start(url: string, more = Infinity): Promise<void> {
    this.#running = true;
    let left = more;
    const next = (): string | null => {
      if (!this.#running || left <= 0) return null;
      left -= 1;
      this.#next += 1;
      const id = `${this.conversationId.slice(-6)}-${this.#next}`;
      this.#unacked.push(id);
      return id;
    };
    if (this.#options.transport === 'ws') await this.#startSocket(url, next);
    else this.#loop = this.#sendByRest(url, next);
  }

  /** Stops sending; resolves when nothing more can come in. */
  async stop(): Promise<void> {
    this.#running = false;
    const socket = this.#socket;
    if (socket !== null && socket.readyState !== socket.CLOSED) {
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.terminate();
      await closed;
    }
    await this.#loop;
  }

  #ack(clientId: string, serverId: string): void {
    const earlier = this.acked.get(clientId);
    if (earlier !== undefined && earlier !== serverId)
      this.contradictions.push(`${clientId}: ${earlier} and ${serverId}`);
    this.acked.set(clientId, serverId);
    this.#unacked = this.#unacked.filter((id) => id !== clientId);
    this.#options.onAck();
  }

  async #startSocket(url: string, next: () => string | null): Promise<void> {
    const { headers, conversationId } = this.#options;
    const reply = await fetch(`${url}/api/v1/widget/ws-token`, { method: 'POST', headers });
    const { token } = (await reply.json()) as { token: string };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v1/ws?token=${token}`, {
      headers: { origin: headers.origin },
    });
    this.#socket = socket;
    const send = (clientMessageId: string): void =>
      socket.send(
        JSON.stringify({
          type: 'message:send',
          payload: { conversationId, content: clientMessageId, clientMessageId },
        }),
      );
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      const { type, payload } = JSON.parse(data.toString()) as {
        type: string;
        payload: { clientMessageId: string; serverMessageId: string };
      };
      if (type === 'error') throw new Error(data.toString());
      if (type !== 'message:ack') return;
      this.#ack(payload.clientMessageId, payload.serverMessageId);
      const id = next();
      if (id !== null) send(id);
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('close', () => reject(new Error('the socket was closed before it opened')));
    });
    for (const id of this.#unacked) send(id);
    for (let index = this.#unacked.length; index < underWay; index += 1) {
      const id = next();
      if (id !== null) send(id);
    }
  }

  async #sendByRest(url: string, next: () => string | null): Promise<void> {
    const { headers, conversationId } = this.#options;
    for (let id = this.#unacked[0] ?? next(); id !== null; id = this.#unacked[0] ?? next()) {
      if (!this.#running) return;
      let reply: Response;
      let body: { message: { id: string } };
      try {
        reply = await fetch(`${url}/api/v1/conversations/${conversationId}/messages`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ content: id, clientMessageId: id }),
        });
        body = (await reply.json()) as { message: { id: string } };
      } catch {
        // The server is gone; what was not acknowledged is sent again when there is one.
        return;
      }
      if (reply.status !== 201) throw new Error(`${reply.status} ${JSON.stringify(body)}`);
      this.#ack(id, body.message.id);
    }
  }
}
