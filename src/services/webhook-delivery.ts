// Tells webhooks what happened: the event log → one row per delivery → attempts until
// the receiver has it. Every step is a row, so a restart goes on where it was. Does not
// open connections itself: the sender is handed in.
import type { Clock, CommitNotice } from '../engine/engine.ts';
import type { EventRow, WebhookDeliveryRow, WebhookRow } from '../engine/rows.ts';
import { feedEnd } from './feed.ts';
import type { Service, Tx } from './service.ts';
import { longestDelayMs, readBody, recordAttempt, type OutgoingAnswer } from './webhook-attempts.ts';
import { signatureHeaders } from './webhook-signature.ts';
import { openWebhookSecret, retryForMs, selectionOf } from './webhooks.ts';

export interface OutgoingRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends one request. Never throws; ends soon after `signal` is aborted. */
export type SendOutgoing = (request: OutgoingRequest, signal: AbortSignal) => Promise<OutgoingAnswer>;

/** At once, for one webhook: a slow receiver gets no more, and takes nothing from the others. */
const mostAtOnce = 4;
const logPage = 500;
/** After so many events that concern no webhook its position is noted all the same, so that a restart reads no further back. */
const noteEvery = 5_000;
const afterFaultMs = 5_000;
const longestSleepMs = 3_600_000;

interface Hook {
  row: WebhookRow;
  selection: ReadonlySet<string> | null;
  /** The log up to here is in deliveries, on disk. */
  noted: number;
  /** Read up to the common position. */
  caughtUp: boolean;
  readonly busy: Set<string>;
  cancelTimer: () => void;
}

/**
 * Begins to deliver, for all organizations.
 * @param onFault hears of what went wrong inside; it goes on by itself
 * @returns how to stop: what is under way is given up, and made again after the next start
 */
