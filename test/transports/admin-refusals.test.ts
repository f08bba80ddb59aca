// What owners' and members' operations refuse, and what they say of it: each names what was wrong, and changes nothing.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hasFolder, startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let ada: TestMember;
let otto: TestMember;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  ada = await createMember(app, 'acme', 'admin', 'Ada');
  otto = await createMember(app, 'acme', 'operator', 'Otto');
});

afterAll(async () => {
  await app.stop();
});

const ask = (method: string, path: string, body?: unknown): Promise<Reply> =>
  request(app.url, method, `/api/v1/admin${path}`, ada.headers, body);

it('a domain that is none is neither added nor removed, and one that is not there is not found', async () => {
  const path = `/applications/${acme.application.id}/domains`;
  const domains = async (): Promise<string[]> =>
    (await ask('GET', path)).body.domains.map(({ domain }: { readonly domain: string }) => domain);
  expect(await domains()).toEqual(['acme.example']);
  for (const domain of ['null', '*', 'https://acme.example/path', 'ftp://acme.example', 'a b.example']) {
    const added = await ask('POST', path, { domain });
    expect([domain, added.status, added.body.details?.[0]?.path]).toEqual([domain, 400, 'domain']);
    expect(added.body.message).toBe(`The domain is not valid: ${added.body.details[0].message}.`);
    const removed = await ask('DELETE', `${path}/${encodeURIComponent(domain)}`);
    expect([domain, removed.status, removed.body.details?.[0]?.path]).toEqual([domain, 400, 'domain']);
  }
  const missing = await ask('DELETE', `${path}/www.acme.example`);
  expect([missing.status, missing.body.error]).toEqual([404, 'not_found']);
  expect(missing.body.message).toContain('www.acme.example');
  expect(await domains()).toEqual(['acme.example']);
});

it('a key that was revoked, or is over, has no successor', async () => {
  const path = `/applications/${acme.application.id}/keys`;
  const keys = async (): Promise<number> => (await ask('GET', path)).body.total;
  const make = async (): Promise<string> => (await ask('POST', path, { name: 'one' })).body.key.id;
  const revoked = await make();
  expect((await ask('DELETE', `${path}/${revoked}`)).status).toBe(200);
  const over = await make();
  expect((await ask('POST', `${path}/${over}/rotate`, { graceSeconds: 60 })).status).toBe(201);
  app.clock.advance(61_000);
  const before = await keys();
  for (const id of [revoked, over]) {
    const { status, body } = await ask('POST', `${path}/${id}/rotate`, { graceSeconds: 3_600 });
    expect([status, body.error]).toEqual([409, 'conflict']);
    expect(body.message).toContain('make a new one');
  }
  expect(await keys()).toBe(before);
});

it('a conversation is handed to no member who is disabled', async () => {
  const visitor = createVisitor(app, acme.application);
  const id = await createConversation(visitor);
  await ada.call('POST', `/conversations/${id}/accept`);
  const gone = await createMember(app, 'acme', 'operator', 'Gone');
  expect((await ask('PATCH', `/members/${gone.id}`, { disabled: true })).status).toBe(200);
  const refused = await ada.call('POST', `/conversations/${id}/transfer`, { memberId: gone.id });
  expect([refused.status, refused.body.details]).toEqual([
    400,
    [{ path: 'memberId', message: 'is a member who is disabled' }],
  ]);
  const { conversation } = (await ada.call('GET', `/conversations/${id}`)).body;
  expect(conversation.assignedTo).toBe(ada.id);
  expect((await ask('PATCH', `/members/${gone.id}`, { disabled: false })).status).toBe(200);
  expect((await ada.call('POST', `/conversations/${id}/transfer`, { memberId: gone.id })).status).toBe(200);
});

it.runIf(hasFolder)('an organization has at most 5,000 blocks, and one more once one is lifted', async () => {
  const [kept, late] = [createVisitor(app, acme.application), createVisitor(app, acme.application)];
  for (const visitor of [kept, late]) await createConversation(visitor);
  expect((await otto.call('PUT', `/visitors/${kept.id}/block`, {})).status).toBe(200);
  await rowsOf(
    app,
    `insert into address_blocks (id, organization_id, digest, expires_at, created_by, created_at)
     with recursive n(i) as (select 1 union all select i + 1 from n where i < 4999)
     select 'b' || i, '${acme.id}', cast(i as blob), ${app.clock.now() + 86_400_000}, '${otto.id}', 0 from n`,
  );
  const refused = await otto.call('PUT', `/visitors/${late.id}/block`, {});
  expect([refused.status, refused.body.error]).toEqual([409, 'conflict']);
  expect(refused.body.message).toContain('at most 5000 blocks');
  expect((await late.call('GET', '/conversations')).status).toBe(200);
  expect((await otto.call('DELETE', `/visitors/${kept.id}/block`)).status).toBe(200);
  expect((await otto.call('PUT', `/visitors/${late.id}/block`, {})).status).toBe(200);
});
