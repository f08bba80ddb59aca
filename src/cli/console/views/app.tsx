// The console on the screen: panes, frame and what is laid over them, from the model's
// state; keys and pastes back to the model. Must not decide anything.
import { Box, Text, useApp, useCursor, useInput, usePaste, useWindowSize } from 'ink';
import { memo, useEffect, useMemo, useRef, useSyncExternalStore, type ReactElement } from 'react';
import { keyPressesOf } from '../ink-keys.ts';
import type { Keymap } from '../../../desk/keymap.ts';
import { keyScopeOf } from '../../../desk/available-commands.ts';
import type { DeskController } from '../../../desk/desk-controller.ts';
import type { PaneLayout } from './pane-layout.ts';
import { minimumSize } from './pane-layout.ts';
import { isWatching } from '../../../desk/shown-messages.ts';
import type { ViewState } from './view-state.ts';
import type { Line } from '../text/types.ts';
import {
  cannedLines,
  composerBody,
  composerRule,
  composerText,
  conversationTitle,
  fileLines,
  messageLinesInSight,
} from './conversation-lines.ts';
import { overlayOf, type Overlay } from './dialog-lines.ts';
import { footerLines, headerLine } from './frame-lines.ts';
import { fitLine, titleRule, fitHeight } from './line-layout.ts';
import { queueLines, searchCaret } from './queue-lines.ts';
import { Rows } from './rows.tsx';
import type { TerminalView } from './terminal-view.ts';
import { visitorLines } from './visitor-lines.ts';

/** A line between panes. */
const Divider = memo(function Divider({ height }: { readonly height: number }): ReactElement {
  return (
    <Box width={1} height={height} flexShrink={0}>
      <Text dimColor>{Array.from({ length: height }, () => '│').join('\n')}</Text>
    </Box>
  );
});

function visitorPane(state: ViewState, layout: PaneLayout): readonly Line[] {
  const { visitorColumns: columns, bodyRows } = layout;
  const lines = visitorLines(state, columns - 2).map((line): Line => [{ text: ' ' }, ...line]);
  return [
    titleRule([{ text: 'Visitor', dim: true }], [], columns, false),
    ...fitHeight(lines, bodyRows - 1, 'top'),
  ];
}

function OverlayBox({ overlay }: { readonly overlay: Overlay }): ReactElement {
  return (
    <Box position="absolute" marginLeft={overlay.x} marginTop={overlay.y}>
      <Rows
        lines={overlay.lines.map((line) => fitLine(line, overlay.columns))}
        columns={overlay.columns}
        solid
      />
    </Box>
  );
}

const stopKey = 'ctrl+z';

/** What the program may do with the screen that Ink holds. */
export interface TerminalHandle {
  /** Hands the terminal over while something else runs. */
  suspend(run: () => Promise<void>): Promise<void>;
  /** Draws everything anew. */
  redraw(): void;
}

export interface AppProps {
  readonly model: DeskController;
  readonly view: TerminalView;
  readonly keymap: Keymap;
  readonly onTerminal?: (handle: TerminalHandle) => void;
  /** The screen was closed, by the operator or otherwise. */
  readonly onEnd?: () => void;
  /** Ctrl+Z where it is no command, as it is while one writes. */
  readonly onStop?: (() => void) | undefined;
}

/** The whole window; as tall and as wide as the terminal. */
export function App({ model, view, keymap, onTerminal, onEnd, onStop }: AppProps): ReactElement {
  const state = useSyncExternalStore(view.subscribe, view.get);
  const size = useWindowSize();
  const firstRow = useRef(0);
  const { setCursorPosition } = useCursor();

  const { suspendTerminal } = useApp();
  useEffect(() => {
    onTerminal?.({ suspend: suspendTerminal, redraw: () => void suspendTerminal(() => undefined) });
    return onEnd;
  }, [onTerminal, onEnd, suspendTerminal]);
  useEffect(() => view.resize(size.columns, size.rows), [view, size.columns, size.rows]);
  useInput((input, key) => {
    const presses = keyPressesOf(input, key);
    const stops = presses.some((press) => press.key === stopKey);
    if (stops && onStop !== undefined && keymap.commandFor(keyScopeOf(view.get()), stopKey) === undefined)
      onStop();
    else model.pressKeys(presses);
  });
  usePaste((text) => model.paste(text));

  const { composer, dialog, open } = state;
  const { layout } = view;
  const { queue, session, focus, drafted, now, connection, columns, rows } = state;
  const inQueue = useMemo(
    () => (layout.showQueue ? queueLines(state, layout, view.queueTop()) : []),
    // What the queue shows; a keystroke in the composer changes none of these.
    [
      queue,
      session,
      focus === 'queue',
      dialog === null,
      drafted,
      now,
      connection,
      open?.id,
      isWatching(state),
      columns,
      rows,
      layout.queueHeight,
    ],
  );

  if (columns < minimumSize.columns || rows < minimumSize.rows) {
    setCursorPosition(undefined);
    return <Text>{`This window is too small (${columns}×${rows}).`}</Text>;
  }

  const overlay = dialog === null ? null : overlayOf(state, dialog, keymap);
  const header = layout.compact ? 0 : 1;
  const left = layout.panes === 1 ? 0 : layout.queueColumns + 1;
  const conversation: Line[] = [];
  let caret = overlay?.caret ?? null;
  if (layout.showConversation) {
    const messages = [...messageLinesInSight(state, layout)];
    conversation.push(conversationTitle(state, layout), ...messages);
    if (composer !== null && open !== null) {
      const text = composerText(composer, layout, firstRow.current);
      firstRow.current = text.firstRow;
      const choices = [...fileLines(composer, layout), ...cannedLines(state, composer, layout)].slice(
        -layout.messageRows,
      );
      conversation.splice(conversation.length - choices.length, choices.length, ...choices);
      conversation.push(
        composerRule(state, composer, layout),
        ...composerBody(state, composer, layout, text),
      );
      if (dialog === null && focus === 'composer')
        caret = { x: left + 3 + text.caretColumn, y: header + 1 + layout.messageRows + 1 + text.caretRow };
    }
  }
  const searching = dialog === null ? searchCaret(state, layout) : null;
  if (searching !== null) caret = { x: searching.x, y: header + searching.y };
  setCursorPosition(caret ?? undefined);

  return (
    <Box flexDirection="column" width={columns} height={rows}>
      {layout.compact ? null : <Rows lines={[headerLine(state, columns)]} columns={columns} />}
      <Box height={layout.bodyRows} flexShrink={0}>
        {layout.showQueue ? <Rows lines={inQueue} columns={layout.queueColumns} /> : null}
        {layout.panes > 1 ? <Divider height={layout.bodyRows} /> : null}
        {layout.showConversation ? (
          <Rows
            lines={fitHeight(conversation, layout.bodyRows, 'top')}
            columns={layout.conversationColumns}
          />
        ) : null}
        {layout.panes === 3 ? <Divider height={layout.bodyRows} /> : null}
        {layout.panes === 3 ? (
          <Rows lines={visitorPane(state, layout)} columns={layout.visitorColumns} />
        ) : null}
      </Box>
      <Rows lines={footerLines(state, keymap, layout)} columns={columns} />
      {overlay === null ? null : <OverlayBox overlay={overlay} />}
    </Box>
  );
}
