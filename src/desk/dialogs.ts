// Keys of what lies over the panes: choosing, filtering, answering.
import { priorities } from '../protocol/queue-enums.ts';
import { paletteCommands } from './palette-commands.ts';
import type { ComposerController } from './composer-controller.ts';
import type { DeskContext } from './desk-context.ts';
import type { Dialog, Question } from './desk-state.ts';
import { createConversationActs, type ConversationActs } from './conversation-acts.ts';
import type { FileTool, LearningTool } from './tools.ts';
import { fieldAfter, maxFieldLength } from './one-line-field.ts';
import type { KeyPress } from './key-names.ts';
import type { CommandName, Keymap } from './keymap.ts';
import { builtInViews, menuChoices, viewActs, type ViewAct } from './menus.ts';
import type { Navigation } from './navigation.ts';
import type { QueueController } from './queue-controller.ts';
import type { QueueView } from './queue.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { QueueOrder } from './queue-order.ts';
import type { SavedViews } from './saved-views.ts';
import { parseSnoozeEnd, snoozeChoices, snoozeEnd } from './snooze-times.ts';
import { ViewEditing } from './view-editing.ts';
import { lastViewWord, parseView } from './view-text.ts';

export { stillMeant } from './late-commands.ts';

const steps: Readonly<Partial<Record<CommandName, number>>> = { down: 1, up: -1, pageDown: 10, pageUp: -10 };

type Menu = Extract<Dialog, { kind: 'menu' }>;
/** Menus whose choices are counted: a digit chooses. */
const counted: ReadonlySet<Menu['menu']> = new Set(['priority', 'snooze', 'views']);
/** A view is longer: each of its tags is named. So is a path. */
const maxViewText = 1_000;

export interface DialogParts {
  readonly queue: QueueController;
  readonly views: SavedViews;
  readonly composer: ComposerController;
  readonly navigation: Navigation;
  readonly learning: LearningTool;
  readonly files: FileTool;
  readonly keymap: Keymap;
  run(command: CommandName): void;
}

export class Dialogs {
  readonly #context: DeskContext;
  readonly #parts: DialogParts;
  readonly #acts: ConversationActs;
  readonly #order: QueueOrder;
  readonly #viewEditing: ViewEditing;

  constructor(context: DeskContext, parts: DialogParts) {
    this.#context = context;
    this.#parts = parts;
    this.#acts = createConversationActs(context);
    this.#order = new QueueOrder(context);
    this.#viewEditing = new ViewEditing(context, parts.views, parts.queue.search);
  }

  /**
   * A key in the dialog that is open.
   * @param command null: the key is bound to nothing, and may be text
   */
  press(command: CommandName | null, press: KeyPress): void {
    const { dialog } = this.#context.state;
    const { navigation } = this.#parts;
    if (dialog === null) return undefined;
    if (dialog.kind === 'confirm') {
      if (command === 'yes') this.#answer(dialog.ask);
      else if (command === 'no') navigation.setDialog(null);
      return undefined;
    }
    if (command === 'back') return navigation.setDialog(null);
    if (dialog.kind === 'menu') return this.#inMenu(dialog, command, press);
    const step = command === null ? undefined : steps[command];
    // Help and the visitor's data close on any other key.
    return step === undefined ? navigation.setDialog(null) : this.#context.face.scrollDialog(step);
  }

  /** Another filter of the menu that is open. */
  setFilter(filter: string): void {
    const { dialog } = this.#context.state;
    if (dialog?.kind === 'menu') this.#filter(dialog, filter.slice(0, maxLengthOf(dialog)));
  }

  /** A choice of the menu that is open was pointed at. */
  choose(index: number): void {
    const { dialog } = this.#context.state;
    if (dialog?.kind === 'menu') this.#choose({ ...dialog, index });
  }

  /** The question that is open is answered with yes. */
  confirm(): void {
    const { dialog } = this.#context.state;
    if (dialog?.kind === 'confirm') this.#answer(dialog.ask);
  }

