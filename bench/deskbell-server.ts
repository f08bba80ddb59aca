// Owns: the server under measurement, in a process of its own: Deskbell from its sources, provisioned
// through the same operations as everywhere. Must not change how Deskbell works, beyond its settings.
//
// A pair is one visitor and their conversation. The visitor's second connection has joined it with `echo`, so a message
// has exactly one listener however it was sent. All pairs share one organization, as in life. The operator's
// conversations are in another one, each sent to over a connection of its own; those ask for test data only, so that
// staff is online and its activity feed is made, but not multiplied by fifty.
import { createECDH, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { tuneHeap } from '../src/heap.ts';
import { sizeLimits } from '../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../src/protocol/operations.ts';
import type { Actor, VisitorActor } from '../src/services/core/actor.ts';
import { execute } from '../src/services/execute.ts';
import { serveQuestions, unlimited, type Answers, type Pair, type Way } from './protocol.ts';
import { signedIn } from './signed-in.ts';
import { searchedWord } from './texts.ts';

const [folder = '', pairCount = '50', kind, hook = ''] = process.argv.slice(2);
/** Everything that tells of a message is on: visitors have addresses, members browsers, the organization a webhook. */
const reaches = kind === 'reach';
const origin = 'https://bench.example';
const searchEveryMs = 500;

const config = readConfig(
  {
    data: folder,
    port: '0',
    logLevel: 'warn',
    limitVisitor: unlimited,
    limitApplication: unlimited,
    limitAddress: unlimited,
    limitAddressNew: 'off',
    // A proxy in front tells of addresses: what one of them may catch up on is limited.
    trustProxy: kind === 'proxied' ? '1' : '0',
    limitAddressConfig: 'off',
    limitAddressFailed: 'off',
    limitAccountFailed: 'off',
    maxConnectionsPerAddress: '100000',
    maxConnectionsPerVisitor: '100000',
    ...(reaches ? { mailAddress: 'reply@chat.example', baseUrl: 'https://chat.example' } : {}),
  },
  // No mail is due while it is measured: what is planned behind each message is.
  reaches
    ? { DESKBELL_SMTP_URL: 'smtp://127.0.0.1:9', DESKBELL_WEBHOOK_PRIVATE: 'allow' }
    : kind === 'steady'
      ? { DESKBELL_WEBHOOK_PRIVATE: 'allow' }
      : {},
);
// As `serve` does.
tuneHeap();
const app = createApp(config);
const { port, service } = await app.start();

function call<N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> {
  return execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
}

async function post(path: string, token: string, body?: object): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const local: Actor = { kind: 'local' };

interface Tenant {
  readonly slug: string;
  readonly key: string;
  readonly visitors: readonly { readonly actor: VisitorActor; readonly conversationId: string }[];
}

async function createTenant(slug: string): Promise<Tenant> {
  const organization = await call(local, 'organizations.create', { name: slug, slug });
  await call(local, 'organizations.update', {
    organization: slug,
    plan: 'enterprise',
    limits: { requestsPerMinute: 1_000_000_000 },
  });
  const application = await call(local, 'applications.create', {
    organization: slug,
    name: slug,
    domains: ['bench.example'],
  });
  if (reaches) {
    await call(local, 'applications.update', {
      applicationId: application.id,
      email: { afterMinutes: 1_440 },
    });
    await call(local, 'webhooks.create', {
      organization: slug,
      url: 'http://127.0.0.1:9/',
      events: ['conversation:resolved'],
    });
  }
  const { key } = await call(local, 'keys.create', { applicationId: application.id });
  const visitors: Tenant['visitors'][number][] = [];
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
    if (reaches) await call(actor, 'visitor.update', { email: `visitor${index}@bench.example` });
    const { conversation } = await call(actor, 'conversations.create', {});
    visitors.push({ actor, conversationId: conversation.id });
  }
  return { slug, key, visitors };
}

const tenant = await createTenant('bench');

/** What is at work beside the sending, in an organization that has it all. */
const beside = kind === 'steady' ? await prepareWork() : {};

