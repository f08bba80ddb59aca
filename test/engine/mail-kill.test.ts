// kill -9 of the server between an answer and its mail, and between a mail and its acknowledgement, again and again: every
// mail arrives, each under one Message-ID, and every mail that was acknowledged is one message.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { openService } from '../../src/open-service.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import type { OperationName, Output, RawInput } from '../../src/protocol/operations.ts';
import type { Actor } from '../../src/services/core/actor.ts';
import { execute } from '../../src/services/execute.ts';
import { makeToken, replyAddress } from '../../src/services/mail/reply-token.ts';
import { request, type Reply } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { MailHost } from '../helpers/mail-host.ts';
import { serve, type ServerProcess } from '../helpers/process.ts';
import { rounds, seededRandom } from '../helpers/rounds.ts';
import { plainMail } from '../helpers/send-mail.ts';

const cycles = rounds(3, 250);
const perCycle = 8;
const random = seededRandom();

interface Talk {
  readonly id: string;
  readonly address: string;
  readonly replyTo: string;
}

let parent: string;
let folder: string;
let host: MailHost;
let token: string;
let key: string;
const talks: Talk[] = [];

beforeAll(async () => {
  host = await new MailHost().start();
  parent = await mkdtemp(join(tmpdir(), 'deskbell-mail-kill-'));
  folder = join(parent, 'data');
  const config = readConfig(
    {
      data: folder,
      limitVisitor: 'off',
      limitApplication: 'off',
      limitAddress: 'off',
      limitAddressNew: 'off',
    },
    {},
  );
  const { service, close } = await openService(config, 'command', () => null, { passwordCost: 4 });
  const call = <N extends OperationName>(actor: Actor, name: N, input: RawInput<N>): Promise<Output<N>> =>
    execute({ service, actor, address: null, contentLimit: sizeLimits.contentRest }, name, input);
  const local: Actor = { kind: 'local' };
  const organization = await call(local, 'organizations.create', { name: 'Kill', slug: 'kill' });
  await call(local, 'organizations.update', { organization: 'kill', plan: 'enterprise' });
  const application = await call(local, 'applications.create', {
    organization: 'kill',
    name: 'Site',
    domains: ['kill.example'],
  });
  await call(local, 'applications.update', { applicationId: application.id, email: { afterMinutes: 0 } });
  const password = 'correct horse battery staple';
  await call(local, 'members.add', {
    organization: 'kill',
    email: 'olivia@kill.example',
    name: 'Olivia',
    role: 'admin',
    password,
  });
  const session = await call({ kind: 'anonymous' }, 'session.create', {
    organization: 'kill',
    email: 'olivia@kill.example',
    password,
  });
  if (!('token' in session) || session.token === undefined) throw new Error('no session');
  ({ token } = session);
  ({ key } = await call(local, 'email.createKey', { applicationId: application.id }));
  for (let at = 0; at < cycles * perCycle; at += 1) {
    const visitor: Actor = {
      kind: 'visitor',
      organizationId: organization.id,
      applicationId: application.id,
      visitorId: randomUUID(),
      mode: 'live',
      via: 'origin',
      origin: 'https://kill.example',
    };
    const address = `rosa${at}@example.net`;
    await call(visitor, 'visitor.update', { email: address });
    const { conversation } = await call(visitor, 'conversations.create', {});
    const row = await service.engine.store.read(async ({ repositories }) =>
      repositories.conversations.byId(conversation.id),
    );
    if (row === undefined) throw new Error('no conversation');
    talks.push({
      id: conversation.id,
      address,
      replyTo: replyAddress('reply@chat.example.com', makeToken(service, 'reply', row)),
    });
  }
  await close();
});

afterAll(async () => {
  await host.stop();
  await rm(parent, { recursive: true, force: true });
});

const start = (): Promise<ServerProcess> =>
  serve(folder, {
    environment: { DESKBELL_SMTP_URL: host.url(), DESKBELL_MAIL_ADDRESS: 'reply@chat.example.com' },
  });

const ask = (
  server: ServerProcess,
  path: string,
  body: unknown,
  type = 'application/json',
): Promise<Reply | null> =>
  request(
    server.url,
    'POST',
    `/api/v1${path}`,
    type === 'application/json'
      ? { authorization: `Bearer ${token}`, 'content-type': type }
      : { 'content-type': type },
    body,
  ).catch(() => null);

/** Asks until it was acknowledged: over a kill, as a client with an outbox and a mail server with a queue do. */
function insist(
  current: () => Promise<ServerProcess>,
  path: string,
  body: unknown,
  type?: string,
): Promise<void> {
  return eventually(async () => {
    const reply = await ask(await current(), path, body, type);
    // Accepted already: the answer to the first try was lost.
    if (reply === null || (reply.status >= 300 && reply.status !== 409))
      throw new Error(`${reply?.status} ${reply?.text}`);
  });
}

/** How many answers are known to have been mailed. */
function delivered(): number {
  const db = new Database(databaseFile(folder), { readonly: true });
  try {
    const count = "select count(*) from effects where about = 'reply' and state = 'delivered'";
    return Number(db.prepare(count).pluck().get());
  } finally {
    db.close();
  }
}

it('loses no mail and doubles none', async () => {
  let running = start();
  const current = (): Promise<ServerProcess> => running;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const some = talks.slice(cycle * perCycle, (cycle + 1) * perCycle);
    const work = some.map(async ({ id, address, replyTo }) => {
      await insist(current, `/staff/conversations/${id}/accept`, {});
      const raw = plainMail({
        from: address,
        to: replyTo,
        text: `words of ${address}`,
        messageId: `<${id}@example.net>`,
      });
      await Promise.all([
        insist(current, `/staff/conversations/${id}/messages`, {
          content: `answer ${id}`,
          clientMessageId: id,
        }),
        insist(current, `/inbound/email/${key}`, raw, 'message/rfc822'),
      ]);
    });
    await setTimeout(30 + random() * 400);
    await (await running).kill();
    running = start();
    await Promise.all(work);
    if (random() < 0.5) {
      await (await running).kill();
      running = start();
    }
  }
  const ids = (): Map<string, Set<string>> => {
    const found = new Map<string, Set<string>>();
    for (const { to, mail } of host.taken) {
      const address = to[0] ?? '';
      // In a long run members are told by mail, too: that is another matter.
      if (!talks.some((talk) => talk.address === address)) continue;
      found.set(address, (found.get(address) ?? new Set()).add(mail.messageId ?? ''));
    }
    return found;
  };
  await eventually(() => expect(ids().size).toBe(talks.length));
  // A mail that went out as its server was killed goes out once more, the same, before it is known to be delivered.
  await eventually(() => expect(delivered()).toBe(talks.length));
  await (await running).stop();
  for (const [address, messageIds] of ids()) expect(messageIds.size, address).toBe(1);
  const db = new Database(databaseFile(folder), { readonly: true });
  try {
    const count = db.prepare("select count(*) from messages where content = ? and via = 'email'").pluck();
    for (const { address } of talks) expect(count.get(`words of ${address}`), address).toBe(1);
  } finally {
    db.close();
  }
});
