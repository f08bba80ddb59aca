// Keeps an index of each organization whose queue is asked for, and keeps it true: before it answers, it takes in every
// conversation that has changed since, in the very snapshot in which the answer's rows are read. What has changed say the
// event log, for messages, and the database's own record of changes, also those of other processes. Bounded: the index that was not
// used for longest goes first, and an organization that is too large has none.
import type { CommittedEvent, Engine, ReadTx } from '../../../engine/engine.ts';
import { readLogPage } from '../../core/event-log.ts';
import { readSlice } from '../../core/slices.ts';
import type { MemberCall, Service } from '../../service.ts';
import { inTurns, passByState } from '../queue-stretches.ts';
import { QueueIndex } from './queue-index.ts';

/** Conversations in all indexes, and in one. */
const maxConversations = { all: 800_000, one: 600_000 };
const unusedMs = 15 * 60_000;
/** Conversations that are read again between two turns of the loop. */
const perTurn = 400;
const logPage = 500;
/** Conversations noted for an index that is not asked: with more it goes, and is made again when it is asked. */
const maxNoted = 20_000;
const askedAgainMs = 60_000;
/** For so long it is not tried again to index an organization that is too large. */
const tooLargeMs = 10 * 60_000;

interface Kept {
  readonly index: QueueIndex;
  /** Conversations to be read again, by id and by place. */
  readonly ids: Set<string>;
  readonly places: Set<number>;
  /** Resolves once it holds every conversation; false: there are too many. */
  readonly whole: Promise<boolean>;
  usedAt: number;
}

class QueueIndexes {
  readonly #service: Service;
  readonly #kept = new Map<string, Kept>();
  readonly #tooLarge = new Map<string, number>();
  /** The number of the newest event that was taken note of. */
  #events: number | null = null;
  /** The number of the newest change that was taken note of. */
  #changes: number | null = null;

  constructor(service: Service) {
    this.#service = service;
    service.engine.store.subscribe(({ events, lost }) => {
      if (lost === true) this.#forget();
      this.#note(events);
    });
  }

