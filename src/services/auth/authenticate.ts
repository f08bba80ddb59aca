// Credential + origin → actor, for every transport. Says who asks; what they may do is
// each rule's business. One message for every wrong credential: nothing tells which.
import { visitorUuid, uuid } from '../../protocol/entities.ts';
import type { CachedApplication, CachedSession } from '../core/config-cache.ts';
import type { HostSiteActor, MemberActor, VisitorActor } from '../core/actor.ts';
import type { TokenScope } from '../../protocol/sign-in.ts';
import type { ApiKeyRow, StaffSessionRow } from '../../engine/rows.ts';
import { StoreUnavailableError, whenReady, type Scope, type Soon, type Tx } from '../../engine/engine.ts';
import { ServiceError } from '../core/errors.ts';
import { scopeOfMember } from '../core/scopes.ts';
import { isKeyActive } from './active-key.ts';
import { assertNotBlocked } from './blocked.ts';
import { hasDemandedFactor } from './second-factor-demand.ts';
import { countFailedAuth, limitRefused } from './rate-limits.ts';
import { coveringDomains, parseOrigin } from './origins.ts';
import { isMemberToken, readApiKey } from './secrets.ts';
import { mayUseHost } from './organization-host.ts';
import { matchOrigin } from './origin-match.ts';
import { tokenFromCookie } from './session-cookie.ts';
import { identityDemand } from './identity-demand.ts';
import { rememberStanding } from './standing.ts';
import type { Service } from '../service.ts';

/** The headers that say who asks, each with every value that was sent: two of one kind are refused. */
export interface Credentials {
  readonly authorization: readonly string[];
  readonly appId: readonly string[];
  readonly visitorId: readonly string[];
  readonly origin: readonly string[];
  /** Sec-Fetch-Site, and whether the method is GET or HEAD: a browser sends no Origin with a same-origin GET. */
  readonly fetchSite: string | undefined;
  readonly safeMethod: boolean;
  /** The Host header: `<slug>.<base host>` is bound to its organization. */
  readonly host: string | undefined;
  /** The Cookie header, with all its cookies. */
  readonly cookie: string | undefined;
  readonly address: string;
}

const sessionIdleMs = 30 * 86_400_000;
const sessionMaxAgeMs = 90 * 86_400_000;
const sessionTouchIntervalMs = 3_600_000;
const keyTouchIntervalMs = 60_000;

/** Whose application is named, and by what. */
interface Caller {
  readonly application: CachedApplication;
  /** Null where the caller came by origin. */
  readonly key: ApiKeyRow | null;
}

/**
 * A page that asks for the widget's configuration.
 * @throws ServiceError unauthorized, origin_not_allowed, visitor_blocked, rate_limit_exceeded
 */
export async function authenticateHostSite(
  service: Service,
  credentials: Credentials,
): Promise<HostSiteActor> {
  const caller = await findCaller(service, credentials);
  return unlessRefused(service, caller, credentials.address, 'hostSite', async () => {
    const { application } = caller;
    const actor: HostSiteActor = {
      kind: 'hostSite',
      organizationId: application.organization.id,
      applicationId: application.row.id,
      origin: checkOrigin(service, credentials, caller),
    };
    await assertNotBlocked(service, actor, credentials.address);
    return actor;
  });
}

/**
 * A visitor, by API key or by origin. Without a promise where they have been let in before: every message asks.
 * @throws ServiceError unauthorized, origin_not_allowed, bad_request (visitor id), visitor_blocked, rate_limit_exceeded
 */
export function authenticateVisitor(service: Service, credentials: Credentials): Soon<VisitorActor> {
  return whenReady(service.engine.store.freshConfiguration(), (epoch) => {
    const known = admittedBy(service);
    const name = admissionKey(credentials);
    const admitted = name === null ? undefined : known.get(name);
    const admit = (): Promise<VisitorActor> => admitAnew(service, credentials, epoch, { known, name });
    if (admitted === undefined || !isStanding(service, admitted, epoch)) return admit();
    return whenReady(holdsStill(service, admitted), (holds) => (holds ? admitted.actor : admit()));
  });
}

