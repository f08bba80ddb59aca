// The terminal's window over the console's state: its size, how the panes share it, and what is in sight. Answers what
// the model asks of its face, in rows and columns. Draws nothing.
import type { DeskController } from '../../../desk/desk-controller.ts';
import type { Face, RowMotion } from '../../../desk/desk-context.ts';
import type { DeskState } from '../../../desk/desk-state.ts';
import type { EditBuffer } from '../../../desk/editing/buffer.ts';
import { cursorIndex, shownCursor, shownRows, shownSearch } from '../../../desk/queue.ts';
import { shownMessages } from '../../../desk/shown-messages.ts';
import { createStore, type Store } from '../../../desk/store.ts';
import { moveDown, moveRowEnd, moveRowStart, moveUp, onFirstRow, onLastRow } from '../text/row-motions.ts';
import { messageBlocks } from './message-lines.ts';
import { layoutOfState, type PaneLayout } from './pane-layout.ts';
import { queueHeight, scrollTo } from './queue-lines.ts';
import type { Anchor, ViewState, WindowState } from './view-state.ts';
import { scrollBy, scrollIntoView, scrollToTop, viewportOf, type MessageBlocks } from './viewport.ts';

/** Older messages are asked for when the first one in sight is one of the first so many. */
const nearBeginning = 5;

export class TerminalView implements Face {
  readonly #model: DeskController;
  readonly #window: Store<WindowState>;
  readonly #redraw: () => void;
  /** First rows in sight, by what the queue shows. */
  readonly #queueTops = new Map<string, number>();
  #dialog: DeskState['dialog'] = null;
  #drawn: { readonly model: DeskState; readonly window: WindowState; readonly state: ViewState } | null =
    null;

  /** @param redraw draws the whole screen anew */
  constructor(model: DeskController, size: { columns: number; rows: number }, redraw: () => void) {
    this.#model = model;
    this.#redraw = redraw;
    this.#window = createStore({ ...size, anchor: null, dialogTop: 0 });
    model.attach(this);
    model.setPanes(this.layout.panes);
  }

  /** What is to be drawn; the same object until something changes. */
  readonly get = (): ViewState => {
    const model = this.#model.store.get();
    const window = this.#window.get();
    if (this.#drawn?.model !== model || this.#drawn.window !== window) {
      const dialogTop = model.dialog === this.#dialog ? window.dialogTop : 0;
      const anchor = model.open?.atEnd === true ? null : window.anchor;
      this.#drawn = { model, window, state: { ...model, ...window, anchor, dialogTop } };
    }
    return this.#drawn.state;
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    const undo = [this.#model.store.subscribe(listener), this.#window.subscribe(listener)];
    return () => {
      for (const off of undo) off();
    };
  };

  get layout(): PaneLayout {
    return layoutOfState(this.get());
  }

  readonly resize = (columns: number, rows: number): void => {
    const before = this.#window.get();
    if (columns === before.columns && rows === before.rows) return;
    this.#window.set({ columns, rows });
    this.#model.setPanes(this.layout.panes);
    this.#scrollBy(0);
  };

  /** The first row of the queue in sight, so that the cursor is too; moved as little as possible. */
  queueTop(): number {
    const state = this.get();
    const { queue, session } = state;
    const rows = shownRows(queue, session?.member.id ?? '');
    const list = shownSearch(queue) === null ? queue.tab : 'search';
    const index = Math.max(0, cursorIndex(rows, shownCursor(queue)));
    const height = queueHeight(state, this.layout);
    const top = scrollTo(this.#queueTops.get(list) ?? 0, index, height, rows.length);
    this.#queueTops.set(list, top);
    return top;
  }

  queuePageSize(): number {
    return queueHeight(this.get(), this.layout);
  }

  isNearBeginning(): boolean {
    const { open, anchor } = this.get();
    if (open === null) return false;
    const { atTop, lines } = viewportOf(this.#blocks(), anchor, this.layout.messageRows);
    const first = lines[0]?.key;
    return atTop || shownMessages(open).findIndex(({ key }) => key === first) <= nearBeginning;
  }

  scroll(to: 'pageUp' | 'pageDown' | 'first'): void {
    const { messageRows } = this.layout;
    const page = Math.max(1, messageRows - 2);
    if (to === 'first') this.#setAnchor(scrollToTop(this.#blocks(), messageRows));
    else this.#scrollBy(to === 'pageUp' ? page : -page);
  }

  reveal(key: string): void {
    this.#setAnchor(scrollIntoView(this.#blocks(), this.get().anchor, key, this.layout.messageRows));
  }

  scrollDialog(by: number): void {
    const top = Math.max(0, this.get().dialogTop + by);
    this.#dialog = this.get().dialog;
    this.#window.set({ dialogTop: top });
  }

  moveCaret(buffer: EditBuffer, motion: RowMotion): EditBuffer | null {
    const { composerColumns: columns } = this.layout;
    switch (motion) {
      case 'lineUp':
        return onFirstRow(buffer, columns) ? null : moveUp(buffer, columns);
      case 'lineDown':
        return onLastRow(buffer, columns) ? null : moveDown(buffer, columns);
      case 'lineStart':
        return moveRowStart(buffer, columns);
      case 'lineEnd':
        return moveRowEnd(buffer, columns);
    }
  }

  redraw(): void {
    this.#redraw();
  }

  #blocks(): MessageBlocks {
    const { conversationColumns, compact } = this.layout;
    return messageBlocks(this.get(), conversationColumns, compact);
  }

  /** @param lines towards the beginning where positive */
  #scrollBy(lines: number): void {
    this.#setAnchor(scrollBy(this.#blocks(), this.get().anchor, lines, this.layout.messageRows));
  }

  #setAnchor(anchor: Anchor | null): void {
    this.#window.set({ anchor });
    this.#model.conversation.setAtEnd(anchor === null);
  }
}
