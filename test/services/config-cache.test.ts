// What is kept of an organization's configuration outlives the changes of others and none of its own: after each change
// everything that is kept is compared with what a cache that begins now would read.
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigurationHistory } from '../../src/engine/configuration-history.ts';
import type { Store } from '../../src/engine/engine.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { createConfigCache, type ConfigCache } from '../../src/services/core/config-cache.ts';
import type { OrganizationTable } from '../../src/services/core/organization-table.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { Receiver } from '../helpers/receiver.ts';
import { replacing } from '../helpers/replacing.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

interface Tenant extends TestOrganization {
  readonly admin: TestMember;
  readonly operator: TestMember;
  readonly visitor: TestClient;
}

let app: TestApp;
let acme: Tenant;
let beta: Tenant;

async function createTenant(slug: string): Promise<Tenant> {
  const organization = await createOrganization(app, slug);
  const visitor = createVisitor(app, organization.application);
  await createConversation(visitor);
  return {
    ...organization,
    admin: await createMember(app, slug, 'admin'),
    operator: await createMember(app, slug),
    visitor,
  };
}

async function start(options: TestAppOptions = {}): Promise<void> {
  app = await startApp({ alone: true, flags: { webhookPrivate: 'allow' }, ...options });
  acme = await createTenant('acme');
  beta = await createTenant('beta');
}

beforeEach(() => start());
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

/** All that a cache has of an organization alone. */
async function keptOf(cache: ConfigCache, { id, application, admin, operator }: Tenant): Promise<unknown> {
  const { digest } = app.service.secrets;
  return {
    application: await cache.application(application.id),
    keys: [await cache.apiKey(digest(application.key)), await cache.apiKey(digest(application.testKey))],
    sessions: [
      await cache.sessionByDigest(digest(admin.token)),
      await cache.sessionByDigest(digest(operator.token)),
    ],
    organization: await cache.organization(id),
    blocks: await cache.blocks(id),
  };
}

async function expectTruth(): Promise<void> {
  const { configCache, engine } = app.service;
  const anew = createConfigCache(engine.store);
  for (const tenant of [acme, beta])
    expect(await keptOf(configCache, tenant), tenant.slug).toEqual(await keptOf(anew, tenant));
  for (const known of [inboxesOf, domainsOf]) expect(await known(configCache)).toEqual(await known(anew));
}

/** All of a table: by organization, and what is found by each key. */
function contentOf<T>(table: OrganizationTable<T>): unknown {
  const keys = [...table.keys].toSorted();
  expect(keys.filter((key) => !table.has(key))).toEqual([]);
  return {
    parts: [...table.parts]
      .map(([id, rows]) => [id, ...rows.map((row) => JSON.stringify(row)).toSorted()].join('\n'))
      .toSorted(),
    found: keys.map((key) => [key, table.find(key)]),
  };
}
const domainsOf = async (cache: ConfigCache) => contentOf(await cache.allDomains());
const inboxesOf = async (cache: ConfigCache) => contentOf(await cache.inboxes());
const inboxAt = async (address: string) => (await app.service.configCache.inboxes()).find(address);

/** A cache of its own, so that none but its reads are looked at: what the server does beside it reads, too. */
function cacheThatReads(read: Store['read']): ConfigCache {
  const { store } = app.service.engine;
  return createConfigCache({
    read,
    freshConfiguration: () => store.freshConfiguration(),
    configurationChangedAt: (id, fresh) => store.configurationChangedAt(id, fresh),
    configurationChangedSince: (since, fresh) => store.configurationChangedSince(since, fresh),
  });
}

const patch = (applicationId: string, settings: object) =>
  app.local('applications.update', { applicationId, ...settings });
const call = async (member: TestMember, method: string, path: string, body?: object) => {
  const reply = await member.call(method, path, body);
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply;
};
const inbox = (address: string) => ({ email: { mode: 'inbox', address } });

