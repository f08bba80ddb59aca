// Writing: the composer's text is kept as a draft after every change, sent once, changed,
// taken back, drafted by the assistant. Must not draw, and sends nothing by itself.
import { sizeLimits } from '../../../protocol/codes.ts';
import type { CannedReply } from '../../../protocol/entities.ts';
import type { StaffMessage } from '../../../sdk/staff-types.ts';
import type { OutgoingMessage } from '../../../sdk/types.ts';
import { markdownToLexical } from '../../../text/markdown.ts';
import * as buffers from '../editing/buffer.ts';
import { emptyHistory, newer, older, remember, type History } from '../editing/history.ts';
import { onFirstRow, onLastRow } from '../editing/buffer.ts';
import type { Draft } from '../drafts.ts';
import type { CommandName } from '../keys.ts';
import type { ConversationCommands } from './conversation-commands.ts';
import {
  composerFor,
  applyCommand,
  hasText,
  sendPermission,
  withBuffer,
  type ComposerState,
  type SendPermission,
} from './composer.ts';
import type { ConsoleContext } from './console-context.ts';
import { createDraftPersistence } from './draft-persistence.ts';
import { editableText, isFormatted } from './lexical-markdown.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { createSuggestions } from './suggestions.ts';

export interface ComposerController {
  /** The composer for a conversation, with its draft. */
  open(conversationId: string): void;
  /** An action of the composer's; false: it is none. */
  run(action: CommandName): boolean;
  type(text: string): void;
  paste(text: string): void;
  /** Begins a note or an answer; a text that is there stays what it is. */
  setNote(note: boolean): void;
  /** Changes an own message. */
  beginEdit(message: StaffMessage): void;
  /** False: nothing was being changed. */
  cancelEdit(): boolean;
  remove(conversationId: string, messageId: string): Promise<void>;
  retry(key: string): void;
  discard(key: string): void;
  /** Text that would be lost to the eye: it is kept, but whoever leaves should know. */
  isUnsent(): boolean;
  insertReply(reply: CannedReply): void;
  loadCannedReplies(): Promise<void>;
}

