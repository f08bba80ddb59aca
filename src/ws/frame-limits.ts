// How many frames that are no messages are taken: of a connection, of a user, and of a visitor's address. Messages count
// as requests do, and what is caught up on has limits of its own (sync-limits.ts). Large frames that are no
// messages count once more: after too many, none is read.
import type { LimitCheck, LimitWindow } from '../engine/engine.ts';
import { addressKey } from '../net/ip-ranges.ts';
import type { Service } from '../services/service.ts';
import { FrameError, type FrameIds } from './frames.ts';
import { userKey, type Syncing } from './sync-limits.ts';

const windows = (perSecond: number, perMinute: number): readonly LimitWindow[] => [
  { limit: perSecond, windowMs: 1_000 },
  { limit: perMinute, windowMs: 60_000 },
];
const ofConnection = windows(300, 3_000);
/** A join is checked by queries; a user may have twenty connections, and an address two hundred. */
const ofUser = windows(600, 6_000);
const ofAddress = windows(3_000, 30_000);

/** UTF-16 units above which a frame is large: no frame but a long message has as many. */
const largeFrame = 4_096;
/** To parse 64 KiB takes milliseconds, and what can't be read is counted by nothing else. */
const largeOf = { visitor: windows(15, 240), member: windows(30, 600) };
const largeOfAddress = windows(40, 1_200);

/** A connection, as its frames are counted. */
export type Counted = Syncing & { readonly id: string; readonly service: Service };

/** Whether a frame counts as a large one. */
export function isLargeFrame(text: string): boolean {
  return text.length > largeFrame;
}

/**
 * Counts a frame that is no message, or can't be read.
 * @param connection which one, and whose
 * @param ids what the frame names
 * @throws FrameError RATE_LIMITED after too many
 */
export function countFrame({ id, service, actor, address }: Counted, ids: FrameIds = {}): void {
  const checks: LimitCheck[] = [
    { key: `c:frames:${id}`, windows: ofConnection },
    { key: `u:frames:${userKey({ actor })}`, windows: ofUser },
  ];
  if (actor.kind === 'visitor') checks.push({ key: `r:frames:${addressKey(address)}`, windows: ofAddress });
  const verdict = service.engine.localLimiter.take(checks);
  if (!verdict.ok) throw tooMany('Too many frames', verdict.retryAfterMs, ids);
}

/** How often in a row a connection may be refused before it is closed. */
export const maxLimitedInARow = 20;

/** The pings and pongs of the WebSocket itself, which nothing answers with an error: they count as frames do. */
export class ControlFrames {
  readonly #connection: Counted;
  #refused = 0;

  /** @param connection which one, and whose */
  constructor(connection: Counted) {
    this.#connection = connection;
  }

  /** Counts one. @returns whether it may be heeded, or how the connection that sends them goes on regardless */
  take(): 'heed' | 'ignore' | 'close' {
    try {
      countFrame(this.#connection);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#refused += 1;
      return this.#refused < maxLimitedInARow ? 'ignore' : 'close';
    }
    this.#refused = 0;
    return 'heed';
  }
}

/**
 * Called before a large frame is read.
 * @throws FrameError RATE_LIMITED after too many that were no messages, or were refused
 */
export function assertMaySendLarge(connection: Counted): void {
  const verdict = connection.service.engine.localLimiter.peek(largeChecks(connection));
  if (!verdict.ok) throw tooMany('Too many large frames', verdict.retryAfterMs);
}

/** Counts a large frame that is no message that was taken: those have limits of their own. */
export function noteLargeFrame(connection: Counted): void {
  connection.service.engine.localLimiter.take(largeChecks(connection));
}

function largeChecks({ actor, address }: Counted): readonly LimitCheck[] {
  const own: LimitCheck = { key: `u:large:${userKey({ actor })}`, windows: largeOf[actor.kind] };
  return actor.kind === 'visitor'
    ? [own, { key: `r:large:${addressKey(address)}`, windows: largeOfAddress }]
    : [own];
}

function tooMany(what: string, retryAfterMs: number, ids?: FrameIds): FrameError {
  return new FrameError('RATE_LIMITED', `${what}; wait ${Math.ceil(retryAfterMs / 1000)} s.`, ids);
}
