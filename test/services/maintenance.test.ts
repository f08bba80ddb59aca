// What the service throws away by itself: old events and sessions that are over, and
// nothing that someone still needs.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { runMaintenance, startMaintenance } from '../../src/services/data/maintenance.ts';
import { readEvents } from '../../src/services/core/event-log.ts';
import { markAddress } from '../../src/services/mail/mail-addresses.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  signIn,
} from '../helpers/fixtures.ts';
import { request } from '../helpers/client.ts';
import { MailHost } from '../helpers/mail-host.ts';
import { Receiver } from '../helpers/receiver.ts';

const day = 86_400_000;
let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});

afterAll(async () => {
  await app.stop();
});

it('forgets events after a week, keeps their numbers unique and the messages whole', async () => {
  const { application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  const conversationId = await createConversation(visitor);
  await createMessage(visitor, conversationId, 'old');
  app.clock.advance(6 * day);
  await runMaintenance(app.service);
  expect(await readEvents(app.service, 0)).toHaveLength(2);
  app.clock.advance(2 * day);
  await runMaintenance(app.service);
  const [kept, ...others] = await readEvents(app.service, 0);
  expect(others).toEqual([]);
  await createMessage(visitor, conversationId, 'new');
  const [next] = await readEvents(app.service, kept?.seq ?? 0);
  expect(next?.seq).toBe((kept?.seq ?? 0) + 1);
  expect((await visitor.call('GET', `/conversations/${conversationId}/messages`)).body.messages).toHaveLength(
    2,
  );
});

it('forgets sessions that are over, and no other', async () => {
  await createOrganization(app, 'beta');
  const early = await createMember(app, 'beta');
  app.clock.advance(20 * day);
  const late = await createMember(app, 'beta');
  app.clock.advance(11 * day);
  await runMaintenance(app.service);
  expect((await early.call('GET', '/session')).status).toBe(401);
  expect((await late.call('GET', '/session')).status).toBe(200);
  const kept = await app.service.engine.store.read(({ repositories }) =>
    repositories.members.sessionByDigest(app.service.secrets.digest(early.token)),
  );
  expect(kept).toBeUndefined();
});

it('forgets that mails came back after a month, and never that a person wants none', async () => {
  const organization = await createOrganization(app, 'gamma');
  const { store } = app.service.engine;
  for (const state of ['bounced', 'stopped'] as const)
    await store.write({ organization: organization.id }, (tx) =>
      markAddress(tx, app.service, organization.id, `${state}@example.com`, state),
    );
  const noted = () =>
    rowsOf(
      app,
      `select state from mail_addresses where organization_id = '${organization.id}' order by state`,
    );
  app.clock.advance(29 * day);
  await runMaintenance(app.service);
  expect(await noted()).toEqual([{ state: 'bounced' }, { state: 'stopped' }]);
  app.clock.advance(2 * day);
  await runMaintenance(app.service);
  expect(await noted()).toEqual([{ state: 'stopped' }]);
});

it('clears what was removed also after a time that went wrong', async () => {
  const { application } = await createOrganization(app, 'delta');
  const visitor = createVisitor(app, application);
  const conversationId = await createConversation(visitor);
  const id = await createMessage(visitor, conversationId, 'soon gone');
  const clear = vi.spyOn(app.service.engine.maintenance, 'clearRemoved');
  const failure = new Error('no such luck');
  clear.mockRejectedValueOnce(failure);
  try {
    expect((await visitor.call('DELETE', `/conversations/${conversationId}/messages/${id}`)).status).toBe(
      200,
    );
    app.clock.advance(5_000);
    await expect.poll(() => clear.mock.calls.length).toBe(1);
    await expect
      .poll(() => {
        app.clock.advance(10_000);
        return clear.mock.calls.length;
      })
      .toBeGreaterThan(1);
  } finally {
    clear.mockRestore();
  }
});

it('plans no clearing once it was stopped, also where one is under way then', async () => {
  const { application } = await createOrganization(app, 'epsilon');
  const visitor = createVisitor(app, application);
  const conversationId = await createConversation(visitor);
  const id = await createMessage(visitor, conversationId, 'soon gone');
  const cleared = Promise.withResolvers<boolean>();
  const clearRemoved = vi.fn<() => Promise<boolean>>(() => cleared.promise);
  const { engine } = app.service;
  const own: Engine = Object.create(engine, {
    maintenance: { value: { ...engine.maintenance, clearRemoved } },
  });
  const stop = startMaintenance({ ...app.service, engine: own }, () => undefined);
  await visitor.call('DELETE', `/conversations/${conversationId}/messages/${id}`);
  // A store may tell of its commit some time after the answer.
  await eventually(() => {
    app.clock.advance(5_000);
    expect(clearRemoved).toHaveBeenCalledTimes(1);
  });
  await stop();
  cleared.resolve(false);
  await cleared.promise;
  // What follows the answer is over after a turn of the loop.
  await new Promise((resolve) => setImmediate(resolve));
  app.clock.advance(60_000);
  expect(clearRemoved).toHaveBeenCalledTimes(1);
});

it('keeps the log of webhooks and of mails for 30 days, with what still waits however old it is', async () => {
  const host = await new MailHost().start();
  const receiver = await new Receiver().start();
  const logs = await startApp({
    flags: { webhookPrivate: 'allow', mailAddress: 'reply@chat.example.com' },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  try {
    const { application } = await createOrganization(logs, 'zeta');
    const admin = await createMember(logs, 'zeta', 'admin');
    // A session lasts no longer than the logs do.
    const ask = async (method: string, path: string, body?: unknown) => {
      const { headers } = await signIn(logs, 'zeta', admin.email, admin.id);
      return request(logs.url, method, `/api/v1/admin${path}`, headers, body);
    };
    const { id } = (await ask('POST', '/webhooks', { url: receiver.url, events: ['conversation:new'] })).body
      .webhook;
    const shown = async (path: string): Promise<unknown[]> =>
      (await ask('GET', `${path}?limit=100`)).body.deliveries.map(
        ({ status }: { readonly status: string }) => status,
      );
    const hooks = () => shown(`/webhooks/${id}/deliveries`);
    const mails = () => shown('/email/deliveries');
    const visitor = createVisitor(logs, application);
    await createConversation(visitor);
    expect((await ask('POST', '/email/test', { to: 'ops@example.net' })).status).toBe(201);
    await eventually(async () =>
      expect([await hooks(), await mails()]).toEqual([['delivered'], ['delivered']]),
    );
    logs.clock.advance(29 * day);
    await runMaintenance(logs.service);
    expect([await hooks(), await mails()]).toEqual([['delivered'], ['delivered']]);
    logs.clock.advance(2 * day);
    await runMaintenance(logs.service);
    expect([await hooks(), await mails()]).toEqual([[], []]);
    // One that was asked for anew, and one whose time was set long ago.
    await createConversation(visitor);
    await eventually(async () => expect(await hooks()).toEqual(['delivered']));
    await rowsOf(
      logs,
      "update webhook_deliveries set status = 'waiting', created_at = 0, next_attempt_at = 8e15",
    );
    await runMaintenance(logs.service);
    expect(await hooks()).toEqual(['waiting']);
  } finally {
    await logs.stop();
    await receiver.stop();
    await host.stop();
  }
});
