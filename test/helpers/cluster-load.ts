// Owns: clients of several servers that come and go: one that keeps sending to any of them, one that keeps listening at
// any of them. Both remember what they were told. Must not decide what is right: that is the test's part.
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { readConfig } from '../../src/config.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor, VisitorActor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';

/** A visitor's conversation. */
export interface Talk {
  /** The credentials of a visitor at a web page. */
  readonly headers: Readonly<Record<string, string>> & { readonly origin: string };
  readonly conversationId: string;
}

export interface LoadOptions extends Talk {
  /** Picks a server; null: none is there now. */
  readonly pick: () => string | null;
}

/** Variables under which a server refuses none of these clients. */
export const noLimits: Readonly<Record<string, string>> = Object.fromEntries(
  ['VISITOR', 'APPLICATION', 'ADDRESS', 'ADDRESS_NEW', 'ADDRESS_FAILED'].map((name) => [
    `DESKBELL_LIMIT_${name}`,
    'off',
  ]),
);

const origin = 'https://load.example';

/**
 * Makes an organization without limits, and conversations of as many visitors.
 * @param environment leads to the database, as that of a server
 */
export async function makeTalks(
  environment: Readonly<Record<string, string>>,
  count: number,
): Promise<Talk[]> {
  const { service, close } = await openService(readConfig({}, environment), 'command', () => null, {
    passwordCost: 4,
  });
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  const organization = await call(local, 'organizations.create', { name: 'Load', slug: 'load' });
  await call(local, 'organizations.update', { organization: 'load', plan: 'enterprise' });
  await call(local, 'organizations.update', {
    organization: 'load',
    limits: { requestsPerMinute: 100_000_000 },
  });
  const application = await call(local, 'applications.create', {
    organization: 'load',
    name: 'Site',
    domains: ['load.example'],
  });
  const talks: Talk[] = [];
  for (let index = 0; index < count; index += 1) {
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: organization.id,
      applicationId: application.id,
      visitorId: randomUUID(),
      mode: 'live',
      via: 'origin',
      origin,
    };
    const { conversation } = await call(actor, 'conversations.create', {});
    talks.push({
      headers: { origin, 'x-app-id': application.id, 'x-visitor-id': actor.visitorId },
      conversationId: conversation.id,
    });
  }
  await close();
  return talks;
}

/** A frame from a server, as far as these clients read it. */
export interface LoadFrame {
  readonly type: string;
  readonly payload: {
    readonly clientMessageId?: string;
    readonly serverMessageId?: string;
    readonly id?: string;
    readonly content?: string;
    readonly messages?: readonly { readonly id: string }[];
  };
}

const againAfterMs = 20;

/** A socket that is connected again, to whichever server is picked, until it is told to end. */
export abstract class LoadClient {
  readonly options: LoadOptions;
  socket: WebSocket | null = null;
  /** Statuses of answers to requests for a token that were no success. */
  readonly refusals: number[] = [];
  /** For how long it was without a connection after it had lost one, ms. */
  readonly gaps: number[] = [];
  #running = true;
  #loop: Promise<void> = Promise.resolve();
  #lostAt: number | null = null;

  constructor(options: LoadOptions) {
    this.options = options;
  }

  protected abstract opened(socket: WebSocket): void;
  protected abstract heard(frame: LoadFrame): void;

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.socket?.terminate();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (this.#running) {
      const url = this.options.pick();
      const socket = url === null ? null : await this.#connect(url);
      if (socket !== null && this.#running) await this.#stay(socket);
      else socket?.on('error', () => undefined).terminate();
      if (this.#running) await new Promise((resolve) => setTimeout(resolve, againAfterMs));
    }
  }

  async #connect(url: string): Promise<WebSocket | null> {
    const { headers } = this.options;
    try {
      const reply = await fetch(`${url}/api/v1/widget/ws-token`, { method: 'POST', headers });
      if (reply.status !== 200) {
        this.refusals.push(reply.status);
        return null;
      }
      const { token } = (await reply.json()) as { token: string };
      return new WebSocket(`${url.replace('http', 'ws')}/api/v1/ws?token=${token}`, {
        headers: { origin: headers.origin },
      });
    } catch {
      // The server has just gone.
      return null;
    }
  }