/** Each changes what is kept of acme; some leave beta with a part of it. */
const changes: Readonly<Record<string, () => Promise<unknown>>> = {
  'the name of the organization': () =>
    app.local('organizations.update', { organization: 'acme', name: 'Acme & Sons' }),
  'the plan': () => app.local('organizations.update', { organization: 'acme', plan: 'premium' }),
  'the demand for a second factor': () =>
    app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } }),
  'the name of an application': () => patch(acme.application.id, { name: 'Shop' }),
  'a setting': () => patch(acme.application.id, { behavior: { timezone: 'Europe/Rome' } }),
  'the identity secret': () =>
    app.local('applications.rotateIdentitySecret', { applicationId: acme.application.id }),
  'a domain that comes': () =>
    app.local('domains.add', { applicationId: acme.application.id, domain: 'shop.example' }),
  'a domain that goes': () =>
    app.local('domains.remove', { applicationId: acme.application.id, domain: acme.application.domain }),
  'a domain that another organization takes over': async () => {
    await app.local('domains.remove', {
      applicationId: acme.application.id,
      domain: acme.application.domain,
    });
    await app.local('domains.add', { applicationId: beta.application.id, domain: acme.application.domain });
  },
  'a key that is revoked': async () => {
    const { keys } = await app.local('keys.list', { applicationId: acme.application.id });
    for (const { id: keyId } of keys)
      await app.local('keys.revoke', { applicationId: acme.application.id, keyId });
  },
  'a key that is rotated': async () => {
    const { keys } = await app.local('keys.list', { applicationId: acme.application.id });
    await app.local('keys.rotate', { applicationId: acme.application.id, keyId: keys[0]?.id ?? '' });
  },
  'a role': () => app.local('members.update', { memberId: acme.operator.id, role: 'admin' }),
  'a member who is disabled': () =>
    app.local('members.update', { memberId: acme.operator.id, disabled: true }),
  'a member who is removed': () => app.local('members.remove', { memberId: acme.operator.id }),
  'a password': () =>
    app.local('members.update', { memberId: acme.operator.id, password: 'another long enough one' }),
  'an own name': () => call(acme.operator, 'PATCH', '/me', { name: 'Olivia Other' }),
  'an own password': () =>
    call(acme.operator, 'PATCH', '/me', {
      password: 'another long enough one',
      currentPassword: memberPassword,
    }),
  'a session that ends': () => call(acme.operator, 'DELETE', '/session'),
  'all sessions of a member': () => app.local('members.signOut', { memberId: acme.operator.id }),
  'a visitor who is blocked': () =>
    call(acme.operator, 'PUT', `/visitors/${acme.visitor.id}/block`, { address: true }),
  'a block that is lifted': async () => {
    await call(acme.operator, 'PUT', `/visitors/${acme.visitor.id}/block`, {});
    await expectTruth();
    await call(acme.operator, 'DELETE', `/visitors/${acme.visitor.id}/block`);
  },
  'an address for mails': () => patch(acme.application.id, inbox('help@acme.example')),
  'an address for mails that another organization takes over': async () => {
    await patch(acme.application.id, inbox('help@acme.example'));
    await expectTruth();
    await patch(acme.application.id, { email: { mode: 'off', address: null } });
    await patch(beta.application.id, inbox('help@acme.example'));
    expect((await inboxAt('help@acme.example'))?.row.organization_id).toBe(beta.id);
  },
  'a domain that another organization has, too': async () => {
    const { domain } = acme.application;
    await app.local('domains.add', { applicationId: beta.application.id, domain });
    await expectTruth();
    await app.local('domains.remove', { applicationId: acme.application.id, domain });
    expect((await app.service.configCache.allDomains()).has(domain)).toBe(true);
    await expectTruth();
    await app.local('domains.remove', { applicationId: beta.application.id, domain });
    expect((await app.service.configCache.allDomains()).has(domain)).toBe(false);
  },
  'a domain that two applications of it have': async () => {
    const { domain } = acme.application;
    const { id } = await app.local('applications.create', {
      organization: 'acme',
      name: 'Other',
      domains: [domain],
    });
    await expectTruth();
    await app.local('applications.delete', { applicationId: acme.application.id });
    expect((await app.service.configCache.allDomains()).has(domain)).toBe(true);
    await expectTruth();
    await app.local('domains.remove', { applicationId: id, domain });
    expect((await app.service.configCache.allDomains()).has(domain)).toBe(false);
  },
  'an address for mails that an import has brought twice': async () => {
    const ownerOf = async () => (await inboxAt('help@acme.example'))?.row.organization_id;
    await patch(acme.application.id, inbox('help@acme.example'));
    await patch(beta.application.id, inbox('help@beta.example'));
    expect(await ownerOf()).toBe(acme.id);
    // As it would stand after an import; the older one keeps it.
    await rowsOf(
      app,
      `update applications set settings = replace(settings, 'help@beta', 'help@acme'), created_at = 1 where id = '${beta.application.id}'`,
    );
    expect(await ownerOf()).toBe(acme.id);
    await app.local('applications.update', { applicationId: beta.application.id, name: 'Older' });
    expect(await ownerOf()).toBe(beta.id);
    await expectTruth();
    await patch(beta.application.id, { email: { mode: 'off', address: null } });
    expect(await ownerOf()).toBe(acme.id);
  },
  'an application that is deleted': () =>
    app.local('applications.delete', { applicationId: acme.application.id }),
  'an application that comes': () =>
    app.local('applications.create', { organization: 'acme', name: 'New', domains: ['new.example'] }),
  'an organization that is deleted': () => app.local('organizations.delete', { organization: 'acme' }),
  'an organization that is deleted and imported again': async () => {
    const { service } = app;
    const local = {
      service,
      actor: { kind: 'local' } as const,
      address: null,
      contentLimit: sizeLimits.contentRest,
    };
    const lines: string[] = [];
    await exportOrganization(local, 'acme', async (line) => void lines.push(line));
    await app.local('organizations.delete', { organization: 'acme' });
    await expectTruth();
    await importOrganization(local, async function* read() {
      yield* lines;
    });
    expect(await app.service.configCache.application(acme.application.id)).not.toBe(null);
  },
};

