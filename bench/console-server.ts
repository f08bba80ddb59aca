// Owns: the server that the benchmarks of console and dashboard work on, in a process of its own: Deskbell from its
// sources, with a busy organization in it, and visitors who write when they are told to.
import { randomUUID } from 'node:crypto';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { tuneHeap } from '../src/heap.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import type { Actor, VisitorActor } from '../src/services/core/actor.ts';
import { execute } from '../src/services/execute.ts';

/** What the benchmark may ask, and what it gets. */
export type ConsoleQuestion =
  /** An organization with so many conversations; one of them, the member's own, with so many messages. */
  | { readonly kind: 'seed'; readonly conversations: number; readonly messages: number }
  /** So many events, spread over the conversations; a hundredth of them in the open one. */
  | { readonly kind: 'events'; readonly count: number }
  /** The ticket of a link that signs the member in. */
  | { readonly kind: 'link' };

export interface Seeded {
  readonly url: string;
  readonly organization: string;
  readonly member: { readonly id: string; readonly name: string; readonly email: string };
  readonly token: string;
  readonly expiresAt: string;
  /** Of the conversation with the many messages: its first text and its last. */
  readonly oldest: string;
  readonly newest: string;
}

const [folder = ''] = process.argv.slice(2);
const off = {
  limitVisitor: 'off',
  limitApplication: 'off',
  limitAddressNew: 'off',
  limitAddress: 'off',
  limitAddressConfig: 'off',
  limitAddressFailed: 'off',
  limitAccountFailed: 'off',
};
// As `serve` does.
tuneHeap();
const app = createApp(
  readConfig(
    {
      data: folder,
      port: '0',
      logLevel: 'warn',
      durability: 'normal',
      maxPendingPerVisitor: '100000',
      ...off,
    },
    {},
  ),
);
const { url, service } = await app.start();
const local: Actor = { kind: 'local' };
const conversations: { readonly actor: VisitorActor; readonly id: string }[] = [];
let memberId = '';

function call<N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> {
  return execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
}

/** Runs so many pieces of work, some at once: enough for the store to commit them together. */
async function inGroups(count: number, work: (index: number) => Promise<void>): Promise<void> {
  const size = 100;
  for (let from = 0; from < count; from += size)
    await Promise.all(Array.from({ length: Math.min(size, count - from) }, (_, index) => work(from + index)));
}

const words =
  'the parcel that you ordered on Monday left our house and is on its way to the depot in town'.split(' ');
const oldest = 'this is the very oldest';
const newest = 'and this is the newest';
const sentence = (index: number): string =>
  Array.from({ length: 6 + (index % 30) }, (_, word) => words[(index + word * 7) % words.length]).join(' ');

async function seed(count: number, messages: number): Promise<Seeded> {
  const organization = await call(local, 'organizations.create', { name: 'Bench', slug: 'bench' });
  await call(local, 'organizations.update', { organization: 'bench', plan: 'enterprise' });
  await call(local, 'organizations.update', {
    organization: 'bench',
    limits: { requestsPerMinute: 1_000_000_000 },
  });
  const application = await call(local, 'applications.create', {
    organization: 'bench',
    name: 'Shop',
    domains: ['bench.example'],
  });
  const email = 'ann@bench.example';
  const member = await call(local, 'members.add', {
    organization: 'bench',
    email,
    name: 'Ann',
    role: 'operator',
    password: randomUUID(),
  });
  await inGroups(count, async (index) => {
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: organization.id,
      applicationId: application.id,
      visitorId: randomUUID(),
      mode: 'live',
      via: 'origin',
      origin: 'https://bench.example',
    };
    const { conversation } = await call(actor, 'conversations.create', { subject: `Question ${index}` });
    // Some have written more than a subject: enough for the pages that are ever shown.
    if (index % 10 === 0)
      await call(actor, 'messages.send', {
        conversationId: conversation.id,
        content: index === 0 ? oldest : sentence(index),
      });
    conversations[index] = { actor, id: conversation.id };
  });
  memberId = member.id;
  const session = await call(local, 'session.createLocal', { memberId });
  const own = conversations[0];
  if (own === undefined) throw new Error('no conversation to open');
  const headers = { authorization: `Bearer ${session.token}` };
  const accepted = await fetch(`${url}/api/v1/staff/conversations/${own.id}/accept`, {
    method: 'POST',
    headers,
  });
  if (!accepted.ok) throw new Error(`accept answered ${accepted.status}`);
  for (let index = 0; index < messages; index += 1)
    await call(own.actor, 'messages.send', { conversationId: own.id, content: sentence(index) });
  await call(own.actor, 'messages.send', { conversationId: own.id, content: newest });
  await accepted.text();
  return {
    url,
    organization: 'bench',
    member: { id: member.id, name: 'Ann', email },
    token: session.token,
    expiresAt: session.expiresAt,
    oldest,
    newest,
  };
}

async function events(count: number): Promise<void> {
  await inGroups(count, async (index) => {
    const target =
      conversations[index % 100 === 0 ? 0 : 1 + (index % Math.min(500, conversations.length - 1))];
    if (target !== undefined)
      await call(target.actor, 'messages.send', { conversationId: target.id, content: sentence(index) });
  });
}

process.on('message', (question: ConsoleQuestion) => {
  void (async () => {
    if (question.kind === 'seed') process.send?.(await seed(question.conversations, question.messages));
    else if (question.kind === 'link')
      process.send?.((await call(local, 'session.createLink', { memberId })).ticket);
    else {
      await events(question.count);
      process.send?.('done');
    }
  })();
});
process.once('disconnect', () => void app.stop());
