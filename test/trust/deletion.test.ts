// Deleting much takes many small steps: everybody else is answered throughout.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { measureLoop, type LoopDelay } from '../helpers/loop-delay.ts';
import {
  createApplication,
  createConversation,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestApplication,
  type TestClient,
} from '../helpers/fixtures.ts';

const messages = 6_000;

let app: TestApp;
let second: TestApplication;
let other: TestClient;

beforeAll(async () => {
  app = await startApp({ realTime: true });
  const acme = await createOrganization(app, 'acme');
  second = await createApplication(app, 'acme', 'second.example');
  other = createVisitor(app, acme.application);
  await createMessage(other, await createConversation(other));
});
afterAll(() => app.stop());

/** A long conversation of a visitor: copies of one message, with their words. */
async function fill(visitor: TestClient, organizationId: string): Promise<void> {
  const conversationId = await createConversation(visitor);
  const template = await createMessage(visitor, conversationId, 'the parcel never arrived');
  const { store, clock } = app.service.engine;
  for (let from = 0; from < messages; from += 500)
    await store.write({ organization: organizationId }, async ({ repositories }) => {
      const {
        visitor_name: _visitor,
        member_name: _member,
        ...row
      } = (await repositories.messages.byId(template))!;
      const scope = await repositories.search.scopeOf(organizationId);
      for (let at = from; at < from + 500; at += 1) {
        const id = clock.newId();
        await repositories.messages.append({ ...row, id, client_message_id: null }, 'visitor');
        await repositories.search.put(scope, id, ['the', 'parcel', 'never', 'arrived']);
      }
    });
}

/** Runs work beside requests of another visitor. @returns how long it held the loop */
async function beside(what: string, work: () => Promise<unknown>): Promise<LoopDelay> {
  let over = false;
  const asking = (async () => {
    while (!over) {
      expect((await other.call('GET', '/conversations')).status).toBe(200);
    }
  })();
  const delay = await measureLoop(work);
  over = true;
  await asking;
  process.stdout.write(
    `${what} with ${messages} messages: the loop is held ${delay.p99.toFixed(1)} ms (p99), ${delay.longest.toFixed(1)} ms at most ` +
      `of ${delay.total.toFixed(0)} ms\n`,
  );
  return delay;
}

describe(`${messages} messages`, () => {
  it('of an application go without holding the event loop', async () => {
    const organizationId = (await app.local('applications.get', { applicationId: second.id })).organizationId;
    await fill(createVisitorByKey(app, second), organizationId);
    const { p99, longest, total } = await beside('deleting an application', () =>
      app.local('applications.delete', { applicationId: second.id }),
    );
    expect(p99).toBeLessThan(100);
    expect(longest).toBeLessThan(total / 4);
  });

  it('of a visitor who is erased go without holding the event loop', async () => {
    const visitor = createVisitorByKey(app, {
      ...second,
      ...(await createApplication(app, 'acme', 'third.example')),
    });
    const { applications } = await app.local('applications.list', { organization: 'acme' });
    await fill(visitor, applications[0]!.organizationId);
    const { p99, longest, total } = await beside('erasing a visitor', () =>
      app.local('visitors.erase', { visitorId: visitor.id }),
    );
    expect(p99).toBeLessThan(100);
    expect(longest).toBeLessThan(total / 4);
  });
});
