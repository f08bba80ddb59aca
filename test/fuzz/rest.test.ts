// Attacks the REST API with requests made from the table of operations and then broken, by callers of every kind of two
// organizations at once. Every answer is held against the contract, and at the end the store against who may what.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { routes, type Route } from '../../src/http/operation-routes.ts';
import { operationRow, type OperationName } from '../../src/protocol/operations.ts';
import type { Reply } from '../helpers/client.ts';
import { createMember } from '../helpers/fixtures.ts';
import { checkReply } from '../helpers/rest-checks.ts';
import { repeatable, rounds, seed } from '../helpers/rounds.ts';
import { HttpClient, type RestRequest } from './http-client.ts';
import { inputOf } from './inputs.ts';
import { remember, startTenants, type Acknowledged, type FuzzCaller, type Tenants } from './tenants.ts';
import {
  batchOf,
  mutated,
  mutateText,
  nastyText,
  seldom,
  textMutation,
  type TextMutation,
} from './values.ts';

const requests = rounds(1_500, 200_000);
const requestsAtOnce = 60;
/** A server of its own for so many batches: a store that only grows makes each look slower than the last. */
const batchesPerServer = 400;

interface Step {
  readonly route: Route;
  readonly input: Record<string, unknown>;
  /** The input of which the body is made; unlike `input` it may be broken. */
  readonly body: unknown;
  readonly text: TextMutation | null;
  readonly byte: number | null;
  readonly caller: number;
  /** Whether the caller is of a kind that may call the operation. */
  readonly fits: boolean;
  readonly pieces: number;
  readonly chunked: boolean;
  readonly header: readonly [name: string, value: string] | null;
  readonly part: string | null;
}

const headers: readonly (readonly [string, string])[] = [
  ['content-type', 'text/plain'],
  ['content-type', 'application/json; charset=utf-16'],
  ['content-type', 'application/x-www-form-urlencoded'],
  ['content-encoding', 'gzip'],
  ['idempotency-key', 'a'],
  ['idempotency-key', 'b'.repeat(200)],
  ['origin', 'null'],
  ['origin', 'https://globex.example'],
  ['x-visitor-id', 'x'],
  ['x-visitor-id', '__proto__'],
  ['x-app-id', '00000000-0000-4000-8000-000000000000'],
  ['authorization', 'Bearer '],
  ['authorization', 'Bearer dbs_x'],
  ['host', 'quiet.example'],
  ['x-http-method-override', 'DELETE'],
  ['x-original-url', '/api/v1/admin/organization'],
  ['accept', 'application/xml'],
  ['if-none-match', '*'],
  ['range', 'bytes=0-1'],
  ['expect', '100-continue'],
];

const stepOf = (route: Route): fc.Arbitrary<Step> => {
  const input = inputOf(route.name);
  return fc.record({
    route: fc.constant(route),
    input,
    body: mutated(input),
    text: seldom(textMutation, 8),
    byte: seldom(fc.nat(100_000), 20),
    caller: fc.nat(1_000),
    fits: fc.constantFrom(true, true, true, true, false),
    pieces: fc.constantFrom(1, 1, 1, 1, 2, 7),
    chunked: fc.constantFrom(false, false, false, true),
    header: seldom(fc.constantFrom(...headers), 8),
    part: seldom(nastyText, 20),
  });
};
const often = routes.filter(({ name }) => /messages|conversations/.test(name));
const step = fc.oneof(...[...routes, ...often, ...often].map(stepOf));

let tenants: Tenants;
let client: HttpClient;
let batches = 0;
const statuses = new Map<number, number>();

async function start(): Promise<void> {
  tenants = await startTenants();
  client = new HttpClient(tenants.app.url);
}

/** Reads the whole store, and ends the server. */
async function finish(): Promise<void> {
  client.close();
  await tenants.expectWallsHeld();
  const log = tenants.app.logged.join('');
  expect(log).not.toMatch(/"level":(50|60|"error"|"fatal")/);
  await tenants.app.stop();
}

beforeAll(start);
afterAll(async () => {
  client.close();
  await tenants.app.stop();
});

const kinds: Readonly<Record<string, readonly string[]>> = {
  visitor: ['visitor'],
  hostSite: ['visitor'],
  operator: ['operator', 'admin', 'reader'],
  admin: ['admin'],
};

function callerOf({ route, caller, fits }: Step): FuzzCaller {
  const wanted = kinds[operationRow(route.name).who];
  const fitting = tenants.callers.filter(({ kind }) => !fits || wanted?.includes(kind) !== false);
  const found = fitting[caller % fitting.length];
  if (found === undefined) throw new Error(`no caller for ${route.name}`);
  return found;
}

const pathPart = (value: unknown, caller: FuzzCaller): string =>
  encodeURIComponent(
    tenants.fill(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), caller).toWellFormed(),
  );

function requestOf(step: Step, caller: FuzzCaller): RestRequest {
  const { route, input, body, part, header, pieces, chunked } = step;
  const path = route.path.replace(/:([a-zA-Z]+)/g, (_all, name: string) =>
    pathPart(part ?? input[name], caller),
  );
  const hasBody = route.method !== 'GET' && route.method !== 'DELETE';
  const query = hasBody ? '' : queryOf(body, caller);
  const all = { ...caller.headers, ...(hasBody ? { 'content-type': 'application/json' } : {}) };
  return {
    method: route.method,
    path: `${path}${query}`,
    headers: header === null ? all : { ...all, [header[0]]: header[1] },
    body: hasBody ? bytesOf(step, caller) : null,
    pieces,
    chunked,
  };
}

