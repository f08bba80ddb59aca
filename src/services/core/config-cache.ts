// Configuration that every request needs (applications, keys, sessions, domains), kept in small bounded caches. A commit
// that touches an organization's configuration makes what is kept of that organization stale at once; one of another
// process, of which only is known that it happened, makes everything stale.
import { whenReady, type ReadTx, type Soon, type Store } from '../../engine/engine.ts';
import type {
  ApiKeyRow,
  ApplicationRow,
  MemberRow,
  OrganizationRow,
  StaffSessionRow,
} from '../../engine/rows.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import { visitorBlockKey } from '../auth/blocked.ts';
import { readEmailSettings, readSettings } from '../tenants/settings.ts';
import { OrganizationTable } from './organization-table.ts';

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
  apiKeyById(id: string): Soon<ApiKeyRow | null>;
  sessionByDigest(digest: Uint8Array): Promise<CachedSession | null>;
  sessionById(id: string): Soon<CachedSession | null>;
  organization(id: string): Soon<OrganizationRow | null>;
  /** Who and what an organization has blocked, also blocks that are over. */
  blocks(organizationId: string): Soon<CachedBlocks>;
  /** Every registered domain of every application. */
  allDomains(): Soon<OrganizationTable<string>>;
  /** The applications that take mails at an address of their own, by it. */
  inboxes(): Soon<OrganizationTable<Inbox>>;
  /** A text that is another one after a visitor of the organization was erased. */
  erasureMark(organizationId: string): Soon<string>;
}

const maxEntries = 10_000;
/** Where so many organizations have changed, all parts are read at once. */
const maxPartsRead = 50;

/** @param store where the rows lie; it says whose configuration may have changed since they were read */
export function createConfigCache(store: Source): ConfigCache {
  const application = cached(
    store,
    (id: string) =>
      store.read(async ({ repositories }) => {
        const row = await repositories.applications.byId(id);
        if (row === undefined) return null;
        const organization = await repositories.organizations.byId(row.organization_id);
        if (organization === undefined) return null;
        const domains = (await repositories.applications.domains(id)).map((one) => one.domain);
        return { row, settings: readSettings(row), domains, organization };
      }),
    ({ row }) => row.organization_id,
  );
  const apiKey = cached(
    store,
    (digest: string) =>
      store.read(
        async ({ repositories }) =>
          (await repositories.apiKeys.byDigest(Buffer.from(digest, 'base64'))) ?? null,
      ),
    (row) => row.organization_id,
  );
  const apiKeyById = cached(
    store,
    (id: string) => store.read(async ({ repositories }) => (await repositories.apiKeys.byId(id)) ?? null),
    (row) => row.organization_id,
  );
  const sessionOf = cached(
    store,
    (digest: string) =>
      store.read(
        async ({ repositories }) =>
          (await repositories.members.sessionByDigest(Buffer.from(digest, 'base64'))) ?? null,
      ),
    ({ organization_id }) => organization_id,
  );
  const sessionById = cached(
    store,
    (id: string) =>
      store.read(async ({ repositories }) => {
        const session = await repositories.members.sessionById(id);
        if (session === undefined) return null;
        const member = await repositories.members.byId(session.member_id);
        const organization = await repositories.organizations.byId(session.organization_id);
        return member === undefined || organization === undefined ? null : { session, member, organization };
      }),
    ({ organization }) => organization.id,
  );
  const organization = cached(
    store,
    (id: string) =>
      store.read(async ({ repositories }) => (await repositories.organizations.byId(id)) ?? null),
    ({ id }) => id,
  );
  const blocks = cached(
    store,
    (id: string) => store.read((tx) => readBlocks(tx, id)),
    (_found, id) => id,
  );
  // The count is of all organizations; an erasure changes the configuration of its own.
  const erasures = cached(
    store,
    (_id: string) => store.read(({ repositories }) => repositories.visitorData.erasures()),
    (_found, id) => id,
  );
  const allDomains = cachedTable(
    store,
    () => new OrganizationTable<string>((domain) => domain),
    async ({ repositories }, organizationId) => {
      const rows = await repositories.applications.registeredDomains(organizationId);
      return rows.map((row) => [row.organization_id, row.domain] as const);
    },
  );
  const inboxes = cachedTable(
    store,
    () => new OrganizationTable<Inbox>(({ address }) => address, byAge),
    async ({ repositories: { applications } }, organizationId) => {
      const rows =
        organizationId === null
          ? await applications.withSetting('"inbox"')
          : await applications.byOrganization(organizationId);
      return rows.flatMap((row) => {
        const address = inboxAddress(row);
        return address === null ? [] : [[row.organization_id, { address, row }] as const];
      });
    },
  );

  return {
    application,
    apiKey: (digest) => apiKey(Buffer.from(digest).toString('base64')),
    apiKeyById,
    sessionByDigest: async (digest) => {
      const found = await sessionOf(Buffer.from(digest).toString('base64'));
      return found === null ? null : sessionById(found.id);
    },
    sessionById,
    organization,
    blocks,
    allDomains,
    // All at once: a stranger may name any address, and what was not found could not be kept one by one.
    inboxes,
    erasureMark: erasures,
  };
}

async function readBlocks({ repositories }: ReadTx, organizationId: string): Promise<CachedBlocks> {
  const visitors = await repositories.blocks.visitors(organizationId);
  const addresses = await repositories.blocks.addresses(organizationId);
  return {
    visitors: new Map(
      visitors.map((row) => [visitorBlockKey(row.application_id, row.mode, row.visitor_id), row.expires_at]),
    ),
    addresses: new Map(addresses.map((row) => [Buffer.from(row.digest).toString('base64'), row.expires_at])),
  };
}

