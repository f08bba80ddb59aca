// Where the operator is: which pane has the keys, what lies over the panes, which conversation is open. Must not change
// conversations.
import { targetConversation } from './available-commands.ts';
import type { ComposerController } from './composer-controller.ts';
import type { DeskContext } from './desk-context.ts';
import type { Dialog, Focus, Question } from './desk-state.ts';
import type { ConversationController } from './conversation-controller.ts';
import type { Marks } from './marks.ts';
import type { QueueController } from './queue-controller.ts';

type Menu = Extract<Dialog, { kind: 'menu' }>;

export interface NavigationParts {
  readonly queue: QueueController;
  readonly conversation: ConversationController;
  readonly composer: ComposerController;
  readonly marks: Marks;
}

/** Moves the focus in the store, with all that follows from it: rooms, composer, read marks. */
export class Navigation {
  readonly #context: DeskContext;
  readonly #parts: NavigationParts;

  constructor(context: DeskContext, parts: NavigationParts) {
    this.#context = context;
    this.#parts = parts;
  }

  setDialog(dialog: Dialog | null): void {
    this.#context.store.set({ dialog });
    if (dialog === null) this.#parts.conversation.markRead();
  }

  setFocus(focus: Focus): void {
    this.#context.store.set({ focus });
    this.#parts.conversation.markRead();
  }

  /**
   * Asks for yes or no.
   * @param yes what is shown beside the key for yes
   */
  ask(question: string, yes: string, ask: Question): void {
    this.setDialog({ kind: 'confirm', question, yes, ask });
  }

  /** @param options `about`: the conversation that a choice concerns, also when another one is open by then */
  openMenu(
    menu: Menu['menu'],
    { loading = false, about = null, filter = '' }: Partial<Pick<Menu, 'loading' | 'about' | 'filter'>> = {},
  ): void {
    this.setDialog({ kind: 'menu', menu, filter, index: 0, loading, about });
  }

  openConversation(id: string, focus: Focus): void {
    const { composer, conversation } = this.#parts;
    composer.cancelEdit();
    conversation.open(id);
    composer.open(id);
    this.setFocus(focus);
  }

  /** Leaves the open conversation: the queue has the keys, and nothing is listened to any more. */
  closeConversation(): void {
    const { composer, conversation } = this.#parts;
    composer.cancelEdit();
    conversation.close();
    composer.close();
    this.setFocus('queue');
  }

  /** Opens the conversation that commands concern; false: there is none. */
  openTarget(focus: Focus): boolean {
    const item = targetConversation(this.#context.state);
    if (item === undefined) return false;
    this.openConversation(item.id, focus);
    return true;
  }

  cyclePane(by: 1 | -1): void {
    const { open, focus } = this.#context.state;
    const order: readonly Focus[] = open === null ? ['queue'] : ['queue', 'conversation', 'composer'];
    const at = order.indexOf(focus);
    this.setFocus(order[(at + by + order.length) % order.length] ?? 'queue');
  }

  /** One step back: from a change to the draft, from a selection to none, from a pane to the one before. */
  back(): void {
    const { composer, conversation, queue, marks } = this.#parts;
    const { focus, open, queue: lists, marked } = this.#context.state;
    if (focus === 'composer') {
      if (!composer.cancelEdit()) this.setFocus('conversation');
    } else if (focus === 'conversation') {
      if (open !== null && open.selected !== null) conversation.clearSelection();
      else this.setFocus('queue');
    } else if (marked.size > 0) marks.clear();
    else if (lists.search !== null) queue.search.end();
  }
}
