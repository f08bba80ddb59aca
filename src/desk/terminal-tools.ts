// Owns the tools of a desk in a terminal: it edits text itself, and has everything at once.
import { Acts } from './acts.ts';
import { moveCaret } from './caret-motion.ts';
import * as buffers from './editing/buffer.ts';
import { Dialogs } from './dialogs.ts';
import { FileCommands } from './file-commands.ts';
import { Learning } from './learning.ts';
import type { DeskTools } from './tools.ts';

export const terminalTools: DeskTools = {
  motions: {
    newline: buffers.newLine,
    left: buffers.moveLeft,
    right: buffers.moveRight,
    wordLeft: buffers.moveWordLeft,
    wordRight: buffers.moveWordRight,
    textStart: buffers.moveTextStart,
    textEnd: buffers.moveTextEnd,
    deleteBack: buffers.deleteBack,
    deleteForward: buffers.deleteForward,
    deleteWord: buffers.deleteWordBack,
    deleteWordForward: buffers.deleteWordForward,
    killToEnd: buffers.killToLineEnd,
    killToStart: buffers.killToLineStart,
    yank: buffers.yank,
    yankOlder: buffers.yankOlder,
    undo: buffers.undo,
    redo: buffers.redo,
  },
  moveCaret,
  acts: (context, parts) => new Acts(context, parts),
  learning: (context, parts) => new Learning(context, parts),
  dialogs: (context, parts) => new Dialogs(context, parts),
  loadDrafting: () => import('./ai-draft.ts'),
  files: (context, composer, navigation) => new FileCommands(context, composer, navigation),
};