describe.each(Object.keys(changes))('%s', (what) => {
  it('is seen by the next look, and after a change of another organization too', async () => {
    await expectTruth();
    const before = await keptOf(app.service.configCache, acme);
    await changes[what]?.();
    await expectTruth();
    await app.local('organizations.update', { organization: 'beta', name: 'Beta 2' });
    await expectTruth();
    // What should be seen is there to be seen, where it is kept by organization.
    if (
      /^a|^the/.test(what) &&
      !what.includes('comes') &&
      !what.includes('lifted') &&
      !what.includes('mails')
    )
      expect(await keptOf(app.service.configCache, acme)).not.toEqual(before);
  });
});

describe('an organization that changes its settings again and again', () => {
  it('has no one else’s read again', async () => {
    const { store } = app.service.engine;
    let reads = 0;
    const domainsRead: (string | null)[] = [];
    // What the server does beside it reads, too.
    const cache = cacheThatReads((work) => {
      reads += 1;
      return store.read(({ repositories }) => {
        const { applications } = repositories;
        const registeredDomains = (id: string | null) => {
          domainsRead.push(id);
          return applications.registeredDomains(id);
        };
        return work({
          repositories: replacing(repositories, 'applications', { ...applications, registeredDomains }),
        });
      });
    });
    const kept = await keptOf(cache, beta);
    await cache.erasureMark(beta.id);
    await cache.allDomains();
    const before = reads;
    for (let round = 0; round < 20; round += 1) {
      await app.local('domains.add', { applicationId: acme.application.id, domain: `d${round}.example` });
      expect(await keptOf(cache, beta)).toEqual(kept);
      await cache.erasureMark(beta.id);
    }
    expect(reads).toBe(before);
    // Of what all share, its part alone.
    expect((await cache.allDomains()).parts.get(acme.id)).toHaveLength(21);
    expect(domainsRead).toEqual([null, acme.id]);
  });

  it('has no one else’s settings checked again for the next mail', async () => {
    const { configCache } = app.service;
    await patch(beta.application.id, inbox('help@beta.example'));
    await patch(acme.application.id, inbox('help@acme.example'));
    await configCache.inboxes();
    await app.local('organizations.update', { organization: 'acme', name: 'Acme 2' });
    const parse = vi.spyOn(JSON, 'parse');
    const inboxes = await configCache.inboxes();
    const parsed = parse.mock.calls.map(([text]) => text);
    parse.mockRestore();
    expect([...inboxes.keys].toSorted()).toEqual(['help@acme.example', 'help@beta.example']);
    const about = (address: string): number => parsed.filter((text) => text.includes(address)).length;
    expect([about('help@acme.example'), about('help@beta.example')]).toEqual([1, 0]);
  });

  it('has no one else’s put together again', async () => {
    const { configCache } = app.service;
    const before = [await configCache.allDomains(), await configCache.inboxes()];
    const replaced = before.map((table) => vi.spyOn(table, 'replace'));
    await patch(acme.application.id, inbox('help@acme.example'));
    await app.local('domains.add', { applicationId: acme.application.id, domain: 'shop.example' });
    const after = [await configCache.allDomains(), await configCache.inboxes()];
    expect(after.map((table, at) => table === before[at])).toEqual([true, true]);
    expect(replaced.flatMap(({ mock }) => mock.calls.map(([id]) => id))).toEqual([acme.id, acme.id]);
    await expectTruth();
  });

  it('makes no other member prove in a write that they still may', async () => {
    // The work of a write is counted: on SQLite it runs once.
    await app.stop();
    await start({ engine: 'sqlite' });
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    let sessions = 0;
    let between = async (): Promise<unknown> => undefined;
    vi.spyOn(store, 'write').mockImplementation(async (scope, work, behind) => {
      // The operator's own: what the server writes beside it has another scope.
      if (isDeepStrictEqual(scope, { organization: beta.id })) await between();
      return write(
        scope,
        (tx) => {
          const { members } = tx.repositories;
          const sessionById = (id: string) => {
            sessions += 1;
            return members.sessionById(id);
          };
          return work({
            repositories: replacing(tx.repositories, 'members', { ...members, sessionById }),
            emit: (event) => tx.emit(event),
            configurationChanged: (id) => tx.configurationChanged(id),
            configurationEpoch: () => tx.configurationEpoch(),
          });
        },
        behind,
      );
    });
    const addReply = async (shortcut: string, change: () => Promise<unknown>): Promise<number> => {
      // After the session was looked up, before the write.
      between = change;
      return (await beta.operator.call('POST', '/canned-replies', { shortcut, content: 'hello' })).status;
    };
    const rename = (organization: string) => () =>
      app.local('organizations.update', { organization, name: 'Another' });
    expect([await addReply('one', rename('acme')), sessions]).toEqual([201, 0]);
    expect([await addReply('two', rename('beta')), sessions]).toEqual([201, 1]);
    const disable = () => app.local('members.update', { memberId: beta.operator.id, disabled: true });
    expect([await addReply('three', disable), sessions]).toEqual([401, 2]);
  });

  it('lets no visitor in who must not', async () => {
    const visitor = createVisitorByKey(app, beta.application);
    const status = async () => (await visitor.call('GET', '/conversations')).status;
    expect(await status()).toBe(200);
    await app.local('organizations.update', { organization: 'acme', name: 'Acme 2' });
    expect(await status()).toBe(200);
    const { keys } = await app.local('keys.list', { applicationId: beta.application.id });
    for (const { id: keyId } of keys)
      await app.local('keys.revoke', { applicationId: beta.application.id, keyId });
    await app.local('organizations.update', { organization: 'acme', name: 'Acme 3' });
    expect(await status()).toBe(401);
  });
});

