// Which limits a call counts against. The numbers are settings and plans; the
// counting is the engine's limiter; a refusal is a Failure with its cause.
import type { LimitCause } from '../../protocol/codes.ts';
import type { LimitCheck, LimitWindow } from '../../engine/engine.ts';
import type { OrganizationRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import { rateLimited } from '../core/errors.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import type { Call, RateLimitSetting, Service } from '../service.ts';

interface RateLimitCheck extends LimitCheck {
  readonly cause: LimitCause;
}

function rateLimitChecks(cause: LimitCause, key: string, windows: RateLimitSetting): RateLimitCheck[] {
  return windows === null ? [] : [{ cause, key, windows }];
}

async function takeOrThrow(service: Service, checks: readonly RateLimitCheck[]): Promise<void> {
  if (checks.length === 0) return;
  const verdict = await service.engine.limiter.take(checks);
  if (verdict.ok) return;
  const { cause, windows } = checks[verdict.failed] as RateLimitCheck;
  service.metrics.rateLimited[cause] += 1;
  throw rateLimited(cause, windows, verdict.window, verdict.retryAfterMs);
}

// One array per distinct number, so that the limiter sees the same windows every time.
const windowsByLimit = new Map<number, readonly LimitWindow[]>();
function organizationWindows(organization: OrganizationRow): readonly LimitWindow[] {
  const limit = organizationQuotas(organization).requestsPerMinute;
  let windows = windowsByLimit.get(limit);
  if (windows === undefined) {
    windows = [{ limit, windowMs: 60_000 }];
    windowsByLimit.set(limit, windows);
  }
  return windows;
}

/**
 * Counts one call against everything that it belongs to: all of it or, when any refuses, nothing.
 * @throws Failure rate_limit_exceeded
 */
export async function limitRequest({ service, actor }: Call): Promise<void> {
  if (actor.kind === 'local' || actor.kind === 'anonymous') return;
  const { rateLimits } = service.settings;
  const organization = await service.configCache.organization(actor.organizationId);
  const checks: RateLimitCheck[] = [];
  if (actor.kind === 'visitor')
    checks.push(
      ...rateLimitChecks(
        'per_visitor',
        `v:${actor.applicationId}:${actor.mode}:${actor.visitorId}`,
        rateLimits.visitor,
      ),
    );
  if (actor.kind !== 'member')
    checks.push(...rateLimitChecks('per_application', `a:${actor.applicationId}`, rateLimits.application));
  if (organization !== null)
    checks.push(
      ...rateLimitChecks('per_organization', `o:${organization.id}`, organizationWindows(organization)),
    );
  await takeOrThrow(service, checks);
}

/**
 * Counts one question to the assistant, which costs more than other calls, against its asker and the organization.
 * @param asker a visitor or a member, as a key of its own
 * @throws Failure rate_limit_exceeded
 */
export function limitAiQuestion(service: Service, organizationId: string, asker: string): Promise<void> {
  const { aiVisitor, aiOrganization } = service.settings.rateLimits;
  return takeOrThrow(service, [
    ...rateLimitChecks('per_visitor', `aq:${asker}`, aiVisitor),
    ...rateLimitChecks('per_organization', `ao:${organizationId}`, aiOrganization),
  ]);
}

/**
 * Counts a new visitor or conversation made without a key: a fresh UUID costs nothing, an address does.
 * @throws Failure rate_limit_exceeded
 */
export async function limitNewVisitors(service: Service, address: string | null): Promise<void> {
  if (address === null) return;
  await takeOrThrow(
    service,
    rateLimitChecks('per_address', `n:${addressKey(address)}`, service.settings.rateLimits.addressNew),
  );
}

/**
 * Counts a failed authentication.
 * @throws Failure rate_limit_exceeded instead of the refusal, once there were too many
 */
export function countFailedAuth(service: Service, address: string): Promise<void> {
  return takeOrThrow(
    service,
    rateLimitChecks('per_address', `f:${addressKey(address)}`, service.settings.rateLimits.addressFailed),
  );
}

/**
 * Refuses an address that has failed too often already, before its credential is looked at.
 * @throws Failure rate_limit_exceeded
 */
export async function assertAuthNotThrottled(service: Service, address: string): Promise<void> {
  const checks = rateLimitChecks(
    'per_address',
    `f:${addressKey(address)}`,
    service.settings.rateLimits.addressFailed,
  );
  if (checks.length === 0) return;
  const verdict = await service.engine.limiter.peek(checks);
  if (verdict.ok) return;
  service.metrics.rateLimited.per_address += 1;
  throw rateLimited('per_address', checks[0]?.windows ?? [], verdict.window, verdict.retryAfterMs);
}

const loginWindows: readonly LimitWindow[] = [{ limit: 5, windowMs: 60_000 }];

/** Counts a failed sign-in of an account; true once there were more than a few within a minute. */
export async function isLoginThrottled(service: Service, account: string, failed: boolean): Promise<boolean> {
  const checks = [{ key: `s:${account}`, windows: loginWindows }];
  const { limiter } = service.engine;
  return !(await (failed ? limiter.take(checks) : limiter.peek(checks))).ok;
}
