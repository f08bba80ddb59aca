// Delivers events to webhooks: the event log → one row per delivery → attempts until the receiver has it. Every step is
// a row, so a restart goes on where it stopped. The rows are run by outbox/due-queues.ts, as all that is sent is. Opens
// no connections itself: the client is passed in.
import type { Clock, CommitNotice } from '../../engine/engine.ts';
import type { EventRow, WebhookDeliveryRow, WebhookRow } from '../../engine/rows.ts';
import type { SendWebhook } from '../../net/webhook-client.ts';
import { canReceive } from '../core/audience.ts';
import { lastEventSeq } from '../core/event-log.ts';
import { scopeOfWebhook } from '../core/scopes.ts';
import { JobLoop } from '../core/job-loop.ts';
import { DueQueues, type DueRows } from '../outbox/due-queues.ts';
import type { Service, Tx } from '../service.ts';
import { maxDelayMs, readSending, recordAttempt } from './attempts.ts';
import { signatureHeaders } from './signature.ts';
import { getSelection, isTold, openSigningSecrets, retryForMs } from './webhooks.ts';

/** Attempts at once for one webhook, so that a slow receiver takes nothing from the others. */
const maxConcurrent = 4;
const pageSize = 500;
/** Deliveries that one transaction stores. */
const deliveriesPerWrite = 100;
/** After so many events that a webhook does not select, its position is saved, so that a restart reads no further back. */
const positionInterval = 5_000;
const retryDelayMs = 5_000;

/**
 * Begins to deliver, for all organizations.
 * @param onError called with errors of the delivery itself, which goes on
 * @returns stops it: attempts under way are aborted, and made again after the next start
 */
export function startWebhookDelivery(
  service: Service,
  send: SendWebhook,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const delivery = new WebhookDelivery(service, send, onError);
  return () => delivery.stop();
}

/** One webhook's place in the event log. */
class WebhookQueue {
  row: WebhookRow;
  /** Events up to this one have become deliveries, on disk. */
  savedSeq: number;
  /** Whether it was read up to the position that all share. */
  caughtUp = false;
  #selection: ReadonlySet<string> | null;

  constructor(row: WebhookRow) {
    this.row = row;
    this.savedSeq = row.position;
    this.#selection = toSet(getSelection(row));
  }

  update(row: WebhookRow): void {
    this.row = row;
    this.savedSeq = Math.max(this.savedSeq, row.position);
    this.#selection = toSet(getSelection(row));
  }

  /** An event that the webhook may receive and has no delivery of yet. */
  isSelected(event: EventRow): boolean {
    const listener = { kind: 'webhook', organizationId: this.row.organization_id } as const;
    return (
      event.seq > this.savedSeq && canReceive(event, listener, { kind: 'webhook', types: this.#selection })
    );
  }
}

const toSet = (selection: readonly string[] | null): ReadonlySet<string> | null =>
  selection === null ? null : new Set(selection);

class WebhookDelivery {
  readonly #service: Service;
  readonly #send: SendWebhook;
  readonly #queues = new Map<string, WebhookQueue>();
  /** The same by organization. */
  #byOrganization: ReadonlyMap<string, readonly WebhookQueue[]> = new Map();
  /** What is due, by the webhook's id. */
  readonly #due: DueQueues<WebhookDeliveryRow>;
  readonly #stop = new AbortController();
  readonly #loop: JobLoop;
  readonly #unsubscribe: () => void;
  /** The log up to here was read for every queue that has caught up; null: the first run has not begun. */
  #position: number | null = null;
  /** The lowest `savedSeq`. */
  #savedThrough = 0;
  #configurationStale = true;
  #logStale = true;

  constructor(service: Service, send: SendWebhook, onError: (error: unknown) => void) {
    const { store, clock } = service.engine;
    this.#service = service;
    this.#send = send;
    this.#due = new DueQueues({
      clock,
      maxConcurrent,
      read: (webhookId, now, most) => this.#readDue(webhookId, now, most),
      attempt: (webhookId, row, signal) => this.#attempt(webhookId, row, signal),
      wake: () => this.#loop.wake(),
      onError,
    });
    this.#loop = new JobLoop({ clock, run: () => this.#run(), retryMs: retryDelayMs, onError });
    this.#unsubscribe = store.subscribe((notice) => this.#onCommit(notice));
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe();
    await this.#loop.stop();
    await this.#due.stop();
  }

