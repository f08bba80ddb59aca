// The short-lived tokens that open a WebSocket: HS256 JWTs, each bound to one
// purpose by its audience, so that a token for one door opens no other.
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { limits } from '../protocol/codes.ts';
import { mode, uuid, visitorUuid } from '../protocol/entities.ts';
import type { SocketErrorCode } from '../protocol/codes.ts';
import type { MemberActor, VisitorActor } from './actor.ts';
import { matchOrigin, memberActor, sessionIsLive } from './authenticate.ts';
import { Failure } from './failure.ts';
import { parseOrigin } from './origins.ts';
import type { Service } from './service.ts';

const issuer = 'deskbell';
const visitorAudience = 'deskbell:visitor-socket';
const staffAudience = 'deskbell:staff-socket';

const visitorClaims = z.object({
  aud: z.literal(visitorAudience),
  appId: uuid,
  visitorId: visitorUuid,
  origin: z.string(),
  mode: mode.default('live'),
});
const staffClaims = z.object({
  aud: z.literal(staffAudience),
  organizationId: uuid,
  memberId: uuid,
  sid: uuid,
  origin: z.string().optional(),
});
const claims = z.union([visitorClaims, staffClaims]);

/** Why a connection is not let in: one `error` frame with this code, then the end. */
export class SocketRefused extends Error {
  override readonly name = 'SocketRefused';
  readonly code: SocketErrorCode;
  constructor(code: SocketErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

function sign(service: Service, audience: string, payload: Record<string, string>): Promise<string> {
  const now = Math.floor(service.engine.clock.now() / 1000);
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + limits.tokenLifeMs / 1000)
    .setJti(service.engine.clock.newId())
    .sign(service.secrets.tokenKey);
}

/** @throws Failure origin_not_allowed: a visitor's token is always bound to an origin */
export async function visitorToken(service: Service, actor: VisitorActor): Promise<string> {
  if (actor.origin === null)
    throw new Failure(
      'origin_not_allowed',
      'A WebSocket token is bound to a web page: send the Origin header of the page that will connect.',
    );
  const { applicationId: appId, visitorId, origin } = actor;
  return sign(service, visitorAudience, { appId, visitorId, origin, ...(actor.mode === 'test' ? { mode: 'test' } : {}) });
}

/** A token for a member's own connection, bound to the origin it was asked from, if it came from a page. */
export function staffToken(service: Service, actor: MemberActor): Promise<string> {
  const parsed = actor.origin === null ? null : parseOrigin(actor.origin);
  return sign(service, staffAudience, {
    organizationId: actor.organizationId,
    memberId: actor.memberId,
    sid: actor.sessionId,
    ...(parsed?.ok === true ? { origin: parsed.origin } : {}),
  });
}

/**
 * Token + origin of the connection → actor.
 * @param origin every Origin header of the upgrade request
 * @throws SocketRefused
 */
export async function authenticateSocket(
  service: Service,
  token: string | null,
  origin: readonly string[],
): Promise<VisitorActor | MemberActor> {
  if (token === null) throw new SocketRefused('UNAUTHORIZED', 'The token is missing: connect with ?token=…');
  const payload = await verify(service, token);
  const actor = payload.aud === visitorAudience ? await visitorOf(service, payload) : await memberOf(service, payload);
  const wanted = payload.origin;
  if (wanted !== undefined) {
    const parsed = origin.length === 1 ? parseOrigin(origin[0] ?? '') : null;
    if (parsed?.ok !== true || parsed.origin !== wanted)
      throw new SocketRefused('ORIGIN_MISMATCH', 'The token was made for another origin than the one that connects.');
  }
  return actor;
}

async function verify(service: Service, token: string): Promise<z.output<typeof claims>> {
  try {
    const { payload } = await jwtVerify(token, service.secrets.tokenKey, {
      algorithms: ['HS256'],
      typ: 'JWT',
      issuer,
      audience: [visitorAudience, staffAudience],
      requiredClaims: ['exp', 'iat', 'jti'],
      maxTokenAge: limits.tokenLifeMs / 1000,
      currentDate: new Date(service.engine.clock.now()),
    });
    const checked = claims.safeParse(payload);
    if (checked.success) return checked.data;
  } catch (error) {
    // Expired is what ran out; a token whose other times are wrong was never one of ours.
    if (error instanceof errors.JWTExpired && error.claim === 'exp')
      throw new SocketRefused('EXPIRED_TOKEN', 'The token is over: fetch a fresh one.');
    if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error;
  }
  throw new SocketRefused('INVALID_TOKEN', 'The token is malformed or was changed.');
}

async function visitorOf(service: Service, payload: z.output<typeof visitorClaims>): Promise<VisitorActor> {
  const application = await service.lookups.application(payload.appId);
  if (application === null) throw new SocketRefused('APP_NOT_FOUND', 'The application of this token does not exist any more.');
  try {
    matchOrigin(application, payload.origin);
  } catch (error) {
    if (error instanceof Failure) throw new SocketRefused('ORIGIN_MISMATCH', 'The origin of this token is not registered any more.');
    throw error;
  }
  const actor: VisitorActor = {
    kind: 'visitor',
    organizationId: application.organization.id,
    applicationId: payload.appId,
    visitorId: payload.visitorId,
    mode: payload.mode,
    via: 'origin',
    origin: payload.origin,
  };
  // The visitor existed when the token was made: one who is gone was erased, and is not made again.
  if (!(await visitorExists(service, actor)))
    throw new SocketRefused('INVALID_TOKEN', 'The visitor of this token does not exist any more.');
  return actor;
}

async function memberOf(service: Service, payload: z.output<typeof staffClaims>): Promise<MemberActor> {
  const found = await service.lookups.sessionById(payload.sid);
  const same = found?.member.id === payload.memberId && found.organization.id === payload.organizationId;
  if (found === null || !same || !sessionIsLive(service, found))
    throw new SocketRefused('UNAUTHORIZED', 'The session of this token is over. Sign in again.');
  return memberActor(found, payload.origin ?? null);
}

/** Why a live connection must end, or null while its actor may stay: asked again whenever configuration changes. */
export async function withdrawal(service: Service, actor: VisitorActor | MemberActor): Promise<'withdrawn' | 'appNotFound' | null> {
  if (actor.kind === 'member') {
    const found = await service.lookups.sessionById(actor.sessionId);
    return found !== null && sessionIsLive(service, found) ? null : 'withdrawn';
  }
  const application = await service.lookups.application(actor.applicationId);
  if (application === null) return 'appNotFound';
  try {
    matchOrigin(application, actor.origin ?? undefined);
  } catch (error) {
    if (error instanceof Failure) return 'withdrawn';
    throw error;
  }
  return (await isErased(service, actor)) ? 'withdrawn' : null;
}

/** The number of erasures at which a visitor was last seen to exist. */
const seenAt = new WeakMap<VisitorActor, string>();

/** Looks for the visitor's row, but only where somebody has been erased since the last look: connections are many, erasures few. */
async function isErased(service: Service, actor: VisitorActor): Promise<boolean> {
  const erasures = await service.lookups.erasures();
  if (seenAt.get(actor) === erasures) return false;
  const exists = await visitorExists(service, actor);
  if (exists) seenAt.set(actor, erasures);
  return !exists;
}

function visitorExists({ engine }: Service, { applicationId, mode: itsMode, visitorId }: VisitorActor): Promise<boolean> {
  return engine.store.read(async ({ tables }) => (await tables.visitors.byVisitorId(applicationId, itsMode, visitorId)) !== undefined);
}
