// What a terminal's window adds to the console's state: its size, and what of the state is in sight.
import type { DeskState } from '../../../desk/desk-state.ts';

/** Where the conversation's window stands: its last line is so many lines above the end of a message. */
export interface Anchor {
  /** The message's `key`. */
  readonly key: string;
  /** Lines of that message below the window. */
  readonly below: number;
}

export interface WindowState {
  readonly columns: number;
  readonly rows: number;
  /** Null: at the end, and staying there. */
  readonly anchor: Anchor | null;
  /** The first line in sight of help or the visitor's data. */
  readonly dialogTop: number;
}

/** All that is drawn. */
export type ViewState = DeskState & WindowState;
