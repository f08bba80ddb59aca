// Writing: the composer's text is kept as a draft after every change, sent once, changed, taken back, drafted by the
// assistant. Must not draw, and sends nothing by itself.
import { sizeLimits } from '../protocol/codes.ts';
import { textOfNames } from '../sdk/attachments.ts';
import type { OutgoingMessage } from '../sdk/types.ts';
import {
  applyCommand,
  cannedQuery,
  composerFor,
  hasContent,
  hasText,
  sendPermission,
  withBuffer,
  type ComposerState,
  type Keeping,
  type SendPermission,
} from './composer.ts';
import { ComposerFiles, filesStateOf, type ComposerFile, type FileSource } from './composer-files.ts';
import type { DeskContext } from './desk-context.ts';
import type { ConversationCommands } from './conversation-commands.ts';
import { createDraftPersistence, type DraftPersistence } from './draft-persistence.ts';
import type { Draft } from './drafts.ts';
import * as buffers from './editing/buffer.ts';
import { emptyHistory, remember } from './editing/history.ts';
import type { CommandName } from './keymap.ts';
import type { MessageEdits } from './message-edits.ts';
import { createSuggestions, type Suggestions } from './suggestions.ts';

const formattingMark = /[*_`[\]~#>]|\+\+|^\s*(?:[-+]|\d+[.)])\s/m;

/** What is sent for a text: Lexical where its Markdown says more than plain text, and fits. */
export async function toOutgoingMessage(text: string): Promise<OutgoingMessage> {
  const plain: OutgoingMessage = { content: text.trim(), contentFormat: 'plain' };
  if (!formattingMark.test(text)) return plain;
  // Most answers are plain: what reads Markdown is loaded with the first one that is not.
  const [{ markdownToLexical }, { isFormatted }] = await Promise.all([
    import('../text/markdown.ts'),
    import('./lexical-markdown.ts'),
  ]);
  const content = await markdownToLexical(plain.content);
  return isFormatted(content) && content.length <= sizeLimits.contentRest
    ? { content, contentFormat: 'lexical' }
    : plain;
}

/** The composer of the open conversation, kept in the store. */
export class ComposerController {
  readonly suggestions: Suggestions;
  /** Changes of own messages that are on their way, or came back. */
  readonly edits: MessageEdits = { saving: new Map(), unsaved: new Map() };
  /** Keeps a text for the assistant; set by who does. */
  keep: (text: string, keeping: Keeping) => Promise<void> = async () => undefined;
  readonly #context: DeskContext;
  readonly #commands: ConversationCommands;
  readonly #drafts: DraftPersistence;
  readonly #files: ComposerFiles;
  /** Sent and left before its files were there, by conversation. */
  readonly #waiting = new Map<string, Draft>();
  /** How much of what was sent or saved is on its way. */
  #underWay = 0;
  #history = emptyHistory;
  /** Texts leave one after the other: a slow one must not be overtaken. */
  #deliveries: Promise<void> = Promise.resolve();

  constructor(context: DeskContext, commands: ConversationCommands) {
    this.#context = context;
    this.#commands = commands;
    this.#drafts = createDraftPersistence(context);
    this.#files = new ComposerFiles(context, (id) => this.#filesChanged(id));
    this.suggestions = createSuggestions(context, (next) => this.#set(next));
  }

  /** What is being written; null: no conversation is open. */
  get state(): ComposerState | null {
    return this.#context.state.composer;
  }

  /** Takes what a step makes of the composer where one is shown, and keeps its text. */
  change(step: (now: ComposerState) => ComposerState): void {
    const now = this.state;
    if (now !== null) this.#set(step(now));
  }

  /** The composer for a conversation, with its draft. */
  open(conversationId: string): void {
    const before = this.state;
    if (before?.conversationId === conversationId) return;
    this.close();
    const waits = this.#waiting.get(conversationId);
    if (waits !== undefined) this.#drafts.restore(conversationId, waits);
    this.#waiting.delete(conversationId);
    const draft = this.#drafts.read(conversationId);
    const files = this.#files.of(conversationId);
    this.#context.store.set({
      composer: {
        ...composerFor(conversationId, draft?.text ?? '', draft?.note ?? false, this.#history, files),
        leaving: waits !== undefined,
      },
    });
  }

  /** The composer shows no conversation any more. What was sent goes on waiting for its files. */
  close(): void {
    const before = this.state;
    if (before === null) return;
    const { conversationId: id, buffer, note, leaving } = before;
    if (leaving) this.#waiting.set(id, this.#drafts.take(id, { text: buffer.text, note }));
    else this.#drafts.close(id);
    this.#context.store.set({ composer: null });
  }

  /** Files to go with what is written for the open conversation. */
  attach(sources: readonly FileSource[]): void {
    const now = this.state;
    if (now === null || now.editing !== null || now.keeping !== null || sources.length === 0) return;
    if (!now.note && ['closed', 'colleague'].includes(this.#permission(now)))
      return this.#explain(now.conversationId, now.buffer.text);
    this.#files.add(now.conversationId, sources);
  }

  /** Takes a file out again. */
  removeFile(key: string): void {
    if (this.state !== null) this.#files.remove(this.state.conversationId, key);
  }

  /** Uploads a file that failed once more. */
  retryFile(key: string): void {
    if (this.state !== null) this.#files.retry(this.state.conversationId, key);
  }

  /** Runs a command of the composer's; false: it is none. */
  run(command: CommandName): boolean {
    const now = this.state;
    if (now === null) return false;
    if (this.suggestions.run(command)) return true;
    // What is kept is for no visitor and no colleague.
    if (now.keeping !== null && (command === 'toggleNote' || command === 'aiDraft')) return true;
    switch (command) {
      case 'send':
        this.#send(now);
        return true;
      case 'lineUp':
      case 'lineDown':
      case 'lineStart':
      case 'lineEnd':
        this.#set(this.#context.moveCaret(now, command, this.#context.face));
        return true;
      case 'toggleNote':
        this.#set({ ...now, note: !now.note, leaving: false });
        if (!now.note) this.#context.client.setTyping(now.conversationId, false);
        return true;
      case 'editor':
        void import('./outer-editor.ts')
          .then(({ editOutside }) => editOutside(this.#context, this, now))
          .catch(this.#context.report);
        return true;
      case 'aiDraft':
        void this.suggestions.askDraft().catch(this.#context.report);
        return true;
      default: {
        const next = applyCommand(now, command, this.#context.motions);
        if (next !== null) this.#set(next);
        return next !== null;
      }
    }
  }

  /** Typed text at the caret. A slash at the beginning asks for the canned replies. */
  type(text: string): void {
    this.change((now) => withBuffer(now, buffers.insert(now.buffer, text)));
    if (this.state !== null && cannedQuery(this.state) !== null) void this.suggestions.loadCannedReplies();
  }

  /** The whole text as a face's own field has it. @param caret in UTF-16 units */
  setText(text: string, caret: number): void {
    this.change((now) => withBuffer(now, buffers.taken(now.buffer, text, caret)));
    if (this.state !== null && cannedQuery(this.state) !== null) void this.suggestions.loadCannedReplies();
  }

  paste(text: string): void {
    this.change((now) => withBuffer(now, buffers.paste(now.buffer, text)));
  }

  /** Removes the text; Undo brings it back. */
  clear(): void {
    this.change((now) => withBuffer(now, buffers.replaceAll(now.buffer, '')));
  }

  /** Begins a note or an answer; a text that is there stays what it is. */
  setNote(note: boolean): void {
    const now = this.state;
    if (now === null || now.note === note) return;
    // What was written for colleagues must never become an answer by accident, nor the other way round.
    if (hasText(now)) this.#context.flash(this.#context.say(now.note ? 'draftIsNote' : 'draftIsAnswer'));
    else this.#set({ ...now, note, leaving: false });
  }

  /** Another draft in the place of what is written, a note or an answer as a whole. What is being changed or kept stays. */
  setDraft({ text, note }: Draft): void {
    this.change((now) =>
      now.before === null
        ? { ...withBuffer(now, buffers.replaceAll(now.buffer, text)), note }
        : { ...now, before: { buffer: buffers.bufferOf(text), note } },
    );
  }

  /** What was being written before a change or something to keep was begun; false: nothing was. */
  cancelEdit(): boolean {
    const now = this.state;
    if (now === null || now.before === null) return false;
    this.#set({ ...now, ...now.before, editing: null, keeping: null, before: null, cannedIndex: 0 });
    return true;
  }

  /** Sends a failed message again; that it fails once more is shown beside it. */
  retry(key: string): void {
    this.#follow(this.#context.client.retry(key));
  }

  /** Takes back a message that is not sent yet. */
  discard(key: string): void {
    this.#context.client.discard(key);
  }

  /** Whether something was sent or saved that is not at the service yet: a page that is closed now would hold it back. */
  isLeaving(): boolean {
    return this.state?.leaving === true || this.#waiting.size > 0 || this.#underWay > 0;
  }

  #set(next: ComposerState): void {
    const before = this.state;
    if (before === next) return;
    this.#context.store.set({ composer: next });
    // While a message is being changed, the draft is what was there before.
    const { buffer, note } = next.before ?? next;
    this.#drafts.write(next.conversationId, { text: buffer.text, note });
    const isForVisitor = !next.note && next.keeping === null;
    if (before?.buffer.text !== next.buffer.text && isForVisitor && this.#permission(next) === 'answer')
      this.#context.client.setTyping(next.conversationId, next.buffer.text !== '');
  }

  /** Counts what is on its way; how it ends is told elsewhere. */
  #follow(sent: Promise<unknown>): void {
    const over = (): void => {
      this.#underWay -= 1;
    };
    this.#underWay += 1;
    sent.then(over, over);
  }

  #permission({ conversationId }: Pick<ComposerState, 'conversationId'>): SendPermission {
    return sendPermission(this.#context.item(conversationId), this.#context.memberId);
  }

  /** Whether the text can't go out as it is. */
  #isRefused(now: ComposerState): boolean {
    const permission = now.editing === null ? this.#permission(now) : 'answer';
    const isRefused =
      now.buffer.text.trim().length > sizeLimits.contentRest ||
      permission === 'closed' ||
      (permission === 'colleague' && !now.note);
    if (isRefused) this.#explain(now.conversationId, now.buffer.text);
    return isRefused;
  }

  /** Says why a text can't go out; what does is loaded with the first that can't. */
  #explain(conversationId: string, text: string, item = this.#context.item(conversationId)): void {
    void import('./refusals.ts')
      .then(({ explainRefusal }) => explainRefusal(this.#context, { conversationId, text, item }))
      .catch(this.#context.report);
  }

  #send(now: ComposerState): void {
    if (!hasContent(now)) return;
    if (now.keeping !== null) return void this.keep(now.buffer.text, now.keeping).catch(this.#context.report);
    if (this.#isRefused(now)) return;
    if (now.editing !== null)
      return this.#follow(this.#saveEdit(now, now.editing).catch(this.#context.report));
    const { buffer, note, conversationId: id } = now;
    const uploads = filesStateOf(now.files);
    if (uploads === 'failed') return this.#context.flash(this.#context.say('fileFailed'), 'bad');
    if (uploads === 'busy') return this.#context.store.set({ composer: { ...now, leaving: true } });
    const files = this.#files.take(id);
    const left = this.#drafts.take(id, { text: buffer.text, note });
    // What was meant for colleagues must not come back as an answer.
    if (!note) this.#history = remember(this.#history, buffer.text);
    this.#set({
      ...now,
      buffer: buffers.cleared(buffer),
      note: false,
      ai: null,
      history: this.#history,
      cannedIndex: 0,
      files: [],
      leaving: false,
    });
    const { open } = this.#context.state;
    if (open?.id === id)
      this.#context.store.set({
        open: { ...open, atEnd: true, selected: null, unreadFrom: null, unseen: 0 },
      });
    this.#queue(id, left, files);
    return undefined;
  }

  #queue(id: string, left: Draft, files: readonly ComposerFile[]): void {
    this.#deliveries = this.#deliveries
      .then(() => this.#deliver(id, left, files))
      .catch(this.#context.report);
    this.#follow(this.#deliveries);
  }

  /** Files came, went, or are further on their way. */
  #filesChanged(id: string): void {
    const files = this.#files.of(id);
    const uploads = filesStateOf(files);
    const now = this.state;
    if (now?.conversationId === id) {
      const next = { ...now, files, leaving: now.leaving && uploads === 'busy' };
      this.#context.store.set({ composer: next });
      if (now.leaving && uploads === 'ready') this.#send(next);
      return;
    }
    const left = this.#waiting.get(id);
    if (left === undefined || uploads === 'busy') return;
    this.#waiting.delete(id);
    if (uploads !== 'failed') return this.#queue(id, left, this.#files.take(id));
    this.#giveBack(id, left, []);
    this.#context.flash(this.#context.say('fileFailed'), 'bad');
  }

  async #deliver(id: string, left: Draft, files: readonly ComposerFile[]): Promise<void> {
    let sent = false;
    try {
      const names = textOfNames(files.map(({ name }) => name));
      const text = left.text.trim() === '' ? { content: names } : await toOutgoingMessage(left.text);
      const attachments = files.flatMap(({ uploaded }) => (uploaded === null ? [] : [uploaded.id]));
      const outgoing: OutgoingMessage = { ...text, ...(attachments.length > 0 && { attachments }) };
      if (left.note || (await this.#mayAnswer(id, left.text))) {
        this.#follow(this.#context.client.sendMessage(id, outgoing, { internal: left.note }));
        sent = true;
      }
    } finally {
      if (sent) this.#drafts.confirm(id, left);
      else this.#giveBack(id, left, files);
    }
  }

  /** Whether an answer may go now; a conversation that waits is accepted for it. Why it may not is said. */
  async #mayAnswer(id: string, text: string): Promise<boolean> {
    const { client, memberId } = this.#context;
    // What has left the queue is forgotten, and stands as it stood before.
    const item = this.#context.item(id) ?? (await client.getConversation(id));
    const permission = sendPermission(item, memberId);
    if (permission === 'accepts')
      // Where it failed, that was explained; it may be the operator's already.
      return (await this.#commands.accept(id)) || this.#permission({ conversationId: id }) === 'answer';
    if (permission !== 'answer') this.#explain(id, text, item);
    return permission === 'answer';
  }

  /** It could not leave: it stands before what was written since. */
  #giveBack(id: string, left: Draft, files: readonly ComposerFile[]): void {
    this.#files.giveBack(id, files);
    this.#drafts.restore(id, left);
    const draft = this.#drafts.read(id);
    if (this.state?.conversationId === id && draft !== null) this.setDraft(draft);
  }

  /** What saves a change is loaded with the first one. */
  async #saveEdit(now: ComposerState, messageId: string): Promise<void> {
    const { saveEdit } = await import('./message-edits.ts');
    const end = (): boolean => this.cancelEdit();
    await saveEdit(this.#context, { edits: this.edits, toOutgoing: toOutgoingMessage, end }, now, messageId);
  }
}
