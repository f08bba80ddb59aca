// Attacks the delivery of webhooks: receivers that fail, are slow, redirect or vanish, a
// server that stops in the middle; nothing may be lost, doubled under two ids, or out of order.
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { webhookData, type WebhookDelivery, type WebhookEvent } from '../../src/protocol/webhooks.ts';
import { runMaintenance } from '../../src/services/data/maintenance.ts';
import { retryDelay } from '../../src/services/webhooks/attempts.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf, tellConfiguration } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { isSigned, Receiver } from '../helpers/receiver.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let admin: TestMember;
let receivers: Receiver[] = [];

beforeEach(async () => {
  app = await startApp({ flags: { webhookPrivate: 'allow' } });
  acme = await createOrganization(app, 'acme');
  admin = await createMember(app, 'acme', 'admin');
  visitor = createVisitor(app, acme.application);
});

afterEach(async () => {
  await app.stop();
  await Promise.all(receivers.map((one) => one.stop()));
  receivers = [];
});

async function aReceiver(): Promise<Receiver> {
  const receiver = await new Receiver().start();
  receivers.push(receiver);
  return receiver;
}

const create = (receiver: Receiver, events: WebhookEvent[] | null = null) =>
  app.local('webhooks.create', { organization: 'acme', url: receiver.url, events });

async function deliveries(webhookId: string): Promise<WebhookDelivery[]> {
  return (await app.local('webhooks.deliveries', { webhookId, limit: 100 })).deliveries;
}

/** Waits until none of a webhook's deliveries is under way, and this is how they stand. */
async function settles(
  webhookId: string,
  fits: (rows: WebhookDelivery[]) => boolean,
): Promise<WebhookDelivery[]> {
  return eventually(async () => {
    const rows = await deliveries(webhookId);
    if (!fits(rows))
      throw new Error(
        JSON.stringify(rows.map(({ type, status, attempts, error }) => ({ type, status, attempts, error }))),
      );
    return rows;
  });
}

/** Moves on until what failed last is tried again. */
async function waitOutDelay(attempts: number): Promise<void> {
  app.clock.advance(retryDelay(attempts, 1));
}

it('the log of one is its own, page by page and by its time', async () => {
  const [mine, other] = [await aReceiver(), await aReceiver()];
  const [{ id }, { id: beside }] = [await create(mine), await create(other)];
  for (let count = 1; count <= 3; count += 1) {
    app.clock.advance(1_000);
    await createConversation(visitor);
    await mine.has(count);
    await other.has(count);
  }
  for (const webhookId of [id, beside])
    await settles(webhookId, (rows) => rows.filter(({ status }) => status === 'delivered').length === 3);
  const all = await deliveries(id);
  expect(all.map(({ webhookId }) => webhookId)).toEqual([id, id, id]);
  for (const offset of [0, 1, 2, 3]) {
    const page = await app.local('webhooks.deliveries', { webhookId: id, limit: 1, offset });
    expect([page.total, page.deliveries]).toEqual([3, all.slice(offset, offset + 1)]);
  }
});

