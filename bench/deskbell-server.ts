// Owns: the server under measurement, in a process of its own: Deskbell from its sources, provisioned
// through the same operations as everywhere. Must not change how Deskbell works, beyond its settings.
//
// A pair is one visitor with two connections, the second of which joined the conversation with
// `echo`: so a message has exactly one listener, and no member of staff is online whose activity
// feed would multiply the deliveries. All pairs share one organization, as in life.
import { randomUUID } from 'node:crypto';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import type { Actor, VisitorActor } from '../src/services/core/actor.ts';
import { execute } from '../src/services/execute.ts';
import { ownUsage, serveQuestions, type Pair } from './protocol.ts';

const [folder = '', pairCount = '50'] = process.argv.slice(2);
const origin = 'https://bench.example';

const config = readConfig(
  {
    data: folder,
    port: '0',
    logLevel: 'warn',
    limitVisitor: 'off',
    limitApplication: 'off',
    limitAddressNew: 'off',
    limitAddress: 'off',
    limitAddressConfig: 'off',
    limitAddressFailed: 'off',
    limitAccountFailed: 'off',
    maxConnectionsPerAddress: '100000',
    maxConnectionsPerVisitor: '100000',
  },
  {},
);
const app = createApp(config);
const { port, service } = await app.start();

function call<N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> {
  return execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
}

const local: Actor = { kind: 'local' };
const organization = await call(local, 'organizations.create', { name: 'Bench', slug: 'bench' });
await call(local, 'organizations.update', { organization: 'bench', plan: 'enterprise' });
await call(local, 'organizations.update', {
  organization: 'bench',
  limits: { requestsPerMinute: 1_000_000_000 },
});
const application = await call(local, 'applications.create', {
  organization: 'bench',
  name: 'Bench',
  domains: ['bench.example'],
});

const visitors: { readonly actor: VisitorActor; readonly conversationId: string }[] = [];
for (let index = 0; index < Number(pairCount); index += 1) {
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
  visitors.push({ actor, conversationId: conversation.id });
}

async function pair({ actor, conversationId }: (typeof visitors)[number]): Promise<Pair> {
  const { token } = await call(actor, 'widget.token', {});
  return {
    conversationId,
    socketPath: `/api/v1/ws?token=${token}`,
    headers: { origin, 'x-app-id': actor.applicationId, 'x-visitor-id': actor.visitorId },
  };
}

serveQuestions({
  address: () => ({ host: '127.0.0.1', port }),
  pairs: () => Promise.all(visitors.map(pair)),
  usage: ownUsage,
  stop: async () => {
    await app.stop();
    return null;
  },
});