  #onCommit(notice: CommitNotice): void {
    const { events, configuration } = notice;
    const last = events.at(-1);
    if (configuration === null && last !== undefined && this.#canSkip(notice)) {
      this.#position = last.seq;
      return;
    }
    this.#configurationStale ||= configuration !== null;
    this.#logStale = true;
    this.#loop.wake();
  }

  /** The usual case must cost nothing: the next events in the log, none that a webhook wants. */
  #canSkip({ events }: CommitNotice): boolean {
    const position = this.#position;
    if (position === null || this.#loop.isRunning || this.#logStale || events[0]?.seq !== position + 1)
      return false;
    if (this.#queues.size > 0 && position + events.length - this.#savedThrough >= positionInterval)
      return false;
    return !events.some((event) =>
      this.#byOrganization.get(event.organization_id)?.some((queue) => queue.isSelected(event)),
    );
  }

  async #run(): Promise<void> {
    try {
      this.#position ??= await lastEventSeq(this.#service);
      if (this.#configurationStale) await this.#readWebhooks();
      if (this.#logStale) await this.#readLog(this.#position);
      await this.#due.look();
    } catch (error) {
      this.#configurationStale = true;
      this.#logStale = true;
      throw error;
    }
  }

  async #readWebhooks(): Promise<void> {
    this.#configurationStale = false;
    const rows = await this.#service.engine.store.read(({ repositories }) => repositories.webhooks.enabled());
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of this.#queues.keys()) {
      if (ids.has(id)) continue;
      this.#due.forget(id);
      this.#queues.delete(id);
    }
    for (const row of rows) {
      const queue = this.#queues.get(row.id) ?? new WebhookQueue(row);
      queue.update(row);
      this.#queues.set(row.id, queue);
      this.#due.check(row.id);
    }
    this.#byOrganization = Map.groupBy(this.#queues.values(), ({ row }) => row.organization_id);
  }

  async #readLog(position: number): Promise<void> {
    this.#logStale = false;
    const queues = [...this.#queues.values()];
    // A webhook that was created or switched on by another process may be behind the others.
    const behind = queues.filter(({ caughtUp }) => !caughtUp);
    if (behind.length > 0)
      await this.#collect(behind, Math.min(...behind.map(({ savedSeq }) => savedSeq)), position);
    for (const queue of behind) queue.caughtUp = true;
    this.#position = await this.#collect(queues, position, Number.MAX_SAFE_INTEGER);
    this.#savedThrough = Math.min(...queues.map(({ savedSeq }) => savedSeq));
  }

  /** Turns the events after `from` into deliveries. @returns the number of the last event read */
  async #collect(queues: readonly WebhookQueue[], from: number, through: number): Promise<number> {
    const { store, clock } = this.#service.engine;
    for (let last = from; ;) {
      if (last >= through || this.#stop.signal.aborted) return last;
      const after = last;
      const events = await store.read(({ repositories }) => repositories.events.after(after, pageSize));
      const page = events.filter(({ seq }) => seq <= through);
      const end = page.at(-1)?.seq;
      if (end === undefined) return last;
      const byOrganization = Map.groupBy(page, (event) => event.organization_id);
      const selected = queues.map((queue) => ({
        queue,
        events: (byOrganization.get(queue.row.organization_id) ?? []).filter((event) =>
          queue.isSelected(event),
        ),
      }));
      const saved = selected.filter(
        ({ queue, events: some }) => some.length > 0 || end - queue.savedSeq >= positionInterval,
      );
      for (const part of inParts(saved, end))
        await store.write(
          part.map(({ queue }) => scopeOfWebhook(queue.row)),
          async (tx) => {
            for (const { queue, events: some, through } of part)
              await addDeliveries(tx, clock, queue.row, some, through);
          },
        );
      for (const { queue, events: some } of saved) {
        queue.savedSeq = Math.max(queue.savedSeq, end);
        if (some.length > 0) this.#due.check(queue.row.id);
      }
      last = end;
    }
  }

  #readDue(webhookId: string, now: number, most: number): Promise<DueRows<WebhookDeliveryRow>> {
    return this.#service.engine.store.read(async ({ repositories: { webhooks } }) => ({
      due: await webhooks.due(webhookId, now, now + 2 * maxDelayMs, most),
      next: await webhooks.nextDue(webhookId, now),
    }));
  }

  async #attempt(webhookId: string, row: WebhookDeliveryRow, signal: AbortSignal): Promise<void> {
    const { clock } = this.#service.engine;
    if (!this.#queues.has(webhookId)) return undefined;
    const sending = await readSending(this.#service, row);
    if (sending === null) {
      // Removed or switched off, and not heard of yet.
      this.#configurationStale = true;
      return undefined;
    }
    const { webhook, body } = sending;
    if (body === null) return recordAttempt(this.#service, webhook, row.id, null, 0);
    const began = clock.monotonic();
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Deskbell-Webhooks/1',
      ...signatureHeaders(
        openSigningSecrets(this.#service, webhook),
        row.id,
        Math.floor(clock.now() / 1000),
        body,
      ),
    };
    const response = await this.#send({ url: webhook.url, headers, body }, signal);
    // Aborted by the stop: it does not count as an attempt.
    if (signal.aborted && response.status === null) return undefined;
    return recordAttempt(this.#service, webhook, row.id, response, Math.round(clock.monotonic() - began));
  }
}

/** Events that become deliveries of one webhook, and the number up to which its log was read with them. */
interface DeliveryPart {
  readonly queue: WebhookQueue;
  readonly events: readonly EventRow[];
  readonly through: number;
}

/** What one transaction each stores: an event may go to many webhooks, and no transaction may take long. */
function inParts(
  saved: readonly { readonly queue: WebhookQueue; readonly events: readonly EventRow[] }[],
  end: number,
): DeliveryPart[][] {
  const parts: DeliveryPart[][] = [];
  let room = 0;
  for (const { queue, events } of saved) {
    for (let from = 0; from === 0 || from < events.length; from += deliveriesPerWrite) {
      const some = events.slice(from, from + deliveriesPerWrite);
      const through = from + some.length < events.length ? (some.at(-1)?.seq ?? end) : end;
      if (parts.length === 0 || some.length > room) {
        parts.push([]);
        room = deliveriesPerWrite;
      }
      parts.at(-1)?.push({ queue, events: some, through });
      // Saving a position costs a write, too.
      room -= Math.max(1, some.length);
    }
  }
  return parts;
}

async function addDeliveries(
  { repositories: { conversations, webhooks } }: Tx,
  clock: Clock,
  { id }: WebhookRow,
  events: readonly EventRow[],
  end: number,
): Promise<void> {
  const webhook = await webhooks.byId(id);
  // Removed or switched off since it was read.
  if (webhook?.enabled !== 1) return;
  for (const event of events) {
    if (!isTold(event.type) || (await conversations.byId(event.conversation_id)) === undefined) continue;
    const isFirst = (await webhooks.nextInTurn(id, event.conversation_id)) === undefined;
    const now = clock.now();
    await webhooks.insertDelivery({
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
  await webhooks.setPosition(id, end);
}
