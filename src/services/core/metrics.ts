// What is counted while the service runs, for /metrics: plain numbers that the transports
// and rules raise, so that counting costs next to nothing. Never an id, never a person.
import type { LimitCause } from '../../protocol/codes.ts';

export interface Metrics {
  /** REST requests by `<method> <route> <status class>`. Only routes of ours and `other`, so that no client can fill it up. */
  readonly requests: Map<string, number>;
  /** Connections that were ended because their readers took nothing of an answer. */
  stalledAnswers: number;
  framesIn: number;
  framesOut: number;
  readonly connections: { visitor: number; staff: number };
  /** Stored by this process. */
  messages: number;
  readonly rateLimited: Record<LimitCause, number>;
  /** Attempts by how they ended; `retried` ones are tried again. */
  readonly webhooks: { delivered: number; retried: number; failed: number; skipped: number };
  /** The same of the outbox: mails and pushes. */
  readonly effects: { delivered: number; retried: number; failed: number; skipped: number };
  /** Mails that came in, by what became of them; `astray` ones were addressed to no one here. */
  readonly mails: { taken: number; bounced: number; ignored: number; astray: number };
}

/** Everything at zero. */
export function createMetrics(): Metrics {
  return {
    requests: new Map(),
    stalledAnswers: 0,
    framesIn: 0,
    framesOut: 0,
    connections: { visitor: 0, staff: 0 },
    messages: 0,
    rateLimited: { per_visitor: 0, per_application: 0, per_organization: 0, per_address: 0 },
    webhooks: { delivered: 0, retried: 0, failed: 0, skipped: 0 },
    effects: { delivered: 0, retried: 0, failed: 0, skipped: 0 },
    mails: { taken: 0, bounced: 0, ignored: 0, astray: 0 },
  };
}

/** Counts one answered request. @param route a path of ours, with its parameters' names */
export function countRequest({ requests }: Metrics, method: string, route: string, status: number): void {
  const key = `${method} ${route} ${Math.floor(status / 100)}xx`;
  requests.set(key, (requests.get(key) ?? 0) + 1);
}
