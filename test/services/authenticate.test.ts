// Attacks the step from headers to an actor, without HTTP between: what each credential
// becomes, that caches notice a change at once, and that a typo costs no lookup.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  authenticateHostSite,
  authenticateMember,
  authenticateVisitor,
  isKnownOrigin,
  sessionExpiry,
  type Credentials,
} from '../../src/services/auth/authenticate.ts';
import type { Soon } from '../../src/engine/engine.ts';
import { organizationSlugFromHost } from '../../src/services/auth/organization-host.ts';
import { matchOrigin } from '../../src/services/auth/origin-match.ts';
import { ServiceError } from '../../src/services/core/errors.ts';
import { makeApiKey } from '../../src/services/auth/secrets.ts';
import type { Service } from '../../src/services/service.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createMember,
  createOrganization,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { noCredentials } from '../helpers/no-credentials.ts';

let app: TestApp;
let acme: TestOrganization;
let member: TestMember;
const visitorId = randomUUID();

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'https://chat.example' } });
  acme = await createOrganization(app, 'acme');
  member = await createMember(app, 'acme', 'admin', 'Ada');
});
afterAll(async () => {
  await app.stop();
});

function credentials(changes: Partial<Credentials> = {}): Credentials {
  return {
    ...noCredentials,
    authorization: [`Bearer ${acme.application.key}`],
    appId: [acme.application.id],
    visitorId: [visitorId],
    address: '10.0.0.1',
    ...changes,
  };
}
const codeOf = async (asked: Soon<object>): Promise<string> => {
  try {
    await asked;
    return 'let in';
  } catch (error) {
    return error instanceof ServiceError ? error.code : `threw ${String(error)}`;
  }
};

/** The service, with every lookup counted. */
function counted(): { service: Service; looked: string[] } {
  const looked: string[] = [];
  const { configCache } = app.service;
  return {
    looked,
    service: {
      ...app.service,
      configCache: {
        ...configCache,
        apiKey: (digest) => {
          looked.push('key');
          return configCache.apiKey(digest);
        },
        sessionByDigest: (digest) => {
          looked.push('session');
          return configCache.sessionByDigest(digest);
        },
      },
    },
  };
}

it('says who asks, by which transport, in which mode', async () => {
  const base = {
    kind: 'visitor',
    organizationId: acme.id,
    applicationId: acme.application.id,
    visitorId,
    mode: 'live',
  };
  expect(await authenticateVisitor(app.service, credentials())).toEqual({
    ...base,
    via: 'key',
    keyId: expect.any(String),
    origin: null,
  });
  expect(
    await authenticateVisitor(app.service, credentials({ origin: ['https://ACME.example:443'] })),
  ).toEqual({
    ...base,
    via: 'key',
    keyId: expect.any(String),
    origin: 'https://acme.example',
  });
  expect(
    await authenticateVisitor(
      app.service,
      credentials({ authorization: [], origin: ['https://acme.example'] }),
    ),
  ).toEqual({
    ...base,
    via: 'origin',
    origin: 'https://acme.example',
  });
  expect(
    await authenticateVisitor(
      app.service,
      credentials({ authorization: [`Bearer ${acme.application.testKey}`] }),
    ),
  ).toEqual({
    ...base,
    mode: 'test',
    via: 'key',
    keyId: expect.any(String),
    origin: null,
  });
  expect(
    await authenticateHostSite(
      app.service,
      credentials({ authorization: [], visitorId: [], origin: ['https://acme.example'] }),
    ),
  ).toEqual({
    kind: 'hostSite',
    organizationId: acme.id,
    applicationId: acme.application.id,
    origin: 'https://acme.example',
  });
  expect(
    await authenticateMember(
      app.service,
      credentials({ authorization: [`Bearer ${member.token}`], host: 'acme.chat.example' }),
    ),
  ).toMatchObject({
    kind: 'member',
    organizationId: acme.id,
    memberId: member.id,
    role: 'admin',
    name: 'Ada',
  });
});

