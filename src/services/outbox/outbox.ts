// Runs the outbox: the event log → rows of effects → attempts until each was sent or its time is over. Every step is a
// row, so a restart goes on where it stopped. What an event leads to, and how it is sent, is handed in.
import { type CommitNotice, StoreUnavailableError } from '../../engine/engine.ts';
import type { EffectRow, EventRow } from '../../engine/rows.ts';
import { backoffDelay, type Backoff } from '../../net/backoff.ts';
import { createFairLimit, type FairLimit } from '../../net/fair-limit.ts';
import { JobLoop } from '../core/job-loop.ts';
import { lastEventSeq, readLogPage } from '../core/event-log.ts';
import type { Service } from '../service.ts';
import { DueQueues, type DueRows } from './due-queues.ts';
import {
  storeEffect,
  type EffectHandler,
  type EffectOutcome,
  type EffectPlanner,
  type NewEffect,
} from './effects.ts';

/** The key of `meta` that holds the number up to which events have become effects. */
const positionKey = 'outbox_position';
const pageSize = 500;
/** Events that are planned in one read. */
const partSize = 50;
/** Effects that one transaction stores: an event may have one for each of many browsers. */
const effectsPerWrite = 100;
/** After so many events without an effect the position is saved, so that a restart reads no further back. */
const positionInterval = 5_000;
const retryDelayMs = 5_000;
const maxDelayMs = 7_200_000;
/** Between the attempts of an effect: three times as long each time, up to two hours, ± 20 %. */
const retryBackoff: Backoff = { firstMs: 5_000, factor: 3, maxMs: maxDelayMs, jitter: [0.8, 1.2] };
/** How long an attempt holds the loop, about, ms: a push is encrypted for its browser. */
const attemptMs = 0.5;
/** How many times an organization's attempts all organizations may have at once. */
const organizationsAtOnce = 8;

export interface OutboxOptions {
  readonly planners: readonly EffectPlanner[];
  readonly handlers: readonly EffectHandler[];
  /** Called with errors of the outbox itself, which goes on. */
  readonly onError: (error: unknown) => void;
}

/**
 * Begins to make effects of events and to send them, for all organizations.
 * @returns stops it: attempts under way are aborted, and made again after the next start
 */
export function startOutbox(service: Service, options: OutboxOptions): () => Promise<void> {
  const outbox = new Outbox(service, options);
  return () => outbox.stop();
}

/**
 * When an effect is tried again.
 * @param attempts how many have failed: 1 or more
 * @param random 0 to 1
 * @returns ms
 */
export function effectRetryDelay(attempts: number, random: number): number {
  return Math.round(backoffDelay(retryBackoff, attempts, random));
}

interface Sender {
  readonly handler: EffectHandler;
  readonly limit: FairLimit;
  readonly due: DueQueues<EffectRow>;
}

class Outbox {
  readonly #service: Service;
  readonly #options: OutboxOptions;
  readonly #senders: ReadonlyMap<string, Sender>;
  readonly #stop = new AbortController();
  readonly #loop: JobLoop;
  readonly #unsubscribe: () => void;
  /** The log up to here has become effects; null: the first run has not begun. */
  #position: number | null = null;
  #savedPosition = 0;
  /** Organizations whose rows may have been changed by others; all of them. */
  #stale: Set<string> | 'all' | null = 'all';
  #logStale = true;

  constructor(service: Service, options: OutboxOptions) {
    const { store, clock } = service.engine;
    this.#service = service;
    this.#options = options;
    this.#senders = new Map(
      options.handlers.map((handler) => [handler.kind, this.#createSender(handler)] as const),
    );
    this.#loop = new JobLoop({
      clock,
      run: () => this.#run(),
      retryMs: retryDelayMs,
      onError: options.onError,
    });
    this.#unsubscribe = store.subscribe((notice) => this.#onCommit(notice));
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe();
    await this.#loop.stop();
    await Promise.all([...this.#senders.values()].map(({ due }) => due.stop()));
  }

  #createSender(handler: EffectHandler): Sender {
    const { clock } = this.#service.engine;
    const { kind, maxConcurrent } = handler;
    return {
      handler,
      limit: createFairLimit({
        maxRunning: organizationsAtOnce * maxConcurrent,
        maxRunningPerKey: maxConcurrent,
        maxWaiting: Infinity,
        maxWaitingPerKey: Infinity,
      }),
      due: new DueQueues<EffectRow>({
        clock,
        maxConcurrent,
        read: (organizationId, now, most) => this.#readDue(kind, organizationId, now, most),
        attempt: (organizationId, row, signal) => this.#attempt(organizationId, row, signal),
        wake: () => this.#loop.wake(),
        onError: this.#options.onError,
      }),
    };
  }