/** Checks a visitor, and keeps that they were let in. */
async function admitAnew(
  service: Service,
  credentials: Credentials,
  epoch: number,
  { known, name }: { readonly known: Map<string, Admission>; readonly name: string | null },
): Promise<VisitorActor> {
  const admission = await checkVisitor(service, credentials, epoch);
  if (name !== null) {
    if (known.size >= maxAdmitted) known.clear();
    known.set(name, admission);
  }
  return admission.actor;
}

/** A visitor who was let in. */
interface Admission {
  readonly actor: VisitorActor;
  /** The API key that let them in; null: the page's origin did. */
  readonly key: ApiKeyRow | null;
  /** The number of the configuration before they were looked up. */
  readonly epoch: number;
}

const maxAdmitted = 5_000;
/** Visitors who were let in, by what they sent. */
const admissions = new WeakMap<Service, Map<string, Admission>>();

function admittedBy(service: Service): Map<string, Admission> {
  const kept = admissions.get(service) ?? new Map<string, Admission>();
  admissions.set(service, kept);
  return kept;
}

/**
 * Whether an admission is as configuration stands. Whatever would keep a visitor out later (a block, another domain, a
 * demand for identity, the end of the application) changes the configuration of their organization; the time alone lets
 * in more, and never fewer.
 */
function isStanding({ engine }: Service, { actor, epoch }: Admission, fresh: number): boolean {
  return epoch >= engine.store.configurationChangedAt(actor.organizationId, fresh);
}

/** A key ends by time as well, and says when it was last used. */
function holdsStill(service: Service, { key }: Admission): Soon<boolean> {
  return key === null || useApiKey(service, key);
}

/** All that an admission depends on; null where a header is missing or there twice, which is for the checks to judge. */
function admissionKey(credentials: Credentials): string | null {
  const { authorization, appId, visitorId, origin, host, address, fetchSite } = credentials;
  if (appId.length !== 1 || visitorId.length !== 1 || authorization.length > 1 || origin.length > 1)
    return null;
  const [key = ''] = authorization;
  const [page = ''] = origin;
  // An empty header is not the same as none, and what stands for a missing Origin depends on more than these.
  if (key.length === 0 && (authorization.length > 0 || page.length === 0)) return null;
  if (page.length === 0 && (origin.length > 0 || fetchSite !== undefined)) return null;
  const name = `${key}\n${appId[0]}\n${visitorId[0]}\n${page}\n${host}\n${address}`;
  return name.length > maxKeyLength ? null : name;
}

/** Longer headers are not kept. */
const maxKeyLength = 600;

async function checkVisitor(service: Service, credentials: Credentials, epoch: number): Promise<Admission> {
  const caller = await findCaller(service, credentials);
  return unlessRefused(service, caller, credentials.address, 'visitor', async () => {
    const { application, key } = caller;
    const origin = checkOrigin(service, credentials, caller);
    const [given] = credentials.visitorId;
    const visitorId = credentials.visitorId.length === 1 ? visitorUuid.safeParse(given) : undefined;
    if (visitorId?.success !== true)
      throw new ServiceError('bad_request', 'The header X-Visitor-Id must be one UUID of version 4.', {
        details: [{ path: 'X-Visitor-Id', message: 'must be one UUID of version 4' }],
      });
    const via = key === null ? 'origin' : 'key';
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: application.organization.id,
      applicationId: application.row.id,
      visitorId: visitorId.data,
      mode: key?.mode ?? 'live',
      via,
      keyId: key?.id,
      keyEndsAt: key?.expires_at ?? undefined,
      origin,
      ...identityDemand(application, via),
    };
    await assertNotBlocked(service, actor, credentials.address);
    rememberStanding(actor, epoch);
    return { actor, key, epoch };
  });
}

