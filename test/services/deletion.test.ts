// The deletion of an application or an organization that was cut off is gone on with by the server, as the one who began it;
// until it is done, what is left is not found.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type HeaderMap, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createApplication,
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

const messages = 90;
const minute = 60_000;

let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;
let visitor: TestClient;

beforeEach(async () => {
  app = await startApp({ alone: true });
  acme = await createOrganization(app, 'acme');
  admin = await createMember(app, 'acme', 'admin', 'Ann');
  visitor = createVisitor(app, acme.application);
  const conversationId = await createConversation(visitor);
  for (let at = 0; at < messages; at += 1) await createMessage(visitor, conversationId, `parcel ${at}`);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

const count = async (table: string): Promise<number> =>
  Number((await rowsOf(app, `select count(*) as n from ${table}`))[0]?.['n']);

const noted = (): Promise<readonly object[]> =>
  app.service.engine.store.read(({ repositories }) => repositories.meta.startingWith('deleting'));

const audited = async (subject: string): Promise<unknown[]> => {
  const sql =
    "select action, actor from audit where subject = ? and action like '%.delete%' order by action desc";
  return (await rowsOf(app, sql, subject)).map(({ action, actor }) => [action, actor]);
};

const deleteApplication = (who: { readonly headers: HeaderMap }): Promise<Reply> =>
  request(app.url, 'DELETE', `/api/v1/admin/applications/${acme.application.id}`, who.headers);

/** Deletes, and has the store be lost once a part is gone. @returns how many messages are left */
async function cutOff(work: () => Promise<unknown>): Promise<number> {
  const { store } = app.service.engine;
  const write = store.write.bind(store);
  const { monotonic } = app.clock;
  let looks = 0;
  let lost = false;
  // A slice looks at the clock three times.
  vi.spyOn(app.clock, 'monotonic').mockImplementation(() => monotonic() + 5 * (looks += 1));
  vi.spyOn(store, 'write').mockImplementation(async (scope, work_, behind) => {
    lost ||= (await count('messages')) < messages;
    if (lost) throw new StoreUnavailableError('The database was lost.');
    return write(scope, work_, behind);
  });
  await work();
  vi.restoreAllMocks();
  const left = await count('messages');
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(messages);
  return left;
}

const cutOffApplication = (who: { readonly headers: HeaderMap } = admin): Promise<number> =>
  cutOff(async () => expect((await deleteApplication(who)).status).toBe(503));

const cutOffOrganization = (): Promise<number> =>
  cutOff(() =>
    expect(app.local('organizations.delete', { organization: 'acme' })).rejects.toThrow(
      'a removal goes on with what is left',
    ),
  );

/** Lets time go on until the job has looked at everything that was cut off. */
function later(): void {
  app.clock.advance(minute + 1_000);
  app.clock.advance(minute + 1_000);
}

describe('of an application', () => {
  it('hides its conversations from staff at once, in every list and by their ids, and no others', async () => {
    const spare = createVisitor(app, await createApplication(app, 'acme', 'spare.example'));
    const left = await createConversation(spare);
    await createMessage(spare, left, 'parcel of another site');
    const [row] = await rowsOf(
      app,
      'select id, visitor_key from conversations where application_id = ?',
      acme.application.id,
    );
    const gone = String(row?.['id']);
    const view = await admin.call('POST', '/views', { name: 'Waiting', query: { status: 'pending' } });
    expect(view.status).toBe(201);
    const lists = [
      '',
      '&status=pending',
      '&q=parcel',
      '&sort=oldest',
      `&applicationId=${acme.application.id}`,
    ];
    const found = (query: string): Promise<string[]> =>
      admin
        .call('GET', `/conversations?limit=50${query}`)
        .then(({ body }) => body.conversations.map(({ id }: { id: string }) => id).toSorted());
    for (const query of lists) expect(await found(query)).toContain(gone);
    await cutOffApplication();
    for (const query of lists.slice(0, -1)) expect(await found(query), query).toEqual([left]);
    for (const query of [...lists.slice(-1), `&visitorOf=${gone}`, `&visitorId=${visitor.id}`])
      expect(await found(query), query).toEqual([]);
    expect((await admin.call('GET', '/conversations')).body.total).toBe(1);
    app.clock.advance(2_000);
    expect((await admin.call('GET', '/views/counts')).body.counts).toEqual([
      { id: view.body.view.id, count: 1 },
    ]);
    for (const [method, path, body] of [
      ['GET', ''],
      ['GET', '/messages'],
      ['POST', '/accept'],
      ['POST', '/messages', { content: 'a note', internal: true }],
      ['GET', '/transcript'],
    ] as const)
      expect((await admin.call(method, `/conversations/${gone}${path}`, body)).status, path).toBe(404);
    expect((await admin.call('POST', `/conversations/${left}/accept`)).status).toBe(200);
  });

  it('goes on by itself, once, under the name of who began it', async () => {
    await cutOffApplication();
    expect(await noted()).toHaveLength(1);
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
    expect([await count('messages'), await count('applications')]).toEqual([0, 0]);
    const actor = `member:${admin.id}`;
    expect(await audited(`application:${acme.application.id}`)).toEqual([
      ['applications.deleteBegun', actor],
      ['applications.delete', actor],
    ]);
  });

  it('goes on under the token that began it', async () => {
    const expiresAt = new Date(app.clock.now() + 86_400_000).toISOString();
    const made = await admin.call('POST', '/tokens', {
      name: 'cleaner',
      scopes: ['settings:write'],
      expiresAt,
    });
    const { token, id } = made.body.token as { token: string; id: string };
    await cutOffApplication({ headers: { authorization: `Bearer ${token}` } });
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
    expect((await audited(`application:${acme.application.id}`)).at(-1)).toEqual([
      'applications.delete',
      `member:${admin.id}/token:${id}`,
    ]);
  });

  it('leaves nothing that is found', async () => {
    const socket = await visitor.connect();
    await cutOffApplication();
    await eventually(() => expect(socket.closed).not.toBe(null));
    const byKey = createVisitorByKey(app, acme.application);
    for (const who of [visitor, byKey]) expect((await who.call('GET', '/conversations')).status).toBe(401);
    const path = `/api/v1/admin/applications`;
    const list = await request(app.url, 'GET', path, admin.headers);
    expect(list.body).toMatchObject({ applications: [], total: 0 });
    const { id } = acme.application;
    expect((await request(app.url, 'GET', `${path}/${id}`, admin.headers)).status).toBe(404);
    const changed = await request(app.url, 'PATCH', `${path}/${id}`, admin.headers, { name: 'New' });
    expect(changed.status).toBe(404);
    expect(await app.local('organizations.get', { organization: 'acme' })).toMatchObject({ applications: 0 });
    const call = { service: app.service, address: null, contentLimit: sizeLimits.contentRest } as const;
    await expect(
      exportOrganization({ ...call, actor: { kind: 'local' } }, 'acme', () => Promise.resolve()),
    ).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('is being deleted') });
    // Another one of the same domain is not touched by it.
    const other = await createApplication(app, 'acme');
    const one = createVisitor(app, other);
    await createMessage(one, await createConversation(one), 'hello');
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
    expect([await count('messages'), await count('applications')]).toEqual([1, 1]);
  });

  it.each([
    ['was disabled', () => app.local('members.update', { memberId: admin.id, disabled: true })],
    ['is an operator now', () => app.local('members.update', { memberId: admin.id, role: 'operator' })],
    ['has signed out', () => request(app.url, 'DELETE', '/api/v1/staff/session', admin.headers)],
  ])('ends where it is when its admin %s, and what is left is there again', async (_what, withdraw) => {
    const other = await createMember(app, 'acme', 'admin', 'Bea');
    const left = await cutOffApplication();
    await withdraw();
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
    const path = `/api/v1/admin/applications/${acme.application.id}`;
    expect((await request(app.url, 'GET', path, other.headers)).status).toBe(200);
    expect((await visitor.call('GET', '/conversations')).status).toBe(200);
    await app.local('members.update', { memberId: admin.id, disabled: false, role: 'admin' });
    later();
    expect(await count('messages')).toBe(left);
    expect((await deleteApplication(other)).status).toBe(200);
    expect(await count('applications')).toBe(0);
  });

  it('is done by the same call of another admin, and then left alone', async () => {
    await cutOffApplication();
    const other = await createMember(app, 'acme', 'admin', 'Bea');
    expect((await deleteApplication(other)).status).toBe(200);
    expect(await noted()).toEqual([]);
    expect((await deleteApplication(other)).status).toBe(404);
    later();
    const done = await audited(`application:${acme.application.id}`);
    expect(done.filter((row) => JSON.stringify(row).includes('"applications.delete"'))).toHaveLength(1);
  });

  it('is not for another organization’s admin', async () => {
    await cutOffApplication();
    await createOrganization(app, 'beta');
    const stranger = await createMember(app, 'beta', 'admin', 'Sven');
    expect((await deleteApplication(stranger)).status).toBe(404);
    expect(await noted()).toHaveLength(1);
  });

  it('is over with its organization', async () => {
    await cutOffApplication();
    await app.local('organizations.delete', { organization: 'acme' });
    expect([await count('messages'), await count('organizations')]).toEqual([0, 0]);
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
  });
});

