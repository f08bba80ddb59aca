// Which limits a call counts against. The numbers are settings and plans; the
// counting is the engine's limiter; a refusal is a ServiceError with its cause.
import type { LimitCause } from '../../protocol/codes.ts';
import {
  whenReady,
  type LimitCheck,
  type LimitVerdict,
  type LimitWindow,
  type Soon,
} from '../../engine/engine.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import { addressKey, addressNetworks } from '../../net/ip-ranges.ts';
import type { VisitorActor } from '../core/actor.ts';
import { rateLimited, type ServiceError } from '../core/errors.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import type { Call, RateLimitSetting, Service } from '../service.ts';

interface RateLimitCheck extends LimitCheck {
  readonly cause: LimitCause;
}

function rateLimitChecks(
  cause: LimitCause,
  key: string,
  windows: RateLimitSetting,
): readonly RateLimitCheck[] {
  return windows === null ? [] : [{ cause, key, windows }];
}

function takeOrThrow(service: Service, checks: readonly RateLimitCheck[]): Soon<void> {
  if (checks.length === 0) return undefined;
  return whenReady(service.engine.limiter.take(checks), (verdict) => {
    if (!verdict.ok) throw refusal(service, checks, verdict);
  });
}

/** The error for a refusal, which is counted. */
function refusal(
  service: Service,
  checks: readonly RateLimitCheck[],
  verdict: Extract<LimitVerdict, { ok: false }>,
): ServiceError {
  const failed = checks[verdict.failed];
  if (failed === undefined) throw new Error('The limiter refused a check that it was not asked.');
  const { cause, windows } = failed;
  service.metrics.rateLimited[cause] += 1;
  return rateLimited(cause, windows, verdict.window, verdict.retryAfterMs);
}

// One array per distinct limit, so that the limiter sees the same windows every time.
const windowsByLimit = new Map<number, readonly LimitWindow[]>();
function perMinute(limit: number): readonly LimitWindow[] {
  let windows = windowsByLimit.get(limit);
  if (windows === undefined) {
    windows = [{ limit, windowMs: 60_000 }];
    windowsByLimit.set(limit, windows);
  }
  return windows;
}

const scaledWindows = new WeakMap<readonly LimitWindow[], Map<number, readonly LimitWindow[]>>();

/** The same windows with another limit: made once for each factor. */
function scale(windows: readonly LimitWindow[], factor: number): readonly LimitWindow[] {
  let byFactor = scaledWindows.get(windows);
  if (byFactor === undefined) {
    byFactor = new Map<number, readonly LimitWindow[]>();
    scaledWindows.set(windows, byFactor);
  }
  let scaled = byFactor.get(factor);
  if (scaled === undefined) {
    scaled = windows.map(({ limit, windowMs }) => ({
      limit: Math.max(1, Math.floor(limit * factor)),
      windowMs,
    }));
    byFactor.set(factor, scaled);
  }
  return scaled;
}

/** What visitors can use of their organization's plan; the rest is for staff alone. */
const visitorShare = 0.8;
/** What visitors without a conversation can use of their application's limit; the rest is for those who have one. */
const strangerShare = 0.8;

/**
 * Counts one call against everything that it belongs to: all of it or, when any refuses, nothing. Without a promise
 * where the engine has the answers at once: every message asks.
 * @throws ServiceError rate_limit_exceeded
 */
export function limitRequest({ service, actor, address }: Call): Soon<void> {
  switch (actor.kind) {
    case 'local':
    case 'anonymous':
      return undefined;
    case 'hostSite':
      // Asked by every page view, and by anyone who has the public app id: it uses up nothing that others need.
      return takeOrThrow(service, addressChecks('w', address, service.settings.rateLimits.addressConfig));
    case 'member':
      return limitOrganization(service, actor.organizationId);
    case 'visitor':
      return limitVisitor(service, actor, address);
  }
}

/**
 * Counts a request that was refused before it was known whose it is: of a page against its address alone, because anyone
 * has the public app id; of a backend against its application and organization.
 * @throws ServiceError rate_limit_exceeded
 */
export async function limitRefused(
  service: Service,
  by:
    | { readonly kind: 'hostSite' | 'visitor'; readonly address: string }
    | { readonly applicationId: string; readonly organization: OrganizationRow },
): Promise<void> {
  const { address, addressConfig, application } = service.settings.rateLimits;
  if ('organization' in by)
    return takeOrThrow(service, [
      ...rateLimitChecks('per_application', `a:${by.applicationId}`, application),
      ...organizationChecks(by.organization, visitorShare),
    ]);
  return takeOrThrow(
    service,
    by.kind === 'hostSite'
      ? addressChecks('w', by.address, addressConfig)
      : addressChecks('r', by.address, address),
  );
}

function limitOrganization(service: Service, organizationId: string): Soon<void> {
  return whenReady(service.configCache.organization(organizationId), (organization) =>
    organization === null ? undefined : takeOrThrow(service, memberChecks(organization)),
  );
}