describe('what is told', () => {
  it('is everything of the organization, signed, in the shapes of the contract', async () => {
    const receiver = await aReceiver();
    const { id, secret } = await create(receiver);
    const conversationId = await createConversation(visitor, 'My order');
    const messageId = await createMessage(visitor, conversationId, 'Where is it?');
    await visitor.call('PATCH', `/conversations/${conversationId}/messages/${messageId}`, {
      content: 'Where is my order?',
    });
    await admin.call('POST', `/conversations/${conversationId}/accept`);
    await admin.call('POST', `/conversations/${conversationId}/read`, { messageId });
    await admin.call('POST', `/conversations/${conversationId}/release`);
    const second = await createMessage(visitor, conversationId, 'gone soon');
    await receiver.has(7);
    await visitor.call('DELETE', `/conversations/${conversationId}/messages/${second}`);
    await admin.call('POST', `/conversations/${conversationId}/accept`);
    await admin.call('POST', `/conversations/${conversationId}/resolve`);
    const taken = await receiver.has(10);
    expect(taken.map(({ event }) => event.type)).toEqual([
      'conversation:new',
      'message:new',
      'message:edited',
      'conversation:accepted',
      'conversation:read',
      'conversation:released',
      'message:new',
      'message:deleted',
      'conversation:accepted',
      'conversation:resolved',
    ]);
    expect(new Set(taken.map(({ id: messageOf }) => messageOf)).size).toBe(10);
    for (const received of taken) {
      expect(isSigned(received, secret), received.event.type).toBe(true);
      expect(isSigned(received, `whsec_${Buffer.alloc(32).toString('base64')}`)).toBe(false);
      expect(received.headers['content-type']).toBe('application/json');
      expect(Object.keys(received.event)).toEqual(['type', 'timestamp', 'data']);
      const shape = webhookData[received.event.type as WebhookEvent];
      expect(shape.parse(received.event.data), received.event.type).toEqual(received.event.data);
      expect(received.event.data['applicationId']).toBe(acme.application.id);
      expect(received.event.timestamp).toBe('2026-11-21T12:00:00.000Z');
    }
    expect(taken[1]?.event.data).toMatchObject({
      conversationId,
      senderId: visitor.id,
      senderRole: 'visitor',
    });
    const rows = await settles(
      id,
      (all) => all.length === 10 && all.every(({ status }) => status === 'delivered'),
    );
    expect(rows[0]).toMatchObject({
      type: 'conversation:resolved',
      attempts: 1,
      responseStatus: 204,
      error: null,
      nextAttemptAt: null,
    });
  });

  it('is never a note, never test data, never another organization, and only what was chosen', async () => {
    const everything = await aReceiver();
    const chosen = await aReceiver();
    await create(everything);
    await create(chosen, ['conversation:resolved']);
    const other = await createOrganization(app, 'other');
    const theirs = await aReceiver();
    await app.local('webhooks.create', { organization: 'other', url: theirs.url });
    const foreign = await createConversation(createVisitor(app, other.application), 'CANARY-OTHER');
    await theirs.has(1);
    const tester = createVisitorByKey(app, acme.application, 'test');
    await createMessage(tester, await createConversation(tester, 'CANARY-TEST'), 'CANARY-TEST');
    const conversationId = await createConversation(visitor, 'real');
    const note = await admin.call('POST', `/conversations/${conversationId}/messages`, {
      content: 'CANARY-NOTE',
      internal: true,
    });
    await admin.call('PATCH', `/conversations/${conversationId}/messages/${note.body.message.id}`, {
      content: 'CANARY-NOTE-2',
    });
    await admin.call('POST', `/conversations/${conversationId}/read`, { messageId: note.body.message.id });
    await admin.call('DELETE', `/conversations/${conversationId}/messages/${note.body.message.id}`);
    await admin.call('POST', `/conversations/${conversationId}/resolve`);
    await everything.has(2);
    await chosen.has(1);
    expect(everything.all.map(({ event }) => event.type)).toEqual([
      'conversation:new',
      'conversation:resolved',
    ]);
    expect(chosen.all.map(({ event }) => event.type)).toEqual(['conversation:resolved']);
    expect(JSON.stringify(everything.all)).not.toContain('CANARY');
    expect(theirs.all.map(({ event }) => event.data['id'])).toEqual([foreign]);
    expect(JSON.stringify(everything.all)).not.toContain(note.body.message.id);
  });

  it('holds no text that was deleted in between, and leaves none in the database', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver);
    const conversationId = await createConversation(visitor);
    await receiver.tried(1);
    const messageId = await createMessage(visitor, conversationId, 'CANARY-REGRETTED');
    await visitor.call('DELETE', `/conversations/${conversationId}/messages/${messageId}`);
    receiver.answers(200);
    await waitOutDelay(1);
    await receiver.has(2);
    expect(receiver.taken.map(({ event }) => event.type)).toEqual(['conversation:new', 'message:deleted']);
    expect(JSON.stringify(receiver.all)).not.toContain('CANARY');
    await settles(id, (rows) =>
      rows.some(({ status, type }) => status === 'skipped' && type === 'message:new'),
    );
    expect(JSON.stringify(await rowsOf(app, 'select * from webhook_deliveries'))).not.toContain('CANARY');
  });
});

