// Sends web pushes: one encrypted message to the push service of a browser's maker. The address comes from a browser
// that a member signed in with, so it is held against known services and goes through the SSRF guard.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../engine/engine.ts';
import { SaidTooMuchError } from './bounded-stream.ts';
import { sendRequest } from './http-request.ts';
import { describeNetworkError, errorCode } from './network-errors.ts';
import { BlockedAddressError, createSsrfGuard, type ResolveHost } from './ssrf-guard.ts';

/** How soon a device should wake for it (RFC 8030, 5.3). */
export type PushUrgency = 'low' | 'normal' | 'high';

export interface PushRequest {
  readonly endpoint: string;
  /** The encrypted message. */
  readonly body: Buffer;
  /** The Authorization header (RFC 8292). */
  readonly authorization: string;
  /** A later push of the same topic takes the place of one that waits; at most 32 characters of base64url. */
  readonly topic: string;
  readonly urgency: PushUrgency;
}

/**
 * What came of it. `sent`: the push service has it. `gone`: the browser no longer wants any. `refused`: the same
 * request would be refused again. `failed`: it may work later.
 */
export interface PushResponse {
  readonly outcome: 'sent' | 'gone' | 'refused' | 'failed';
  /** null: there was no response. */
  readonly status: number | null;
  /** Why, for people; it holds nothing that the push service sent. */
  readonly error: string | null;
  /** ms that the push service asks to wait; null: it does not say. */
  readonly retryAfterMs: number | null;
}

/** Sends one push. Never throws; ends soon after `signal` is aborted. */
export type SendPush = (request: PushRequest, signal: AbortSignal) => Promise<PushResponse>;

/** A host that pushes may go to: a name, where `*.` stands for any name below; or an origin that the owner trusts. */
export type PushHost = string;

export interface PushClientOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Hosts and origins beside the known ones, as the server's owner allows them. */
  readonly hosts: readonly PushHost[];
  /** As the guard has it unless a test has its own. */
  readonly resolve?: ResolveHost | undefined;
}

/** The push services of Chrome, Edge, Firefox and Safari, and of the browsers that are built upon them. */
const knownHosts: readonly PushHost[] = [
  'fcm.googleapis.com',
  'jmt17.google.com',
  '*.push.services.mozilla.com',
  '*.notify.windows.com',
  '*.push.apple.com',
];
/** How long a push service keeps a push for a device that is off, s: an old call for attention is noise. */
const lifeSeconds = 3_600;
/** For lookup, connection, request and response together. */
const timeoutMs = 10_000;
const maxRetryAfterMs = 3_600_000;
const maxAnswerBytes = 65_536;

/**
 * Whether pushes may go to an address, as far as its text tells: https to a known push service or to a host that the
 * owner allows, or to an origin that the owner wrote out.
 */
export function isPushEndpoint(endpoint: string, hosts: readonly PushHost[]): boolean {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url === null || url.username !== '' || url.password !== '') return false;
  if (isTrustedOrigin(url, hosts)) return true;
  if (url.protocol !== 'https:' || url.port !== '') return false;
  return [...knownHosts, ...hosts].some((host) => matches(url.hostname, host));
}

/** An origin that the owner wrote out, as `http://10.0.0.5:8080`: it may be private, and without TLS. */
function isTrustedOrigin(url: URL, hosts: readonly PushHost[]): boolean {
  return hosts.includes(url.origin);
}

function matches(hostname: string, host: PushHost): boolean {
  return host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
}

/** Creates a client that follows no redirect, keeps no connection and keeps nothing of a response but its status. */
export function createPushClient({ clock, hosts, resolve }: PushClientOptions): SendPush {
  const guard = createSsrfGuard(false, resolve);
  const trusting = createSsrfGuard(true, resolve);
  return async ({ endpoint, body, authorization, topic, urgency }, signal) => {
    if (!isPushEndpoint(endpoint, hosts))
      return refused(
        'the address is none of a known push service, and DESKBELL_PUSH_HOSTS does not allow it',
      );
    const url = new URL(endpoint);
    const timeout = new AbortController();
    const cancelTimeout = clock.after(timeoutMs, () => timeout.abort());
    try {
      const response = await sendRequest(url, {
        method: 'POST',
        headers: {
          authorization,
          'content-encoding': 'aes128gcm',
          'content-type': 'application/octet-stream',
          ttl: String(lifeSeconds),
          topic,
          urgency,
        },
        body,
        guard: isTrustedOrigin(url, hosts) ? trusting : guard,
        signal: AbortSignal.any([signal, timeout.signal]),
        maxAnswerBytes,
      });
      response.destroy();
      return readResponse(response);
    } catch (error) {
      if (error instanceof BlockedAddressError)
        return refused('the address is private or local, and the server does not send there');
      const why = timeout.signal.aborted
        ? `the push service did not answer within ${timeoutMs / 1000} s`
        : error instanceof SaidTooMuchError
          ? 'the push service answered without end'
          : (describeNetworkError(error) ?? `the push could not be sent (${errorCode(error)})`);
      return { outcome: 'failed', status: null, error: why, retryAfterMs: null };
    } finally {
      cancelTimeout();
    }
  };
}

const refused = (error: string): PushResponse => ({
  outcome: 'refused',
  status: null,
  error,
  retryAfterMs: null,
});

function readResponse({ statusCode = 0, headers }: IncomingMessage): PushResponse {
  const answer = (outcome: PushResponse['outcome'], error: string | null): PushResponse => ({
    outcome,
    status: statusCode,
    error,
    retryAfterMs: outcome === 'failed' ? readRetryAfter(headers['retry-after']) : null,
  });
  if (statusCode >= 200 && statusCode < 300) return answer('sent', null);
  if (statusCode === 404 || statusCode === 410)
    return answer('gone', 'the browser has ended its subscription');
  if (statusCode === 429) return answer('failed', 'the push service asks to send less (429)');
  if (statusCode >= 500) return answer('failed', `the push service failed (${statusCode})`);
  if (statusCode === 401 || statusCode === 403)
    return answer('refused', `the push service does not take this server's key (${statusCode})`);
  return answer('refused', `the push service refused the push (${statusCode})`);
}

function readRetryAfter(header: string | undefined): number | null {
  return header !== undefined && /^[0-9]{1,6}$/.test(header)
    ? Math.min(Number(header) * 1_000, maxRetryAfterMs)
    : null;
}