it('a typo in a key or a session is seen without a lookup; an unknown one costs one', async () => {
  const { service, looked } = counted();
  for (const authorization of [
    acme.application.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    'dbk_live_',
    member.token,
    '',
  ])
    expect(
      await codeOf(authenticateVisitor(service, credentials({ authorization: [`Bearer ${authorization}`] }))),
    ).toBe('unauthorized');
  for (const authorization of [`${member.token}x`, acme.application.key, 'dbs_'])
    expect(
      await codeOf(authenticateMember(service, credentials({ authorization: [`Bearer ${authorization}`] }))),
    ).toBe('unauthorized');
  expect(looked).toEqual([]);
  expect(
    await codeOf(
      authenticateVisitor(service, credentials({ authorization: [`Bearer ${makeApiKey('live').text}`] })),
    ),
  ).toBe('unauthorized');
  expect(looked).toEqual(['key']);
});

it('tells a wrong credential before a wrong origin, and a wrong origin before a wrong visitor', async () => {
  const wrong = { origin: ['https://evil.example'], visitorId: ['x'] };
  expect(
    await codeOf(
      authenticateVisitor(
        app.service,
        credentials({ ...wrong, authorization: [`Bearer ${makeApiKey('live').text}`] }),
      ),
    ),
  ).toBe('unauthorized');
  expect(await codeOf(authenticateVisitor(app.service, credentials(wrong)))).toBe('origin_not_allowed');
  expect(await codeOf(authenticateVisitor(app.service, credentials({ visitorId: ['x'] })))).toBe(
    'bad_request',
  );
});

it('a change of keys, domains or members is seen by the next call', async () => {
  const { id, key } = await app.local('keys.create', { applicationId: acme.application.id });
  const byKey = () =>
    codeOf(authenticateVisitor(app.service, credentials({ authorization: [`Bearer ${key}`] })));
  expect(await byKey()).toBe('let in');
  await app.local('keys.revoke', { keyId: id });
  expect(await byKey()).toBe('unauthorized');
  const byOrigin = () =>
    codeOf(
      authenticateVisitor(app.service, credentials({ authorization: [], origin: ['https://late.example'] })),
    );
  expect([await byOrigin(), await isKnownOrigin(app.service, 'https://late.example')]).toEqual([
    'origin_not_allowed',
    false,
  ]);
  await app.local('domains.add', { applicationId: acme.application.id, domain: 'late.example' });
  expect([await byOrigin(), await isKnownOrigin(app.service, 'https://late.example')]).toEqual([
    'let in',
    true,
  ]);
  await app.local('domains.remove', { applicationId: acme.application.id, domain: 'late.example' });
  expect([await byOrigin(), await isKnownOrigin(app.service, 'https://late.example')]).toEqual([
    'origin_not_allowed',
    false,
  ]);
  const operator = await createMember(app, 'acme');
  const bySession = () =>
    authenticateMember(app.service, credentials({ authorization: [`Bearer ${operator.token}`] }));
  expect((await bySession()).role).toBe('operator');
  await app.local('members.update', { memberId: operator.id, role: 'admin' });
  expect((await bySession()).role).toBe('admin');
  await app.local('members.update', { memberId: operator.id, disabled: true });
  expect(await codeOf(bySession())).toBe('unauthorized');
});

describe('a host', () => {
  it.each([
    ['chat.example', null],
    ['acme.chat.example', 'acme'],
    ['ACME.Chat.Example', 'acme'],
    ['a.b.chat.example', 'a.b'],
    ['evilchat.example', null],
    ['acme.chat.example.evil.example', null],
    // However a proxy or a client writes it: another spelling must not lead around the binding.
    ['acme.chat.example:8080', 'acme'],
    ['acme.chat.example:443', 'acme'],
    ['acme.chat.example.', 'acme'],
    ['ACME.chat.example.:443', 'acme'],
    ['evilchat.example:443', null],
    ['chat.example:443', null],
    ['', null],
    ['.chat.example', ''],
    [undefined, null],
  ])('%s is of %s', (host, slug) => {
    expect(organizationSlugFromHost(app.service, host)).toBe(slug);
  });
});

it('a session ends 30 days after its last use and 90 after its beginning', () => {
  const day = 86_400_000;
  expect([
    sessionExpiry(0, 0),
    sessionExpiry(0, 59 * day),
    sessionExpiry(0, 60 * day),
    sessionExpiry(0, 61 * day),
    sessionExpiry(0, 89 * day),
  ]).toEqual([30 * day, 89 * day, 90 * day, 90 * day, 90 * day]);
});