/**
 * Key and application, which come before the origin: settled order, so that a stranger learns nothing of the origins of an
 * application.
 */
async function findCaller(service: Service, credentials: Credentials): Promise<Caller> {
  const byKey = credentials.authorization.length > 0;
  const application = await findApplication(service, credentials);
  const key = byKey ? await verifyApiKey(service, credentials, application?.row.id) : null;
  if (application === null || (byKey && key === null))
    throw await countAndReject(service, credentials.address);
  return { application, key };
}

/**
 * Checks a caller further. A refusal counts as the request would have: else who is refused might ask without end.
 * @throws ServiceError rate_limit_exceeded in the place of the refusal, once there were too many
 */
async function unlessRefused<T>(
  service: Service,
  { application, key }: Caller,
  address: string,
  kind: 'hostSite' | 'visitor',
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof ServiceError) {
      const { organization, row } = application;
      await limitRefused(service, key === null ? { kind, address } : { organization, applicationId: row.id });
    }
    throw error;
  }
}

async function findApplication(
  service: Service,
  { appId, host }: Credentials,
): Promise<CachedApplication | null> {
  if (appId.length !== 1) return null;
  const id = uuid.safeParse(appId[0]?.trim());
  const found = id.success ? await service.configCache.application(id.data) : null;
  return found !== null && mayUseHost(service, host, found.organization) ? found : null;
}

async function verifyApiKey(
  service: Service,
  credentials: Credentials,
  applicationId: string | undefined,
): Promise<ApiKeyRow | null> {
  const text = bearerToken(credentials.authorization);
  if (text === null || readApiKey(text) === null) return null;
  const row = await service.configCache.apiKey(service.secrets.digest(text));
  if (row === null || row.application_id !== applicationId) return null;
  return (await useApiKey(service, row)) ? row : null;
}

/** @returns whether the key may still be used; if so, that it was is noted, not oftener than once a minute */
function useApiKey(service: Service, row: ApiKeyRow): Soon<boolean> {
  const now = service.engine.clock.now();
  if (!isKeyActive(row, now)) return false;
  if (row.last_used_at !== null && now - row.last_used_at < keyTouchIntervalMs) return true;
  return touchApiKey(service, row, now);
}

async function touchApiKey(service: Service, row: ApiKeyRow, now: number): Promise<true> {
  // On the cached row as well: the caches are not emptied for this, and it need not be exact.
  row.last_used_at = now;
  const scope = { organization: row.organization_id, part: `row:${row.id}` } as const;
  await recordUse(service, scope, async ({ repositories }) => {
    await repositories.apiKeys.setLastUsed(row.id, now);
  });
  return true;
}