const formattingMark = /[*_`[\]~#>]|^\s*(?:[-+]|\d+[.)])\s/m;

/** What is sent for a text: Lexical where its Markdown says more than plain text, and fits. */
export async function toOutgoingMessage(text: string): Promise<OutgoingMessage> {
  const plain: OutgoingMessage = { content: text.trim(), contentFormat: 'plain' };
  if (!formattingMark.test(text)) return plain;
  const content = await markdownToLexical(plain.content);
  return isFormatted(content) && content.length <= sizeLimits.contentRest
    ? { content, contentFormat: 'lexical' }
    : plain;
}

/** The composer of the open conversation, kept in the store. */
export function createComposerController(
  core: ConsoleContext,
  acts: ConversationCommands,
): ComposerController {
  const { client, store } = core;
  let history: History = emptyHistory;
  const keeping = createDraftPersistence(core);
  const suggestions = createSuggestions(core, set);
  let line: Promise<void> = Promise.resolve();

  const composer = (): ComposerState | null => store.get().composer;
  const columns = (): number => core.layout().composerColumns;

  function keep(next: ComposerState): void {
    // While a message is being changed, the draft is what was there before.
    const { buffer, note } = next.before ?? next;
    keeping.write(next.conversationId, { text: buffer.text, note });
  }

  function set(next: ComposerState): void {
    const before = composer();
    if (before === next) return;
    store.set({ composer: next });
    keep(next);
    if (before?.buffer.text !== next.buffer.text) tellTyping(next);
  }

  const reach = (id: string): SendPermission => sendPermission(core.item(id), core.memberId());

  function tellTyping(now: ComposerState): void {
    if (!now.note && reach(now.conversationId) === 'answer')
      client.setTyping(now.conversationId, now.buffer.text !== '');
  }

  function change(run: (now: ComposerState) => ComposerState): void {
    const now = composer();
    if (now !== null) set(run(now));
  }

  /** Whether the text may go out as it is; says why not. */
  function mayGo(now: ComposerState): boolean {
    const over = now.buffer.text.trim().length - sizeLimits.contentRest;
    if (over > 0) {
      core.flash(`Too long by ${over} characters: shorten it or send it in parts.`, 'bad');
      return false;
    }
    const item = core.item(now.conversationId);
    switch (now.editing === null ? reach(now.conversationId) : 'answer') {
      case 'closed':
        core.flash('This conversation is closed. Your text is kept as a draft.', 'bad');
        return false;
      case 'colleague':
        if (now.note) return true;
        core.flash(
          `${sanitizeLine(item?.assignedToName ?? '') || 'A colleague'} has this conversation: only notes can be added.`,
          'bad',
        );
        return false;
      default:
        return true;
    }
  }

  function send(): void {
    const now = composer();
    if (now === null || !hasText(now)) return;
    const { buffer, note, conversationId: id } = now;
    if (!mayGo(now)) return;
    if (now.editing !== null) return void saveEdit(now).catch(core.report);
    const left = keeping.take(id, { text: buffer.text, note });
    // What was meant for colleagues must not come back as an answer.
    if (!note) history = remember(history, buffer.text);
    set({ ...now, buffer: buffers.cleared(buffer), note: false, ai: null, history, cannedIndex: 0 });
    const { open } = store.get();
    if (open?.id === id)
      store.set({ open: { ...open, anchor: null, selected: null, unreadFrom: null, unseen: 0 } });
    // One after the other: a slow one must not be overtaken.
    line = line.then(() => deliver(id, left)).catch(core.report);
    return undefined;
  }

  async function deliver(id: string, left: Draft): Promise<void> {
    let sent = false;
    try {
      const outgoing = await toOutgoingMessage(left.text);
      if (!left.note && reach(id) === 'accepts') await acts.accept(id);
      if (left.note || reach(id) === 'answer') {
        client.sendMessage(id, outgoing, { internal: left.note }).catch(() => undefined);
        sent = true;
      }
    } finally {
      if (sent) keeping.confirm(id, left);
      else giveBack(id, left);
    }
  }

  /** It could not leave: it stands before what was written since. */
  function giveBack(id: string, left: Draft): void {
    keeping.restore(id, left);
    const now = composer();
    const draft = keeping.read(id);
    if (now?.conversationId !== id || draft === null) return;
    if (now.before !== null)
      set({ ...now, before: { buffer: buffers.bufferOf(draft.text), note: draft.note } });
    else set({ ...now, buffer: buffers.replaceAll(now.buffer, draft.text), note: draft.note });
  }

  async function saveEdit(now: ComposerState): Promise<void> {
    if (now.editing === null) return;
    try {
      const outgoing = await toOutgoingMessage(now.buffer.text);
      await client.editMessage(now.conversationId, now.editing, outgoing);
      cancelEdit();
      core.flash('Changed.', 'good');
    } catch (error) {
      core.report(error);
    }
  }

  function cancelEdit(): boolean {
    const now = composer();
    if (now === null || now.editing === null || now.before === null) return false;
    set({ ...now, ...now.before, editing: null, before: null, cannedIndex: 0 });
    return true;
  }

  async function openEditor(): Promise<void> {
    const now = composer();
    if (now === null) return;
    const text = await core.edit(now.buffer.text);
    const after = composer();
    if (text === null || after === null || after.conversationId !== now.conversationId) return;
    set(withBuffer(after, buffers.replaceAll(after.buffer, text.replace(/\n+$/, ''))));
  }

  function walk(direction: 'older' | 'newer'): void {
    change((now) => {
      const step =
        direction === 'older' ? older(now.history, now.buffer.text) : newer(now.history, now.buffer.text);
      if (step === null) return now;
      const next = withBuffer(now, buffers.replaceAll(now.buffer, step.text));
      return { ...next, history: step.history, cannedIndex: null };
    });
  }

  const writing: ComposerController = {
    open: (id) => {
      if (composer()?.conversationId === id) return;
      const before = composer();
      if (before !== null) keeping.close(before.conversationId);
      const draft = keeping.read(id);
      store.set({ composer: composerFor(id, draft?.text ?? '', draft?.note ?? false, history) });
    },
    run: (action) => {
      const now = composer();
      if (now === null) return false;
      if (suggestions.act(action)) return true;
      const next = applyCommand(now, action, columns());
      if (next !== null) {
        set(next);
        return true;
      }
      switch (action) {
        case 'send':
          send();
          return true;
        case 'lineUp':
          if (onFirstRow(now.buffer, columns())) walk('older');
          else change((one) => withBuffer(one, buffers.moveUp(one.buffer, columns())));
          return true;
        case 'lineDown':
          if (onLastRow(now.buffer, columns())) walk('newer');
          else change((one) => withBuffer(one, buffers.moveDown(one.buffer, columns())));
          return true;
        case 'toggleNote':
          change((one) => ({ ...one, note: !one.note }));
          if (composer()?.note === true) client.setTyping(now.conversationId, false);
          return true;
        case 'editor':
          void openEditor().catch(core.report);
          return true;
        case 'aiDraft':
          void suggestions.askDraft().catch(core.report);
          return true;
        default:
          return false;
      }
    },
    type: (text) => {
      change((now) => withBuffer(now, buffers.insert(now.buffer, text)));
      if (store.get().cannedReplies === null && composer()?.buffer.text.startsWith('/') === true)
        void suggestions.loadCannedReplies();
    },
    paste: (text) => change((now) => withBuffer(now, buffers.paste(now.buffer, text))),
    setNote: (note) => {
      const now = composer();
      if (now === null || now.note === note) return;
      // What was written for colleagues must never become an answer by the way, nor the other way round.
      if (hasText(now))
        core.flash(
          now.note ? 'Your draft here is an internal note.' : 'Your draft here is an answer.',
          'info',
        );
      else set({ ...now, note });
    },
    beginEdit: (message) => {
      change((now) => ({
        ...now,
        buffer: buffers.replaceAll(buffers.cleared(now.buffer), editableText(message)),
        note: message.internal === true,
        editing: message.id,
        before: now.before ?? { buffer: now.buffer, note: now.note },
        ai: null,
        cannedIndex: null,
      }));
    },
    cancelEdit,
    remove: async (conversationId, messageId) => {
      try {
        await client.deleteMessage(conversationId, messageId);
        core.flash('Deleted.', 'good');
      } catch (error) {
        core.report(error);
      }
    },
    retry: (key) => {
      client.retry(key).catch(() => undefined);
    },
    discard: (key) => {
      client.discard(key);
    },
    isUnsent: () => {
      const { open, drafted } = store.get();
      const now = composer();
      return (
        drafted.size > 0 ||
        (now !== null && hasText(now)) ||
        open?.room?.messages.some(({ state }) => state !== 'sent') === true
      );
    },
    insertReply: suggestions.insertReply,
    loadCannedReplies: suggestions.loadCannedReplies,
  };
  return writing;
}
