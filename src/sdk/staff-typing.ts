// That a member is writing: told every few seconds while they do, and its end when they stop.
import type { Connection } from './connection.ts';
import type { Environment, Undo } from './types.ts';

const typingEveryMs = 4_000;
const typingEndsMs = 6_000;

export class StaffTyping {
  readonly #env: Environment;
  readonly #link: Connection;
  readonly #typing = new Map<string, { readonly until: number; readonly cancel: Undo }>();

  constructor(env: Environment, link: Connection) {
    this.#env = env;
    this.#link = link;
  }

  /** A key was pressed in a conversation's composer. */
  start(id: string): void {
    const before = this.#typing.get(id);
    before?.cancel();
    const due = before === undefined || this.#env.now() >= before.until;
    this.#typing.set(id, {
      until: due ? this.#env.now() + typingEveryMs : before.until,
      cancel: this.#env.after(typingEndsMs, () => this.end(id)),
    });
    if (due) this.#link.send_('typing:start', { conversationId: id });
  }

  end(id: string): void {
    const entry = this.#typing.get(id);
    if (entry === undefined) return;
    entry.cancel();
    this.#typing.delete(id);
    this.#link.send_('typing:stop', { conversationId: id });
  }

  /** Ends the timers, and tells nothing. */
  stop(): void {
    for (const { cancel } of this.#typing.values()) cancel();
  }
}
