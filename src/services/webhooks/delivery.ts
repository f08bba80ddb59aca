// Delivers events to webhooks: the event log → one row per delivery → attempts until the receiver has it. Every step is
// a row, so a restart goes on where it stopped. The rows are run by outbox/due-queues.ts, as all that is sent is. Opens
// no connections itself: the client is passed in.
import type { KeyObject } from 'node:crypto';
import type { Clock, CommitNotice } from '../../engine/engine.ts';
import type { EventRow, WebhookDeliveryRow, WebhookRow } from '../../engine/rows.ts';
import { createFairLimit } from '../../net/fair-limit.ts';
import type { SendWebhook } from '../../net/webhook-client.ts';
import { canReceive } from '../core/audience.ts';
import { lastEventSeq, readLogPage } from '../core/event-log.ts';
import { scopeOfWebhook } from '../core/scopes.ts';
import { JobLoop } from '../core/job-loop.ts';
import { DueQueues, type DueRows } from '../outbox/due-queues.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { maxDelayMs, readSendings, recordAttempt, type Sending } from './attempts.ts';
import { signatureHeaders, signingKey } from './signature.ts';
import { getSelection, isTold, retryForMs, signingSecrets, type SealedSecret } from './webhooks.ts';

/** Attempts at once for one webhook, so that a slow receiver takes nothing from the others. */
const maxConcurrent = 4;
/** Attempts at once of all webhooks of an organization that lead to one host, which may be a stranger's. */
const maxConcurrentOfHost = 8;
/** Deliveries that are read ahead: what is sent is read when it is sent. */
const readAhead = 28;
const pageSize = 500;
/** Deliveries that one transaction stores. */
const deliveriesPerWrite = 50;
/** After so many events that a webhook does not select, its position is saved, so that a restart reads no further back. */
const positionInterval = 5_000;
const retryDelayMs = 5_000;
/** While users leave the loop little time, the log is read no sooner than so long after the last time, ms: rows that are
 * stored together cost a fraction of what each alone does. */
const gatherMs = 100;
/** Pages of the log that are read before what is due is looked at again. */
const pagesPerRun = 2;
/**
 * How long a bite holds the loop, ms: an attempt with what is read and written for it, and the storing of one delivery. With
 * their shares of the commits: stored rows change pages of as many conversations.
 */