/** Writes that a credential was used. Where nothing can be written now, the request goes on: reading is still possible. */
async function recordUse(service: Service, scope: Scope, work: (tx: Tx) => Promise<void>): Promise<void> {
  try {
    await service.engine.store.write(scope, work);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

/** The token of exactly one `Authorization: Bearer …` (any letter case of the scheme), or null. */
function bearerToken(authorization: readonly string[]): string | null {
  if (authorization.length !== 1) return null;
  return /^bearer ([^\s,]+)$/i.exec(authorization[0] ?? '')?.[1] ?? null;
}

async function countAndReject(service: Service, address: string): Promise<ServiceError> {
  await countFailedAuth(service, address);
  return new ServiceError('unauthorized', 'The API key or the app id is not valid.');
}

/** @returns the normalised origin, or null where none was sent and none is needed */
function checkOrigin(
  service: Service,
  credentials: Credentials,
  { application, key }: Caller,
): string | null {
  const header = originHeader(service, credentials);
  if (header === undefined && key !== null) return null;
  return matchOrigin(application, header, credentials.origin.length > 1);
}

function originHeader(service: Service, credentials: Credentials): string | undefined {
  if (credentials.origin.length > 0) return credentials.origin[0];
  if (!credentials.safeMethod || credentials.fetchSite !== 'same-origin') return undefined;
  const baseUrl = service.settings.baseUrl();
  return baseUrl === null ? undefined : new URL(baseUrl).origin;
}

/** True when an origin is registered with any application: all that a preflight can be asked. */
export async function isKnownOrigin(service: Service, header: string): Promise<boolean> {
  const parsed = parseOrigin(header);
  if (!parsed.ok) return false;
  const registered = await service.configCache.allDomains();
  return coveringDomains(parsed).some((domain) => registered.has(domain));
}

/**
 * A member by session token: in Authorization, or in the cookie of a page of this server.
 * @throws ServiceError unauthorized, rate_limit_exceeded
 */
export async function authenticateMember(service: Service, credentials: Credentials): Promise<MemberActor> {
  const epoch = await service.engine.store.freshConfiguration();
  const token = bearerToken(credentials.authorization) ?? tokenFromCookie(service, credentials);
  const found =
    token !== null && isMemberToken(token)
      ? await service.configCache.sessionByDigest(service.secrets.digest(token))
      : null;
  if (
    found === null ||
    !(await isSessionActive(service, found)) ||
    !mayUseHost(service, credentials.host, found.organization)
  ) {
    await countFailedAuth(service, credentials.address);
    throw new ServiceError('unauthorized', 'The session is missing, unknown or over. Sign in again.');
  }
  await extendSession(service, found);
  const actor = toMemberActor(
    found,
    credentials.origin.length === 1 ? (credentials.origin[0] ?? null) : null,
  );
  rememberStanding(actor, epoch);
  return actor;
}

/** The actor of a session. */
export function toMemberActor({ session, member }: CachedSession, origin: string | null): MemberActor {
  return {
    kind: 'member',
    organizationId: member.organization_id,
    memberId: member.id,
    name: member.name,
    role: member.role,
    sessionId: session.id,
    sessionEndsAt: session.expires_at,
    scopes: session.scopes === null ? null : (JSON.parse(session.scopes) as TokenScope[]),
    origin,
  };
}

/** True while a session has not ended, its member is not disabled, and it has what the organization demands. */
export async function isSessionActive(service: Service, found: CachedSession): Promise<boolean> {
  const { session, member, organization } = found;
  const now = service.engine.clock.now();
  if (
    member.disabled_at !== null ||
    (session.expires_at <= now && !(await wasExtended(service, session, now)))
  )
    return false;
  return hasDemandedFactor(session, organization, member);
}

/** Where it was used at another server since, which empties no cache, it goes on; that is noted on the cached row. */
async function wasExtended(service: Service, session: StaffSessionRow, now: number): Promise<boolean> {
  const row = await service.engine.store.read(({ repositories }) =>
    repositories.members.sessionById(session.id),
  );
  if (row === undefined || row.expires_at <= now) return false;
  session.last_seen_at = row.last_seen_at;
  session.expires_at = row.expires_at;
  return true;
}

/** When a session used now would end: 30 days on, 90 days after its start at most. */
export function sessionExpiry(createdAt: number, now: number): number {
  return Math.min(now + sessionIdleMs, createdAt + sessionMaxAgeMs);
}

async function extendSession(service: Service, { session }: CachedSession): Promise<void> {
  const now = service.engine.clock.now();
  const isToken = session.scopes !== null;
  const firstUse = isToken && session.last_seen_at === session.created_at && now > session.created_at;
  if (!firstUse && now - session.last_seen_at < sessionTouchIntervalMs) return;
  // A token ends when it was said that it would; a session slides.
  const expiresAt = isToken ? session.expires_at : sessionExpiry(session.created_at, now);
  // On the cached row as well: the caches are not emptied for this.
  session.last_seen_at = now;
  session.expires_at = expiresAt;
  await recordUse(service, scopeOfMember(session.organization_id, session.member_id), async (tx) => {
    await tx.repositories.members.touchSession(session.id, now, expiresAt);
  });
}
