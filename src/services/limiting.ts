// Which limits a call counts against. The numbers are settings and plans; the
// counting is the engine's limiter; a refusal is a Failure with its cause.
import type { LimitCause } from '../protocol/codes.ts';
import type { LimitCheck, LimitWindow } from '../engine/engine.ts';
import type { OrganizationRow } from '../engine/rows.ts';
import { addressKey } from './http-address.ts';
import { rateLimited } from './failure.ts';
import { organizationLimits } from './plans.ts';
import type { Call, LimitSetting, Service } from './service.ts';

interface NamedCheck extends LimitCheck {
  readonly cause: LimitCause;
}

function check(cause: LimitCause, key: string, windows: LimitSetting): NamedCheck[] {
  return windows === null ? [] : [{ cause, key, windows }];
}

function take(service: Service, checks: readonly NamedCheck[]): void {
  if (checks.length === 0) return;
  const verdict = service.engine.limiter.take(checks);
  if (verdict.ok) return;
  const { cause, windows } = checks[verdict.failed] as NamedCheck;
  service.measures.limited[cause] += 1;
  throw rateLimited(cause, windows, verdict.window, verdict.retryAfterMs);
}

// One array per distinct number, so that the limiter sees the same windows every time.
const perMinute = new Map<number, readonly LimitWindow[]>();
function requestsPerMinute(organization: OrganizationRow): readonly LimitWindow[] {
  const limit = organizationLimits(organization).requestsPerMinute;
  let windows = perMinute.get(limit);
  if (windows === undefined) {
    windows = [{ limit, windowMs: 60_000 }];
    perMinute.set(limit, windows);
  }
  return windows;
}

/**
 * Counts one call against everything that it belongs to: all of it or, when any refuses, nothing.
 * @throws Failure rate_limit_exceeded
 */
export async function countCall({ service, actor }: Call): Promise<void> {
  if (actor.kind === 'local' || actor.kind === 'anonymous') return;
  const { limits } = service.settings;
  const organization = await service.lookups.organization(actor.organizationId);
  const checks: NamedCheck[] = [];
  if (actor.kind === 'visitor')
    checks.push(...check('per_visitor', `v:${actor.applicationId}:${actor.mode}:${actor.visitorId}`, limits.visitor));
  if (actor.kind !== 'member') checks.push(...check('per_application', `a:${actor.applicationId}`, limits.application));
  if (organization !== null) checks.push(...check('per_organization', `o:${organization.id}`, requestsPerMinute(organization)));
  take(service, checks);
}

/**
 * Counts one question to the assistant, which costs more than other calls, against its asker and the organization.
 * @param asker a visitor or a member, as the key that nobody else has
 * @throws Failure rate_limit_exceeded
 */
export function countQuestion(service: Service, organizationId: string, asker: string): void {
  const { aiVisitor, aiOrganization } = service.settings.limits;
  take(service, [...check('per_visitor', `aq:${asker}`, aiVisitor), ...check('per_organization', `ao:${organizationId}`, aiOrganization)]);
}

/**
 * Counts a new visitor or conversation made without a key: a fresh UUID costs nothing, an address does.
 * @throws Failure rate_limit_exceeded
 */
export function countNewcomer(service: Service, address: string | null): void {
  if (address !== null) take(service, check('per_address', `n:${addressKey(address)}`, service.settings.limits.addressNew));
}

/**
 * Counts a failed authentication.
 * @throws Failure rate_limit_exceeded instead of the refusal, once there were too many
 */
export function failedLimit(service: Service, address: string): void {
  take(service, check('per_address', `f:${addressKey(address)}`, service.settings.limits.addressFailed));
}

/**
 * Refuses an address that has failed too often already, before its credential is looked at.
 * @throws Failure rate_limit_exceeded
 */
export function assertNotFailing(service: Service, address: string): void {
  const checks = check('per_address', `f:${addressKey(address)}`, service.settings.limits.addressFailed);
  if (checks.length === 0) return;
  const verdict = service.engine.limiter.peek(checks);
  if (verdict.ok) return;
  service.measures.limited.per_address += 1;
  throw rateLimited('per_address', checks[0]?.windows ?? [], verdict.window, verdict.retryAfterMs);
}

const accountWindow: readonly LimitWindow[] = [{ limit: 5, windowMs: 60_000 }];

/** Counts a failed sign-in of an account; true once there were more than a few within a minute. */
export function accountIsAttacked(service: Service, account: string, failed: boolean): boolean {
  const checks = [{ key: `s:${account}`, windows: accountWindow }];
  return !(failed ? service.engine.limiter.take(checks) : service.engine.limiter.peek(checks)).ok;
}