it('an erasure ends the visitor’s connection also between changes of others', async () => {
  const socket = await beta.visitor.connect();
  await app.local('organizations.update', { organization: 'beta', name: 'Beta 2' });
  await socket.drain();
  await app.local('organizations.update', { organization: 'acme', name: 'Acme 2' });
  await app.local('visitors.erase', { visitorId: beta.visitor.id });
  expect((await socket.waitForClose()).code).toBe(4403);
});

describe('a change that is committed while it is read', () => {
  it.each([
    ['when it is looked up again at once', true],
    ['when it is looked up afterwards', false],
  ])('is not hidden by what was read, %s', async (_when, atOnce) => {
    const { store } = app.service.engine;
    const held = Promise.withResolvers<void>();
    let finished = 0;
    const cache = cacheThatReads(async (work) => {
      const value = await store.read(work);
      finished += 1;
      if (finished <= 2) await held.promise;
      return value;
    });
    const domainsOf = async () => (await cache.application(acme.application.id))?.domains;
    const allOfAcme = async () => (await cache.allDomains()).parts.get(acme.id);
    const first = Promise.all([domainsOf(), allOfAcme()]);
    await eventually(() => expect(finished).toBe(2));
    await app.local('domains.add', { applicationId: acme.application.id, domain: 'late.example' });
    const expectLate = async (): Promise<void> => {
      expect(await domainsOf()).toContain('late.example');
      expect(await allOfAcme()).toContain('late.example');
    };
    if (atOnce) await expectLate();
    held.resolve();
    for (const one of await first) expect(one).not.toContain('late.example');
    await expectLate();
  });
});