  #answer(question: Question): void {
    const { composer, learning, navigation } = this.#parts;
    navigation.setDialog(null);
    switch (question.command) {
      case 'resolve':
        void this.#acts.resolve(question.id).then(() => {
          const { open } = this.#context.state;
          if (open?.id === question.id && this.#context.item(question.id)?.status === 'closed')
            navigation.setFocus('queue');
        });
        return undefined;
      case 'resolveMarked':
        return void this.#order.bulk({ act: 'resolve' });
      case 'deleteView':
        return void this.#viewEditing.remove(question.id);
      case 'release':
        return void this.#acts.release(question.id);
      case 'transcript':
        return void this.#acts.mailTranscript(question.id, question.address);
      case 'block':
        return void this.#acts.block(question.item);
      case 'remove':
        return void this.#acts.removeMessage(question.id, question.messageId);
      case 'discard':
        return composer.discard(question.key);
      case 'keepTitle':
        return void learning.keepTitle(question.choice, question.reviewed);
      case 'quit':
        return this.#context.runtime.exit(0);
    }
  }

  #inMenu(menu: Menu, command: CommandName | null, press: KeyPress): void {
    const step = command === null ? undefined : steps[command];
    if (command === 'choose') return this.#choose(menu);
    if (step !== undefined) {
      const last = menuChoices(this.#context.state, menu, this.#parts.keymap, this.#context.say).length - 1;
      const index = Math.max(0, Math.min(last, menu.index + step));
      return this.#context.store.set({ dialog: { ...menu, index } });
    }
    const filter = fieldAfter(menu.filter, press, maxLengthOf(menu));
    return filter === null ? undefined : this.#filter(menu, filter);
  }

  #filter(menu: Menu, filter: string): void {
    if (counted.has(menu.menu) && menu.filter === '' && /^[1-9]$/.test(filter))
      return this.#choose({ ...menu, index: Number(filter) - 1 });
    return this.#context.store.set({ dialog: { ...menu, filter, index: 0 } });
  }

  #choose(menu: Menu): void {
    const { state } = this.#context;
    const { composer, files, learning, navigation, keymap, run } = this.#parts;
    const choice = menuChoices(state, menu, keymap, this.#context.say)[menu.index];
    if (choice === undefined) return;
    navigation.setDialog(null);
    switch (menu.menu) {
      case 'palette': {
        const command = paletteCommands.find((one) => one === choice.id);
        if (command !== undefined) run(command);
        return;
      }
      case 'canned': {
        const reply = state.cannedReplies?.find(({ id }) => id === choice.id);
        if (reply !== undefined) composer.suggestions.insertReply(reply);
        return;
      }
      case 'gaps': {
        const gap = state.gaps[Number(choice.id)];
        if (gap !== undefined) learning.choose(gap);
        return;
      }
      case 'transfer': {
        const colleague = state.colleagues?.find(({ id }) => id === choice.id);
        if (colleague === undefined) return;
        if (menu.about !== null) void this.#acts.transfer(menu.about, colleague);
        else void this.#order.bulk({ act: 'transfer', memberId: colleague.id });
        return;
      }
      case 'attachPath':
        return menu.filter.trim() === '' ? files.changeAttached(choice.id) : void files.attachPath(choice.id);
      case 'saveFile':
        return files.askPath(choice.id);
      case 'savePath':
        return menu.about === null ? undefined : void files.saveTo(menu.about, choice.id);
      case 'openFile':
        return void files.openFile(choice.id);
      default:
        return this.#chooseOrder(menu, choice.id);
    }
  }

  /** A choice that puts the queue in order. */
  #chooseOrder(menu: Menu, chosen: string): void {
    const { navigation, queue } = this.#parts;
    const { state, say } = this.#context;
    switch (menu.menu) {
      case 'tag':
        return void this.#order.toggleTag(menu.about, chosen);
      case 'priority': {
        const priority = priorities.find((one) => one === chosen);
        return priority === undefined ? undefined : void this.#order.setPriority(menu.about, priority);
      }
      case 'snooze': {
        const preset = snoozeChoices.find((one) => one === chosen);
        if (preset === undefined) return navigation.openMenu('snoozeTime', { about: menu.about });
        return void this.#order.snooze(menu.about, snoozeEnd(preset, this.#context.now()));
      }
      case 'snoozeTime': {
        const end = parseSnoozeEnd(menu.filter, this.#context.now());
        return end === null ? undefined : void this.#order.snooze(menu.about, end);
      }
      case 'viewText':
        return this.#writeView(menu, chosen);
      default: {
        const act = viewActs(state, say).find(({ id }) => id === chosen);
        if (act !== undefined) return this.#actOnView(act.id, act.view);
        const view = [...(state.views ?? []), ...builtInViews(say)].find(({ id }) => id === chosen);
        if (view === undefined) return undefined;
        navigation.setFocus('queue');
        return void queue.search.showView(view);
      }
    }
  }

  #actOnView(act: ViewAct, view: QueueView | null): void {
    const { navigation, views } = this.#parts;
    const { report, say } = this.#context;
    switch (act) {
      case '+first':
        return view === null ? undefined : views.putFirst(view.id);
      case '+delete':
        return view === null
          ? undefined
          : navigation.ask(say('askDeleteView', { name: sanitizeLine(view.name) }), say('yesDelete'), {
              command: 'deleteView',
              id: view.id,
            });
      default: {
        const about = act === '+change' && view !== null ? view.id : null;
        // The tags are offered as words.
        this.#order.loadTags().catch(report);
        return navigation.openMenu('viewText', { about, filter: this.#viewEditing.lineOf(about) });
      }
    }
  }

  /** The line of a view: saved where it is whole, else one word longer. */
  #writeView(menu: Menu, chosen: string): void {
    const { navigation } = this.#parts;
    const written = chosen === '+save' ? parseView(menu.filter) : null;
    if (written !== null) {
      navigation.setFocus('queue');
      return void this.#viewEditing.save(menu.about, written);
    }
    const filter = `${lastViewWord(menu.filter).before}${chosen} `;
    return this.#context.store.set({ dialog: { ...menu, filter, index: 0 } });
  }
}

function maxLengthOf({ menu }: Menu): number {
  return menu === 'viewText' || menu === 'attachPath' || menu === 'savePath' ? maxViewText : maxFieldLength;
}