/**
 * A webhook for every message, from when work begins, searches that bring the index up to the log, and retention in another
 * organization.
 */
async function prepareWork(): Promise<Pick<Answers, 'work' | 'rest'>> {
  const member = await call(local, 'members.add', {
    organization: tenant.slug,
    email: 'searcher@bench.example',
    name: 'Searcher',
    role: 'operator',
    password: randomUUID(),
  });
  const actor = await signedIn(service, member.id);
  // On the free plan, which keeps messages for 30 days.
  const { id } = await call(local, 'organizations.create', { name: 'old', slug: 'old' });
  const application = await call(local, 'applications.create', {
    organization: 'old',
    name: 'old',
    domains: ['old.example'],
  });
  const visitor: Actor = {
    kind: 'visitor',
    organizationId: id,
    applicationId: application.id,
    visitorId: randomUUID(),
    mode: 'live',
    via: 'key',
    origin: null,
  };
  await call(visitor, 'conversations.create', { subject: 'old' });
  let webhook: Promise<unknown> | undefined;
  let working = false;
  let done: Record<string, number> = {};
  let underWay: Promise<unknown> = Promise.resolve();
  const search = async (): Promise<void> => {
    while (working) {
      await call(actor, 'staff.conversations.list', { q: searchedWord });
      done['searches'] = (done['searches'] ?? 0) + 1;
      await pause(searchEveryMs);
    }
  };
  const purge = async (): Promise<void> => {
    done['purged messages'] = (await call(local, 'retention.purge', { force: true })).total.messages;
  };
  return {
    work: async () => {
      await (webhook ??= call(local, 'webhooks.create', {
        organization: tenant.slug,
        url: hook,
        events: ['message:new'],
      }));
      working = true;
      done = {};
      underWay = Promise.all([search(), purge()]);
    },
    rest: async () => {
      working = false;
      await underWay;
      return done;
    },
  };
}

/** Made when it is asked for: members' passwords take their time. */
let operated: Promise<Tenant & { readonly token: string }> | undefined;
async function createOperated(): Promise<Tenant & { readonly token: string }> {
  const made = await createTenant('operated');
  const member = await call(local, 'members.add', {
    organization: made.slug,
    email: 'operator@bench.example',
    name: 'Operator',
    role: 'operator',
    password: randomUUID(),
  });
  const { token } = await call(local, 'session.createLocal', { memberId: member.id });
  if (reaches) await post('/staff/push', token, browser());
  for (const { conversationId } of made.visitors)
    await post(`/staff/conversations/${conversationId}/accept`, token);
  return { ...made, token };
}

/** A browser that pushes could go to. */
function browser(): object {
  const keys = createECDH('prime256v1');
  return {
    endpoint: 'https://fcm.googleapis.com/fcm/send/bench',
    keys: { p256dh: keys.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') },
    label: 'bench',
  };
}

async function pairs(way: Way): Promise<Pair[]> {
  const path = (token: string): string => `/api/v1/ws?token=${token}`;
  const staff = way === 'operator' || way === 'both' ? await (operated ??= createOperated()) : undefined;
  const { visitors, key } = staff ?? tenant;
  return Promise.all(
    visitors.map(async ({ actor, conversationId }): Promise<Pair> => {
      const ofVisitor = path((await call(actor, 'widget.token', {})).token);
      const ofStaff = staff && ((await post('/staff/ws-token', staff.token)) as { token: string });
      return {
        conversationId,
        sender:
          ofStaff === undefined ? (way === 'visitor' ? ofVisitor : null) : `${path(ofStaff.token)}&mode=test`,
        listener: ofVisitor,
        mutual: way === 'both',
        headers: {
          origin,
          'x-app-id': actor.applicationId,
          'x-visitor-id': actor.visitorId,
          ...(way === 'key' ? { authorization: `Bearer ${key}` } : {}),
        },
        framing: 'plain',
      };
    }),
  );
}

serveQuestions({
  address: () => ({ host: '127.0.0.1', port, database: join(folder, 'deskbell.db') }),
  pairs,
  stop: () => app.stop(),
  ...beside,
});
