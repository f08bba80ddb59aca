// What is being written: a text for one conversation, whether it is a note, whether it changes a message. Pure; it is sent
// and kept by composer-controller.ts.
import type { CannedReply, StaffConversationListItem } from '../protocol/entities.ts';
import type { ComposerFile } from './composer-files.ts';
import * as buffers from './editing/buffer.ts';
import type { EditBuffer } from './editing/buffer.ts';
import type { History } from './editing/history.ts';
import { fittingNames, mentionQuery, type Nameable } from '../text/mentions.ts';
import type { CommandName } from './keymap.ts';
import type { Motions } from './tools.ts';

/** An answer that is to be kept for the assistant, being read and changed by the operator. */
export interface Keeping {
  readonly applicationId: string;
  /** The entries of the log that it answers; null: not known yet. */
  readonly settles: readonly string[] | null;
  /** The text in which something was pointed out that may be of a person. */
  readonly refused: string | null;
}

export interface ComposerState {
  readonly conversationId: string;
  readonly buffer: EditBuffer;
  /** Written for colleagues only. */
  readonly note: boolean;
  /** The id of the own message that is being changed. */
  readonly editing: string | null;
  /** The text is kept for the assistant, not sent: its first line is the question. */
  readonly keeping: Keeping | null;
  /** What was being written before the change began. */
  readonly before: { readonly buffer: EditBuffer; readonly note: boolean } | null;
  /** `asking`: a draft by the assistant is on its way; `drafted`: the text is its, and unchanged. */
  readonly ai: 'asking' | 'drafted' | null;
  readonly history: History;
  /** The choice among canned replies; null: put away until the text changes. */
  readonly cannedIndex: number | null;
  /** What goes with the text. */
  readonly files: readonly ComposerFile[];
  /** It was sent while files were on their way: it leaves when they are there. */
  readonly leaving: boolean;
}

/** What may be written to a conversation, and what becomes of it. */
export type SendPermission =
  /** To the visitor. */
  | 'answer'
  /** To the visitor, after the conversation is accepted. */
  | 'accepts'
  /** Notes only: a colleague has it. */
  | 'colleague'
  /** Nothing: it is closed. */
  | 'closed';

/** What a text to a conversation would become now; an unknown conversation takes nothing. */
export function sendPermission(
  item: Pick<StaffConversationListItem, 'status' | 'assignedTo'> | undefined,
  memberId: string,
): SendPermission {
  if (item === undefined || item.status === 'closed') return 'closed';
  if (item.status === 'pending') return 'accepts';
  return item.assignedTo === memberId ? 'answer' : 'colleague';
}

/** A composer at rest, with a draft in it; the caret at its end. */
export function composerFor(
  conversationId: string,
  text: string,
  note: boolean,
  history: History,
  files: readonly ComposerFile[] = [],
): ComposerState {
  return {
    conversationId,
    buffer: buffers.bufferOf(text),
    note,
    editing: null,
    keeping: null,
    before: null,
    ai: null,
    history,
    cannedIndex: 0,
    files,
    leaving: false,
  };
}

/** Whether there is anything to send. */
export function hasContent(composer: ComposerState | null): boolean {
  if (composer === null || hasText(composer)) return composer !== null;
  return composer.editing === null && composer.keeping === null && composer.files.length > 0;
}

/** Whether anything is written. */
export function hasText(composer: ComposerState | null): boolean {
  return composer !== null && composer.buffer.text.trim() !== '';
}

/** The composer with another buffer. A changed text is no draft of the assistant's any more, and asks anew for canned replies. */
export function withBuffer(composer: ComposerState, buffer: EditBuffer): ComposerState {
  if (buffer === composer.buffer) return composer;
  if (buffer.text === composer.buffer.text) return { ...composer, buffer };
  // What is still being written must not leave by itself.
  return {
    ...composer,
    buffer,
    leaving: false,
    ai: composer.ai === 'drafted' ? null : composer.ai,
    cannedIndex: 0,
  };
}

/** The composer after a command that concerns its text alone; null: the command is none of those. */
export function applyCommand(
  composer: ComposerState,
  command: CommandName,
  motions: Motions,
): ComposerState | null {
  const motion = motions[command];
  return motion === undefined ? null : withBuffer(composer, motion(composer.buffer));
}

/** What is looked for among the canned replies: the word behind a `/` that begins the text; null: nothing is. */
export function cannedQuery(composer: ComposerState): string | null {
  if (composer.cannedIndex === null) return null;
  const { text, caret } = composer.buffer;
  if (caret !== text.length) return null;
  return /^\/([\p{L}\p{N}_-]{0,50})$/u.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** Who may be named in a note at the caret, and where their name begins; null: no name is being typed. */
export interface MentionChoices {
  /** Where the `@` stands. */
  readonly start: number;
  readonly people: readonly Nameable[];
}

const maxNames = 8;

/** The colleagues whose name is being typed behind an `@` of a note. */
export function mentionChoices(
  composer: ComposerState,
  colleagues: readonly Nameable[] | null,
): MentionChoices | null {
  if (!composer.note || composer.cannedIndex === null) return null;
  const query = mentionQuery(composer.buffer.text.slice(0, composer.buffer.caret));
  if (query === null) return null;
  const people = fittingNames(query.typed, colleagues ?? []);
  // A name that is there in full is chosen already.
  const isWhole = people.some(({ name }) => name.toLowerCase() === query.typed.trimEnd().toLowerCase());
  return people.length === 0 || isWhole ? null : { start: query.start, people: people.slice(0, maxNames) };
}

/** The canned replies that fit, those first whose shortcut begins so. */
export function fittingReplies(
  replies: readonly CannedReply[] | null,
  query: string,
): readonly CannedReply[] {
  const begins = (one: CannedReply): boolean => one.shortcut.startsWith(query);
  const fits = (replies ?? []).filter(
    (one) =>
      begins(one) ||
      one.shortcut.includes(query) ||
      (query.length > 2 && one.content.toLowerCase().includes(query)),
  );
  return fits.toSorted(
    (one, other) => Number(begins(other)) - Number(begins(one)) || (one.shortcut < other.shortcut ? -1 : 1),
  );
}