/** An application that takes mails, with the address at which it does: who asks for all must not read them all again. */
export interface Inbox {
  readonly address: string;
  readonly row: ApplicationRow;
}

function inboxAddress(row: ApplicationRow): string | null {
  // Most have none, and settings may be long.
  if (!row.settings.includes('"inbox"')) return null;
  const { mode, address } = readEmailSettings(row);
  return mode === 'inbox' ? address : null;
}

/** Where an import has brought an address that another one has, the older application keeps it. */
const byAge = ({ row: one }: Inbox, { row: other }: Inbox): number =>
  one.created_at - other.created_at || (one.id < other.id ? -1 : 1);

/** What a cache needs of the store. */
type Source = Pick<
  Store,
  'read' | 'freshConfiguration' | 'configurationChangedAt' | 'configurationChangedSince'
>;

interface Entry<V> {
  readonly value: V;
  readonly organizationId: string;
  /** The number of the configuration that it was read under, or an earlier one. */
  readonly readAt: number;
}

/**
 * A bounded cache, of which goes stale what belongs to an organization whose configuration has changed. What was not
 * found is not kept: a flood of guesses would fill it, and no one could say whose it is.
 * @param ownerOf whose an entry is: all of what was read lies in that organization, and each change of it says so
 */
function cached<K extends string, V>(
  store: Source,
  load: (key: K) => Promise<V>,
  ownerOf: (value: NonNullable<V>, key: K) => string,
): (key: K) => Soon<V> {
  const entries = new Map<K, Entry<NonNullable<V>>>();
  const loading = new Loading<K, V>();

  function find(key: K, fresh: number): Soon<V> {
    const entry = entries.get(key);
    if (entry !== undefined) {
      if (entry.readAt >= store.configurationChangedAt(entry.organizationId, fresh)) return entry.value;
      entries.delete(key);
    }
    return loading.once(key, fresh, () => loadInto(key, fresh));
  }

  async function loadInto(key: K, fresh: number): Promise<V> {
    const value = await load(key);
    const entry = entries.get(key);
    // A change that was committed while this was being read may be in the other one alone.
    if (value === null || value === undefined || (entry !== undefined && entry.readAt > fresh)) return value;
    const [oldest] = entries.keys();
    if (oldest !== undefined && entry === undefined && entries.size >= maxEntries) entries.delete(oldest);
    entries.set(key, { value, organizationId: ownerOf(value, key), readAt: fresh });
    return value;
  }

  return (key) => whenReady(store.freshConfiguration(), (fresh) => find(key, fresh));
}

/** What is being read: others who ask for it, under the same number or an earlier one, wait for the same answer. */
class Loading<K, V> {
  readonly #under = new Map<K, { readonly fresh: number; readonly value: Promise<V> }>();

  once(key: K, fresh: number, load: () => Promise<V>): Promise<V> {
    const under = this.#under.get(key);
    if (under !== undefined && under.fresh >= fresh) return under.value;
    const begun = {
      fresh,
      value: load().finally(() => {
        if (this.#under.get(key) === begun) this.#under.delete(key);
      }),
    };
    this.#under.set(key, begun);
    return begun.value;
  }
}

/**
 * What is needed of all organizations at once: of one that changes its configuration only its own part is read again, and put
 * in its place. Who holds the table sees later changes of it.
 * @param make an empty table
 * @param load reads the rows of one organization, or of all (null), each with whose it is
 */
function cachedTable<T>(
  store: Source,
  make: () => OrganizationTable<T>,
  load: (tx: ReadTx, organizationId: string | null) => Promise<(readonly [string, T])[]>,
): () => Soon<OrganizationTable<T>> {
  let known: { readonly table: OrganizationTable<T>; readonly readAt: number } | null = null;
  const loading = new Loading<'all', OrganizationTable<T>>();

  function find(fresh: number): Soon<OrganizationTable<T>> {
    if (known !== null && known.readAt >= fresh) return known.table;
    return loading.once('all', fresh, () => loadInto(fresh));
  }

  function loadInto(fresh: number): Promise<OrganizationTable<T>> {
    const changed = known === null ? 'all' : store.configurationChangedSince(known.readAt, fresh);
    return changed === 'all' || changed.size > maxPartsRead ? loadAll(fresh) : loadParts(changed, fresh);
  }

  async function loadAll(fresh: number): Promise<OrganizationTable<T>> {
    const rows = await store.read((tx) => load(tx, null));
    const table = make();
    for (const [id, part] of Map.groupBy(rows, ([organizationId]) => organizationId))
      table.replace(id, part.map(withoutOwner));
    // One that was read under a later number may have come first.
    if (known === null || fresh > known.readAt) known = { table, readAt: fresh };
    return table;
  }

  async function loadParts(changed: ReadonlySet<string>, fresh: number): Promise<OrganizationTable<T>> {
    const parts = new Map<string, T[]>();
    if (changed.size > 0)
      await store.read(async (tx) => {
        for (const id of changed) parts.set(id, (await load(tx, id)).map(withoutOwner));
      });
    // Where a later one has come first, what was read here may be older than what it has put there.
    const now = known;
    if (now === null) return loadAll(fresh);
    if (fresh <= now.readAt) return now.table;
    for (const [id, part] of parts) now.table.replace(id, part);
    known = { table: now.table, readAt: fresh };
    return now.table;
  }

  return () => whenReady(store.freshConfiguration(), find);
}

const withoutOwner = <T>([, row]: readonly [string, T]): T => row;