describe('of an organization', () => {
  it('goes on by itself, once', async () => {
    await cutOffOrganization();
    expect(await noted()).toHaveLength(1);
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
    expect([await count('messages'), await count('members'), await count('organizations')]).toEqual([
      0, 0, 0,
    ]);
    expect(await audited(`organization:${acme.id}`)).toEqual([
      ['organizations.deleteBegun', 'local'],
      ['organizations.delete', 'local'],
    ]);
  });

  it('leaves nothing that is found, after a restart neither, and its name is free', async () => {
    const socket = await admin.connect();
    await cutOffOrganization();
    await eventually(() => expect(socket.closed).not.toBe(null));
    const gone = async (): Promise<void> => {
      const byOrigin = createVisitor(app, acme.application);
      const replies = [
        await request(app.url, 'GET', '/api/v1/staff/conversations', admin.headers),
        await byOrigin.call('GET', '/conversations'),
        await byOrigin.call('GET', '/widget/config'),
        await createVisitorByKey(app, acme.application).call('GET', '/conversations'),
        await request(
          app.url,
          'POST',
          '/api/v1/staff/session',
          {},
          { organization: 'acme', email: admin.email, password: 'correct horse battery staple' },
        ),
      ];
      expect(replies.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
      for (const organization of ['acme', acme.id])
        await expect(app.local('organizations.get', { organization })).rejects.toThrow(
          'No such organization',
        );
      await expect(app.local('applications.get', { applicationId: acme.application.id })).rejects.toThrow(
        'No such application',
      );
      expect(await app.local('organizations.list', {})).toEqual({ organizations: [] });
    };
    await gone();
    app = await app.restart();
    await gone();
    const second = await createOrganization(app, 'acme');
    const one = createVisitor(app, second.application);
    await createMessage(one, await createConversation(one), 'hello');
    later();
    await eventually(async () => expect(await noted()).toEqual([]));
    expect([await count('messages'), await count('organizations')]).toEqual([1, 1]);
    expect(await app.local('organizations.get', { organization: 'acme' })).toMatchObject({ id: second.id });
  });

  it('is done by the same command', async () => {
    await cutOffOrganization();
    await app.local('organizations.delete', { organization: 'acme' });
    expect([await noted(), await count('organizations')]).toEqual([[], 0]);
    await expect(app.local('organizations.delete', { organization: 'acme' })).rejects.toThrow(
      'No such organization',
    );
  });
});
