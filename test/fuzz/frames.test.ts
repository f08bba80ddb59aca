// Attacks the WebSocket with frames made from the protocol and then broken: their JSON, their bytes, their fragments,
// their opcodes. Visitors and staff of two organizations send at once, each on a connection that is made anew whenever
// the attack has ended it. Every answer is held against the protocol, and at the end the store against who may what.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createConversation } from '../helpers/fixtures.ts';
import { repeatable, rounds, seed } from '../helpers/rounds.ts';
import { step, type Step } from './frame-steps.ts';
import { Lane, type Counts } from './lane.ts';
import { startTenants, type Tenants } from './tenants.ts';
import { batchOf } from './values.ts';

const frames = rounds(6_000, 1_000_000);
const framesAtOnce = 600;
/** A server of its own for so many batches: a store that only grows makes each look slower than the last. */
const batchesPerServer = 50;

let tenants: Tenants;
let lanes: Lane[] = [];
let batches = 0;
const counts: Counts = { sent: 0, acknowledged: 0, limited: 0 };

async function start(): Promise<void> {
  tenants = await startTenants();
  lanes = tenants.callers
    .filter(({ kind }) => kind !== 'outsider')
    .map((caller) => new Lane(tenants, caller, counts));
}

/** Reads the whole store, and ends the server. */
async function finish(): Promise<void> {
  for (const lane of lanes) lane.end();
  await tenants.expectWallsHeld();
  expect(tenants.app.logged.join('')).not.toMatch(/"level":(50|60|"error"|"fatal")/);
  await tenants.app.stop();
}

beforeAll(start);
afterAll(async () => {
  for (const lane of lanes) lane.end();
  await tenants.app.stop();
});

/** A new conversation for each organization, accepted, and an old one closed: some of every status are about. */
async function renewConversations(): Promise<void> {
  for (const slug of ['acme', 'globex'] as const) {
    const ours = tenants.callers.filter((one) => one.slug === slug && one.client !== undefined);
    const visitors = ours.filter(({ kind }) => kind === 'visitor');
    const members = ours.filter(({ kind }) => kind !== 'visitor');
    const visitor = visitors[batches % visitors.length];
    const member = members[batches % members.length];
    if (visitor?.client === undefined || member?.client === undefined) throw new Error('who is there?');
    const conversationId = await createConversation(visitor.client);
    await member.client.call('POST', `/conversations/${conversationId}/accept`);
    for (const caller of [visitor, member]) tenants.add(slug, 'conversationId', conversationId, caller);
    const old = tenants.id(slug, 'conversationId', 3);
    const { client } = tenants.admin(slug);
    await client?.call('POST', `/conversations/${old}/resolve`);
    const { body } = await member.client.call('GET', `/conversations/${conversationId}/messages?order=desc`);
    for (const { id } of (body.messages ?? []) as { id: string }[]) tenants.add(slug, 'messageId', id);
  }
}

async function takeBatch(steps: readonly Step[]): Promise<void> {
  batches += 1;
  if (batches % batchesPerServer === 0) {
    await finish();
    await start();
  }
  // Beyond the second that frames are counted in.
  tenants.app.clock.advance(2_500);
  await renewConversations();
  const queues = Map.groupBy(steps, ({ caller }) => lanes[caller % lanes.length]);
  await Promise.all([...queues].map(async ([lane, queue]) => lane?.take(queue)));
}

it(`answers ${frames} broken frames as the protocol says`, () =>
  repeatable('test/fuzz/frames.test.ts', frames, async () => {
    await fc.assert(fc.asyncProperty(batchOf(step, framesAtOnce), takeBatch), {
      numRuns: Math.ceil(frames / framesAtOnce),
      seed,
      // A smaller batch says no more, and to look for one takes longer than a test may.
      endOnFailure: true,
    });
    await tenants.expectWallsHeld();
    expect(counts.sent).toBeGreaterThanOrEqual(frames);
    // The attack would be none if all were refused, or the limits met it.
    expect(counts.acknowledged).toBeGreaterThan(frames / 50);
    expect(counts.limited).toBeLessThan(frames / 50);
  }));
