// Attacks what the console asks of the queue: colleagues without their data, a visitor's
// other conversations and no one else's, live and test together only where asked.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let other: TestOrganization;
let operator: TestMember;
let admin: TestMember;
let foreign: TestMember;
let visitor: TestClient;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'other');
  operator = await createMember(app, 'acme', 'operator', 'Olivia');
  admin = await createMember(app, 'acme', 'admin', 'Anna');
  foreign = await createMember(app, 'other', 'admin', 'Fremd');
  visitor = createVisitor(app, acme.application);
});
afterAll(() => app.stop());

const ids = async (who: TestClient, query: string): Promise<string[]> =>
  (await who.call('GET', `/conversations?${query}`)).body.conversations.map(({ id }: { id: string }) => id);

describe('colleagues', () => {
  it('are named with role and presence, and nothing else of theirs is told', async () => {
    const { body } = await operator.call('GET', '/members');
    // Made in one moment, so in either order.
    expect(
      body.members.toSorted((one: { name: string }, two: { name: string }) => (one.name < two.name ? -1 : 1)),
    ).toEqual([
      { id: admin.id, name: 'Anna', role: 'admin', online: false },
      { id: operator.id, name: 'Olivia', role: 'operator', online: false },
    ]);
    const { members, ...page } = body;
    expect(members).toHaveLength(2);
    expect(page).toEqual({ total: 2, limit: 1_000, offset: 0 });
    const { body: second } = await operator.call('GET', '/members?limit=1&offset=1');
    expect(second).toEqual({ members: [members[1]], total: 2, limit: 1, offset: 1 });
  });

  it('are online as long as a connection of theirs lives', async () => {
    const online = async (): Promise<boolean> =>
      (await operator.call('GET', '/members')).body.members.find(({ id }: { id: string }) => id === admin.id)
        .online;
    const socket = await admin.connect();
    await eventually(async () => expect(await online()).toBe(true));
    await socket.close();
    await eventually(async () => expect(await online()).toBe(false));
  });

  it('who are disabled are left out: nothing can be handed to them', async () => {
    const gone = await createMember(app, 'acme', 'operator', 'Gone');
    await app.local('members.update', { memberId: gone.id, disabled: true });
    expect(
      (await operator.call('GET', '/members')).body.members
        .map(({ name }: { name: string }) => name)
        .toSorted(),
    ).toEqual(['Anna', 'Olivia']);
  });
});

describe('the conversations of one visitor', () => {
  it('are found by any of them, in every status, and no one else’s are', async () => {
    const mine = [
      await createConversation(visitor),
      await createConversation(visitor),
      await createConversation(visitor),
    ];
    await operator.call('POST', `/conversations/${mine[0]!}/accept`);
    await operator.call('POST', `/conversations/${mine[0]!}/resolve`);
    await createConversation(createVisitor(app, acme.application));
    // The same UUID in another organization is someone else.
    await createConversation(createVisitor(app, other.application, visitor.id));
    expect((await ids(operator, `visitorOf=${mine[1]!}`)).toSorted()).toEqual(mine.toSorted());
    expect(await ids(operator, `visitorOf=${mine[1]!}&status=closed`)).toEqual([mine[0]]);
  });

  it('of another organization are not: its conversation finds nothing, as one that does not exist', async () => {
    const theirs = await createConversation(createVisitor(app, other.application));
    expect(await ids(operator, `visitorOf=${theirs}`)).toEqual([]);
    expect(await ids(foreign, `visitorOf=${theirs}`)).toEqual([theirs]);
    expect(await ids(operator, `visitorOf=${randomUUID()}`)).toEqual([]);
    expect((await operator.call('GET', '/conversations?visitorOf=x')).status).toBe(400);
  });
});

describe('a part of a name or a subject', () => {
  it('is found in either case, in every script, and its signs stand for themselves', async () => {
    const named = createVisitor(app, acme.application);
    await named.call('PUT', '/visitor', { name: 'Jürgen Ørsted' });
    const subject = 'Заказ (№ 7) + *[Ж]* {Σ} ^a.b|c\\d$ ΓΙΏΡΓΟΣ?';
    const id = await createConversation(named, subject);
    const foundBy = (q: string): Promise<string[]> => ids(operator, `q=${encodeURIComponent(q)}`);
    for (const q of ['JÜRGEN ørsted', 'ürg', 'Ü', 'ЗАКАЗ (№', '+ *[ж]* {σ} ^A.B|C\\D$ γιώργος?', 'γος?'])
      expect(await foundBy(q), q).toEqual([id]);
    for (const q of ['jurgen', 'заказы', '№ ?', '№.7', '[жж]', 'γιώργοσ*', 'ж+'])
      expect(await foundBy(q), q).toEqual([]);
  });
});

describe('modes', () => {
  it('live and test are apart, and together where both are asked for', async () => {
    const tester = createVisitorByKey(app, acme.application, 'test');
    const test = await createConversation(tester);
    expect(await ids(operator, 'limit=100')).not.toContain(test);
    expect(await ids(operator, 'limit=100&mode=test')).toEqual([test]);
    const both = await ids(operator, 'limit=100&mode=all');
    expect(both).toContain(test);
    expect(both.toSorted()).toEqual([...(await ids(operator, 'limit=100')), test].toSorted());
    expect((await operator.call('GET', '/conversations?mode=both')).status).toBe(400);
  });
});
