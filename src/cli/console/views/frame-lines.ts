// What stands around the panes: header, status, hints. Pure.
import { waitingCount } from '../../../desk/notifications.ts';
import { hints } from '../../../desk/available-commands.ts';
import type { PaneLayout } from './pane-layout.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import type { DeskState } from '../../../desk/desk-state.ts';
import type { Keymap } from '../../../desk/keymap.ts';
import type { Line, Span } from '../text/types.ts';
import { widthOf } from '../text/wrap.ts';
import { justify, fitLine } from './line-layout.ts';

/** How the connection stands, in few words. */
function connectionSpan(state: DeskState, short: boolean): Span {
  const { connection, reconnectAt, now } = state;
  switch (connection) {
    case 'online':
      return { text: short ? '●' : '● online', color: 'green' };
    case 'offline': {
      const seconds = reconnectAt === null ? null : Math.max(1, Math.ceil((reconnectAt - now) / 1000));
      return {
        text: seconds === null ? '✗ offline' : `✗ offline, again in ${seconds} s`,
        color: 'red',
        bold: true,
      };
    }
    default:
      return { text: '◌ connecting…', color: 'yellow' };
  }
}

/** The first line of a window that has room for it. */
export function headerLine(state: DeskState, columns: number): Line {
  const { session } = state;
  const waiting = waitingCount(state);
  const left: Line = [
    { text: ' deskbell', bold: true, color: 'cyan' },
    ...(session === null ? [] : [{ text: `  ${sanitizeLine(session.organization.name)}` }]),
  ];
  const right: Line = [
    ...(waiting > 0
      ? [
          {
            text: waiting === 1 ? '1 waits for you' : `${waiting} wait for you`,
            color: 'yellow' as const,
            bold: true,
          },
          { text: '   ' },
        ]
      : []),
    ...(session === null ? [] : [{ text: sanitizeLine(session.member.name), dim: true }, { text: '   ' }]),
    connectionSpan(state, false),
    { text: ' ' },
  ];
  return justify(left, right, columns);
}

function unsentSpan(state: DeskState): Span | null {
  const unsent = (state.open?.room?.messages ?? []).filter((one) => one.state === 'sending').length;
  const until = state.sendingWaitsUntil;
  if (until !== null && until > state.now)
    return {
      text: `The service asks to wait ${Math.ceil((until - state.now) / 1000)} s before sending.`,
      color: 'yellow',
    };
  if (unsent > 0 && state.connection !== 'online')
    return {
      text: `${unsent === 1 ? 'One message waits' : `${unsent} messages wait`} for the connection.`,
      color: 'yellow',
    };
  return null;
}

const tones = { info: {}, good: { color: 'green' }, bad: { color: 'red', bold: true } } as const;

/** The sentence of the moment; null: there is none. */
export function messageOf(state: DeskState): Line | null {
  const { flash } = state;
  if (flash !== null)
    return [
      { text: flash.tone === 'bad' ? ' ! ' : ' ' },
      { text: sanitizeLine(flash.text), ...tones[flash.tone] },
    ];
  const unsent = unsentSpan(state);
  if (unsent !== null) return [{ text: ' ' }, unsent];
  if (state.connection === 'offline')
    return [
      { text: ' Offline. What you write is kept, and what you send goes out by itself.', color: 'yellow' },
    ];
  return null;
}

/** As many hints as fit, whole ones only. */
function hintLine(state: DeskState, keymap: Keymap, columns: number): Line {
  const line: Span[] = [];
  let width = 1;
  for (const { key, about } of hints(state, keymap)) {
    const next: Line = [
      { text: key, bold: true },
      { text: ` ${about}`, dim: true },
    ];
    const more = widthOf(next) + (line.length === 0 ? 0 : 2);
    if (width + more > columns) continue;
    line.push(...(line.length === 0 ? [{ text: ' ' }] : [{ text: '  ' }]), ...next);
    width += more;
  }
  return line;
}

/** The lines below the panes: one in a small window, else two. */
export function footerLines(state: DeskState, keymap: Keymap, layout: PaneLayout): readonly Line[] {
  const { columns, compact } = layout;
  const message = messageOf(state);
  if (!compact) return [fitLine(message ?? [], columns), fitLine(hintLine(state, keymap, columns), columns)];
  if (message !== null) return [justify(message, [connectionSpan(state, true)], columns)];
  const connection = connectionSpan(state, true);
  return [justify(hintLine(state, keymap, columns - widthOf([connection]) - 2), [connection], columns)];
}
