// Owns what of the desk a face brings along, because not every face has it, or has it at once: a browser edits text by
// itself, and loads what is used seldom when it is used.
import type { ActParts, Acts } from './acts.ts';
import type { ComposerController } from './composer-controller.ts';
import type * as Drafting from './ai-draft.ts';
import type { ComposerState } from './composer.ts';
import type { DeskContext, Face, RowMotion } from './desk-context.ts';
import type { DialogParts, Dialogs } from './dialogs.ts';
import type { EditBuffer } from './editing/buffer.ts';
import type { FileCommands } from './file-commands.ts';
import type { CommandName } from './keymap.ts';
import type { Learning, LearningParts } from './learning.ts';
import type { Navigation } from './navigation.ts';

/** What commands do to a text that is written. */
export type Motions = Readonly<Partial<Record<CommandName, (buffer: EditBuffer) => EditBuffer>>>;

/** What the assistant learns, as the desk uses it. */
export type LearningTool = Pick<Learning, keyof Learning>;
/** What is done with files, as the desk uses it. */
export type FileTool = Pick<FileCommands, keyof FileCommands>;

/** Keys and choices of what lies over the panes, as the desk uses them. */
export type DialogTool = Pick<Dialogs, keyof Dialogs>;

/** What is done to conversations and messages, as the desk uses it. */
export type ActTool = Pick<Acts, 'run'>;

export interface DeskTools {
  readonly motions: Motions;
  /** The composer after a motion between rows. */
  moveCaret(composer: ComposerState, motion: RowMotion, face: Face): ComposerState;
  acts(context: DeskContext, parts: ActParts): ActTool;
  learning(context: DeskContext, parts: LearningParts): LearningTool;
  dialogs(context: DeskContext, parts: DialogParts): DialogTool;
  /** What asks the assistant, with what it says. */
  loadDrafting(): Promise<typeof Drafting>;
  files(context: DeskContext, composer: ComposerController, navigation: Navigation): FileTool;
}