describe('a receiver that fails for a while', () => {
  it('gets everything once it is back, signed, in order within each conversation', async () => {
    const receiver = await aReceiver();
    const { id, secret } = await create(receiver, ['message:new']);
    const conversations = [
      await createConversation(visitor),
      await createConversation(visitor),
      await createConversation(visitor),
    ];
    receiver.answers(503);
    const sent: Record<string, string[]> = {};
    for (const round of [1, 2, 3, 4])
      for (const conversationId of conversations)
        (sent[conversationId] ??= []).push(await createMessage(visitor, conversationId, `round ${round}`));
    // Only the first of each conversation was tried: what follows waits for it.
    for (const attempts of [1, 2, 3]) {
      await settles(
        id,
        (rows) => rows.length === 12 && rows.filter((row) => row.attempts === attempts).length === 3,
      );
      if (attempts < 3) await waitOutDelay(attempts);
    }
    expect(receiver.all).toHaveLength(9);
    expect(new Set(receiver.all.map((one) => one.id)).size).toBe(3);
    receiver.answers(200);
    await waitOutDelay(3);
    const taken = await receiver.has(12);
    for (const conversationId of conversations)
      expect(
        taken
          .filter(({ event }) => event.data['conversationId'] === conversationId)
          .map(({ event }) => event.data['id']),
      ).toEqual(sent[conversationId]);
    for (const received of receiver.all) expect(isSigned(received, secret)).toBe(true);
    await settles(id, (rows) => rows.every(({ status }) => status === 'delivered'));
    expect(taken).toHaveLength(12);
  });

  it('is tried again later and later, each attempt with its own time under the same id', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver, ['conversation:new']);
    await createConversation(visitor);
    await receiver.tried(1);
    for (const attempts of [1, 2, 3, 4]) {
      await settles(id, ([row]) => row?.attempts === attempts && row.status === 'waiting');
      // Not a moment earlier than the shortest delay.
      app.clock.advance(retryDelay(attempts, 0) - 1);
      await deliveries(id);
      expect(receiver.all).toHaveLength(attempts);
      app.clock.advance(retryDelay(attempts, 1) - retryDelay(attempts, 0) + 1);
      await receiver.tried(attempts + 1);
    }
    expect(new Set(receiver.all.map((one) => one.id)).size).toBe(1);
    const times = receiver.all.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(new Set(times).size).toBe(5);
  });

  it('gets what waits for a late attempt as soon as anything that failed gets through', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver, ['conversation:new']);
    const old = await createConversation(visitor);
    for (const attempts of [1, 2, 3, 4]) {
      await settles(id, ([row]) => row?.attempts === attempts);
      if (attempts < 4) await waitOutDelay(attempts);
    }
    const recent = await createConversation(visitor);
    await settles(id, (rows) => rows.some(({ attempts }) => attempts === 1));
    receiver.answers(200);
    // The delay of the recent one; the old one's is far longer.
    await waitOutDelay(1);
    const taken = await receiver.has(2);
    expect(taken.map(({ event }) => event.data['id'])).toEqual([recent, old]);
  });

  it('gets all of what waits for a late attempt, however much it is, a part with each that gets through', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver, ['conversation:new']);
    await createConversation(visitor);
    await settles(id, ([row]) => row?.attempts === 1);
    const now = app.clock.now();
    const copies = 450;
    await rowsOf(
      app,
      `insert into webhook_deliveries (id, webhook_id, type, event_at, conversation_id, actor_id, in_turn, status, attempts, next_attempt_at, give_up_at, created_at)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < ${copies})
       select '00000000-0000-4000-8000-' || (900000000000 + i), webhook_id, type, event_at, conversation_id, actor_id, 0, 'waiting', 1, ${now + 3_600_000} + i, give_up_at, created_at
       from webhook_deliveries, n where webhook_id = '${id}'`,
    );
    receiver.answers(200);
    await waitOutDelay(1);
    await receiver.has(copies + 1);
    await eventually(async () => {
      const log = await app.local('webhooks.deliveries', { webhookId: id, status: 'waiting' });
      expect(log.total).toBe(0);
    });
    // One that gets through makes no more due than a commit may change.
    const hasten = (most: number): Promise<number> =>
      app.service.engine.store.write('server', ({ repositories: { webhooks } }) =>
        webhooks.hasten(id, app.clock.now(), most),
      );
    await rowsOf(
      app,
      `update webhook_deliveries set status = 'waiting', next_attempt_at = ${app.clock.now() + 3_600_000} where webhook_id = '${id}' and attempts = 2`,
    );
    expect([await hasten(300), await hasten(300), await hasten(300)]).toEqual([300, copies + 1 - 300, 0]);
  });

  it('is given up after a day, which the log says, and what comes next is tried all the same', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver, ['conversation:new', 'message:new']);
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId);
    await settles(id, (rows) => rows.length === 2 && rows.some(({ attempts }) => attempts === 1));
    app.clock.advance(86_400_000);
    // The second has had its day too, waiting: one attempt, and over.
    const rows = await settles(id, (all) => all.every(({ status }) => status === 'failed'));
    expect(
      rows.map(({ type, attempts, responseStatus, error }) => ({ type, attempts, responseStatus, error })),
    ).toEqual([
      { type: 'message:new', attempts: 1, responseStatus: 500, error: 'answered 500' },
      { type: 'conversation:new', attempts: 2, responseStatus: 500, error: 'answered 500' },
    ]);
    receiver.answers(200);
    await createMessage(visitor, conversationId, 'later');
    await receiver.has(1);
    expect(receiver.taken[0]?.event.data['content']).toBe('later');
  });

  it('delays no one else: not its own other conversations, not other webhooks, however long it hangs', async () => {
    const dead = await aReceiver();
    dead.answer = () => undefined;
    const well = await aReceiver();
    const picky = await aReceiver();
    const doomed = await createConversation(visitor);
    picky.answer = (response, { event }) =>
      response.writeHead(event.data['conversationId'] === doomed ? 500 : 200).end();
    await create(dead);
    await create(well);
    await create(picky);
    for (let index = 0; index < 6; index += 1) await createMessage(visitor, doomed, `m${index}`);
    const other = await createConversation(visitor);
    await createMessage(visitor, other, 'hello');
    await well.has(8);
    await picky.has(2);
    // Never more than a few at once, for the one that hangs.
    await dead.tried(2);
    expect(dead.all.length).toBeLessThanOrEqual(4);
  });

  it('gets eight requests at once of an organization, whatever its webhooks are called, and each in its turn', async () => {
    const victim = await aReceiver();
    const waiting: ServerResponse[] = [];
    let most = 0;
    victim.answer = (response) => {
      waiting.push(response);
      most = Math.max(most, waiting.length);
    };
    const hooks = 4;
    for (let at = 0; at < hooks; at += 1)
      await app.local('webhooks.create', {
        organization: 'acme',
        url: `${victim.url}?${at}`,
        events: ['conversation:new'],
      });
    for (let at = 0; at < 6; at += 1) await createConversation(visitor);
    const well = await aReceiver();
    const other = await createOrganization(app, 'other');
    await app.local('webhooks.create', {
      organization: 'other',
      url: well.url,
      events: ['conversation:new'],
    });
    await victim.tried(8);
    // Another organization's do not wait for them, though they go to the same host.
    await createConversation(createVisitor(app, other.application));
    await well.has(1);
    expect(victim.all).toHaveLength(8);
    for (let answered = 0; answered < hooks * 6; answered += 1) {
      await eventually(() => expect(waiting.length).toBeGreaterThan(0));
      waiting.shift()?.writeHead(204).end();
    }
    await victim.has(hooks * 6);
    expect(most).toBe(8);
    expect(new Set(victim.all.map(({ id }) => id)).size).toBe(hooks * 6);
  });

  it('that hangs is cut off after ten seconds, and that trickles is not listened to', async () => {
    const receiver = await aReceiver();
    let over = false;
    receiver.answer = (response) => {
      response.on('close', () => (over = true));
    };
    const { id } = await create(receiver, ['conversation:new']);
    await createConversation(visitor);
    await receiver.tried(1);
    app.clock.advance(9_999);
    await deliveries(id);
    expect(over).toBe(false);
    app.clock.advance(1);
    const [row] = await settles(id, ([one]) => one?.attempts === 1);
    expect(row).toMatchObject({
      status: 'waiting',
      error: 'did not answer within 10 s',
      responseStatus: null,
      durationMs: 10_000,
    });
    let bytes = 0;
    receiver.answer = (response) => {
      response.writeHead(200);
      const pour = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) bytes += 65_536;
      };
      response.on('drain', pour);
      pour();
    };
    await waitOutDelay(1);
    await settles(id, ([one]) => one?.status === 'delivered');
    // The buffers on the way fill up; nothing near an endless body is read.
    expect(bytes).toBeLessThan(16 * 1_048_576);
  });

  it('that sends it elsewhere is not followed', async () => {
    const receiver = await aReceiver();
    const elsewhere = await aReceiver();
    receiver.answer = (response) => response.writeHead(307, { location: elsewhere.url }).end();
    const { id } = await create(receiver, ['conversation:new']);
    await createConversation(visitor);
    const [row] = await settles(id, ([one]) => one?.attempts === 1);
    expect(row).toMatchObject({
      status: 'waiting',
      responseStatus: 307,
      error: 'answered 307: redirects are not followed',
    });
    expect(elsewhere.all).toEqual([]);
  });

  it('that answers 410 is switched off, and the audit log says so', async () => {
    const receiver = await aReceiver();
    receiver.answers(410);
    const { id } = await create(receiver);
    await createConversation(visitor);
    await eventually(async () =>
      expect((await app.local('webhooks.get', { webhookId: id })).enabled).toBe(false),
    );
    await createConversation(visitor);
    await deliveries(id);
    expect(receiver.all).toHaveLength(1);
    const [entry] = await rowsOf(app, "select actor, detail from audit where action = 'webhooks.update'");
    expect(entry).toEqual({ actor: 'service', detail: '{"enabled":false,"reason":"answered 410"}' });
    // Switched on again it hears of what happens from then on, and not of what happened in between.
    receiver.answers(200);
    await app.local('webhooks.update', { webhookId: id, enabled: true });
    const third = await createConversation(visitor);
    await receiver.has(1);
    expect(receiver.taken.map(({ event }) => event.data['id'])).toEqual([third]);
  });
});