export function startDelivering(service: Service, send: SendOutgoing, onFault: (error: unknown) => void): () => Promise<void> {
  const { store, clock } = service.engine;
  const hooks = new Map<string, Hook>();
  /** Those that have a webhook. */
  const organizations = new Set<string>();
  /** The least that any webhook has noted. */
  let notedThrough = 0;
  const unlooked = new Set<Hook>();
  const underWay = new Set<Promise<void>>();
  const aborter = new AbortController();
  let position = 0;
  let started = false;
  let configurationStale = true;
  let logStale = true;
  let again = false;
  let working: Promise<void> | null = null;
  let cancelRetry = (): void => undefined;

  function onCommit(notice: CommitNotice): void {
    const last = notice.events.at(-1);
    if (!notice.configuration && last !== undefined && concernsNobody(notice)) position = last.seq;
    else {
      configurationStale ||= notice.configuration;
      logStale = true;
      wake();
    }
  }

  /** The usual case must cost nothing: the next events in line, and no webhook of their organizations. */
  function concernsNobody({ events }: CommitNotice): boolean {
    if (!started || working !== null || logStale || events[0]?.seq !== position + 1) return false;
    if (hooks.size > 0 && position + events.length - notedThrough >= noteEvery) return false;
    return !events.some((event) => organizations.has(event.organization_id));
  }

  function wake(): void {
    again = true;
    if (working === null && !aborter.signal.aborted) {
      working = work().finally(() => {
        working = null;
        if (again) wake();
      });
    }
  }

  async function work(): Promise<void> {
    try {
      while (again && !aborter.signal.aborted) {
        again = false;
        if (!started) position = await feedEnd(service);
        started = true;
        if (configurationStale) await readHooks();
        if (logStale) await readLog();
        for (const hook of unlooked) {
          unlooked.delete(hook);
          await attemptDue(hook);
        }
      }
    } catch (error) {
      configurationStale = true;
      logStale = true;
      // By the timer, and not before.
      again = false;
      onFault(error);
      cancelRetry();
      cancelRetry = clock.after(afterFaultMs, wake);
    }
  }

  async function readHooks(): Promise<void> {
    configurationStale = false;
    const rows = await store.read((tx) => tx.tables.webhooks.enabled());
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, hook] of hooks) {
      if (ids.has(id)) continue;
      hook.cancelTimer();
      unlooked.delete(hook);
      hooks.delete(id);
    }
    organizations.clear();
    for (const row of rows) {
      organizations.add(row.organization_id);
      const wanted = selectionOf(row);
      const selection = wanted === null ? null : new Set<string>(wanted);
      let hook = hooks.get(row.id);
      if (hook === undefined) {
        hook = { row, selection, noted: row.position, caughtUp: false, busy: new Set(), cancelTimer: () => undefined };
        hooks.set(row.id, hook);
      } else Object.assign(hook, { row, selection, noted: Math.max(hook.noted, row.position) });
      unlooked.add(hook);
    }
  }

  async function readLog(): Promise<void> {
    logStale = false;
    // One that was made or switched on by another process may be behind the others.
    const behind = [...hooks.values()].filter(({ caughtUp }) => !caughtUp);
    if (behind.length > 0) await collect(behind, Math.min(...behind.map(({ noted }) => noted)), position);
    for (const hook of behind) hook.caughtUp = true;
    position = await collect([...hooks.values()], position, Number.MAX_SAFE_INTEGER);
    notedThrough = Math.min(...[...hooks.values()].map(({ noted }) => noted));
  }

  /** Turns the log after `from` into deliveries. @returns the last number read */
  async function collect(told: readonly Hook[], from: number, through: number): Promise<number> {
    let last = from;
    for (;;) {
      if (last >= through || aborter.signal.aborted) return last;
      const page = (await store.read((tx) => tx.tables.events.after(last, logPage))).filter(({ seq }) => seq <= through);
      const end = page.at(-1)?.seq;
      if (end === undefined) return last;
      const wanted = told.map((hook) => ({ hook, events: page.filter((event) => wants(hook, event)) }));
      const noted = wanted.filter(({ hook, events }) => events.length > 0 || end - hook.noted >= noteEvery);
      if (noted.length > 0)
        await store.write(async (tx) => {
          for (const { hook, events } of noted) await addDeliveries(tx, clock, hook.row, events, end);
        });
      for (const { hook, events } of noted) {
        hook.noted = Math.max(hook.noted, end);
        if (events.length > 0) unlooked.add(hook);
      }
      last = end;
    }
  }

  async function attemptDue(hook: Hook): Promise<void> {
    const free = mostAtOnce - hook.busy.size;
    // Whatever ends looks again.
    if (free <= 0) return;
    const now = clock.now();
    const { due, next } = await store.read(async ({ tables }) => ({
      due: await tables.webhooks.due(hook.row.id, now, now + 2 * longestDelayMs, mostAtOnce + hook.busy.size),
      next: await tables.webhooks.nextDue(hook.row.id, now),
    }));
    if (aborter.signal.aborted || hooks.get(hook.row.id) !== hook) return;
    for (const row of due.filter(({ id }) => !hook.busy.has(id)).slice(0, free)) begin(hook, row);
    hook.cancelTimer();
    if (next !== null) hook.cancelTimer = clock.after(Math.min(next - now, longestSleepMs), () => look(hook));
  }

  function look(hook: Hook): void {
    if (hooks.get(hook.row.id) === hook) unlooked.add(hook);
    wake();
  }

  function begin(hook: Hook, row: WebhookDeliveryRow): void {
    hook.busy.add(row.id);
    const done = attempt(hook, row).then(
      () => {
        hook.busy.delete(row.id);
        look(hook);
      },
      (error: unknown) => {
        onFault(error);
        // What could not be written down is sent again, but not at once.
        clock.after(afterFaultMs, () => {
          hook.busy.delete(row.id);
          look(hook);
        });
      },
    );
    underWay.add(done);
    void done.finally(() => underWay.delete(done));
  }

  async function attempt(hook: Hook, row: WebhookDeliveryRow): Promise<void> {
    const body = await readBody(service, hook.row, row);
    if (body === null) return recordAttempt(service, row.id, null, 0);
    const begun = clock.monotonic();
    const seconds = Math.floor(clock.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Deskbell-Webhooks/1',
      ...signatureHeaders(openWebhookSecret(service, hook.row), row.id, seconds, body),
    };
    const answer = await send({ url: hook.row.url, headers, body }, aborter.signal);
    // Given up because we stop: it never was an attempt.
    if (aborter.signal.aborted && answer.status === null) return undefined;
    return recordAttempt(service, row.id, answer, Math.round(clock.monotonic() - begun));
  }

  const unsubscribe = store.subscribe(onCommit);
  wake();

  return async () => {
    aborter.abort();
    unsubscribe();
    cancelRetry();
    await working;
    for (const hook of hooks.values()) hook.cancelTimer();
    await Promise.all(underWay);
  };
}

/** Notes for staff and test data stay inside. */
function wants(hook: Hook, event: EventRow): boolean {
  return (
    event.seq > hook.noted &&
    event.organization_id === hook.row.organization_id &&
    event.mode === 'live' &&
    event.audience !== 'room_staff' &&
    (hook.selection === null || hook.selection.has(event.type))
  );
}

async function addDeliveries({ tables }: Tx, clock: Clock, { id }: WebhookRow, events: readonly EventRow[], end: number): Promise<void> {
  const webhook = await tables.webhooks.byId(id);
  // Removed or switched off meanwhile.
  if (webhook?.enabled !== 1) return;
  for (const event of events) {
    if ((await tables.conversations.byId(event.conversation_id)) === undefined) continue;
    const isFirst = (await tables.webhooks.nextInTurn(id, event.conversation_id)) === undefined;
    const now = clock.now();
    await tables.webhooks.insertDelivery({
      id: clock.newId(),
      webhook_id: id,
      type: event.type,
      event_seq: event.seq,
      event_at: event.created_at,
      conversation_id: event.conversation_id,
      actor_id: event.actor_id,
      message_id: event.message_id,
      member_id: event.member_id,
      in_turn: 1,
      status: 'waiting',
      attempts: 0,
      next_attempt_at: isFirst ? now : null,
      give_up_at: now + retryForMs,
      last_attempt_at: null,
      duration_ms: null,
      response_status: null,
      error: null,
      created_at: now,
    });
  }
  await tables.webhooks.setPosition(id, end);
}