/** By the row that they were made of: where a plan or its numbers change, there is another row. */
const keptMemberChecks = new WeakMap<OrganizationRow, readonly RateLimitCheck[]>();

/** Made once, so that the limiter finds their counters where they were. */
function memberChecks(organization: OrganizationRow): readonly RateLimitCheck[] {
  let checks = keptMemberChecks.get(organization);
  if (checks === undefined) {
    checks = organizationChecks(organization, 1);
    keptMemberChecks.set(organization, checks);
  }
  return checks;
}

function limitVisitor(service: Service, actor: VisitorActor, address: string | null): Soon<void> {
  return whenReady(service.configCache.organization(actor.organizationId), (organization) => {
    const { checks, strangers } = visitorChecks(service, actor, address, organization);
    if (strangers === null) return takeOrThrow(service, checks);
    return whenReady(service.engine.limiter.take(strangers), (verdict) =>
      verdict.ok ? undefined : limitStranger(service, actor, { checks, strangers }, verdict),
    );
  });
}

/** Looked up only once the strangers' share is used up: the usual call costs no query. */
async function limitStranger(
  service: Service,
  actor: VisitorActor,
  { checks, strangers }: { checks: readonly RateLimitCheck[]; strangers: readonly RateLimitCheck[] },
  verdict: Extract<LimitVerdict, { ok: false }>,
): Promise<void> {
  if (verdict.failed === checks.length && (await hasConversation(service, actor)))
    return takeOrThrow(service, checks);
  throw refusal(service, strangers, verdict);
}

interface VisitorChecks {
  readonly checks: readonly RateLimitCheck[];
  /** With the strangers' share as the last; null where the application has no limit. */
  readonly strangers: readonly RateLimitCheck[] | null;
}

interface KeptVisitorChecks extends VisitorChecks {
  readonly service: Service;
  readonly address: string | null;
  /** The row that the checks were made of: another row may have other limits. */
  readonly organization: OrganizationRow | null;
}

/** The checks of a live connection are the same for every frame. */
const keptVisitorChecks = new WeakMap<VisitorActor, KeptVisitorChecks>();

function visitorChecks(
  service: Service,
  actor: VisitorActor,
  address: string | null,
  organization: OrganizationRow | null,
): VisitorChecks {
  const kept = keptVisitorChecks.get(actor);
  if (kept?.service === service && kept.address === address && kept.organization === organization)
    return kept;
  const { visitor, application, address: ofAddress } = service.settings.rateLimits;
  const { applicationId, mode, visitorId, via } = actor;
  const checks = [
    ...rateLimitChecks('per_visitor', `v:${applicationId}:${mode}:${visitorId}`, visitor),
    ...(via === 'origin' ? addressChecks('r', address, ofAddress) : []),
    ...rateLimitChecks('per_application', `a:${applicationId}`, application),
    ...organizationChecks(organization, visitorShare),
  ];
  const ofStrangers: readonly RateLimitCheck[] =
    application === null
      ? []
      : rateLimitChecks('per_application', `as:${applicationId}`, scale(application, strangerShare));
  const made = {
    service,
    address,
    organization,
    checks,
    strangers: application === null ? null : [...checks, ...ofStrangers],
  };
  keptVisitorChecks.set(actor, made);
  return made;
}

/** The organization's plan, and of it the share that the caller's kind can use. */
function organizationChecks(organization: OrganizationRow | null, share: number): readonly RateLimitCheck[] {
  if (organization === null) return [];
  const windows = perMinute(organizationQuotas(organization).requestsPerMinute);
  const whole = rateLimitChecks('per_organization', `o:${organization.id}`, windows);
  if (share === 1) return whole;
  return [...whole, ...rateLimitChecks('per_organization', `ov:${organization.id}`, scale(windows, share))];
}

function hasConversation({ engine }: Service, actor: VisitorActor): Promise<boolean> {
  const { applicationId, mode, visitorId } = actor;
  return engine.store.read(async ({ repositories: { visitors, conversations } }) => {
    const visitor = await visitors.byVisitorId(applicationId, mode, visitorId);
    return visitor !== undefined && (await conversations.countOfVisitor(visitor.id)) > 0;
  });
}

/** An address itself and, for IPv6, the larger networks that one customer may have, each with a larger limit. */
function addressChecks(
  kind: string,
  address: string | null,
  windows: RateLimitSetting,
): readonly RateLimitCheck[] {
  if (address === null || windows === null) return [];
  return addressNetworks(address).map(({ key, factor }) => ({
    cause: 'per_address',
    key: `${kind}:${key}`,
    windows: scale(windows, factor),
  }));
}

/**
 * Counts one question to the assistant, which costs more than other calls, against its asker and the organization.
 * @param asker a visitor or a member, as a key of its own
 * @throws ServiceError rate_limit_exceeded
 */
export async function limitAiQuestion(
  service: Service,
  organizationId: string,
  asker: string,
): Promise<void> {
  const { aiVisitor, aiOrganization } = service.settings.rateLimits;
  return takeOrThrow(service, [
    ...rateLimitChecks('per_visitor', `aq:${asker}`, aiVisitor),
    ...rateLimitChecks('per_organization', `ao:${organizationId}`, aiOrganization),
  ]);
}