  async #stay(socket: WebSocket): Promise<void> {
    this.socket = socket;
    let over = false;
    socket.on('error', () => undefined);
    socket.on('open', () => {
      if (this.#lostAt !== null) this.gaps.push(performance.now() - this.#lostAt);
      this.#lostAt = null;
      this.opened(socket);
    });
    socket.on('message', (data: Buffer) => {
      // What a socket says after it was given up is not listened to: the next one says it again.
      if (over) return;
      const frame = JSON.parse(data.toString()) as LoadFrame;
      if (frame.type === 'error') {
        over = true;
        socket.terminate();
      } else this.heard(frame);
    });
    await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    over = true;
    this.#lostAt ??= performance.now();
    this.socket = null;
  }
}

/** Messages under way at once, per sender. */
const underWay = 4;

/** Sends as fast as it is answered, and again what was not acknowledged. */
export class LoadSender extends LoadClient {
  /** Client id → the server's id. */
  readonly acked = new Map<string, string>();
  /** Acknowledgements that named another id than an earlier one of the same message. */
  readonly contradictions: string[] = [];
  readonly #unacked = new Set<string>();
  /** Another sender of the same conversation sends other messages. */
  readonly #mark = randomUUID().slice(0, 8);
  #next = 0;
  #sending = true;

  get unacked(): number {
    return this.#unacked.size;
  }

  /** Begins no new message; what is under way is still sent. */
  finish(): void {
    this.#sending = false;
  }

  protected opened(socket: WebSocket): void {
    for (const id of this.#unacked) this.#send(socket, id);
    while (this.#unacked.size < underWay && this.#sendNext(socket));
  }

  protected heard({ type, payload }: LoadFrame): void {
    if (type !== 'message:ack') return;
    const { clientMessageId: id = '', serverMessageId = '' } = payload;
    const earlier = this.acked.get(id);
    if (earlier !== undefined && earlier !== serverMessageId)
      this.contradictions.push(`${id}: ${earlier} and ${serverMessageId}`);
    this.acked.set(id, serverMessageId);
    this.#unacked.delete(id);
    if (this.socket !== null) this.#sendNext(this.socket);
  }

  #sendNext(socket: WebSocket): boolean {
    if (!this.#sending) return false;
    this.#next += 1;
    const id = `${this.options.conversationId.slice(-6)}-${this.#mark}-${this.#next}`;
    this.#unacked.add(id);
    this.#send(socket, id);
    return true;
  }

  #send(socket: WebSocket, clientMessageId: string): void {
    const { conversationId } = this.options;
    if (socket.readyState !== socket.OPEN) return;
    socket.send(
      JSON.stringify({
        type: 'message:send',
        payload: { conversationId, content: clientMessageId, clientMessageId },
      }),
    );
  }
}

/** Is in the room of a conversation, and asks for what it has missed wherever it comes back. */
export class LoadListener extends LoadClient {
  /** The ids of the messages as they were heard. */
  readonly ids: string[] = [];
  /** Whether it is in the room, or was: from then on it hears everything. */
  joined = false;

  protected opened(socket: WebSocket): void {
    const { conversationId } = this.options;
    const lastMessageId = this.ids.at(-1);
    socket.send(
      JSON.stringify({
        type: 'room:join',
        payload: { conversationId, echo: true, ...(lastMessageId !== undefined && { lastMessageId }) },
      }),
    );
  }

  protected heard({ type, payload }: LoadFrame): void {
    if (type === 'room:joined') this.joined = true;
    if (type === 'message:new' && payload.id !== undefined) this.ids.push(payload.id);
    if (type === 'messages:sync') this.ids.push(...(payload.messages ?? []).map(({ id }) => id));
  }
}