describe('a server that stops', () => {
  it('in the middle of everything loses nothing and goes on', async () => {
    const receiver = await aReceiver();
    receiver.answer = () => undefined;
    const { id } = await create(receiver, ['message:new']);
    const conversationId = await createConversation(visitor);
    const sent: string[] = [];
    for (let index = 0; index < 5; index += 1)
      sent.push(await createMessage(visitor, conversationId, `m${index}`));
    await receiver.tried(1);
    app = await app.restart();
    await receiver.tried(2);
    // The one that was under way came again, under the same id, and counts as no attempt.
    expect(receiver.all[1]?.id).toBe(receiver.all[0]?.id);
    expect(await settles(id, (rows) => rows.length === 5)).toMatchObject(
      Array.from({ length: 5 }, () => ({ attempts: 0 })),
    );
    app = await app.restart();
    await receiver.tried(3);
    receiver.answers(200);
    app.clock.advance(10_000);
    await settles(id, (rows) => rows.some(({ attempts }) => attempts === 1));
    await waitOutDelay(1);
    await receiver.has(5);
    expect(receiver.taken.map(({ event }) => event.data['id'])).toEqual(sent);
  });

  it('does not tell a webhook afterwards what happened while it was switched off', async () => {
    const receiver = await aReceiver();
    const rare = await aReceiver();
    // Far behind in the log, as none of this concerns it: anyone who starts again reads from there.
    await create(rare, ['conversation:resolved']);
    const { id } = await create(receiver, ['conversation:new']);
    await app.local('webhooks.update', { webhookId: id, enabled: false });
    await createConversation(visitor, 'unheard');
    await app.local('webhooks.update', { webhookId: id, enabled: true });
    app = await app.restart();
    const heard = await createConversation(createVisitor(app, acme.application), 'heard');
    await receiver.has(1);
    expect((await deliveries(id)).length).toBe(1);
    expect(receiver.all.map(({ event }) => event.data['id'])).toEqual([heard]);
    expect(rare.all).toEqual([]);
  });

  it('and a webhook made beside it hears of what was committed before anybody noticed', async () => {
    const receiver = await aReceiver();
    await createConversation(visitor, 'before');
    const { id } = await create(receiver, ['conversation:new']);
    await app.local('webhooks.update', { webhookId: id, enabled: false });
    // As another process leaves it: made at the present end of the log, then an event, and only then the server looks.
    const kept = (await rowsOf(app, 'select max(seq) as seq from event_log'))[0]?.['seq'] as number;
    const conversationId = await createConversation(visitor, 'in between');
    await rowsOf(app, 'update webhooks set enabled = 1, position = ?', kept);
    await tellConfiguration(app);
    app.clock.advance(1_000);
    const taken = await receiver.has(1);
    expect(taken.map(({ event }) => event.data['id'])).toEqual([conversationId]);
    app = await app.restart();
    await createConversation(createVisitor(app, acme.application), 'after');
    await receiver.has(2);
    expect(receiver.all).toHaveLength(2);
  });
});

