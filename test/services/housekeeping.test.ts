// What the service throws away by itself: old events and sessions that are over, and
// nothing that somebody still needs.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tidy } from '../../src/services/housekeeping.ts';
import { readFeed } from '../../src/services/feed.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { aConversation, aMember, aMessage, anOrganization, aVisitor } from '../helpers/world.ts';

const day = 86_400_000;
let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});

afterAll(async () => {
  await app.stop();
});

it('forgets events after a week, keeps their numbers unique and the messages whole', async () => {
  const { application } = await anOrganization(app, 'acme');
  const visitor = aVisitor(app, application);
  const conversationId = await aConversation(visitor);
  await aMessage(visitor, conversationId, 'old');
  app.clock.advance(6 * day);
  await tidy(app.service);
  expect(await readFeed(app.service, 0)).toHaveLength(2);
  app.clock.advance(2 * day);
  await tidy(app.service);
  const [kept, ...others] = await readFeed(app.service, 0);
  expect(others).toEqual([]);
  await aMessage(visitor, conversationId, 'new');
  const [next] = await readFeed(app.service, kept?.seq ?? 0);
  expect(next?.seq).toBe((kept?.seq ?? 0) + 1);
  expect((await visitor.call('GET', `/conversations/${conversationId}/messages`)).body.messages).toHaveLength(2);
});

it('forgets sessions that are over, and no other', async () => {
  await anOrganization(app, 'beta');
  const early = await aMember(app, 'beta');
  app.clock.advance(20 * day);
  const late = await aMember(app, 'beta');
  app.clock.advance(11 * day);
  await tidy(app.service);
  expect((await early.call('GET', '/session')).status).toBe(401);
  expect((await late.call('GET', '/session')).status).toBe(200);
  const kept = await app.service.engine.store.read(({ tables }) => tables.members.sessionByDigest(app.service.secrets.digest(early.token)));
  expect(kept).toBeUndefined();
});
