// What the composer is offered: canned replies behind a slash, and drafts by the assistant.
// Both only change the text; nothing is sent from here.
import type { CannedReply } from '../../../protocol/entities.ts';
import { asSdkError } from '../../../sdk/error.ts';
import * as buffers from '../editing/buffer.ts';
import type { CommandName } from '../keys.ts';
import { cannedQuery, fittingReplies, hasText, withBuffer, type ComposerState } from './composer.ts';
import type { ConsoleContext } from './console-context.ts';
import { editableText } from './lexical-markdown.ts';
import { sanitizeLine } from './sanitize-line.ts';

export interface Suggestions {
  /** Keys that belong to the list of canned replies while it is there; false: not this one. */
  act(action: CommandName): boolean;
  insertReply(reply: CannedReply): void;
  loadCannedReplies(): Promise<void>;
  askDraft(): Promise<void>;
}

/** @param set takes the composer's next state, and keeps its text */
export function createSuggestions(core: ConsoleContext, set: (next: ComposerState) => void): Suggestions {
  const { client, store } = core;
  const composer = (): ComposerState | null => store.get().composer;

  function choices(): readonly CannedReply[] {
    const now = composer();
    const query = now === null ? null : cannedQuery(now);
    return query === null ? [] : fittingReplies(store.get().cannedReplies, query);
  }

  /** In the place of the shortcut that was typed, else at the caret. */
  function insertReply(reply: CannedReply): void {
    const now = composer();
    if (now === null) return;
    const text = editableText(reply);
    const buffer =
      cannedQuery(now) === null ? buffers.paste(now.buffer, text) : buffers.replaceAll(now.buffer, text);
    set({ ...withBuffer(now, buffer), cannedIndex: null });
  }

  /** Keys that belong to the list of canned replies while it is there. */
  function act(action: CommandName): boolean {
    const list = choices();
    const now = composer();
    if (now === null || list.length === 0) return false;
    const index = Math.min(now.cannedIndex ?? 0, list.length - 1);
    switch (action) {
      case 'lineUp':
        set({ ...now, cannedIndex: Math.max(0, index - 1) });
        return true;
      case 'lineDown':
        set({ ...now, cannedIndex: Math.min(list.length - 1, index + 1) });
        return true;
      case 'send':
      case 'nextPane': {
        const reply = list[index];
        if (reply !== undefined) insertReply(reply);
        return true;
      }
      case 'back':
        set({ ...now, cannedIndex: null });
        return true;
      default:
        return false;
    }
  }

  async function askDraft(): Promise<void> {
    const now = composer();
    if (now === null || now.ai === 'asking') return;
    // The draft is for the visitor, and Undo would bring the note back as an answer.
    if (now.note && hasText(now))
      return core.flash('Your draft here is an internal note: send it or clear it first.', 'info');
    const id = now.conversationId;
    set({ ...now, ai: 'asking' });
    try {
      const { text, sources, answered } = await client.call<{
        text: string;
        answered: boolean;
        sources: readonly { title: string }[];
      }>('POST', `/conversations/${id}/ai/reply`, {});
      const after = composer();
      if (after?.conversationId !== id) return;
      if (!answered || text.trim() === '') {
        set({ ...after, ai: null });
        return core.flash('The assistant finds no answer in your documents.', 'info');
      }
      const had = hasText(after);
      set({
        ...withBuffer(after, buffers.replaceAll(after.buffer, text)),
        note: false,
        ai: 'drafted',
        cannedIndex: null,
      });
      const from = sources
        .map(({ title }) => sanitizeLine(title))
        .slice(0, 3)
        .join(', ');
      core.flash(
        `A draft${from === '' ? '' : ` from ${from}`}: read it before you send it.${had ? ' Undo brings your text back.' : ''}`,
        'info',
      );
    } catch (error) {
      const after = composer();
      if (after?.conversationId === id) set({ ...after, ai: null });
      const { code } = asSdkError(error);
      if (code === 'plan_limit')
        core.flash(
          'Drafts by the assistant are not part of this organization’s plan (premium has them).',
          'bad',
        );
      else if (code === 'ai_unavailable')
        core.flash('The assistant’s model does not answer just now. Try again in a moment.', 'bad');
      else core.report(error);
    }
    return undefined;
  }

  async function loadCannedReplies(): Promise<void> {
    if (store.get().cannedReplies !== null) return;
    store.set({ cannedReplies: [] });
    const all: CannedReply[] = [];
    try {
      for (;;) {
        const { cannedReplies, total } = await client.call<{ cannedReplies: CannedReply[]; total: number }>(
          'GET',
          `/canned-replies?limit=100&offset=${all.length}`,
        );
        all.push(...cannedReplies);
        store.set({ cannedReplies: [...all] });
        if (cannedReplies.length === 0 || all.length >= total || all.length >= 1_000) return;
      }
    } catch (error) {
      store.set({ cannedReplies: null });
      core.report(error);
    }
  }

  return { act, insertReply, loadCannedReplies, askDraft };
}