describe('the log', () => {
  it('sends a test once, replays under the same id, and forgets after 30 days', async () => {
    const receiver = await aReceiver();
    const { id, secret } = await create(receiver);
    const tested = await app.local('webhooks.test', { webhookId: id });
    expect(tested).toMatchObject({ type: 'webhook:test', status: 'waiting', conversationId: null });
    const [sample] = await receiver.has(1);
    expect(sample?.event).toMatchObject({ type: 'webhook:test', data: { webhookId: id } });
    expect(isSigned(sample!, secret)).toBe(true);
    receiver.answers(500);
    await settles(id, ([row]) => row?.status === 'delivered');
    const failing = await app.local('webhooks.test', { webhookId: id });
    await settles(id, (rows) => rows.find((row) => row.id === failing.id)?.status === 'failed');
    receiver.answers(200);
    await createConversation(visitor);
    await receiver.has(2);
    const first = receiver.taken[1]!;
    await settles(id, (rows) => rows.find((row) => row.id === first.id)?.status === 'delivered');
    const replayed = await app.local('webhooks.replay', { webhookId: id, deliveryId: first.id });
    expect(replayed).toMatchObject({ id: first.id, status: 'waiting' });
    const taken = await receiver.has(3);
    expect(taken[2]).toMatchObject({ id: first.id, event: first.event });
    await settles(id, (rows) => rows.find((row) => row.id === first.id)?.attempts === 2);
    app.clock.step(31 * 86_400_000);
    await runMaintenance(app.service);
    expect(await deliveries(id)).toEqual([]);
  });

  it('tries what waits at once when it is asked to', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver, ['conversation:new', 'message:new']);
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId);
    const rows = await settles(id, (all) => all.some(({ attempts }) => attempts === 1) && all.length === 2);
    expect((await app.local('webhooks.get', { webhookId: id })).waiting).toBe(2);
    receiver.answers(200);
    const behind = rows.find(({ type }) => type === 'message:new');
    await app.local('webhooks.replay', { webhookId: id, deliveryId: behind!.id });
    await receiver.has(2);
    expect(receiver.taken.map(({ event }) => event.type)).toEqual(['conversation:new', 'message:new']);
  });

  it('goes with an erased conversation', async () => {
    const receiver = await aReceiver();
    receiver.answers(500);
    const { id } = await create(receiver);
    await createConversation(visitor);
    await settles(id, (rows) => rows.length === 1);
    await app.local('applications.delete', { applicationId: acme.application.id });
    expect(await deliveries(id)).toEqual([]);
  });
});

