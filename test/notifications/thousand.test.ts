// A thousand browsers at once: each is told once, in turns of the loop, and others are served in between.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { currentPushKey, ensurePushKey } from '../../src/services/notifications/push-keys.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { PushBrowser, PushService } from '../helpers/push-browser.ts';

const people = 100;
const browsersEach = 10;

let service: PushService;
let app: TestApp;
let acme: TestOrganization;
const browsers: PushBrowser[] = [];

beforeAll(async () => {
  service = await new PushService().start();
  app = await startApp({ realTime: true, flags: { pushHosts: service.origin } });
  acme = await createOrganization(app, 'acme');
  await ensurePushKey(app.service);
  const { engine, secrets } = app.service;
  const now = engine.clock.now();
  for (let n = 0; n < people; n += 1) {
    const { id: memberId } = await app.local('members.add', {
      organization: 'acme',
      email: `member${n}@acme.example`,
      name: `Member ${n}`,
      role: 'operator',
      password: 'a password of many',
    });
    await engine.store.write({ organization: acme.id }, async (tx) => {
      const key = await currentPushKey(tx);
      const session = {
        id: engine.clock.newId(),
        organization_id: acme.id,
        member_id: memberId,
        digest: secrets.digest(memberId),
        created_at: now,
        last_seen_at: now,
        expires_at: now + 3_600_000,
        name: null,
        scopes: null,
        second_factor: 0 as const,
        address: null,
      };
      await tx.repositories.members.insertSession(session);
      for (let one = 0; one < browsersEach; one += 1) {
        const browser = new PushBrowser(service);
        browsers.push(browser);
        const id = engine.clock.newId();
        const place = { table: 'push_devices.sealed', row: id, organizationId: acme.id };
        await tx.repositories.pushDevices.insert({
          id,
          organization_id: acme.id,
          member_id: memberId,
          session_id: session.id,
          endpoint_digest: secrets.digest(`push:${browser.subscription.endpoint}`),
          sealed: secrets.seal(JSON.stringify(browser.subscription), place),
          host: 'push.example',
          label: 'A browser',
          locale: 'en',
          key_id: key?.id ?? '',
          created_at: now,
          last_sent_at: null,
          problem: null,
        });
      }
    });
  }
});
afterAll(async () => {
  await app.stop();
  await service.stop();
});

it('are each told once of one conversation', async () => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  const id = await createConversation(createVisitor(app, acme.application), 'For all');
  const committed = performance.now();
  await eventually(() => expect(service.all.length).toBe(people * browsersEach));
  const done = performance.now();
  delay.disable();
  await eventually(async () =>
    expect(
      await rowsOf(app, "select state, count(*) as n from effects where kind = 'push' group by state"),
    ).toEqual([{ state: 'delivered', n: people * browsersEach }]),
  );
  expect(new Set(service.all.map(({ path }) => path)).size).toBe(people * browsersEach);
  for (const browser of [browsers[0], browsers.at(-1)])
    expect(browser?.told).toMatchObject([{ conversationId: id, title: 'A visitor is waiting' }]);
  const figures = {
    first: Math.round((service.all[0]?.at ?? 0) - committed),
    answered: Math.round(committed - began),
    all: Math.round(done - committed),
    loopP99: Math.round(delay.percentile(99) / 1e6),
    loopMax: Math.round(delay.max / 1e6),
  };
  if (process.env['DESKBELL_TEST_FIGURES'] !== undefined)
    process.stderr.write(`${JSON.stringify(figures)}\n`);
});
