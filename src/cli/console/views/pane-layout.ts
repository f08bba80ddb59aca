// How the window is shared out among the panes. Pure: a function of its size, of what is
// focused where only one pane fits, and of how tall the composer has grown.
import type { ComposerState } from '../../../desk/composer.ts';
import type { Focus, PaneCount } from '../../../desk/desk-state.ts';
import { caretPosition } from '../text/text-layout.ts';
import type { ViewState } from './view-state.ts';

export interface PaneLayout {
  readonly columns: number;
  readonly rows: number;
  readonly panes: PaneCount;
  /** A small window: one line per conversation, no header, no blank lines. */
  readonly compact: boolean;
  readonly showQueue: boolean;
  readonly showConversation: boolean;
  readonly queueColumns: number;
  readonly conversationColumns: number;
  readonly visitorColumns: number;
  /** Of the panes, with their title line. */
  readonly bodyRows: number;
  /** Conversations that fit in the queue. */
  readonly queueHeight: number;
  readonly rowsPerConversation: 1 | 2;
  /** Lines of messages. */
  readonly messageRows: number;
  readonly composerRows: number;
  readonly composerColumns: number;
}

/** Below this nothing can be shown. */
export const minimumSize = { columns: 20, rows: 6 } as const;

/**
 * @param focus what is in sight where one pane must do
 * @param textRows how many rows the composer's text takes; 0: there is no composer
 */
function paneLayout(columns: number, rows: number, focus: Focus, textRows: number): PaneLayout {
  const panes = columns >= 120 ? 3 : columns >= 80 ? 2 : 1;
  const compact = rows < 20;
  const header = compact ? 0 : 1;
  const footer = compact ? 1 : 2;
  const bodyRows = Math.max(3, rows - header - footer);
  const queueColumns =
    panes === 1
      ? columns
      : Math.round(Math.min(48, Math.max(panes === 3 ? 35 : 33, columns * (panes === 3 ? 0.26 : 0.38))));
  const visitorColumns = panes === 3 ? Math.round(Math.min(42, Math.max(28, columns * 0.22))) : 0;
  // One column between panes.
  const conversationColumns =
    panes === 1 ? columns : columns - queueColumns - 1 - (panes === 3 ? visitorColumns + 1 : 0);
  const rowsPerConversation = compact ? 1 : 2;
  // The tabs are the title.
  const queueRows = bodyRows - 1;
  const minComposerRows = compact ? 1 : bodyRows >= 30 ? 3 : 2;
  const maxComposerRows = Math.max(1, Math.min(14, Math.floor((bodyRows - 2) / 2)));
  const composerRows = textRows === 0 ? 0 : Math.min(maxComposerRows, Math.max(minComposerRows, textRows));
  return {
    columns,
    rows,
    panes,
    compact,
    showQueue: panes > 1 || focus === 'queue',
    showConversation: panes > 1 || focus !== 'queue',
    queueColumns,
    conversationColumns,
    visitorColumns,
    bodyRows,
    queueHeight: Math.max(1, Math.floor(queueRows / rowsPerConversation)),
    rowsPerConversation,
    // Title, and the line above the composer.
    messageRows: Math.max(1, bodyRows - 1 - (composerRows === 0 ? 0 : composerRows + 1)),
    composerRows,
    composerColumns: Math.max(4, conversationColumns - 4),
  };
}

/** How many rows the text takes in a box of so many columns. */
function composerLines({ buffer }: ComposerState, columns: number): number {
  return caretPosition(buffer.text, buffer.caret, columns).rowCount;
}

/** The layout of what is to be drawn; the composer's height is part of it. */
export function layoutOfState({ columns, rows, focus, composer }: ViewState): PaneLayout {
  if (composer === null) return paneLayout(columns, rows, focus, 0);
  const { composerColumns } = paneLayout(columns, rows, focus, 1);
  return paneLayout(columns, rows, focus, composerLines(composer, composerColumns));
}
