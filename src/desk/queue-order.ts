// What puts the queue in order: tags, priority, snooze, reopening, what is unread, and the same for all marked
// conversations. Says what became of it; which of them a key or a menu means is decided by command-runner.ts and dialogs.ts.
import type { Priority, StaffConversation, StaffConversationListItem } from '../protocol/entities.ts';
import { priorityTexts } from './priorities.ts';
import { queueLimits } from '../protocol/codes.ts';
import type { BulkRequest, BulkResult } from '../sdk/staff-types.ts';
import { runOnce, visitorName } from './conversation-commands.ts';
import { refusalMessage, type DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { untilLabel } from './time.ts';

export class QueueOrder {
  readonly #context: DeskContext;

  constructor(context: DeskContext) {
    this.#context = context;
  }

  /** The conversations that a menu or an act concerns: one, or all that are marked. */
  targets(about: string | null): readonly string[] {
    return about === null ? [...this.#context.state.marked] : [about];
  }

  /** Adds a tag, or takes it off where all of them have it. @param about null: the marked ones */
  async toggleTag(about: string | null, name: string): Promise<void> {
    const { client, say } = this.#context;
    const ids = this.targets(about);
    const has = ids.every((id) => this.#item(id)?.tags.includes(name) === true);
    if (about === null) return this.bulk({ act: has ? 'untag' : 'tag', tag: name });
    const run = (): Promise<StaffConversation> => (has ? client.untag(about, name) : client.tag(about, name));
    await this.#alone(`tag ${name}`, about, run, (done) =>
      say(has ? 'untagged' : 'tagged', { tag: sanitizeLine(name), name: visitorName(done, say) }),
    );
    const { tags } = this.#context.state;
    if (!has && tags !== null && !tags.includes(name))
      this.#context.store.set({ tags: [...tags, name].toSorted() });
    return undefined;
  }

  async setPriority(about: string | null, priority: Priority): Promise<void> {
    const { client, say } = this.#context;
    if (about === null) return this.bulk({ act: 'priority', priority });
    return this.#alone(
      'priority',
      about,
      () => client.update(about, { priority }),
      (done) => say('prioritySet', { name: visitorName(done, say), priority: say(priorityTexts[priority]) }),
    );
  }

  /** @param end ms since the epoch */
  async snooze(about: string | null, end: number): Promise<void> {
    const { client, say } = this.#context;
    const until = new Date(end).toISOString();
    if (about === null) return this.bulk({ act: 'snooze', until });
    const time = untilLabel(end, this.#context.now());
    return this.#alone(
      'snooze',
      about,
      () => client.snooze(about, until),
      (done) => say('snoozed', { time, name: visitorName(done, say) }),
    );
  }

  async wake(id: string): Promise<void> {
    const { client, say } = this.#context;
    return this.#alone(
      'wake',
      id,
      () => client.wake(id),
      (done) => say('awake', { name: visitorName(done, say) }),
    );
  }

  /** @returns whether the operator has it now */
  async reopen(id: string): Promise<boolean> {
    const { client, say } = this.#context;
    const done = await runOnce(this.#context, 'reopen', id, () => client.reopen(id));
    if (done !== undefined) this.#context.flash(say('reopened', { name: visitorName(done, say) }), 'good');
    return done !== undefined;
  }

  /** @param messageId from which message on; left out: the visitor's newest one */
  async markUnread(id: string, messageId?: string): Promise<void> {
    const { client, say } = this.#context;
    return this.#alone(
      'unread',
      id,
      () => client.markUnread(id, messageId),
      (done) => say('markedUnread', { name: visitorName(done, say) }),
    );
  }

  /** The same act on every marked conversation, a hundred at a time. Those that were refused stay marked. */
  async bulk(request: BulkRequest): Promise<void> {
    const { client, say, store } = this.#context;
    const ids = [...this.#context.state.marked];
    const results: BulkResult[] = [];
    await runOnce(this.#context, 'bulk', request.act, async () => {
      for (let from = 0; from < ids.length; from += queueLimits.bulk)
        results.push(...(await client.bulk(ids.slice(from, from + queueLimits.bulk), request)));
    });
    if (results.length === 0) return;
    const refused = results.filter((result) => !result.ok);
    store.set({ marked: new Set(refused.map(({ id }) => id)) });
    const done = say('bulkDone', { n: results.length - refused.length });
    const [first] = refused;
    if (first === undefined) return this.#context.flash(done, 'good');
    const why = refusalMessage({ code: first.error, message: first.message }, say);
    return this.#context.flash(`${done} ${say('bulkRefused', { n: refused.length })} ${why}`, 'bad');
  }

  /** Asks for the organization's tags; known ones stay until the answer is there. */
  async loadTags(): Promise<void> {
    const { client, store } = this.#context;
    const all: string[] = [];
    for (;;) {
      const { tags, total } = await client.call<{ tags: { name: string }[]; total: number }>(
        'GET',
        `/tags?limit=100&offset=${all.length}`,
      );
      all.push(...tags.map(({ name }) => name));
      if (tags.length === 0 || all.length >= total) return store.set({ tags: all });
    }
  }

  #item(id: string): StaffConversationListItem | undefined {
    const { open } = this.#context.state;
    return this.#context.item(id) ?? (open?.id === id ? (open.detail ?? undefined) : undefined);
  }

  /** One at a time; a refusal is told in the service's words, for it has other reasons than a faster colleague. */
  async #alone(
    name: string,
    id: string,
    run: () => Promise<StaffConversation>,
    told: (done: StaffConversation) => string,
  ): Promise<void> {
    const done = await runOnce(this.#context, name, id, run, this.#context.report);
    if (done !== undefined) this.#context.flash(told(done), 'good');
  }
}
