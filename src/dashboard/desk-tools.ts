// Owns the tools of a desk in a browser: the field edits its text itself, files are chosen and kept by the browser, and
// what is learnt is loaded when it is asked for.
import type { DeskContext } from '../desk/desk-context.ts';
import { newLine } from '../desk/editing/buffer.ts';
import type { Learning, LearningParts } from '../desk/learning.ts';
import type { DeskTools, LearningTool } from '../desk/tools.ts';

function learningOnUse(context: DeskContext, parts: LearningParts): LearningTool {
  let loading: Promise<Learning> | null = null;
  const use = async (act: (learning: Learning) => Promise<void> | void): Promise<void> => {
    loading ??= import('../desk/learning.ts').then(({ Learning }) => new Learning(context, parts));
    try {
      await act(await loading);
    } catch (error) {
      // Without a connection nothing was loaded: the next use tries again.
      loading = null;
      context.report(error);
    }
  };
  return {
    showGaps: () => use((learning) => learning.showGaps()),
    choose: (choice) => void use((learning) => learning.choose(choice)),
    beginKeep: () => void use((learning) => learning.beginKeep()),
    keepTitle: (choice, reviewed) => use((learning) => learning.keepTitle(choice, reviewed)),
  };
}

const nothing = (): Promise<void> => Promise.resolve();

export const browserTools: DeskTools = {
  motions: { newline: newLine },
  learning: learningOnUse,
  files: (context, composer, navigation) => ({
    attach: () => {
      if (context.state.open === null) return;
      navigation.setFocus('composer');
      context.face.chooseFiles?.();
    },
    changeAttached: (act) => {
      const [what, key = ''] = act.split(':');
      if (what === 'retry') composer.retryFile(key);
      else composer.removeFile(key);
    },
    save: () => undefined,
    open: () => undefined,
    askPath: () => undefined,
    attachPath: nothing,
    saveTo: nothing,
    openFile: nothing,
  }),
};
