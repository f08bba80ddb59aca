// What the composer is offered: canned replies after a slash, colleagues behind an `@` of a note, and drafts by the
// assistant. They only change the text; nothing is sent from here.
import type { CannedReply } from '../protocol/entities.ts';
import type { Nameable } from '../text/mentions.ts';
import * as buffers from './editing/buffer.ts';
import type { CommandName } from './keymap.ts';
import {
  cannedQuery,
  fittingReplies,
  mentionChoices,
  withBuffer,
  type ComposerState,
  type MentionChoices,
} from './composer.ts';
import type { Replies } from './canned-replies.ts';
import type { DeskContext } from './desk-context.ts';

export interface Suggestions {
  /** Runs a command on the list of canned replies while it is shown; false: it is none of the list's. */
  run(command: CommandName): boolean;
  insertReply(reply: CannedReply): void;
  /** Completes the name that is being typed. */
  insertName(person: Nameable): void;
  /** Asks for the canned replies, unless they were asked for lately; the old ones are there until the answer comes. */
  loadCannedReplies(): Promise<void>;
  /** One of them was changed here: they are asked for again when they are wanted. */
  forgetCannedReplies(): void;
  askDraft(): Promise<void>;
}

/** @param set takes the composer's next state, and keeps its text */
export function createSuggestions(context: DeskContext, set: (next: ComposerState) => void): Suggestions {
  const { store } = context;
  const composer = (): ComposerState | null => store.get().composer;
  let replies: Promise<Replies> | null = null;

  function choices(): readonly CannedReply[] {
    const now = composer();
    const query = now === null ? null : cannedQuery(now);
    return query === null ? [] : fittingReplies(store.get().cannedReplies, query);
  }

  /** In the place of the shortcut that was typed, else at the caret. */
  function insertReply(reply: CannedReply): void {
    const now = composer();
    if (now === null) return;
    const text = reply.content;
    const buffer =
      cannedQuery(now) === null ? buffers.paste(now.buffer, text) : buffers.replaceAll(now.buffer, text);
    set({ ...withBuffer(now, buffer), cannedIndex: null });
  }

  function mentions(): MentionChoices | null {
    const now = composer();
    return now === null ? null : mentionChoices(now, store.get().colleagues);
  }

  /** In the place of what was typed of it. */
  function insertName(person: Nameable): void {
    const now = composer();
    const naming = mentions();
    if (now === null || naming === null) return;
    set(withBuffer(now, buffers.replaceBefore(now.buffer, naming.start, `@${person.name} `)));
  }

  function run(command: CommandName): boolean {
    const naming = mentions();
    const fitting = choices();
    const list: readonly (() => void)[] =
      naming === null
        ? fitting.map((reply) => () => insertReply(reply))
        : naming.people.map((person) => () => insertName(person));
    const now = composer();
    if (now === null || list.length === 0) return false;
    const index = Math.min(now.cannedIndex ?? 0, list.length - 1);
    switch (command) {
      case 'lineUp':
        set({ ...now, cannedIndex: Math.max(0, index - 1) });
        return true;
      case 'lineDown':
        set({ ...now, cannedIndex: Math.min(list.length - 1, index + 1) });
        return true;
      case 'send':
      case 'nextPane': {
        list[index]?.();
        return true;
      }
      case 'back':
        set({ ...now, cannedIndex: null });
        return true;
      default:
        return false;
    }
  }

  /** What asks the assistant is loaded with the first question. */
  async function askDraft(): Promise<void> {
    const { askDraft: ask } = await context.loadDrafting();
    return ask(context, set);
  }

  return {
    run,
    insertReply,
    insertName,
    // What asks for them is loaded with the first list.
    loadCannedReplies: async () => {
      replies ??= import('./canned-replies.ts').then(({ createReplies }) => createReplies(context));
      return (await replies).load();
    },
    forgetCannedReplies: () => void replies?.then(({ forget }) => forget()),
    askDraft,
  };
}