describe('a secret that is rotated', () => {
  const last = async (receiver: Receiver, count: number) => (await receiver.has(count)).at(-1)!;
  const send = (webhookId: string) => app.local('webhooks.test', { webhookId });

  it('signs beside the new one until the overlap is over, and no longer', async () => {
    const receiver = await aReceiver();
    const { id, secret: first } = await create(receiver);
    const until = app.clock.now() + 3_600_000;
    const rotated = await app.local('webhooks.rotate', { webhookId: id, overlapSeconds: 3_600 });
    const { secret: second } = rotated;
    expect(second).not.toBe(first);
    expect(rotated.previousSecretUntil).toBe(new Date(until).toISOString());
    await send(id);
    const during = await last(receiver, 1);
    expect([isSigned(during, first), isSigned(during, second)]).toEqual([true, true]);
    expect(await app.local('webhooks.reveal', { webhookId: id })).toMatchObject({ secret: second });
    app.clock.advance(3_600_000);
    await send(id);
    const after = await last(receiver, 2);
    expect([isSigned(after, first), isSigned(after, second)]).toEqual([false, true]);
    expect((await app.local('webhooks.get', { webhookId: id })).previousSecretUntil).toBeNull();
    await runMaintenance(app.service);
    expect(await rowsOf(app, 'select previous_sealed, previous_until from webhooks')).toEqual([
      { previous_sealed: null, previous_until: null },
    ]);
  });

  it('and what else has changed holds for the next attempt, though the change was not heard of yet', async () => {
    const [before, after] = [await aReceiver(), await aReceiver()];
    const { id } = await create(before, ['conversation:new']);
    await createConversation(visitor);
    await last(before, 1);
    await rowsOf(app, `update webhooks set url = '${after.url}' where id = '${id}'`);
    await createConversation(visitor);
    await last(after, 1);
    expect(before.all).toHaveLength(1);
  });

  it('stops signing when its overlap is ended, and until then can not be rotated again', async () => {
    const receiver = await aReceiver();
    const { id, secret: first } = await create(receiver);
    const { secret: second } = await app.local('webhooks.rotate', { webhookId: id });
    await expect(app.local('webhooks.rotate', { webhookId: id })).rejects.toMatchObject({ code: 'conflict' });
    expect((await app.local('webhooks.endOverlap', { webhookId: id })).previousSecretUntil).toBeNull();
    await send(id);
    const ended = await last(receiver, 1);
    expect([isSigned(ended, first), isSigned(ended, second)]).toEqual([false, true]);
    const { secret: third } = await app.local('webhooks.rotate', { webhookId: id, overlapSeconds: 0 });
    await send(id);
    const atOnce = await last(receiver, 2);
    expect([isSigned(atOnce, second), isSigned(atOnce, third)]).toEqual([false, true]);
    expect(
      await rowsOf(app, "select action from audit where action like 'webhooks.%' order by created_at, id"),
    ).toEqual(
      ['create', 'rotate', 'endOverlap', 'test', 'rotate', 'test'].map((verb) => ({
        action: `webhooks.${verb}`,
      })),
    );
    expect(app.logged.join('')).not.toContain('whsec_');
  });
});