  /** The next question reads everything again. */
  #forget(): void {
    this.#kept.clear();
    this.#events = null;
    this.#changes = null;
  }

  #note(events: readonly Pick<CommittedEvent, 'seq' | 'organization_id' | 'conversation_id'>[]): void {
    for (const { seq, organization_id, conversation_id } of events) {
      this.#keptFor(organization_id)?.ids.add(conversation_id);
      if (this.#events !== null && seq > this.#events) this.#events = seq;
    }
  }

  /** What changes are noted for; not for an index that many have gone by since it was asked. */
  #keptFor(organizationId: string): Kept | undefined {
    const kept = this.#kept.get(organizationId);
    if (kept === undefined || kept.ids.size + kept.places.size < maxNoted) return kept;
    if (this.#service.engine.clock.monotonic() - kept.usedAt < askedAgainMs) return kept;
    this.#kept.delete(organizationId);
    return undefined;
  }

  /**
   * Asks the index of the caller's organization.
   * @param ask gets it as it is in the snapshot of `tx`; awaits nothing else
   * @returns undefined: the organization has no index, because it is too large
   */
  async ask<T>(call: MemberCall, ask: (index: QueueIndex, tx: ReadTx) => Promise<T>): Promise<T | undefined> {
    const { organizationId } = call.actor;
    for (;;) {
      const kept = await this.#find(call);
      if (kept === null) return undefined;
      const answer = await readSlice(call, organizationId, async (tx) => {
        if (!(await this.#freshen(tx, organizationId, kept))) return null;
        return { value: await ask(kept.index, tx) };
      });
      if (answer !== null) return answer.value;
    }
  }

  async #find(call: MemberCall): Promise<Kept | null> {
    const { organizationId } = call.actor;
    const { clock, store } = this.#service.engine;
    const now = clock.monotonic();
    const refusedAt = this.#tooLarge.get(organizationId);
    if (refusedAt !== undefined && now - refusedAt < tooLargeMs) return null;
    this.#tooLarge.delete(organizationId);
    if (this.#changes === null || this.#events === null) {
      const [events, changes] = await store.read(async ({ repositories }) => [
        await repositories.events.lastSeq(),
        await repositories.conversations.lastQueueChange(),
      ]);
      this.#events ??= events;
      this.#changes ??= changes;
    }
    let kept = this.#kept.get(organizationId);
    if (kept === undefined) {
      const index = new QueueIndex();
      kept = { index, ids: new Set(), places: new Set(), whole: this.#fill(call, index), usedAt: now };
      // From here on changes are noted for it: what is read while they happen is read again.
      this.#kept.set(organizationId, kept);
      kept.whole.catch(() => this.#kept.delete(organizationId));
    }
    kept.usedAt = now;
    if (!(await kept.whole)) {
      this.#kept.delete(organizationId);
      this.#tooLarge.set(organizationId, now);
      return null;
    }
    this.#makeRoom(organizationId, now);
    return kept;
  }

  async #fill(call: MemberCall, index: QueueIndex): Promise<boolean> {
    const { organizationId } = call.actor;
    // What was noted before this turn is in what is read from now on.
    await Promise.resolve();
    // Others wait for the same index: it is made also where the one who asked first hangs up.
    const forAll = { ...call, gone: undefined };
    await inTurns(forAll, passByState(organizationId, {}), async ({ repositories }, stretch) => {
      if (index.size > maxConversations.one) return;
      for (const facets of await repositories.conversations.facetsOfStretch(organizationId, stretch))
        index.put(facets);
    });
    return index.size <= maxConversations.one;
  }

  #makeRoom(current: string, now: number): void {
    const others = [...this.#kept]
      .filter(([id]) => id !== current)
      .toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
    let size = [...this.#kept.values()].reduce((sum, { index }) => sum + index.size, 0);
    for (const [id, { index, usedAt }] of others) {
      if (size <= maxConversations.all && now - usedAt < unusedMs) return;
      this.#kept.delete(id);
      size -= index.size;
    }
  }

  /** @returns whether the index is as the snapshot is; otherwise there is more to be read, or it begins anew */
  async #freshen({ repositories }: ReadTx, organizationId: string, kept: Kept): Promise<boolean> {
    // Taken before the snapshot begins: what is noted while it is read may not be in it.
    const ids = takeSome(kept.ids);
    const places = takeSome(kept.places);
    try {
      await this.#readLogs({ repositories });
      if (this.#kept.get(organizationId) !== kept) return false;
      const { conversations } = repositories;
      const gone = new Set(places);
      const found = [
        ...(ids.length === 0 ? [] : await conversations.facetsOf(organizationId, ids)),
        ...(places.length === 0 ? [] : await conversations.facetsAt(organizationId, places)),
      ];
      for (const facets of found) {
        gone.delete(facets.place);
        kept.index.put(facets);
      }
      for (const place of gone) kept.index.drop(place);
    } catch (error) {
      for (const id of ids) kept.ids.add(id);
      for (const place of places) kept.places.add(place);
      throw error;
    }
    // What the logs have told just now is read in the next turn.
    return kept.ids.size + kept.places.size === 0;
  }

  /** Takes note of what the logs have that was not told yet. */
  async #readLogs(tx: ReadTx): Promise<void> {
    const { events, conversations } = tx.repositories;
    const last = await events.lastSeq();
    while (this.#events !== null && this.#events < last) {
      const page = await readLogPage(tx, this.#events, logPage);
      this.#note(page.events);
      this.#events = page.through;
    }
    const newest = await conversations.lastQueueChange();
    while (this.#changes !== null && this.#changes < newest) {
      const rows = await conversations.queueChanges(this.#changes, logPage);
      const [first] = rows;
      if (first === undefined) break;
      // Some went before they were seen: of which conversations is not known.
      if (first.number > this.#changes + 1) this.#kept.clear();
      for (const { number, organization_id, place } of rows) {
        this.#keptFor(organization_id)?.places.add(place);
        this.#changes = number;
      }
    }
  }
}

/** Takes at most so many out of a set. */
function takeSome<T>(set: Set<T>): T[] {
  const taken: T[] = [];
  for (const one of set) {
    if (taken.length >= perTurn) break;
    taken.push(one);
    set.delete(one);
  }
  return taken;
}

const indexes = new WeakMap<Engine, QueueIndexes>();

/** The indexes of an engine. */
export function queueIndexes(service: Service): QueueIndexes {
  const { engine } = service;
  let found = indexes.get(engine);
  if (found === undefined) indexes.set(engine, (found = new QueueIndexes(service)));
  return found;
}
