// Owns the tools of a desk in a browser: the field edits its text itself, files are chosen and kept by the browser, and
// what is learnt, and what lies over the panes, is loaded when it is asked for.
import type { ActParts, Acts } from '../desk/acts.ts';
import { targetConversation, targetMessage } from '../desk/available-commands.ts';
import type { DeskContext } from '../desk/desk-context.ts';
import { newLine } from '../desk/editing/buffer.ts';
import type { DialogParts, Dialogs } from '../desk/dialogs.ts';
import type { Learning, LearningParts } from '../desk/learning.ts';
import type { DeskState } from '../desk/desk-state.ts';
import type { ActTool, DeskTools, DialogTool, LearningTool } from '../desk/tools.ts';

/** How what is used seldom is fetched, each with what it says. */
export interface LoadTools {
  dialogs(): Promise<{ readonly Dialogs: typeof Dialogs }>;
  acts(): Promise<{ readonly Acts: typeof Acts }>;
  learning(): Promise<{ readonly Learning: typeof Learning }>;
}

function learningOnUse(
  load: LoadTools['learning'],
  context: DeskContext,
  parts: LearningParts,
): LearningTool {
  let loading: Promise<Learning> | null = null;
  const use = async (act: (learning: Learning) => Promise<void> | void): Promise<void> => {
    loading ??= load().then(({ Learning }) => new Learning(context, parts));
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
function dialogsOnUse(load: LoadTools['dialogs'], context: DeskContext, parts: DialogParts): DialogTool {
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

/**
 * What a command would concern now: as long as it is the same, a command may still be carried out. What a visitor writes
 * in between changes nothing of it.
 */
function aimOf(state: DeskState): string {
  const { focus, open, marked, dialog } = state;
  const places = [focus, open?.id, open?.selected, dialog?.kind];
  return [...places, targetConversation(state)?.id, targetMessage(state, true)?.key, ...marked].join(' ');
}

/** A command that is given before they are there is carried out then, where it still concerns the same. */
function actsOnUse(load: LoadTools['acts'], context: DeskContext, parts: ActParts): ActTool {
  let acts: Acts | null = null;
  return {
    run: (command) => {
      if (acts !== null) return acts.run(command);
      const aim = aimOf(context.state);
      load().then(
        (file) => {
          acts ??= new file.Acts(context, parts);
          if (aimOf(context.state) === aim) acts.run(command);
        },
        (error: unknown) => context.report(error),
      );
      return undefined;
    },
  };
}

const nothing = (): Promise<void> => Promise.resolve();

/** @param load where the file of what lies over the panes can't be fetched, who draws them says so */
export const createBrowserTools = (load: LoadTools): DeskTools => ({
  motions: { newline: newLine },
  moveCaret: (composer) => composer,
  acts: (context, parts) => actsOnUse(load.acts, context, parts),
  learning: (context, parts) => learningOnUse(load.learning, context, parts),
  dialogs: (context, parts) => dialogsOnUse(load.dialogs, context, parts),
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