describe('the admin API', () => {
  const call = (
    who: { readonly headers: Readonly<Record<string, string>> },
    method: string,
    path: string,
    body?: unknown,
  ) => request(app.url, method, `/api/v1/admin/webhooks${path}`, who.headers, body);

  it('shows the secret when it is made and when it is asked for, and nowhere else', async () => {
    const made = await call(admin, 'POST', '', { url: 'https://example.com/hook' });
    expect(made.status).toBe(201);
    expect(made.body.webhook).toMatchObject({
      url: 'https://example.com/hook',
      events: null,
      enabled: true,
      waiting: 0,
      previousSecretUntil: null,
    });
    const { id, secret } = made.body.webhook as { id: string; secret: string };
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
    for (const path of ['', `/${id}`, `/${id}/deliveries`])
      expect((await call(admin, 'GET', path)).text).not.toContain('whsec_');
    const changed = await call(admin, 'PATCH', `/${id}`, { events: ['message:new'] });
    expect(changed.body.webhook.events).toEqual(['message:new']);
    expect((await call(admin, 'PATCH', `/${id}`, { events: null })).body.webhook.events).toBeNull();
    expect((await call(admin, 'POST', `/${id}/reveal`)).body.webhook.secret).toBe(secret);
    expect(await rowsOf(app, "select count(*) as n from audit where action = 'webhooks.reveal'")).toEqual([
      { n: 1 },
    ]);
    expect(
      Buffer.from((await rowsOf(app, 'select sealed from webhooks'))[0]?.['sealed'] as Uint8Array).includes(
        secret.slice(6, 20),
      ),
    ).toBe(false);
    expect(app.logged.join('')).not.toContain(secret);
    expect((await call(admin, 'DELETE', `/${id}`)).body).toEqual({ success: true });
    expect((await call(admin, 'GET', `/${id}`)).status).toBe(404);
  });

  it('is for admins of the organization and for no one else', async () => {
    const { id } = (await call(admin, 'POST', '', { url: 'https://example.com/hook' })).body.webhook;
    const queued = await call(admin, 'POST', `/${id}/test`);
    const delivery = `/${id}/deliveries/${queued.body.delivery.id}/replay`;
    await createOrganization(app, 'other');
    const stranger = await createMember(app, 'other', 'admin');
    const operator = await createMember(app, 'acme', 'operator');
    const routes: [string, string, unknown?][] = [
      ['GET', `/${id}`],
      ['PATCH', `/${id}`, { enabled: false }],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/reveal`],
      ['POST', `/${id}/rotate`],
      ['POST', `/${id}/end-overlap`],
      ['POST', `/${id}/test`],
      ['GET', `/${id}/deliveries`],
      ['POST', delivery],
    ];
    for (const [method, path, body] of routes) {
      expect((await call(stranger, method, path, body)).status, `${method} ${path}`).toBe(404);
      expect((await call(operator, method, path, body)).status, `${method} ${path}`).toBe(403);
      expect((await call({ headers: {} }, method, path, body)).status, `${method} ${path}`).toBe(401);
    }
    expect((await call(stranger, 'GET', '')).body.webhooks).toEqual([]);
    const own = (await call(stranger, 'POST', '', { url: 'https://example.com/hook' })).body.webhook;
    // A delivery of another webhook is not there either, though the caller may replay its own.
    expect(
      (await call(stranger, 'POST', `/${own.id}/deliveries/${queued.body.delivery.id}/replay`)).status,
    ).toBe(404);
    expect((await call(admin, 'GET', `/${id}`)).body.webhook.enabled).toBe(true);
  });

  it.each([
    [{}],
    [{ url: 'example.com/hook' }],
    [{ url: 'ftp://example.com/' }],
    [{ url: 'file:///etc/passwd' }],
    [{ url: 'gopher://example.com/' }],
    [{ url: 'http://example.com/hook' }],
    [{ url: 'https://user:secret@example.com/' }],
    [{ url: `https://example.com/${'x'.repeat(2_000)}` }],
    [{ url: 'https://example.com/', events: [] }],
    [{ url: 'https://example.com/', events: ['typing:start'] }],
    [{ url: 'https://example.com/', events: 'message:new' }],
  ])('refuses %j', async (body) => {
    const reply = await call(admin, 'POST', '', body);
    expect(reply.status).toBe(400);
    expect(reply.text).not.toContain('secret');
    expect((await call(admin, 'GET', '')).body.total).toBe(0);
  });

  it('has room for twenty', async () => {
    for (let index = 0; index < 20; index += 1)
      expect((await call(admin, 'POST', '', { url: `https://example.com/${index}` })).status).toBe(201);
    expect((await call(admin, 'POST', '', { url: 'https://example.com/20' })).status).toBe(409);
  });

  it('says conflict for what is switched off, and 404 for what never was', async () => {
    const { id } = (await call(admin, 'POST', '', { url: 'https://example.com/hook' })).body.webhook;
    await call(admin, 'PATCH', `/${id}`, { enabled: false });
    expect((await call(admin, 'POST', `/${id}/test`)).status).toBe(409);
    expect((await call(admin, 'POST', `/${randomUUID()}/test`)).status).toBe(404);
    expect((await call(admin, 'POST', `/${id}/deliveries/${randomUUID()}/replay`)).status).toBe(404);
  });
});
