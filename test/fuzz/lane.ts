// Owns one caller's WebSocket in an attack: sends as its steps say, makes the connection anew whenever they have ended
// it, and holds every answer against the protocol. Must not choose what is sent.

import assert from 'node:assert/strict';
import { request } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { frameFault } from './event-schemas.ts';
import { expectationOf, matchAnswers, type Expectation } from './frame-answers.ts';
import { fatal, type JsonStep, type Step } from './frame-steps.ts';
import { frameBytes, opcodes, RawSocket } from './raw-socket.ts';
import { remember, type FuzzCaller, type Tenants } from './tenants.ts';
import { mutateText } from './values.ts';

/** What all of an attack came to. */
export interface Counts {
  sent: number;
  acknowledged: number;
  limited: number;
}

/** One caller's connection. */
export class Lane {
  readonly caller: FuzzCaller;
  readonly #tenants: Tenants;
  readonly #counts: Counts;
  /** What was sent since the last look at the answers. */
  #said = '';
  #socket: RawSocket | null = null;

  constructor(tenants: Tenants, caller: FuzzCaller, counts: Counts) {
    this.#tenants = tenants;
    this.caller = caller;
    this.#counts = counts;
  }

  async #connect(): Promise<RawSocket> {
    if (this.#socket?.closed === null) return this.#socket;
    const { kind, slug, headers } = this.caller;
    const path = kind === 'visitor' ? '/api/v1/widget/ws-token' : '/api/v1/staff/ws-token';
    const origin =
      slug === null || kind !== 'visitor'
        ? {}
        : { origin: this.#tenants.organization(slug).application.origin };
    const { body } = await request(this.#tenants.app.url, 'POST', path, { ...headers, ...origin });
    const forwarded = { 'x-forwarded-for': headers['x-forwarded-for'] ?? '' };
    this.#socket = await RawSocket.open(this.#tenants.app.url, body.token as string, {
      ...origin,
      ...forwarded,
    });
    assert.equal(this.#socket.closed, null);
    return this.#socket;
  }

  end(): void {
    this.#socket?.end();
  }

  async take(steps: readonly Step[]): Promise<void> {
    let expected: Expectation[] = [];
    for (const one of steps) {
      const socket = await this.#connect();
      this.#counts.sent += 1;
      if (one.kind === 'json') {
        expected.push(...this.#send(socket, one));
        continue;
      }
      await this.#settle(socket, expected);
      expected = [];
      const [bytes, codes] = fatal[one.what];
      socket.write(bytes);
      await eventually(() => {
        if (socket.closed === null) throw new Error(`not closed after ${one.what}`);
      });
      const { closed } = socket;
      assert.ok(
        codes.some((code) => code === closed),
        `${one.what} was closed with ${closed}`,
      );
    }
    await this.#settle(await this.#connect(), expected);
  }

  /** Sends a frame as its step says, and a ping after every few: twenty bad ones in a row would end the connection. */
  #send(
    socket: RawSocket,
    { frame: value, text: change, binary, fragments, between, writes }: JsonStep,
  ): Expectation[] {
    const json = this.#tenants.fill(JSON.stringify(value) ?? '', this.caller);
    const broken = change === null ? json : mutateText(json, change);
    const payload = Buffer.from(broken.slice(0, 20_000));
    const size = Math.ceil(payload.length / fragments) || 1;
    const parts: Buffer[] = [];
    for (let at = 0; at < payload.length || at === 0; at += size) {
      if (between && at > 0) parts.push(frameBytes(opcodes.ping, Buffer.from('?')));
      const opcode = at > 0 ? opcodes.continuation : binary ? opcodes.binary : opcodes.text;
      parts.push(frameBytes(opcode, payload.subarray(at, at + size), at + size >= payload.length));
    }
    const bytes = Buffer.concat(parts);
    const piece = Math.ceil(bytes.length / writes);
    for (let at = 0; at < bytes.length; at += piece) socket.write(bytes.subarray(at, at + piece));
    this.#said += payload.toString();
    const expectation = expectationOf(binary ? null : payload);
    if (expectation.answer !== 'refused') return [expectation];
    socket.write(frameBytes(opcodes.text, Buffer.from('{"type":"ping"}')));
    return [expectation, expectationOf(Buffer.from('{"type":"ping"}'))];
  }

  /** Waits until all that was sent has been answered, and holds the answers against the protocol. */
  async #settle(socket: RawSocket, expected: readonly Expectation[]): Promise<void> {
    const all = [...expected, expectationOf(Buffer.from('{"type":"ping"}'))];
    socket.write(frameBytes(opcodes.text, Buffer.from('{"type":"ping"}')));
    const pongs = all.filter(({ answer }) => answer === 'pong').length;
    const unanswered = (): boolean =>
      socket.heard.filter((one) => one === '{"type":"pong"}').length < pongs && socket.closed === null;
    await eventually(() => {
      if (unanswered()) throw new Error('not answered yet');
    });
    assert.equal(socket.closed, null, `${this.caller.name} was closed after ${this.#said.slice(-3_000)}`);
    const heard = socket.heard.splice(0);
    assert.deepEqual(
      heard.map(frameFault).filter((fault) => fault !== null),
      [],
    );
    remember(this.caller, this.#said, heard.join('\n'));
    this.#said = '';
    const { acknowledged, limited, fault } = matchAnswers(heard, all);
    assert.equal(fault, null);
    const { slug } = this.caller;
    this.#counts.limited += limited;
    this.#counts.acknowledged += acknowledged.length;
    for (const one of acknowledged) {
      this.#tenants.acknowledge({ ...one, senderId: this.caller.id });
      if (slug !== null) this.#tenants.add(slug, 'messageId', one.id, this.caller);
    }
  }
}
