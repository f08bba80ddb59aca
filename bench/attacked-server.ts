// Owns: the server under attack, in a process of its own: Deskbell from its sources, filled with a long history, with its
// default limits but those on new visitors. Measures how long its event loop is held, in
// time and in processor time. It attacks nothing itself.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import { execute } from '../src/services/execute.ts';
import type { OwnerCall } from '../src/services/service.ts';
import type { Hold, Order, Setting } from './attacks.ts';

const [folder = '', messages = '152000'] = process.argv.slice(2);
const password = 'correct horse battery staple';

const config = readConfig(
  {
    data: folder,
    port: '0',
    logLevel: 'error',
    trustProxy: '1',

    limitApplication: 'off',
    limitAddressNew: 'off',
  },
  {},
);
const app = createApp(config);
const { url, service } = await app.start();
const local: OwnerCall = {
  service,
  actor: { kind: 'local' },
  address: null,
  contentLimit: sizeLimits.contentRest,
};
const call = <N extends OperationName>(name: N, input: RawInput<N>): Promise<Output<N>> =>
  execute(local, name, input);

/** An organization with an application, a member, and a number of messages that all hold one word. */
async function createTenant(slug: string, word: string, count: number): Promise<Setting['acme']> {
  const { id } = await call('organizations.create', { name: slug, slug });
  await call('organizations.update', { organization: slug, plan: 'enterprise' });
  const email = `admin@${slug}.example`;
  await call('members.add', { organization: slug, email, name: 'Ada', role: 'admin', password });
  const applicationId = await createApplication(slug, id, word, count);
  return { id, slug, email, password, applicationId };
}

async function createApplication(slug: string, organizationId: string, word: string, count: number) {
  const { id } = await call('applications.create', {
    organization: slug,
    name: slug,
    domains: [`${slug}.example`],
  });
  const perConversation = 200;
  for (let made = 0; made < count; made += perConversation)
    await addConversation(slug, organizationId, id, word, perConversation);
  return id;
}

/** A conversation whose messages are copies of one. */
async function addConversation(
  slug: string,
  organizationId: string,
  applicationId: string,
  word: string,
  count: number,
): Promise<{ visitorId: string; conversationId: string }> {
  const visitorId = crypto.randomUUID();
  const visitor = {
    ...local,
    actor: {
      kind: 'visitor',
      organizationId,
      applicationId,
      visitorId,
      mode: 'live',
      via: 'key',
      origin: null,
    },
  } as const;
  const { conversation } = await execute(visitor, 'conversations.create', { subject: slug });
  const content = `the parcel never arrived ${word} ${'x'.repeat(250)}`;
  const { message } = await execute(visitor, 'messages.send', { conversationId: conversation.id, content });
  const { store, clock } = service.engine;
  await store.write({ organization: organizationId }, async ({ repositories }) => {
    const stored = await repositories.messages.byId(message.id);
    if (stored === undefined) throw new Error('the first message is missing');
    const { visitor_name: _visitor, member_name: _member, ...row } = stored;
    for (let made = 1; made < count; made += 1) {
      const id = clock.newId();
      await repositories.messages.append({ ...row, id, client_message_id: null }, 'visitor');
      await repositories.search.put(id, organizationId, ['the', 'parcel', 'never', 'arrived', word]);
    }
  });
  return { visitorId, conversationId: conversation.id };
}

/** Runs work and measures, from its beginning to its end, how long the loop was held. */
async function held(work: () => Promise<unknown>): Promise<Hold> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const turns: number[] = [];
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const now = process.threadCpuUsage();
    turns.push((now.user - last.user + now.system - last.system) / 1_000);
    last = now;
  }, 1);
  const began = performance.now();
  delay.enable();
  await work();
  delay.disable();
  clearInterval(timer);
  turns.sort((one, other) => one - other);
  return {
    seconds: (performance.now() - began) / 1_000,
    delayP99: delay.percentile(99) / 1e6,
    cpuP99: turns[Math.floor(turns.length * 0.99)] ?? 0,
    cpuLongest: turns.at(-1) ?? 0,
  };
}

const acme = await createTenant('acme', 'alpha', Number(messages));
const beta = await createTenant('beta', 'beta', 2_000);
const long = await addConversation('acme', acme.id, acme.applicationId, 'alpha', 2_000);
const setting: Setting = { url, acme, beta, long };

let endMeasuring = Promise.withResolvers<void>();
let measuring: Promise<Hold> | null = null;

async function obey(order: Order): Promise<unknown> {
  switch (order) {
    case 'setting':
      return setting;
    case 'delete':
      return held(() => call('applications.delete', { applicationId: acme.applicationId }));
    case 'measure':
      endMeasuring = Promise.withResolvers<void>();
      measuring = held(() => endMeasuring.promise);
      return null;
    case 'measured':
      endMeasuring.resolve();
      return measuring;
  }
}

process.on('message', (order: Order) => {
  void obey(order).then((answer) => process.send?.(answer));
});
process.once('disconnect', () => void app.stop());
