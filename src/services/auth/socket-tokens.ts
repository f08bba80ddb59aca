// The short-lived tokens that open a WebSocket: HS256 JWTs, each bound to one
// purpose by its audience, so that a token for one purpose serves no other.
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { ApiKeyRow } from '../../engine/rows.ts';
import { sizeLimits } from '../../protocol/codes.ts';
import { mode, uuid, visitorUuid } from '../../protocol/entities.ts';
import type { SocketErrorCode } from '../../protocol/codes.ts';
import type { MemberActor, VisitorActor } from '../core/actor.ts';
import { isKeyActive } from './active-key.ts';
import { toMemberActor, isSessionActive } from './authenticate.ts';
import { mayUseHost } from './organization-host.ts';
import { isBlocked } from './blocked.ts';
import { ServiceError } from '../core/errors.ts';
import { identityDemand, isIdentified } from './identity-demand.ts';
import { matchOrigin } from './origin-match.ts';
import { parseOrigin } from './origins.ts';
import { rememberStanding } from './standing.ts';
import type { Service } from '../service.ts';

const issuer = 'deskbell';
const visitorAudience = 'deskbell:visitor-socket';
const staffAudience = 'deskbell:staff-socket';

const visitorClaims = z.object({
  aud: z.literal(visitorAudience),
  appId: uuid,
  visitorId: visitorUuid,
  origin: z.string(),
  mode: mode.default('live'),
  /** The API key that asked for it; none: a web page. */
  keyId: uuid.optional(),
});
const staffClaims = z.object({
  aud: z.literal(staffAudience),
  organizationId: uuid,
  memberId: uuid,
  sid: uuid,
  origin: z.string().optional(),
});
const claims = z.union([visitorClaims, staffClaims]);

/** The clock of the node that signed may be so much ahead of the one that checks. A token lives no longer for it. */
const clockToleranceSeconds = 5;

