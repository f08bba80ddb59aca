// Owns the numbers of the rate limits and plans, how a limit is written, and how it is told in HTTP headers.
// It counts nothing (the engine's limiter does) and reads no configuration.

import type { LimitVerdict, LimitWindow } from '../../engine/engine.ts';
import type { Plan } from '../../protocol/entities.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unitNames: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day' };

/**
 * Reads a limit setting.
 *
 * Takes counts with units, `10/s,120/m,2000/h` (also `/d`; blanks around a part do not matter; each unit once, any
 * order), or `off`. Returns the windows, shortest first, or null for `off`. Throws Error with a sentence for a person
 * when the text is anything else.
 */
export function parseRateLimit(text: string): readonly LimitWindow[] | null {
  if (text.trim() === 'off') return null;
  const windows: LimitWindow[] = [];
  for (const part of text.split(',')) {
    const match = /^([1-9]\d{0,8})\/([smhd])$/.exec(part.trim());
    const windowMs = match ? unitMs[match[2] ?? ''] : undefined;
    if (!match || windowMs === undefined) {
      throw new Error(
        `${JSON.stringify(part.trim())} is not a limit: write a whole number of 1 or more, a slash and s, m, h or d, for example 10/s,120/m,2000/h, or write off`,
      );
    }
    if (windows.some((window) => window.windowMs === windowMs)) {
      throw new Error(
        `${JSON.stringify(text)} has two limits for one ${unitNames[match[2] ?? '']}: keep one of them`,
      );
    }
    windows.push({ limit: Number(match[1]), windowMs });
  }
  return windows.sort((a, b) => a.windowMs - b.windowMs);
}

/**
 * The text that {@link parseRateLimit} reads as these windows. Throws RangeError for a window that is not one second,
 * minute, hour or day.
 */
export function formatRateLimit(windows: readonly LimitWindow[] | null): string {
  if (windows === null) return 'off';
  return windows
    .map(({ limit, windowMs }) => {
      const unit = Object.keys(unitMs).find((name) => unitMs[name] === windowMs);
      if (unit === undefined) throw new RangeError(`a window of ${windowMs} ms has no unit`);
      return `${limit}/${unit}`;
    })
    .join(',');
}

const windows = (perSecond: number, perMinute: number, perHour: number): readonly LimitWindow[] =>
  Object.freeze([
    { limit: perSecond, windowMs: 1000 },
    { limit: perMinute, windowMs: 60_000 },
    { limit: perHour, windowMs: 3_600_000 },
  ]);

const byMinuteAndHour = (perMinute: number, perHour: number): readonly LimitWindow[] =>
  Object.freeze([
    { limit: perMinute, windowMs: 60_000 },
    { limit: perHour, windowMs: 3_600_000 },
  ]);

/** The limits in force where no setting says otherwise; every window is held at once. */
export const defaultRateLimits = Object.freeze({
  /** One visitor: REST requests and message:send together. */
  visitor: windows(10, 120, 2000),
  /** All visitors of one application. */
  application: windows(200, 6000, 100_000),
  /** All requests of one address by the origin way, whatever visitor ids it uses. */
  address: windows(100, 3000, 50_000),
  /** The widget's configuration, asked for by one address. */
  addressConfig: windows(10, 120, 2000),
  /** Failed authentications from one address. */
  addressFailed: windows(10, 60, 600),
  /** Failed sign-ins of one account, from addresses that have not signed in to it before. */
  accountFailed: windows(5, 20, 60),
  /** New visitors and new conversations from one address by the origin way: a fresh visitor id costs nothing. */
  addressNew: windows(5, 60, 600),
  /** Mails to one conversation, or of one sender to one inbox. */
  mailSender: byMinuteAndHour(10, 60),
  /** Mails to one application. */
  mailApplication: byMinuteAndHour(120, 2000),
  /** Mails to one application's inbox from senders that it does not know: a sender's address costs nothing. */
  mailNew: byMinuteAndHour(30, 300),
  /** Questions to the assistant of one visitor, or of one member. */
  aiVisitor: windows(5, 60, 600),
  /** Questions to the assistant of all visitors and members of one organization. */
  aiOrganization: windows(10, 120, 2000),
});

/** What a plan grants; null means without limit. */
export interface PlanLimits {
  readonly requestsPerMinute: number;
  readonly retentionDays: number | null;
  readonly applications: number | null;
  readonly seats: number | null;
  /** Bytes of files that were sent with messages. */
  readonly fileBytes: number | null;
  readonly ai: boolean;
  readonly mailsPerDay: number | null;
}

/** What each plan grants unless the organization's own settings say otherwise. */
export const planLimits: Readonly<Record<Plan, PlanLimits>> = Object.freeze({
  free: {
    requestsPerMinute: 600,
    retentionDays: 30,
    applications: 1,
    seats: 3,
    fileBytes: 1_073_741_824,
    ai: false,
    mailsPerDay: 500,
  },
  premium: {
    requestsPerMinute: 6000,
    retentionDays: 365,
    applications: 10,
    seats: 25,
    fileBytes: 20 * 1_073_741_824,
    ai: true,
    mailsPerDay: 10_000,
  },
  enterprise: {
    requestsPerMinute: 60_000,
    retentionDays: null,
    applications: null,
    seats: null,
    fileBytes: null,
    ai: true,
    mailsPerDay: null,
  },
});

/** One check of a limiter call under the name that the headers give it (printable ASCII, for example `visitor`). */
export interface RateLimitPolicy {
  readonly name: string;
  readonly windows: readonly LimitWindow[];
}

export interface RateLimitHeaders {
  readonly RateLimit: string;
  readonly 'RateLimit-Policy': string;
  readonly 'Retry-After': string;
}

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/** Milliseconds of a refusal as whole seconds, rounded up, at least 1: for `Retry-After` and a body's `retryAfter`. */
export const retryAfterSeconds = (retryAfterMs: number): number => seconds(retryAfterMs);

function policyName(name: string, { windowMs }: LimitWindow): string {
  const unit = Object.keys(unitMs).find((key) => unitMs[key] === windowMs);
  const full = `${name}-${(unit === undefined ? undefined : unitNames[unit]) ?? `${windowMs}ms`}`;
  if (!/^[\x20-\x7e]*$/.test(full))
    throw new RangeError(`a policy name is printable ASCII, not ${JSON.stringify(name)}`);
  return `"${full.replace(/["\\]/g, '\\$&')}"`;
}

/** A refusal of the limiter. */
export type LimitRefusal = Extract<LimitVerdict, { ok: false }>;

/**
 * The headers of a refusal, as draft-ietf-httpapi-ratelimit-headers (revision 10 and later) has them: each window is a
 * policy of its own, `q` uses in `w` seconds; `r` uses are left and more come in `t` seconds.
 * @param policies those that were checked, in the order of the checks
 * @throws RangeError for a name outside printable ASCII
 */
export function rateLimitHeaders(
  { failed, window, retryAfterMs }: Omit<LimitRefusal, 'ok'>,
  policies: readonly RateLimitPolicy[],
): RateLimitHeaders {
  const policy = policies
    .flatMap(({ name, windows: all }) =>
      all.map((one) => `${policyName(name, one)};q=${one.limit};w=${seconds(one.windowMs)}`),
    )
    .join(', ');
  const name = policyName(policies[failed]?.name ?? 'default', window);
  return {
    RateLimit: `${name};r=0;t=${seconds(retryAfterMs)}`,
    'RateLimit-Policy': policy,
    'Retry-After': String(seconds(retryAfterMs)),
  };
}
