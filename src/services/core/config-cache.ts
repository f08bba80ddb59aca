// Configuration that every request needs (applications, keys, sessions, domains),
// kept in small bounded caches. A commit that touches configuration, on this
// node or another, makes every entry stale at once.
import type { Soon, Store } from '../../engine/engine.ts';
import type {
  ApiKeyRow,
  ApplicationRow,
  MemberRow,
  OrganizationRow,
  StaffSessionRow,
} from '../../engine/rows.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import { visitorBlockKey } from '../auth/blocked.ts';
import { readSettings } from '../tenants/settings.ts';

export interface CachedApplication {
  readonly row: ApplicationRow;
  readonly settings: ApplicationSettings;
  /** Normalised domains (services/origins.ts). */
  readonly domains: readonly string[];
  readonly organization: OrganizationRow;
}

export interface CachedSession {
  /** The one row of the session in the cache: its times are moved on in place when it is used. */
  readonly session: StaffSessionRow;
  readonly member: MemberRow;
  readonly organization: OrganizationRow;
}

/** When each block ends (ms), null: never. */
export interface CachedBlocks {
  /** By `visitorBlockKey` (services/auth/blocked.ts). */
  readonly visitors: ReadonlyMap<string, number | null>;
  /** By the digest in base64. */
  readonly addresses: ReadonlyMap<string, number>;
}

export interface ConfigCache {
  application(id: string): Soon<CachedApplication | null>;
  apiKey(digest: Uint8Array): Soon<ApiKeyRow | null>;
  sessionByDigest(digest: Uint8Array): Promise<CachedSession | null>;
  sessionById(id: string): Soon<CachedSession | null>;
  organization(id: string): Soon<OrganizationRow | null>;
  /** Who and what an organization has blocked, also blocks that are over. */
  blocks(organizationId: string): Soon<CachedBlocks>;
  /** Every registered domain of every application. */
  allDomains(): Soon<readonly string[]>;
  /** The applications that take mails at an address of their own, by it. */
  inboxes(): Soon<ReadonlyMap<string, ApplicationRow>>;
  /** How many visitors have ever been erased, as text. */
  erasureCount(): Soon<string>;
}

const maxEntries = 10_000;

/** @param store where the rows lie; its configuration epoch says when they may have changed */
export function createConfigCache(store: Store): ConfigCache {
  const application = cached(store, (id: string) =>
    store.read(async ({ repositories }) => {
      const row = await repositories.applications.byId(id);
      if (row === undefined) return null;
      const organization = await repositories.organizations.byId(row.organization_id);
      if (organization === undefined) return null;
      const domains = (await repositories.applications.domains(id)).map((one) => one.domain);
      return { row, settings: readSettings(row), domains, organization };
    }),
  );
  const apiKey = cached(store, (digest: string) =>
    store.read(
      async ({ repositories }) =>
        (await repositories.apiKeys.byDigest(Buffer.from(digest, 'base64'))) ?? null,
    ),
  );
  const sessionId = cached(store, (digest: string) =>
    store.read(
      async ({ repositories }) =>
        (await repositories.members.sessionByDigest(Buffer.from(digest, 'base64')))?.id ?? null,
    ),
  );
  const sessionById = cached(store, (id: string) =>
    store.read(async ({ repositories }) => {
      const session = await repositories.members.sessionById(id);
      if (session === undefined) return null;
      const member = await repositories.members.byId(session.member_id);
      const organization = await repositories.organizations.byId(session.organization_id);
      return member === undefined || organization === undefined ? null : { session, member, organization };
    }),
  );
  const organization = cached(store, (id: string) =>
    store.read(async ({ repositories }) => (await repositories.organizations.byId(id)) ?? null),
  );
  const blocks = cached(store, (id: string) =>
    store.read(async ({ repositories }): Promise<CachedBlocks> => {
      const visitors = await repositories.blocks.visitors(id);
      const addresses = await repositories.blocks.addresses(id);
      return {
        visitors: new Map(
          visitors.map((row) => [
            visitorBlockKey(row.application_id, row.mode, row.visitor_id),
            row.expires_at,
          ]),
        ),
        addresses: new Map(
          addresses.map((row) => [Buffer.from(row.digest).toString('base64'), row.expires_at]),
        ),
      };
    }),
  );
  const erasures = cached(store, (_key: 'all') =>
    store.read(({ repositories }) => repositories.visitorData.erasures()),
  );
  const allDomains = cached(store, (_key: 'all') =>
    store.read(({ repositories }) => repositories.applications.allDomains()),
  );
  // All at once: a stranger may name any address, and what was not found could not be kept one by one.
  const inboxes = cached(store, (_key: 'all') =>
    store.read(async ({ repositories }): Promise<ReadonlyMap<string, ApplicationRow>> => {
      const found = new Map<string, ApplicationRow>();
      for (const row of await repositories.applications.withSetting('"inbox"')) {
        const { mode, address } = readSettings(row).email;
        if (mode === 'inbox' && address !== null && !found.has(address)) found.set(address, row);
      }
      return found;
    }),
  );

  return {
    application,
    apiKey: (digest) => apiKey(Buffer.from(digest).toString('base64')),
    sessionByDigest: async (digest) => {
      const id = await sessionId(Buffer.from(digest).toString('base64'));
      return id === null ? null : sessionById(id);
    },
    sessionById,
    organization,
    blocks,
    allDomains: () => allDomains('all'),
    inboxes: () => inboxes('all'),
    erasureCount: () => erasures('all'),
  };
}

/** A bounded cache that is emptied when configuration changes. What was not found is not kept: a flood of guesses would fill it. */
function cached<K extends string, V>(store: Store, load: (key: K) => Promise<V>): (key: K) => Soon<V> {
  let epoch = -1;
  const entries = new Map<K, V>();
  /** What is being read for this epoch: others who ask for it wait for the same answer. */
  const loading = new Map<K, Promise<V>>();

  function find(key: K, fresh: number): Soon<V> {
    if (fresh > epoch) {
      epoch = fresh;
      entries.clear();
      loading.clear();
    }
    return entries.get(key) ?? (epoch === fresh ? loadOnce(key, fresh) : loadInto(key, fresh));
  }

  function loadOnce(key: K, fresh: number): Promise<V> {
    const under = loading.get(key);
    if (under !== undefined) return under;
    const begun = loadInto(key, fresh).finally(() => {
      if (loading.get(key) === begun) loading.delete(key);
    });
    loading.set(key, begun);
    return begun;
  }

  async function loadInto(key: K, fresh: number): Promise<V> {
    const value = await load(key);
    // Of an older epoch than the entries by now: a change that was committed while this was being read may not be in it.
    if (value !== null && epoch === fresh) {
      const [oldest] = entries.keys();
      if (oldest !== undefined && entries.size >= maxEntries) entries.delete(oldest);
      entries.set(key, value);
    }
    return value;
  }

  return (key) => {
    const fresh = store.freshConfiguration();
    return typeof fresh === 'number' ? find(key, fresh) : fresh.then((number) => find(key, number));
  };
}
