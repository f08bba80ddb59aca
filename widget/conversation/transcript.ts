// Owns showing messages: a window on the history that grows upwards, and staying at the newest one.
// Draws from the engine's state and keeps none of its own but the scroll position and the window.
import type { SdkState } from '../../src/sdk/types.ts';
import { h } from '../shared/dom.ts';
import { createDrawnList } from './drawn-list.ts';
import { untilNextEndMs, type Drawing } from './draw-message.ts';
import { dots, listEntries } from './transcript-entries.ts';

export interface Transcript {
  readonly element: HTMLElement;
  update(state: SdkState): void;
  /** True while the newest message is in sight. */
  atEnd(): boolean;
}

export interface TranscriptOptions extends Drawing {
  onSeen(): void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Messages drawn at first, and how many more each time the visitor scrolls to the top. */
const windowSize = 60;
const windowStep = 60;

export function createTranscript(options: TranscriptOptions): Transcript {
  const { api, speech, now, onError, onSeen, signal } = options;
  const { words } = speech;
  const list = h('ol', { role: 'list' });
  const log = h(
    'div',
    {
      class: 'log',
      role: 'log',
      'aria-live': 'off',
      'aria-label': words.history,
      tabindex: 0,
      scroll: scrolled,
    },
    list,
  );
  const jump = h('button', { type: 'button', class: 'jump', hidden: true, click: toEnd });
  const typing = h('p', { class: 'typing' });
  const element = h('div', { class: 'transcript' }, log, jump, typing);
  const place = createDrawnList(list, () => log.focus());
  let shown = windowSize;
  let conversationId: string | null = null;
  let state = api.getState();
  let busy = false;
  let stick = true;
  let missed = 0;
  let size = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer));
  // The composer grows and shrinks below, and a keyboard the window: the newest message stays in sight.
  new ResizeObserver(() => {
    size = sizeNow();
    if (stick) log.scrollTop = log.scrollHeight;
  }).observe(log);

  function update(next: SdkState): void {
    const before = state;
    state = next;
    if (next.conversationId !== conversationId && !becameReal(before, next)) {
      shown = windowSize;
      missed = 0;
      stick = true;
    }
    conversationId = next.conversationId;
    const last = next.messages.at(-1);
    const arrived = last !== undefined && last.key !== before.messages.at(-1)?.key;
    if (arrived && last.own) stick = true;
    if (arrived && !last.own && !stick) missed++;
    const fromEnd = log.scrollHeight - log.scrollTop;
    const top = log.scrollTop;
    place(listEntries(state, shown, options));
    const names = next.typing.map(({ userName }) => userName).join(', ');
    const text = next.typing.length > 1 ? words.typingMany : words.typing;
    typing.replaceChildren(
      ...(names === '' ? [] : [dots(), speech.interpolate(text, { name: names, names })]),
    );
    if (stick) log.scrollTop = log.scrollHeight;
    // What was put in above must not move what is being read.
    else if (grewUpwards(before, next) || busy) log.scrollTop = log.scrollHeight - fromEnd;
    else log.scrollTop = top;
    showJump();
    drawLater();
  }

  /** What may be done with a message ends without anything that is heard of. */
  function drawLater(): void {
    clearTimeout(timer);
    timer = setTimeout(() => update(state), untilNextEndMs(state.messages, now()));
  }

  function sizeNow(): string {
    return `${log.clientWidth} ${log.clientHeight}`;
  }

  function scrolled(): void {
    // A new size moves what is in sight before its observer hears of it; the visitor has not scrolled.
    if (sizeNow() !== size) return;
    stick = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    if (stick) {
      missed = 0;
      onSeen();
    }
    showJump();
    if (log.scrollTop < 200 && !busy) void earlier();
  }

  async function earlier(): Promise<void> {
    const wasAtEnd = stick;
    if (shown < state.messages.length) {
      shown += windowStep;
      busy = true;
      stick = false;
      update(state);
      stick = wasAtEnd;
      busy = false;
    } else if (state.hasMore && state.loaded && state.conversationId !== null) {
      busy = true;
      shown += windowStep;
      await api.loadHistory({ limit: windowStep }).catch(onError);
      busy = false;
    }
  }

  function toEnd(): void {
    stick = true;
    missed = 0;
    update(state);
    log.focus();
    onSeen();
  }

  function showJump(): void {
    jump.hidden = missed === 0;
    jump.textContent = missed === 0 ? '' : speech.plural(words.fresh, missed);
  }

  return { element, update, atEnd: () => stick };
}

/** A draft has become a conversation: it is the same one. */
function becameReal(before: SdkState, next: SdkState): boolean {
  return before.messages.length > 0 && before.messages[0]?.key === next.messages[0]?.key;
}

function grewUpwards(before: SdkState, next: SdkState): boolean {
  return (
    before.messages[0]?.key !== next.messages[0]?.key &&
    before.messages.at(-1)?.key === next.messages.at(-1)?.key
  );
}
