// Owns: the server under attack, in a process of its own: Deskbell from its sources, filled with a long history, with its
// default limits but those on new visitors. With the URL of a webhook it also has what a busy day needs: an assistant that
// answers, and messages to purge. Measures how long its event loop is held, in time and in processor time. It attacks
// nothing itself.
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { tuneHeap } from '../src/heap.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import { ServiceError } from '../src/services/core/errors.ts';
import { execute } from '../src/services/execute.ts';
import type { OwnerCall } from '../src/services/service.ts';
import type { Repositories } from '../src/engine/repositories.ts';
import type { Order, Setting, Talk } from './attacks.ts';
import { held, LoopMeter } from './hold.ts';

const [folder = '', messages = '152000', hook = ''] = process.argv.slice(2);
const password = 'correct horse battery staple';

const config = readConfig(
  {
    data: folder,
    port: '0',
    logLevel: 'error',
    trustProxy: '1',
    webhookPrivate: 'allow',
    limitApplication: 'off',
    limitAddressNew: 'off',
  },
  {},
);
const talks: Talk[] = [];
// As `serve` does.
tuneHeap();
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
  for (let made = 0; made < count; made += perConversation) {
    const talk = await addConversation(slug, organizationId, id, word, perConversation);
    if (slug === 'acme') talks.push(talk);
  }
  return id;
}

/** A conversation like another, opened so long ago. */
async function addOldConversation(
  { conversations }: Repositories,
  like: string,
  ageMs: number,
): Promise<string> {
  const found = await conversations.byId(like);
  if (found === undefined) throw new Error('the conversation is missing');
  const { visitor_id: _visitor, visitor_name: _name, ...row } = found;
  const id = service.engine.clock.newId();
  await conversations.insert({ ...row, id, last_seq: 0, created_at: row.created_at - ageMs });
  return id;
}

/** A conversation whose messages are copies of one. */
async function addConversation(
  slug: string,
  organizationId: string,
  applicationId: string,
  word: string,
  count: number,
  ageMs = 0,
): Promise<Talk> {
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
    const conversation_id =
      ageMs === 0 ? row.conversation_id : await addOldConversation(repositories, row.conversation_id, ageMs);
    const scope = await repositories.search.scopeOf(organizationId);
    for (let made = 1; made < count; made += 1) {
      const id = clock.newId();
      const created_at = row.created_at - ageMs;
      await repositories.messages.append(
        { ...row, id, conversation_id, created_at, client_message_id: null },
        'visitor',
      );
      await repositories.search.put(scope, id, ['the', 'parcel', 'never', 'arrived', word]);
    }
  });
  return { visitorId, conversationId: conversation.id };
}

/** An organization on the free plan, which keeps messages for 30 days, with many that are older. */
async function createOldTenant(): Promise<void> {
  const { id } = await call('organizations.create', { name: 'old', slug: 'old' });
  const application = await call('applications.create', {
    organization: 'old',
    name: 'old',
    domains: ['old.example'],
  });
  for (let made = 0; made < Number(messages) / 8; made += 1_000)
    await addConversation('old', id, application.id, 'old', 1_000, 40 * 86_400_000);
}

/** Has an application's assistant answer by itself, from one document. */
async function startAssistant(applicationId: string): Promise<void> {
  await call('knowledge.add', {
    applicationId,
    source: 'shop.md',
    content:
      '# Refunds\n\nYou get your money back within 30 days after delivery.\n\n# Parcels\n\nYour parcel leaves our warehouse every weekday at noon.\n\n# Delivery\n\nWe deliver to every country of the European Union, to Malta as well.',
  });
  await call('applications.update', { applicationId, ai: { mode: 'auto' } });
}

const acme = await createTenant('acme', 'alpha', Number(messages));
const beta = await createTenant('beta', 'beta', 2_000);
const long = await addConversation('acme', acme.id, acme.applicationId, 'alpha', 2_000);
const setting: Setting = { url, acme, beta, long, talks };
if (hook !== '') {
  await call('webhooks.create', { organization: 'acme', url: hook });
  await startAssistant(acme.applicationId);
  await createOldTenant();
}

/** Removes what is too old; asked again where another process held the lock for too long. */
async function purge(): Promise<number> {
  for (;;)
    try {
      return (await call('retention.purge', { force: true })).total.messages;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error;
    }
}

const meter = new LoopMeter();

async function obey(order: Order): Promise<unknown> {
  switch (order) {
    case 'setting':
      return setting;
    case 'delete':
      return held(() => call('applications.delete', { applicationId: acme.applicationId }));
    case 'purge':
      return purge();
    case 'measure':
      meter.begin();
      return null;
    case 'measured':
      return meter.end();
  }
}

process.on('message', (order: Order) => {
  void obey(order).then((answer) => process.send?.(answer));
});
process.once('disconnect', () => void app.stop());