const attemptMs = 0.8;
const storingMs = 0.04;

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
  /** The organization and the host that its attempts are counted under. */
  place: string;
  /** Whether it was read up to the position that all share. */
  caughtUp = false;
  #selection: ReadonlySet<string> | null;
  /** Of the secrets that signed last: to open one costs as much as the request. */
  #keys: readonly { readonly sealed: Uint8Array; readonly key: KeyObject }[] = [];

  constructor(row: WebhookRow) {
    this.row = row;
    this.savedSeq = row.position;
    this.place = placeOf(row);
    this.#selection = toSet(getSelection(row));
  }

  update(row: WebhookRow): void {
    this.row = row;
    this.savedSeq = Math.max(this.savedSeq, row.position);
    this.place = placeOf(row);
    this.#selection = toSet(getSelection(row));
  }

  /** The keys of secrets, each opened once for as long as it is used. */
  keysOf(secrets: readonly SealedSecret[]): KeyObject[] {
    this.#keys = secrets.map(
      ({ sealed, open }) =>
        this.#keys.find((one) => Buffer.compare(one.sealed, sealed) === 0) ?? {
          sealed,
          key: signingKey(open()),
        },
    );
    return this.#keys.map(({ key }) => key);
  }

  /** An event that the webhook may receive and has no delivery of yet. */
  isSelected(event: EventRow): boolean {
    const listener = { kind: 'webhook', organizationId: this.row.organization_id } as const;
    return (
      event.seq > this.savedSeq && canReceive(event, listener, { kind: 'webhook', types: this.#selection })
    );
  }
}

const placeOf = ({ organization_id: organization, url }: WebhookRow): string =>
  `${organization} ${new URL(url).hostname}`;

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
  readonly #inPlace = createFairLimit({
    maxRunning: Infinity,
    maxRunningPerKey: maxConcurrentOfHost,
    maxWaiting: Infinity,
    maxWaitingPerKey: Infinity,
  });
  readonly #stop = new AbortController();
  readonly #loop: JobLoop;
  readonly #unsubscribe: () => void;
  /** The log up to here was read for every queue that has caught up; null: the first run has not begun. */
  #position: number | null = null;
  /** The lowest `savedSeq`. */
  #savedThrough = 0;
  /** Organizations whose webhooks are to be read again. */
  #stale: 'all' | Set<string> = 'all';
  #logStale = true;
  /** Rows of attempts that begin in this turn, and the read of all of them. */
  readonly #toRead: WebhookDeliveryRow[] = [];
  #reading: ReturnType<typeof readSendings> | null = null;
  /** Runs until the log may be read again, while users leave the loop little time. */
  #gathering: NodeJS.Timeout | null = null;

  constructor(service: Service, send: SendWebhook, onError: (error: unknown) => void) {
    const { store, clock } = service.engine;
    this.#service = service;
    this.#send = send;
    this.#due = new DueQueues({
      clock,
      maxConcurrent,
      ahead: readAhead,
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
    if (this.#gathering !== null) clearTimeout(this.#gathering);
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
    if (configuration === 'all') this.#stale = 'all';
    else for (const organizationId of configuration ?? []) this.#doubt(organizationId);
    this.#logStale = true;
    // What gathers wakes it.
    if (configuration !== null || !this.#gathers) this.#loop.wake();
  }

  #doubt(organizationId: string): void {
    if (this.#stale !== 'all') this.#stale.add(organizationId);
  }

  /** Whether what comes is left in the log for a moment, to be stored together. */
  get #gathers(): boolean {
    return this.#gathering !== null && this.#service.engine.pace.isCrowded();
  }

  #gather(): void {
    if (this.#stop.signal.aborted || !this.#service.engine.pace.isCrowded()) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      if (this.#logStale) this.#loop.wake();
    }, gatherMs).unref();
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
      if (this.#stale === 'all' || this.#stale.size > 0) await this.#readWebhooks(this.#stale);
      if (this.#logStale && !this.#gathers) await this.#readLog(this.#position);
      await this.#due.look();
    } catch (error) {
      this.#stale = 'all';
      this.#logStale = true;
      throw error;
    }
  }

  /** One organization that changes its settings again and again has only its own read. */
  async #readWebhooks(stale: 'all' | ReadonlySet<string>): Promise<void> {
    this.#stale = new Set();
    const rows = await this.#service.engine.store.read((tx) => enabledWebhooks(tx, stale));
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, { row }] of this.#queues) {
      if (ids.has(id) || (stale !== 'all' && !stale.has(row.organization_id))) continue;
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
      await this.#collect(behind, Math.min(...behind.map(({ savedSeq }) => savedSeq)), position, Infinity);
    for (const queue of behind) queue.caughtUp = true;
    this.#position = await this.#collect(queues, position, Number.MAX_SAFE_INTEGER, pagesPerRun);
    this.#gather();
    this.#savedThrough = Math.min(...queues.map(({ savedSeq }) => savedSeq));
  }

  /**
   * Turns the events after `from` into deliveries.
   * @param pages how many at most: what follows them is left for the next run
   * @returns the number of the last event read
   */
  async #collect(
    queues: readonly WebhookQueue[],
    from: number,
    through: number,
    pages: number,
  ): Promise<number> {
    const { store, clock, pace } = this.#service.engine;
    let last = from;
    for (let page = 0; ; page += 1) {
      if (last >= through || this.#stop.signal.aborted) return last;
      if (page >= pages) {
        this.#logStale = true;
        this.#loop.wake();
        return last;
      }
      const after = last;
      const log = await store.read((tx) => readLogPage(tx, after, pageSize));
      if (log.events.length === 0) return log.through;
      const read = log.events.filter(({ seq }) => seq <= through);
      const end = read.at(-1)?.seq;
      if (end === undefined) return last;
      const byOrganization = Map.groupBy(read, (event) => event.organization_id);
      const selected = queues.map((queue) => ({
        queue,
        events: (byOrganization.get(queue.row.organization_id) ?? []).filter((event) =>
          queue.isSelected(event),
        ),
      }));
      const saved = selected.filter(
        ({ queue, events: some }) => some.length > 0 || end - queue.savedSeq >= positionInterval,
      );
      for (const part of inParts(saved, end)) {
        const rows = part.reduce((sum, { events: some }) => sum + some.length, 1);
        await pace.turn(rows * storingMs, this.#stop.signal);
        if (this.#stop.signal.aborted) return last;
        await store.write(
          part.map(({ queue }) => scopeOfWebhook(queue.row)),
          async (tx) => {
            for (const { queue, events: some, through } of part)
              await addDeliveries(tx, clock, queue.row, some, through);
          },
          'behind',
        );
      }
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

  /** Attempts that begin together share a read. */
  async #readSending(row: WebhookDeliveryRow): Promise<Sending | null> {
    this.#toRead.push(row);
    this.#reading ??= Promise.resolve().then(() => {
      const rows = this.#toRead.splice(0);
      this.#reading = null;
      return readSendings(this.#service, rows);
    });
    const read = (await this.#reading).get(row.id);
    if (read === undefined) throw new Error('a delivery was not read');
    return read();
  }

  async #attempt(webhookId: string, row: WebhookDeliveryRow, signal: AbortSignal): Promise<void> {
    await this.#service.engine.pace.turn(attemptMs, signal);
    const place = this.#queues.get(webhookId)?.place;
    if (signal.aborted || place === undefined) return;
    try {
      await this.#inPlace(place, () => this.#attemptInTurn(webhookId, row, signal), signal);
    } catch (error) {
      // Stopped while it waited for its turn.
      if (!signal.aborted) throw error;
    }
  }

  async #attemptInTurn(webhookId: string, row: WebhookDeliveryRow, signal: AbortSignal): Promise<void> {
    const { clock } = this.#service.engine;
    const queue = this.#queues.get(webhookId);
    if (queue === undefined) return undefined;
    const sending = await this.#readSending(row);
    if (sending === null) {
      // Removed or switched off, and not heard of yet; or another server has sent it.
      this.#doubt(queue.row.organization_id);
      return undefined;
    }
    const { webhook, body } = sending;
    if (body === null) return recordAttempt(this.#service, webhook, row.id, null, 0);
    const began = clock.monotonic();
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Deskbell-Webhooks/1',
      ...signatureHeaders(
        queue.keysOf(signingSecrets(this.#service, webhook)),
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

async function enabledWebhooks(
  { repositories: { webhooks } }: ReadTx,
  of: 'all' | ReadonlySet<string>,
): Promise<WebhookRow[]> {
  if (of === 'all') return webhooks.enabled();
  const rows = [];
  for (const id of of) rows.push(...(await webhooks.byOrganization(id, Number.MAX_SAFE_INTEGER, 0)));
  return rows.filter(({ enabled }) => enabled === 1);
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
  /** Whether anything of a conversation waits; null: it is gone. Asked once for each. */
  const waits = new Map<string, boolean | null>();
  for (const event of events) {
    if (!isTold(event.type)) continue;
    const conversationId = event.conversation_id;
    if (!waits.has(conversationId))
      waits.set(
        conversationId,
        (await conversations.byId(conversationId)) === undefined
          ? null
          : (await webhooks.nextInTurn(id, conversationId)) !== undefined,
      );
    const isFirst = waits.get(conversationId) === false;
    if (waits.get(conversationId) === null) continue;
    waits.set(conversationId, true);
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