/**
 * Counts a new visitor or conversation made without a key: a fresh UUID costs nothing, an address does.
 * @throws ServiceError rate_limit_exceeded
 */
export async function limitNewVisitors(service: Service, address: string | null): Promise<void> {
  return takeOrThrow(service, addressChecks('n', address, service.settings.rateLimits.addressNew));
}

/**
 * Counts a mail against the application that it is for. It uses up nothing of what pages and members need.
 * @throws ServiceError rate_limit_exceeded
 */
export async function limitMail(service: Service, applicationId: string): Promise<void> {
  const { mailApplication } = service.settings.rateLimits;
  return takeOrThrow(service, rateLimitChecks('per_application', `ma:${applicationId}`, mailApplication));
}

/** A mail's sender, as it is counted: to which application they write, and whether it has heard of them. */
export interface MailSender {
  readonly applicationId: string;
  readonly sender: string;
  readonly known: boolean;
}

/**
 * Counts a mail against its sender.
 * @throws ServiceError rate_limit_exceeded
 */
export async function limitMailSender(
  service: Service,
  { applicationId, sender, known }: MailSender,
): Promise<void> {
  const { mailSender, mailNew } = service.settings.rateLimits;
  return takeOrThrow(service, [
    ...rateLimitChecks('per_visitor', `ms:${applicationId}:${sender}`, mailSender),
    ...(known ? [] : rateLimitChecks('per_application', `mn:${applicationId}`, mailNew)),
  ]);
}

/**
 * Counts a failed authentication.
 * @throws ServiceError rate_limit_exceeded instead of the refusal, once there were too many
 */
export async function countFailedAuth(service: Service, address: string): Promise<void> {
  return takeOrThrow(service, addressChecks('f', address, service.settings.rateLimits.addressFailed));
}

/**
 * Refuses an address that has failed too often already, before its credential is looked at.
 * @throws ServiceError rate_limit_exceeded
 */
export function assertAuthNotThrottled(service: Service, address: string): Promise<void> {
  return peekOrThrow(service, addressChecks('f', address, service.settings.rateLimits.addressFailed));
}

async function peekOrThrow(service: Service, checks: readonly RateLimitCheck[]): Promise<void> {
  if (checks.length === 0) return;
  const verdict = await service.engine.limiter.peek(checks);
  if (!verdict.ok) throw refusal(service, checks, verdict);
}

const slowedWindows: readonly LimitWindow[] = [{ limit: 5, windowMs: 60_000 }];
const knownForMs = 30 * 86_400_000;
const knownWindows: readonly LimitWindow[] = [{ limit: 1, windowMs: knownForMs }];

/** A sign-in, as it is counted: the organization and e-mail address that were named, and where from. */
export interface SignInAttempt {
  readonly account: string;
  readonly address: string;
}

// One use in 30 days: a counter that is used up is an address that has signed in to the account.
const knownAddress = ({ account, address }: SignInAttempt): LimitCheck => ({
  key: `sk:${account}:${addressKey(address)}`,
  windows: knownWindows,
});

/**
 * Refuses a sign-in whose address has failed too often, or whose account has failed too often from addresses that are
 * new to it. A member who comes from a known address gets in however many others guess.
 * @returns whether the address is known to the account
 * @throws ServiceError rate_limit_exceeded
 */
export async function assertSignInNotThrottled(service: Service, attempt: SignInAttempt): Promise<boolean> {
  await assertAuthNotThrottled(service, attempt.address);
  const known = !(await service.engine.limiter.peek([knownAddress(attempt)])).ok;
  if (!known) await peekOrThrow(service, accountChecks(service, attempt));
  return known;
}

/** Whether an account has failed so often within a minute that the next attempt is to wait. */
export async function isSignInSlowed(service: Service, { account }: SignInAttempt): Promise<boolean> {
  return !(await service.engine.limiter.peek([{ key: `s:${account}`, windows: slowedWindows }])).ok;
}

/**
 * Counts a failed sign-in against its account and its address.
 * @throws ServiceError rate_limit_exceeded instead of the refusal, once the address had too many
 */
export async function countFailedSignIn(service: Service, attempt: SignInAttempt): Promise<void> {
  const { limiter } = service.engine;
  await limiter.take([{ key: `s:${attempt.account}`, windows: slowedWindows }]);
  const checks = accountChecks(service, attempt);
  if (checks.length > 0) await limiter.take(checks);
  await countFailedAuth(service, attempt.address);
}

/** Remembers where a member has signed in from. */
export async function rememberSignIn(service: Service, attempt: SignInAttempt): Promise<void> {
  await service.engine.limiter.take([knownAddress(attempt)]);
}

function accountChecks(service: Service, { account }: SignInAttempt): readonly RateLimitCheck[] {
  return rateLimitChecks('per_address', `sf:${account}`, service.settings.rateLimits.accountFailed);
}