it('what was read of an organization before its next change does not take the place of that', async () => {
  const { store } = app.service.engine;
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const cache = cacheThatReads(async (work) => {
    const value = await store.read(work);
    if (isHeld) {
      isHeld = false;
      await held.promise;
    }
    return value;
  });
  await cache.allDomains();
  const add = (domain: string) => app.local('domains.add', { applicationId: acme.application.id, domain });
  await add('first.example');
  isHeld = true;
  const early = cache.allDomains();
  await eventually(() => expect(isHeld).toBe(false));
  await add('second.example');
  expect((await cache.allDomains()).has('second.example')).toBe(true);
  held.resolve();
  await early;
  expect((await cache.allDomains()).has('second.example')).toBe(true);
  await app.local('domains.remove', { applicationId: acme.application.id, domain: 'second.example' });
  expect((await cache.allDomains()).has('second.example')).toBe(false);
  expect((await cache.allDomains()).has('first.example')).toBe(true);
});

describe('another process, of which only the count is known', () => {
  /** As it commits: beta's key is revoked, and the count has risen. */
  async function revokeElsewhere(): Promise<void> {
    await rowsOf(app, 'update api_keys set revoked_at = 1 where application_id = ?', beta.application.id);
    await rowsOf(
      app,
      "update meta set value = cast(cast(value as integer) + 1 as text) where key = 'configuration'",
    );
  }

  it('makes all that is kept stale', async () => {
    await expectTruth();
    await revokeElsewhere();
    app.clock.advance(2_000);
    await eventually(expectTruth);
    const reply = await createVisitorByKey(app, beta.application).call('GET', '/conversations');
    expect(reply.status).toBe(401);
  });

  it('also where this one changes something of an organization before it has looked', async () => {
    await expectTruth();
    await revokeElsewhere();
    await app.local('organizations.update', { organization: 'acme', name: 'Acme 2' });
    await expectTruth();
  });
});