function queryOf(body: unknown, caller: FuzzCaller): string {
  if (typeof body !== 'object' || body === null) return '';
  const pairs = Object.entries(body).map(
    ([name, value]) => `${pathPart(name, caller)}=${pathPart(value, caller)}`,
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&').slice(0, 4_000)}`;
}

function bytesOf({ body, text, byte }: Step, caller: FuzzCaller): Buffer {
  const json = tenants.fill(JSON.stringify(body) ?? '', caller);
  const bytes = Buffer.from(text === null ? json : mutateText(json, text));
  // One byte changed: often no UTF-8 any more.
  if (byte !== null && bytes.length > 0) bytes[byte % bytes.length] = byte & 255;
  return bytes;
}

/** The field under which the thing that was made is named by later requests. */
const made: Readonly<Record<string, string>> = {
  conversation: 'conversationId',
  message: 'messageId',
  member: 'memberId',
  application: 'applicationId',
  key: 'keyId',
  webhook: 'webhookId',
  cannedReply: 'cannedReplyId',
  document: 'documentId',
  question: 'questionId',
  block: 'blockId',
  token: 'tokenId',
  delivery: 'deliveryId',
};

function learn(caller: FuzzCaller, { name }: Route, { status, body }: Reply): void {
  if (caller.slug === null || status >= 300) return;
  for (const [envelope, field] of Object.entries(made)) {
    const id: unknown = body?.[envelope]?.id;
    if (typeof id !== 'string') continue;
    tenants.add(caller.slug, field, id, caller);
    if (status === 201) tenants.add(caller.slug, `spare:${field}`, id);
  }
  if (name === 'messages.send' || name === 'staff.messages.send') {
    const { id, conversationId, senderId } = body.message as Acknowledged;
    tenants.acknowledge({ id, conversationId, senderId });
  }
}

/** Whether the contract lets a kind of caller get anything at all. */
function mayCall({ kind }: FuzzCaller, name: OperationName): boolean {
  const { who } = operationRow(name);
  if (who === 'anyone') return true;
  return kind !== 'outsider' && kinds[who]?.includes(kind) !== false;
}

/** Operations with a limit that no setting lifts: tries of passwords and codes, mails and pushes that anyone could ask for. So has a visitor's number of conversations that wait. */
const limited =
  /^(?:(?:totp|recoveryCodes|session|passkeys|me)\.|conversations\.transcript$|staff\.conversations\.sendTranscript$|email\.test$|notifications\.test$)/;

async function take(one: Step): Promise<void> {
  const caller = callerOf(one);
  const wanted = requestOf(one, caller);
  // Signing out is done by one who came for that.
  const leaves = one.route.name === 'session.delete' && caller.slug !== null && caller.kind !== 'visitor';
  const used = leaves
    ? { ...wanted, headers: (await createMember(tenants.app, caller.slug)).headers }
    : wanted;
  const reply = checkReply(await client.send(used), used.method, used.path);
  const shown = `${caller.name}: ${used.method} ${used.path.slice(0, 300)} ${String(used.body ?? '').slice(0, 2_000)} → ${reply.status} ${reply.text.slice(0, 300)}`;
  statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
  expect(reply.status, shown).toBeLessThan(500);
  if (!limited.test(one.route.name) && !reply.text.includes('are waiting for an operator already'))
    expect(reply.status, shown).not.toBe(429);
  if (reply.status < 300) expect(mayCall(caller, one.route.name), shown).toBe(true);
  // Who knows a password is who it belongs to, and is told so.
  if (operationRow(one.route.name).who !== 'anyone')
    remember(caller, `${used.path} ${String(used.body ?? '')} ${JSON.stringify(used.headers)}`, reply.text);
  if (one.route.name.startsWith('views.') && used.method !== 'GET' && reply.status < 300)
    tenants.keepView(caller, reply.text);
  learn(caller, one.route, reply);
}

/** Lifts what the last batch blocked: else those who are blocked see no more of the code. */
async function liftBlocks(): Promise<void> {
  for (const slug of ['acme', 'globex'] as const) {
    const { headers: own } = tenants.admin(slug);
    const send = (method: string, path: string): Promise<Reply> =>
      client.send({
        method,
        path: `/api/v1/staff${path}`,
        headers: own,
        body: null,
        pieces: 1,
        chunked: false,
      });
    const { body } = await send('GET', '/blocks');
    for (const { id } of body.blocks as { id: string }[]) await send('DELETE', `/blocks/${id}`);
  }
}

async function takeBatch(steps: readonly Step[]): Promise<void> {
  batches += 1;
  if (batches % batchesPerServer === 0) {
    await finish();
    await start();
  }
  tenants.app.clock.advance(1_000);
  await liftBlocks();
  // Each caller one after the other, all of them at once.
  const queues = Map.groupBy(steps, callerOf);
  await Promise.all(
    [...queues.values()].map(async (queue) => {
      for (const one of queue) await take(one);
    }),
  );
}

it(`answers ${requests} broken requests as the contract says, and only to those who may`, () =>
  repeatable('test/fuzz/rest.test.ts', requests, async () => {
    await fc.assert(fc.asyncProperty(batchOf(step, requestsAtOnce), takeBatch), {
      numRuns: Math.ceil(requests / requestsAtOnce),
      seed,
      // A smaller batch says no more, and to look for one takes longer than a test may.
      endOnFailure: true,
    });
    await tenants.expectWallsHeld();
    // The attack would be none if all were refused.
    expect((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0)).toBeGreaterThan(requests / 20);
  }));