/** Why a connection is not let in: one `error` frame with this code, then the end. */
export class SocketAuthError extends Error {
  override readonly name = 'SocketAuthError';
  readonly code: SocketErrorCode;
  constructor(code: SocketErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

function signToken(service: Service, audience: string, payload: Record<string, string>): Promise<string> {
  const now = Math.floor(service.engine.clock.now() / 1000);
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + sizeLimits.tokenLifeMs / 1000)
    .setJti(service.engine.clock.newId())
    .sign(service.secrets.tokenKey);
}

/**
 * The origin of a visitor's page, to which their token is always bound.
 * @throws ServiceError origin_not_allowed where there is none
 */
export function originOfPage({ origin }: VisitorActor): string {
  if (origin !== null) return origin;
  throw new ServiceError(
    'origin_not_allowed',
    'A WebSocket token is bound to a web page: send the Origin header of the page that will connect.',
  );
}

/** @throws ServiceError origin_not_allowed */
export async function createVisitorToken(service: Service, actor: VisitorActor): Promise<string> {
  const origin = originOfPage(actor);
  const { applicationId: appId, visitorId, keyId } = actor;
  return signToken(service, visitorAudience, {
    appId,
    visitorId,
    origin,
    ...(actor.mode === 'test' ? { mode: 'test' } : {}),
    ...(keyId === undefined ? {} : { keyId }),
  });
}

/** A token for a member's own connection, bound to the origin it was asked from, if it came from a page. */
export function createStaffToken(service: Service, actor: MemberActor): Promise<string> {
  const parsed = actor.origin === null ? null : parseOrigin(actor.origin);
  return signToken(service, staffAudience, {
    organizationId: actor.organizationId,
    memberId: actor.memberId,
    sid: actor.sessionId,
    ...(parsed?.ok === true ? { origin: parsed.origin } : {}),
  });
}

/**
 * Token + origin of the connection → actor.
 * @param origin every Origin header of the upgrade request
 * @param host its Host header
 * @param address where it comes from
 * @throws SocketAuthError
 */
export async function authenticateSocket(
  service: Service,
  token: string | null,
  origin: readonly string[],
  host: string | undefined,
  address: string,
): Promise<VisitorActor | MemberActor> {
  if (token === null)
    throw new SocketAuthError('UNAUTHORIZED', 'The token is missing: connect with ?token=…');
  const payload = await verifyToken(service, token);
  const epoch = await service.engine.store.freshConfiguration();
  const actor =
    payload.aud === visitorAudience
      ? await visitorFromClaims(service, payload)
      : await memberFromClaims(service, payload);
  const organization = await service.configCache.organization(actor.organizationId);
  if (organization === null || !mayUseHost(service, host, organization))
    throw new SocketAuthError('INVALID_TOKEN', 'The token belongs to another organization than this host.');
  if (actor.kind === 'visitor' && (await isBlocked(service, actor, address)))
    throw new SocketAuthError('FORBIDDEN', 'This visitor has been blocked.');
  const wanted = payload.origin;
  if (wanted !== undefined) {
    const parsed = origin.length === 1 ? parseOrigin(origin[0] ?? '') : null;
    if (parsed?.ok !== true || parsed.origin !== wanted)
      throw new SocketAuthError(
        'ORIGIN_MISMATCH',
        'The token was made for another origin than the one that connects.',
      );
  }
  rememberStanding(actor, epoch);
  return actor;
}

async function verifyToken(service: Service, token: string): Promise<z.output<typeof claims>> {
  const now = service.engine.clock.now();
  try {
    const { payload } = await jwtVerify(token, service.secrets.tokenKey, {
      algorithms: ['HS256'],
      typ: 'JWT',
      issuer,
      audience: [visitorAudience, staffAudience],
      requiredClaims: ['exp', 'iat', 'jti'],
      currentDate: new Date(now),
    });
    const checked = claims.safeParse(payload);
    if (checked.success && isAgeRight(Math.floor(now / 1000) - Number(payload.iat))) return checked.data;
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw new SocketAuthError('EXPIRED_TOKEN', 'The token is over: fetch a fresh one.');
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error;
  }
  throw new SocketAuthError('INVALID_TOKEN', 'The token is malformed or was changed.');
}

/** A token of another age than ours can have was never one of ours. */
function isAgeRight(seconds: number): boolean {
  return seconds >= -clockToleranceSeconds && seconds <= sizeLimits.tokenLifeMs / 1000;
}

async function visitorFromClaims(
  service: Service,
  payload: z.output<typeof visitorClaims>,
): Promise<VisitorActor> {
  const application = await service.configCache.application(payload.appId);
  if (application === null)
    throw new SocketAuthError('APP_NOT_FOUND', 'The application of this token does not exist any more.');
  try {
    matchOrigin(application, payload.origin);
  } catch (error) {
    if (error instanceof ServiceError)
      throw new SocketAuthError('ORIGIN_MISMATCH', 'The origin of this token is not registered any more.');
    throw error;
  }
  const key = payload.keyId === undefined ? undefined : await findActiveKey(service, payload.keyId);
  if (key === null)
    throw new SocketAuthError('UNAUTHORIZED', 'The API key that this token was made with has ended.');
  const actor: VisitorActor = {
    kind: 'visitor',
    organizationId: application.organization.id,
    applicationId: payload.appId,
    visitorId: payload.visitorId,
    mode: payload.mode,
    via: 'origin',
    keyId: key?.id,
    keyEndsAt: key?.expires_at ?? undefined,
    origin: payload.origin,
    ...identityDemand(application, 'origin'),
  };
  // The visitor existed when the token was made: one without a row was erased, and is not created again.
  if (!(await visitorExists(service, actor)))
    throw new SocketAuthError('INVALID_TOKEN', 'The visitor of this token does not exist any more.');
  if (!(await isIdentified(service, actor)))
    throw new SocketAuthError('FORBIDDEN', 'This application serves signed-in visitors only.');
  return actor;
}

async function memberFromClaims(
  service: Service,
  payload: z.output<typeof staffClaims>,
): Promise<MemberActor> {
  const found = await service.configCache.sessionById(payload.sid);
  const same = found?.member.id === payload.memberId && found.organization.id === payload.organizationId;
  if (found === null || !same || !(await isSessionActive(service, found)))
    throw new SocketAuthError('UNAUTHORIZED', 'The session of this token is over. Sign in again.');
  return toMemberActor(found, payload.origin ?? null);
}

/** Why a live connection must end; or until when, ms, its actor may stay unless configuration changes. */
export type Access =
  | { readonly refused: 'unauthorized' | 'withdrawn' | 'appNotFound' }
  | {
      readonly until: number;
      /** As they are now: a member's name or role may be another. */
      readonly actor: VisitorActor | MemberActor;
    };

/** Whether the actor of a live connection may stay: asked again whenever configuration changes, and at its end. */
export async function checkAccess(
  service: Service,
  actor: VisitorActor | MemberActor,
  address: string,
): Promise<Access> {
  if (actor.kind === 'visitor') {
    const refused = await checkVisitor(service, actor, address);
    if (refused !== null) return { refused };
    if (actor.keyId === undefined) return { until: Infinity, actor };
    // One that was replaced since the connection was made ends after a while. Its successor makes tokens that open another.
    const key = await findActiveKey(service, actor.keyId);
    return key === null ? { refused: 'unauthorized' } : { until: key.expires_at ?? Infinity, actor };
  }
  const found = await service.configCache.sessionById(actor.sessionId);
  if (found === null || !(await isSessionActive(service, found))) return { refused: 'withdrawn' };
  const { name, role } = found.member;
  const isSame = name === actor.name && role === actor.role;
  return { until: found.session.expires_at, actor: isSame ? actor : { ...actor, name, role } };
}

async function checkVisitor(
  service: Service,
  actor: VisitorActor,
  address: string,
): Promise<'withdrawn' | 'appNotFound' | null> {
  const application = await service.configCache.application(actor.applicationId);
  if (application === null) return 'appNotFound';
  try {
    matchOrigin(application, actor.origin ?? undefined);
  } catch (error) {
    if (error instanceof ServiceError) return 'withdrawn';
    throw error;
  }
  if (await isBlocked(service, actor, address)) return 'withdrawn';
  if (await isErased(service, actor)) return 'withdrawn';
  return (await isIdentified(service, actor)) ? null : 'withdrawn';
}

/** @returns null where the key has ended */
async function findActiveKey({ configCache, engine }: Service, id: string): Promise<ApiKeyRow | null> {
  const key = await configCache.apiKeyById(id);
  return key !== null && isKeyActive(key, engine.clock.now()) ? key : null;
}

/** The mark of erasures at which a visitor was last seen to exist. */
const lastErasureCheck = new WeakMap<VisitorActor, string>();

/** Looks for the visitor's row, but only where a visitor has been erased since the last look: connections are many, erasures few. */
async function isErased(service: Service, actor: VisitorActor): Promise<boolean> {
  const erasures = await service.configCache.erasureMark(actor.organizationId);
  if (lastErasureCheck.get(actor) === erasures) return false;
  const exists = await visitorExists(service, actor);
  if (exists) lastErasureCheck.set(actor, erasures);
  return !exists;
}

function visitorExists(
  { engine }: Service,
  { applicationId, mode: itsMode, visitorId }: VisitorActor,
): Promise<boolean> {
  return engine.store.read(
    async ({ repositories }) =>
      (await repositories.visitors.byVisitorId(applicationId, itsMode, visitorId)) !== undefined,
  );
}
