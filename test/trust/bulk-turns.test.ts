// An act on a hundred conversations goes in slices: others' writes come in between, and a right that is withdrawn on the
// way counts from the next conversation on.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
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

const count = 100;
const slice = 20;

let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;
let ids: string[];
let other: TestClient;
let theirs: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  other = createVisitor(app, (await createOrganization(app, 'beta')).application);
  theirs = await createConversation(other);
});
afterAll(() => app.stop());

beforeEach(async () => {
  admin = await createMember(app, 'acme', 'admin', 'Ann');
  ids = [];
  for (let at = 0; at < count; at += 1)
    ids.push(await createConversation(createVisitor(app, acme.application)));
});

interface Result {
  readonly id: string;
  readonly ok: boolean;
  readonly error?: string;
}

/** Does an act to all of them; `between` is called after the first commit that holds some of it. */
async function acting(act: object, between: () => Promise<unknown>): Promise<Result[]> {
  const first = Promise.withResolvers<void>();
  const done = first.promise.then(between);
  const undo = app.service.engine.store.subscribe(() => first.resolve());
  const { status, body } = await admin.call('POST', '/conversations/bulk', { ids, ...act });
  undo();
  await done;
  expect(status).toBe(200);
  return body.results as Result[];
}

it('others write in between', async () => {
  const order: string[] = [];
  const undo = app.service.engine.store.subscribe(({ events }) => {
    const ours = events.filter(({ organization_id }) => organization_id === acme.id).length;
    if (ours > 0) order.push(`acme ${ours}`);
    if (events.length > ours) order.push('beta');
  });
  const results = await acting({ act: 'priority', priority: 'high' }, () =>
    createMessage(other, theirs, 'hello'),
  );
  undo();
  expect(results.map(({ id, ok }) => [id, ok])).toEqual(ids.map((id) => [id, true]));
  expect(order.filter((one) => one !== 'beta')).toEqual(
    Array.from({ length: count / slice }, () => `acme ${slice}`),
  );
  expect(order.at(-1)).not.toBe('beta');
  expect(order).toContain('beta');
});

it('a session that ends on the way does no more', async () => {
  const results = await acting({ act: 'accept' }, () => app.local('members.signOut', { memberId: admin.id }));
  const done = results.filter(({ ok }) => ok);
  // The first slice was committed, and the second one may have been under way.
  expect(done.length).toBeGreaterThanOrEqual(slice);
  expect(done.length).toBeLessThanOrEqual(2 * slice);
  expect(results.map(({ ok }) => ok)).toEqual(ids.map((_, at) => at < done.length));
  expect(new Set(results.slice(done.length).map(({ error }) => error))).toEqual(new Set(['unauthorized']));
});

it('a role that is taken away on the way counts at once', async () => {
  const bob = await createMember(app, 'acme', 'operator', 'Bob');
  await bob.call('POST', '/conversations/bulk', { ids, act: 'accept' });
  // An admin may release what others have, an operator may not.
  await createMember(app, 'acme', 'admin', 'Eve');
  const results = await acting({ act: 'release' }, () =>
    app.local('members.update', { memberId: admin.id, role: 'operator' }),
  );
  const done = results.filter(({ ok }) => ok).length;
  expect(done).toBeGreaterThanOrEqual(slice);
  expect(done).toBeLessThanOrEqual(2 * slice);
  expect(new Set(results.slice(done).map(({ error }) => error))).toEqual(new Set(['forbidden']));
});