  #readDue(kind: string, organizationId: string, now: number, most: number): Promise<DueRows<EffectRow>> {
    // A time so far ahead was written under a clock that was wrong.
    const latest = now + 400 * 86_400_000;
    return this.#service.engine.store.read(async ({ repositories: { effects } }) => ({
      due: await effects.due(kind, organizationId, now, latest, most),
      next: await effects.nextDue(kind, organizationId, now),
    }));
  }

  #onCommit({ events, configuration }: CommitNotice): void {
    if (configuration !== null) {
      if (configuration === 'all' || this.#stale === 'all') this.#stale = 'all';
      else this.#stale = new Set([...(this.#stale ?? []), ...configuration]);
    }
    const last = events.at(-1);
    if (configuration === null && last !== undefined && this.#canSkip(events)) {
      this.#position = last.seq;
      return;
    }
    this.#logStale ||= events.length > 0;
    this.#loop.wake();
  }

  /** The usual case must cost nothing: the next events in the log, and none that anybody wants. */
  #canSkip(events: readonly EventRow[]): boolean {
    const position = this.#position;
    if (position === null || this.#loop.isRunning || this.#logStale || this.#stale !== null) return false;
    if (events[0]?.seq !== position + 1) return false;
    if (position + events.length - this.#savedPosition >= positionInterval) return false;
    return !events.some((event) => this.#isWanted(event));
  }

  #isWanted(event: EventRow): boolean {
    return this.#options.planners.some((planner) => planner.wants(event));
  }

  async #run(): Promise<void> {
    try {
      this.#position ??= await this.#readPosition();
      if (this.#stale !== null) await this.#refresh(this.#stale);
      if (this.#logStale) {
        this.#logStale = false;
        this.#position = await this.#readLog(this.#position);
      }
      for (const { due } of this.#senders.values()) await due.look();
    } catch (error) {
      this.#stale = 'all';
      this.#logStale = true;
      throw error;
    }
  }

  /** Where it goes on; the first time, at the log's end. */
  async #readPosition(): Promise<number> {
    const saved = await this.#service.engine.store.read(({ repositories }) =>
      repositories.meta.get(positionKey),
    );
    const position = saved === undefined ? await lastEventSeq(this.#service) : Number(saved);
    if (saved === undefined) await this.#savePosition(position);
    this.#savedPosition = position;
    return position;
  }

  async #savePosition(position: number): Promise<void> {
    await this.#service.engine.store.write(
      'server:outbox',
      ({ repositories }) => repositories.meta.set(positionKey, String(position)),
      'behind',
    );
    this.#savedPosition = position;
  }

  async #refresh(stale: ReadonlySet<string> | 'all'): Promise<void> {
    this.#stale = null;
    const waiting = await this.#service.engine.store.read(async (tx) => {
      for (const planner of this.#options.planners) await planner.refresh?.(tx);
      return stale === 'all' ? tx.repositories.effects.waiting() : [];
    });
    if (stale === 'all')
      for (const row of waiting) this.#senders.get(row.kind)?.due.check(row.organization_id);
    else
      for (const organizationId of stale)
        for (const { due } of this.#senders.values()) due.check(organizationId);
  }

  /** Turns the events after `from` into effects. @returns the number of the last event read */
  async #readLog(from: number): Promise<number> {
    const { store } = this.#service.engine;
    for (let last = from; ;) {
      if (this.#stop.signal.aborted) return last;
      const after = last;
      const { events, through: end } = await store.read((tx) => readLogPage(tx, after, pageSize));
      if (events.length === 0) return end;
      const wanted = events.filter((event) => this.#isWanted(event));
      for (let at = 0; at < wanted.length; at += partSize) {
        const part = wanted.slice(at, at + partSize);
        const through = at + partSize < wanted.length ? (part.at(-1)?.seq ?? end) : end;
        await this.#store(await this.#plan(part), through);
        this.#position = through;
      }
      if (end - this.#savedPosition >= positionInterval) await this.#savePosition(end);
      last = end;
    }
  }

  #plan(events: readonly EventRow[]): Promise<NewEffect[]> {
    return this.#service.engine.store.read(async (tx) => {
      const planned: NewEffect[] = [];
      for (const event of events)
        for (const planner of this.#options.planners)
          if (planner.wants(event)) planned.push(...(await this.#planOne(tx, planner, event)));
      return planned;
    });
  }

  async #planOne(
    tx: Parameters<EffectPlanner['plan']>[0],
    planner: EffectPlanner,
    event: EventRow,
  ): Promise<readonly NewEffect[]> {
    try {
      return await planner.plan(tx, event);
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error;
      // One event that can't be read must not keep back all that follow.
      this.#options.onError(error);
      return [];
    }
  }

  async #store(planned: readonly NewEffect[], through: number): Promise<void> {
    if (planned.length === 0) return;
    const { store } = this.#service.engine;
    for (let at = 0; at < planned.length; at += effectsPerWrite) {
      const part = planned.slice(at, at + effectsPerWrite);
      const organizations = [...new Set(part.map(({ organizationId }) => organizationId))];
      const isLast = at + effectsPerWrite >= planned.length;
      await store.write(
        ['server:outbox', ...organizations.map((organization) => ({ organization }))],
        async (tx) => {
          for (const effect of part) await storeEffect(tx, this.#service, effect);
          // Cut off before, the events are planned once more: what is there already stays as it is.
          if (isLast) await tx.repositories.meta.set(positionKey, String(through));
        },
        'behind',
      );
    }
    this.#savedPosition = through;
    for (const { kind, organizationId } of planned) this.#senders.get(kind)?.due.check(organizationId);
  }

  async #attempt(organizationId: string, row: EffectRow, signal: AbortSignal): Promise<void> {
    const sender = this.#senders.get(row.kind);
    if (sender === undefined) return;
    const { clock, pace } = this.#service.engine;
    await pace.turn(attemptMs, signal);
    if (signal.aborted) return;
    let began = clock.monotonic();
    let outcome: EffectOutcome;
    try {
      outcome = await sender.limit(
        organizationId,
        () => {
          began = clock.monotonic();
          return sender.handler.perform(row, signal);
        },
        signal,
      );
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StoreUnavailableError) throw error;
      this.#options.onError(error);
      outcome = { state: 'retry', why: 'failed inside the server: its log says why' };
    }
    // Aborted by the stop: it does not count as an attempt, unless it was known to have arrived.
    if (signal.aborted && outcome.state !== 'delivered') return;
    await recordOutcome(this.#service, row, outcome, Math.round(clock.monotonic() - began));
  }
}

