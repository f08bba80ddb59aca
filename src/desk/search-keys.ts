// Keys in the field of the search: text, moving in what is found, and leaving it.
import type { DeskContext } from './desk-context.ts';
import type { KeyPress } from './key-names.ts';
import type { CommandName } from './keymap.ts';
import { fieldAfter } from './one-line-field.ts';
import type { QueueController } from './queue-controller.ts';
import { shownRows } from './queue.ts';

export class SearchKeys {
  readonly #context: DeskContext;
  readonly #queue: QueueController;
  readonly #run: (command: CommandName) => void;

  constructor(context: DeskContext, queue: QueueController, run: (command: CommandName) => void) {
    this.#context = context;
    this.#queue = queue;
    this.#run = run;
  }

  /** @param command null: the key is bound to nothing, and may be text */
  press(command: CommandName | null, press: KeyPress): void {
    const text = this.#context.state.queue.search?.text ?? '';
    const queue = this.#queue;
    const run = this.#run;
    switch (command) {
      case 'down':
      case 'up':
        return queue.move(command === 'down' ? 1 : -1);
      case 'pageDown':
        return queue.move(this.#context.face.queuePageSize());
      case 'pageUp':
        return queue.move(-this.#context.face.queuePageSize());
      case 'open':
        queue.search.confirm();
        if (text.trim() === '') return undefined;
        if (shownRows(this.#context.state.queue, this.#context.memberId).length === 1) run('open');
        return undefined;
      case 'back':
        return text.trim() === '' ? queue.search.confirm() : queue.search.end();
      case 'nextUnread':
      case 'nextPane':
      case 'previousPane':
      case 'redraw':
      case 'quit':
        queue.search.confirm();
        return run(command);
      default: {
        const next = fieldAfter(text, press);
        return next === null ? undefined : queue.search.setText(next);
      }
    }
  }
}