it('an application’s origins are asked of it alone', async () => {
  const application = (await app.service.configCache.application(acme.application.id))!;
  expect(matchOrigin(application, 'http://acme.example')).toBe('http://acme.example');
  for (const header of [undefined, '', 'null', 'https://acme.example.evil.example', 'https://other.example'])
    expect(() => matchOrigin(application, header), String(header)).toThrow(ServiceError);
  expect(() => matchOrigin(application, 'https://acme.example', true)).toThrow(ServiceError);
  expect(() => matchOrigin({ ...application, domains: [] }, 'https://acme.example')).toThrow(
    /deskbell domain add/,
  );
});

it('a page’s visitor who was let in is known again, by all that they sent and as long as nothing changes', async () => {
  const page = credentials({
    authorization: [],
    origin: [acme.application.origin],
    host: 'acme.chat.example',
    visitorId: [randomUUID()],
  });
  const come = (changes: Partial<Credentials> = {}) =>
    authenticateVisitor(app.service, { ...page, ...changes });
  const first = await come();
  expect(await come()).toBe(first);
  const another = randomUUID();
  expect((await come({ visitorId: [another] })).visitorId).toBe(another);
  expect(await come({ address: '10.0.0.2' })).not.toBe(first);
  for (const [changes, code] of [
    [{ origin: ['https://other.example'] }, 'origin_not_allowed'],
    [{ host: 'other.chat.example' }, 'unauthorized'],
    [{ appId: [randomUUID()] }, 'unauthorized'],
    [{ authorization: ['Bearer nothing'] }, 'unauthorized'],
    [{ origin: [...page.origin, ...page.origin] }, 'origin_not_allowed'],
    [{ visitorId: [...page.visitorId, ...page.visitorId] }, 'bad_request'],
  ] as const)
    expect(await codeOf(come(changes)), JSON.stringify(changes)).toBe(code);
  await app.local('domains.add', { applicationId: acme.application.id, domain: 'more.example' });
  expect(await come()).not.toBe(first);
});

it('a caller with a key who was let in is known again until the key ends, by an act or by its time', async () => {
  const other = randomUUID();
  const { key: text, id } = await app.local('keys.create', { applicationId: acme.application.id });
  const caller = credentials({ authorization: [`Bearer ${text}`], visitorId: [other] });
  const come = (changes: Partial<Credentials> = {}) =>
    authenticateVisitor(app.service, { ...caller, ...changes });
  const first = await come();
  expect(await come()).toBe(first);
  expect(await come({ authorization: [`Bearer ${acme.application.key}`] })).not.toBe(first);
  for (const [changes, code] of [
    [{ authorization: [`Bearer ${text.replace(/.$/, '-')}`] }, 'unauthorized'],
    [{ authorization: [...caller.authorization, ...caller.authorization] }, 'unauthorized'],
    [{ authorization: [], origin: [acme.application.origin] }, 'let in'],
    [{ authorization: [] }, 'origin_not_allowed'],
    [{ authorization: [''], origin: [acme.application.origin] }, 'unauthorized'],
    [{ origin: ['https://other.example'] }, 'origin_not_allowed'],
    [{ origin: [''] }, 'origin_not_allowed'],
    // Its origin is the server's own, which the application does not list.
    [{ fetchSite: 'same-origin' }, 'origin_not_allowed'],
  ] as const)
    expect(await codeOf(come(changes)), JSON.stringify(changes)).toBe(code);
  const lastUsed = async () =>
    (await app.local('keys.list', { applicationId: acme.application.id })).keys.find((key) => key.id === id)
      ?.lastUsedAt;
  const before = await lastUsed();
  app.clock.advance(60_000);
  expect(await come()).toBe(first);
  expect(Date.parse((await lastUsed()) ?? '') - Date.parse(before ?? '')).toBe(60_000);
  await app.local('keys.rotate', { keyId: id, graceSeconds: 60 });
  const again = await come();
  expect(await come()).toBe(again);
  app.clock.advance(59_999);
  expect(await come()).toBe(again);
  app.clock.advance(1);
  expect(await codeOf(come())).toBe('unauthorized');
  const { key: third, id: thirdId } = await app.local('keys.create', { applicationId: acme.application.id });
  const withThird = { authorization: [`Bearer ${third}`] };
  expect(await come(withThird)).toBe(await come(withThird));
  await app.local('keys.revoke', { keyId: thirdId });
  expect(await codeOf(come(withThird))).toBe('unauthorized');
});