/** Records how an attempt ended. */
async function recordOutcome(
  service: Service,
  { id, organization_id: organization }: EffectRow,
  outcome: EffectOutcome,
  durationMs: number,
): Promise<void> {
  const { store, clock } = service.engine;
  const random = Math.random();
  const own = { organization, part: `row:${id}` } as const;
  const scopes = outcome.also === undefined ? [own] : [own, outcome.also.scope];
  const state = await store.write(
    scopes,
    async (tx) => {
      const row = await tx.repositories.effects.byId(id);
      // Erased since it was read.
      if (row === undefined) return null;
      const after = afterOutcome(row, outcome, { now: clock.now(), random, durationMs });
      await tx.repositories.effects.setAttempt(after);
      if (after.state !== 'waiting') await outcome.also?.work(tx);
      return after.state;
    },
    'behind',
  );
  if (state !== null && outcome.state !== 'later')
    service.metrics.effects[state === 'waiting' ? 'retried' : state] += 1;
}

function afterOutcome(
  row: EffectRow,
  outcome: EffectOutcome,
  { now, random, durationMs }: { readonly now: number; readonly random: number; readonly durationMs: number },
): EffectRow {
  if (outcome.state === 'later')
    return {
      ...row,
      due_at: outcome.at,
      give_up_at: row.give_up_at + Math.max(0, outcome.at - (row.due_at ?? outcome.at)),
      error: outcome.why,
    };
  if (outcome.state === 'skipped')
    return { ...row, state: 'skipped', due_at: null, sealed: null, error: outcome.why };
  const attempts = row.attempts + 1;
  const made = { ...row, attempts, last_attempt_at: now, duration_ms: durationMs };
  if (outcome.state === 'delivered')
    return { ...made, state: 'delivered', due_at: null, sealed: null, error: null };
  if (outcome.state === 'failed' || now >= row.give_up_at)
    return { ...made, state: 'failed', due_at: null, error: outcome.why };
  const next = now + effectRetryDelay(attempts, random);
  return { ...made, due_at: Math.min(next, row.give_up_at), error: outcome.why };
}
