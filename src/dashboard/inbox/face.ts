// Owns how the model reaches what is drawn: the queue's list and the conversation's log tell here what they can do.
import type { Face } from '../../desk/desk-context.ts';

/** What the log of the open conversation can do. */
export interface LogHandle {
  isNearBeginning(): boolean;
  scroll(to: 'pageUp' | 'pageDown' | 'first'): void;
  reveal(key: string): void;
}

/** What the queue's list can do. */
export interface ListHandle {
  pageSize(): number;
}

/** What the composer can do. */
export interface ComposerHandle {
  chooseFiles(): void;
}

export const handles: {
  log: LogHandle | null;
  list: ListHandle | null;
  composer: ComposerHandle | null;
} = { log: null, list: null, composer: null };

/** The browser as a face of the desk. */
export const face: Face = {
  queuePageSize: () => handles.list?.pageSize() ?? 10,
  isNearBeginning: () => handles.log?.isNearBeginning() ?? false,
  scroll: (to) => handles.log?.scroll(to),
  reveal: (key) => handles.log?.reveal(key),
  scrollDialog: (by) => document.querySelector('dialog[open] .dialog-content')?.scrollBy({ top: by * 40 }),
  moveCaret: () => null,
  redraw: () => undefined,
  chooseFiles: () => handles.composer?.chooseFiles(),
};
