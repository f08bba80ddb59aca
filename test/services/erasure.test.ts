// An erasure that was cut off is gone on with by the server, with the right of the admin who began it and under their name.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const messages = 90;
const minute = 60_000;

let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;
let visitor: TestClient;
let conversationId: string;

beforeEach(async () => {
  app = await startApp({ alone: true });
  acme = await createOrganization(app, 'acme');
  admin = await createMember(app, 'acme', 'admin', 'Ann');
  visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor);
  for (let at = 0; at < messages; at += 1) await createMessage(visitor, conversationId, `parcel ${at}`);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

const erase = (who: TestMember): Promise<Reply> =>
  request(app.url, 'DELETE', `/api/v1/admin/visitors/${visitor.id}`, who.headers);

const count = async (table: string): Promise<number> =>
  Number((await rowsOf(app, `select count(*) as n from ${table}`))[0]?.['n']);

const audited = async (): Promise<[string, string, string | null][]> => {
  const { entries } = await app.local('audit.list', { organization: 'acme', action: 'visitors.' });
  return entries.map(({ action, actor, address }) => [action, actor, address]);
};

const noted = async (): Promise<string[]> =>
  (await app.service.engine.store.read(({ repositories }) => repositories.meta.startingWith('erasing_'))).map(
    ({ value }) => value,
  );

/** Erases the visitor, and has the store be lost once a part is gone. @returns how many messages are left */
async function cutOff(who = admin): Promise<number> {
  const { store } = app.service.engine;
  const write = store.write.bind(store);
  const { monotonic } = app.clock;
  let looks = 0;
  let lost = false;
  // A slice looks at the clock three times.
  vi.spyOn(app.clock, 'monotonic').mockImplementation(() => monotonic() + 5 * (looks += 1));
  vi.spyOn(store, 'write').mockImplementation(async (scope, work, behind) => {
    lost ||= (await count('messages')) < messages;
    if (lost) throw new StoreUnavailableError('The database was lost.');
    return write(scope, work, behind);
  });
  expect((await erase(who)).status).toBe(503);
  vi.restoreAllMocks();
  const left = await count('messages');
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(messages);
  return left;
}

/** Lets time go on until the job has looked at everything that was cut off. */
async function later(): Promise<void> {
  app.clock.advance(minute + 1_000);
  app.clock.advance(minute + 1_000);
}

it('goes on by itself, once: no word is left, and the log names who began it', async () => {
  await cutOff();
  expect(await noted()).toHaveLength(1);
  await later();
  await eventually(async () => expect(await count('visitors')).toBe(0));
  await eventually(async () => expect(await noted()).toEqual([]));
  expect([await count('messages'), await count('conversations')]).toEqual([0, 0]);
  const actor = `member:${admin.id}`;
  expect(await audited()).toEqual([
    ['visitors.erase', actor, '127.0.0.1'],
    ['visitors.eraseBegun', actor, '127.0.0.1'],
  ]);
  expect((await visitor.call('GET', `/conversations/${conversationId}`)).status).toBe(404);
});

it('is not taken up while it is at work, nor by the start of another server', async () => {
  const left = await cutOff();
  app.clock.advance(minute - 1_000);
  app = await app.restart();
  app.clock.advance(500);
  const path = `/api/v1/staff/conversations/${conversationId}`;
  expect((await request(app.url, 'GET', path, admin.headers)).status).toBe(200);
  expect([await count('messages'), (await noted()).length]).toEqual([left, 1]);
});

it('goes on under the token that began it', async () => {
  const expiresAt = new Date(app.clock.now() + 86_400_000).toISOString();
  const made = await admin.call('POST', '/tokens', {
    name: 'cleaner',
    scopes: ['settings:write'],
    expiresAt,
  });
  const { token, id } = made.body.token as { token: string; id: string };
  await cutOff({ ...admin, headers: { authorization: `Bearer ${token}` } });
  await later();
  await eventually(async () => expect(await count('visitors')).toBe(0));
  expect((await audited())[0]?.slice(0, 2)).toEqual(['visitors.erase', `member:${admin.id}/token:${id}`]);
});

it.each([
  ['was disabled', () => app.local('members.update', { memberId: admin.id, disabled: true })],
  ['is an operator now', () => app.local('members.update', { memberId: admin.id, role: 'operator' })],
  ['has signed out', () => request(app.url, 'DELETE', '/api/v1/staff/session', admin.headers)],
])('stays where it is when its admin %s, also when the right comes back', async (_what, withdraw) => {
  await createMember(app, 'acme', 'admin', 'Bea');
  const left = await cutOff();
  await withdraw();
  await later();
  await eventually(async () => expect(await noted()).toEqual([]));
  await app.local('members.update', { memberId: admin.id, disabled: false, role: 'admin' });
  await later();
  expect(await count('messages')).toBe(left);
  expect((await audited()).map(([action]) => action)).toEqual(['visitors.eraseBegun']);
});

it('is forgotten with its organization', async () => {
  await cutOff();
  await app.local('organizations.delete', { organization: 'acme' });
  await later();
  await eventually(async () => expect(await noted()).toEqual([]));
});

it('is done by the same call of another admin, and then left alone', async () => {
  await cutOff();
  const other = await createMember(app, 'acme', 'admin', 'Bea');
  expect((await erase(other)).status).toBe(200);
  expect(await noted()).toEqual([]);
  await later();
  expect((await audited()).filter(([action]) => action === 'visitors.erase')).toHaveLength(1);
});
