// Owns the tools of a desk in a browser: the field edits its text itself, files are chosen and kept by the browser, and
// what is learnt, what lies over the panes and what is done to conversations is loaded when it is asked for.
import type { Acts } from '../desk/acts.ts';
import type { DeskContext } from '../desk/desk-context.ts';
import { newLine } from '../desk/editing/buffer.ts';
import type { Dialogs } from '../desk/dialogs.ts';
import type { stillMeant } from '../desk/late-commands.ts';
import type { Learning } from '../desk/learning.ts';
import type { DeskState } from '../desk/desk-state.ts';
import type { DeskTools, LearningTool } from '../desk/tools.ts';

type Late = Readonly<Record<'stillMeant', typeof stillMeant>>;

/** How what is used seldom is fetched, each with what it says. */
export interface LoadTools {
  dialogs(): Promise<Late & { readonly Dialogs: typeof Dialogs }>;
  acts(): Promise<Late & { readonly Acts: typeof Acts }>;
  learning(): Promise<Late & { readonly Learning: typeof Learning }>;
  drafting(): ReturnType<DeskTools['loadDrafting']>;
}

type Use<T> = (act: (tool: T) => void) => void;

/**
 * What is asked of a tool before it is there happens then, in its order, where it still concerns the same.
 * @param load fetches its file; where that fails, the next use tries again
 */
function onUse<F extends Late, T>(
  load: () => Promise<F>,
  context: DeskContext,
  make: (file: F) => T,
  failed: (error: unknown) => void,
): Use<T> {
  let tool: T | null = null;
  const waiting: (readonly [then: DeskState, act: (tool: T) => void])[] = [];
  return (act) => {
    if (tool !== null) return act(tool);
    if (waiting.push([context.state, act]) > 1) return undefined;
    load().then(
      (file) => {
        const made = (tool = make(file));
        for (const [then, late] of waiting.splice(0)) if (file.stillMeant(context, then)) late(made);
      },
      (error: unknown) => {
        waiting.length = 0;
        failed(error);
      },
    );
    return undefined;
  };
}

const nothing = (): Promise<void> => Promise.resolve();

/** @param load where the file of what lies over the panes can't be fetched, who draws them says so */
export const createBrowserTools = (load: LoadTools): DeskTools => ({
  motions: { newline: newLine },
  moveCaret: (composer) => composer,
  acts: (context, parts) => {
    const use = onUse(load.acts, context, ({ Acts }) => new Acts(context, parts), context.report);
    return { run: (command) => use((acts) => acts.run(command)) };
  },
  learning: (context, parts): LearningTool => {
    const use = onUse(load.learning, context, ({ Learning }) => new Learning(context, parts), context.report);
    const began = (act: (learning: Learning) => void): Promise<void> => {
      use(act);
      return nothing();
    };
    return {
      showGaps: () => began((learning) => void learning.showGaps()),
      choose: (choice) => use((learning) => learning.choose(choice)),
      beginKeep: () => use((learning) => learning.beginKeep()),
      keepTitle: (choice, reviewed) => began((learning) => void learning.keepTitle(choice, reviewed)),
    };
  },
  dialogs: (context, parts) => {
    const use = onUse(
      load.dialogs,
      context,
      ({ Dialogs }) => new Dialogs(context, parts),
      () => undefined,
    );
    return {
      press: (command, press) => use((one) => one.press(command, press)),
      setFilter: (filter) => use((one) => one.setFilter(filter)),
      choose: (index) => use((one) => one.choose(index)),
      confirm: () => use((one) => one.confirm()),
    };
  },
  loadDrafting: load.drafting,
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