it('a change of one organization has only its own webhooks read again', async () => {
  const receiver = await new Receiver().start();
  app.beforeStop(() => void receiver.stop());
  const { visitor } = acme;
  const { id } = await app.local('webhooks.create', {
    organization: 'acme',
    url: receiver.url,
    events: ['conversation:new'],
  });
  await app.local('webhooks.create', {
    organization: 'beta',
    url: receiver.url,
    events: ['conversation:read'],
  });
  await createConversation(visitor, 'before');
  await receiver.has(1);
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  const asked: string[] = [];
  vi.spyOn(store, 'read').mockImplementation((work) =>
    read(({ repositories }) => {
      const { webhooks } = repositories;
      const watched: Partial<typeof webhooks> = {
        enabled: () => {
          asked.push('all');
          return webhooks.enabled();
        },
        byOrganization: (organizationId, limit, offset) => {
          asked.push(organizationId);
          return webhooks.byOrganization(organizationId, limit, offset);
        },
      };
      return work({
        repositories: replacing(repositories, 'webhooks', { ...webhooks, ...watched }),
      });
    }),
  );
  for (let round = 0; round < 5; round += 1) {
    await app.local('organizations.update', { organization: 'beta', name: `Beta ${round}` });
    await eventually(() => expect(asked).toHaveLength(round + 1));
  }
  expect(new Set(asked)).toEqual(new Set([beta.id]));
  // What the other one's changes left alone still works, and ends with its own change.
  await createConversation(visitor, 'after');
  await receiver.has(2);
  await app.local('webhooks.update', { webhookId: id, enabled: false });
  await eventually(() => expect(asked).toHaveLength(6));
  await createConversation(visitor, 'unheard');
  await app.local('webhooks.update', { webhookId: id, enabled: true });
  await createConversation(visitor, 'heard');
  const { data } = (await receiver.has(3))[2]?.event ?? {};
  expect(data?.['subject']).toBe('heard');
});

it('a preflight knows the domains as they are', async () => {
  const allowed = async (origin: string): Promise<boolean> => {
    const headers = { origin, 'access-control-request-method': 'POST' };
    const reply = await request(app.url, 'OPTIONS', '/api/v1/conversations', headers);
    return reply.headers.get('access-control-allow-origin') === origin;
  };
  expect(await allowed('https://shop.example')).toBe(false);
  await app.local('domains.add', { applicationId: acme.application.id, domain: 'shop.example' });
  expect(await allowed('https://shop.example')).toBe(true);
  expect(await allowed(beta.application.origin)).toBe(true);
  await app.local('domains.remove', { applicationId: acme.application.id, domain: 'shop.example' });
  expect(await allowed('https://shop.example')).toBe(false);
  await app.local('organizations.delete', { organization: 'acme' });
  expect(await allowed(acme.application.origin)).toBe(false);
  expect(await allowed(beta.application.origin)).toBe(true);
});

describe('the history of whose configuration changed', () => {
  it('tells organizations apart as long as every number is accounted for', () => {
    const history = new ConfigurationHistory(7);
    expect(history.changedAt('one', 7)).toBe(7);
    history.note(8, new Set(['one']));
    history.note(9, new Set(['two', 'three']));
    expect(['one', 'two', 'four'].map((id) => history.changedAt(id, 9))).toEqual([8, 9, 7]);
    expect(history.changedSince(8, 9)).toEqual(new Set(['two', 'three']));
    expect(history.changedSince(9, 9)).toEqual(new Set());
  });

  it('takes a number that is left out, or not its own, for anyone’s', () => {
    const history = new ConfigurationHistory(7);
    history.note(9, new Set(['one']));
    expect([history.changedAt('one', 9), history.changedAt('two', 9)]).toEqual([9, 8]);
    expect(history.changedSince(7, 9)).toBe('all');
    // Told late what it had to assume.
    history.note(8, new Set(['three']));
    expect(history.changedAt('two', 9)).toBe(8);
    expect(history.changedAt('two', 12)).toBe(12);
    history.note(12, new Set(['one']));
    expect(history.changedAt('two', 12)).toBe(12);
    history.note(13, 'all');
    expect(history.changedAt('two', 13)).toBe(13);
  });

  it('forgets who changed something when they are too many, and takes it for all', () => {
    const history = new ConfigurationHistory(0);
    for (let number = 1; number <= 10_001; number += 1) history.note(number, new Set([`o${number}`]));
    expect(history.changedAt('o1', 10_001)).toBe(10_001);
    expect(history.changedAt('other', 10_001)).toBe(10_001);
    history.note(10_002, new Set(['o1']));
    expect(history.changedAt('other', 10_002)).toBe(10_001);
  });
});
