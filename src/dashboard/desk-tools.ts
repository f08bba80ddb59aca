// Owns the tools of a desk in a browser: the field edits its text itself, files are chosen and kept by the browser, and
// what is learnt, and what lies over the panes, is loaded when it is asked for.
import type { DeskContext } from '../desk/desk-context.ts';
import { newLine } from '../desk/editing/buffer.ts';
import type { DialogParts, Dialogs } from '../desk/dialogs.ts';
import type { Learning, LearningParts } from '../desk/learning.ts';
import type { DeskTools, DialogTool, LearningTool } from '../desk/tools.ts';

export type LoadDialogs = () => Promise<{ readonly Dialogs: typeof Dialogs }>;

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

/** What is pressed before they are there happens then, in its order. @param load fetches the file they come in */
function dialogsOnUse(load: LoadDialogs, context: DeskContext, parts: DialogParts): DialogTool {
  let dialogs: Dialogs | null = null;
  const waiting: ((dialogs: Dialogs) => void)[] = [];
  const use = (act: (dialogs: Dialogs) => void): void => {
    if (dialogs !== null) return act(dialogs);
    waiting.push(act);
    if (waiting.length > 1) return undefined;
    load().then(
      (file) => {
        dialogs = new file.Dialogs(context, parts);
        for (const one of waiting.splice(0)) one(dialogs);
      },
      () => void waiting.splice(0),
    );
    return undefined;
  };
  return {
    press: (command, press) => use((one) => one.press(command, press)),
    setFilter: (filter) => use((one) => one.setFilter(filter)),
    choose: (index) => use((one) => one.choose(index)),
    confirm: () => use((one) => one.confirm()),
  };
}

const nothing = (): Promise<void> => Promise.resolve();

/** @param loadDialogs fetches the file with what lies over the panes; where that fails, who draws them says so */
export const createBrowserTools = (loadDialogs: LoadDialogs): DeskTools => ({
  motions: { newline: newLine },
  learning: learningOnUse,
  dialogs: (context, parts) => dialogsOnUse(loadDialogs, context, parts),
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
});
