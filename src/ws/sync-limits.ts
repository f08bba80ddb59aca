// What catching up may cost: a frame of a hundred bytes asks for megabytes. Syncs are counted by user, address and
// application, run one at a time for each user, and read their pages in turn with those of others.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { LimitCheck, LimitWindow } from '../engine/engine.ts';
import { createFairLimit } from '../net/fair-limit.ts';
import { addressKey } from '../net/ip-ranges.ts';
import { userId, type MemberActor, type VisitorActor } from '../services/core/actor.ts';
import type { Service } from '../services/service.ts';
import { FrameError } from './frames.ts';

const windows = (perSecond: number, perMinute: number): readonly LimitWindow[] => [
  { limit: perSecond, windowMs: 1_000 },
  { limit: perMinute, windowMs: 60_000 },
];
/** A member's console joins all its rooms again after a disconnection. */
const syncsOf = { visitor: windows(10, 120), member: windows(30, 600) };
const syncsOfAddress = windows(40, 480);
const syncsOfApplication = windows(100, 3_000);
const pagesOf = windows(50, 600);
const pagesOfAddress = windows(200, 2_400);
const pagesOfApplication = windows(500, 12_000);
/** A limit that is free again so soon is waited for; one of a minute is refused. */
const maxPaceMs = 1_000;

/** Who catches up. */
export interface Syncing {
  readonly actor: VisitorActor | MemberActor;
  readonly address: string;
}

export class SyncLimits {
  readonly #service: Service;
  /** Of one user, one; what waits is at most one sync of each connection. */
  readonly #syncs = createFairLimit({
    maxRunning: Infinity,
    maxRunningPerKey: 1,
    maxWaiting: Infinity,
    maxWaitingPerKey: Infinity,
  });
  readonly #pages = createFairLimit({
    maxRunning: 2,
    maxRunningPerKey: 1,
    maxWaiting: Infinity,
    maxWaitingPerKey: Infinity,
  });

  constructor(service: Service) {
    this.#service = service;
  }

  /**
   * Counts a sync. A client that joins all its rooms again sends more frames at once than a user has in a second, and waits.
   * Where many users come back at once it does not: a connection's other frames would stand behind theirs.
   * @throws FrameError RATE_LIMITED after too many of the user in this minute, or of the address or the application
   */
  count(who: Syncing): Promise<void> {
    const wanted = checks('sync', who, syncsOf[who.actor.kind], syncsOfAddress, syncsOfApplication);
    return this.#take(wanted, (failed) => failed === ownCheck);
  }

  /** Runs a sync in the turn of its user. */
  inTurn<T>(who: Syncing, sync: () => Promise<T>): Promise<T> {
    return this.#syncs(userKey(who), sync);
  }

  /**
   * Reads one page of it in its turn. A user who has read many in this second waits.
   * @throws FrameError RATE_LIMITED after too many in this minute: the client goes on later from what it has
   */
  async readPage<T>(who: Syncing, read: () => Promise<T>): Promise<T> {
    await this.#take(checks('page', who, pagesOf, pagesOfAddress, pagesOfApplication), () => true);
    return this.#pages(userKey(who), async () => {
      const page = await read();
      await yieldToLoop();
      return page;
    });
  }

  /** @param waitsFor whether a check, by its index in `wanted`, is waited for where it is free again soon */
  async #take(wanted: readonly LimitCheck[], waitsFor: (failed: number) => boolean): Promise<void> {
    const { limiter, clock } = this.#service.engine;
    for (;;) {
      const verdict = await limiter.take(wanted);
      if (verdict.ok) return;
      const { failed, retryAfterMs } = verdict;
      if (retryAfterMs > maxPaceMs || !waitsFor(failed)) throw tooMuch(retryAfterMs);
      await new Promise<void>((resolve) => clock.after(retryAfterMs, resolve));
    }
  }
}

function tooMuch(retryAfterMs: number): FrameError {
  return new FrameError(
    'RATE_LIMITED',
    `Too much is caught up on at once; wait ${Math.ceil(retryAfterMs / 1000)} s.`,
  );
}

/** One user of an application, or a member, whatever they are connected by. */
export function userKey({ actor }: Pick<Syncing, 'actor'>): string {
  return actor.kind === 'visitor'
    ? `${actor.applicationId}:${actor.mode}:${actor.visitorId}`
    : `${actor.organizationId}:${userId(actor)}`;
}

/** The index of the user's own check among `checks`. */
const ownCheck = 0;

function checks(
  kind: 'sync' | 'page',
  who: Syncing,
  ofUser: readonly LimitWindow[],
  ofAddress: readonly LimitWindow[],
  ofApplication: readonly LimitWindow[],
): LimitCheck[] {
  const own: LimitCheck = { key: `${kind}:u:${userKey(who)}`, windows: ofUser };
  if (who.actor.kind === 'member') return [own];
  return [
    own,
    { key: `${kind}:r:${addressKey(who.address)}`, windows: ofAddress },
    { key: `${kind}:a:${who.actor.applicationId}`, windows: ofApplication },
  ];
}
