// Owns the line above the composer that says what stands in the way: closed hours, no connection, a limit, or
// what just went wrong. One at a time, the most pressing first.
import type { SdkState } from '../../src/sdk/types.ts';
import { h } from '../shared/dom.ts';
import type { I18n } from '../panel/i18n.ts';

export interface Notices {
  readonly element: HTMLElement;
  update(state: SdkState): void;
  /** The service has turned this page away: nothing goes out by itself, until it is let in again. */
  setWithdrawn(withdrawn: boolean): void;
  /** A message could not be brought to the service, or one has been: that tells it where there is no connection yet. */
  setReached(reached: boolean): void;
  /** Shows what went wrong, until something else happens. */
  showError(text: string): void;
  stop(): void;
}

/** @param announce for who can't see it */
export function createNotices(speech: I18n, announce: (text: string) => void): Notices {
  const { words } = speech;
  const element = h('div', { class: 'notice', hidden: true });
  let state: SdkState | null = null;
  let trouble = '';
  let withdrawn = false;
  /** The connection was lost, and is not back: that it is tried again changes nothing. */
  let lost = false;
  let reached = true;
  let heard: SdkState['connection'] = 'idle';
  let timer: ReturnType<typeof setTimeout> | undefined;
  let shown: unknown[] = [];

  function update(next: SdkState): void {
    state = next;
    clearTimeout(timer);
    const { config, connection, retryAt, conversationId, messages } = next;
    if (connection !== heard && connection !== 'connecting') lost = connection === 'offline';
    heard = connection;
    const unreached = !reached && messages.some((one) => one.state === 'sending');
    const wait = retryAt === null ? 0 : Math.ceil((retryAt - Date.now()) / 1_000);
    const behavior = config?.behavior;
    if (trouble !== '') show('trouble', [trouble]);
    // A service that is out of order says when to come back, too: that is none of the visitor's doing.
    else if (wait > 0 && reached) {
      show('limited', [speech.interpolate(words.limited, { time: speech.seconds(wait) })]);
      timer = setTimeout(() => state !== null && update(state), 1_000);
    } else if (withdrawn) show('withdrawn', [words.withdrawn]);
    else if (lost || unreached || !navigator.onLine) show('offline', [words.offline]);
    else if (behavior?.isOpen === false && (conversationId === null || !messages.some(({ own }) => !own))) {
      const opens =
        behavior.nextOpenAt === null
          ? ''
          : speech.interpolate(words.opens, {
              time: speech.relativeDate(new Date(behavior.nextOpenAt), new Date()),
            });
      show('shut', [behavior.outsideHours ?? words.shut, opens]);
    } else show('', []);
  }

  function show(kind: string, lines: readonly string[]): void {
    if (shown.join('\n') === lines.join('\n')) return;
    shown = [...lines];
    // How long to wait is counted down, but said once; what went wrong is said by who tells it.
    if (kind !== element.dataset['kind'] && kind !== 'trouble' && state?.open === true)
      announce(lines.join(' '));
    element.hidden = lines.length === 0;
    element.dataset['kind'] = kind;
    element.replaceChildren(
      ...lines.filter((line) => line !== '').map((line) => h('p', { dir: 'auto' }, line)),
    );
  }

  return {
    element,
    update: (next) => {
      // What went wrong is over once something new happens.
      if (state !== null && next.messages !== state.messages) trouble = '';
      update(next);
    },
    setWithdrawn: (next) => {
      withdrawn = next;
      // One way or the other, the service has answered.
      lost = false;
      if (state !== null) update(state);
    },
    setReached: (next) => {
      reached = next;
      if (state !== null) update(state);
    },
    showError: (text) => {
      trouble = text;
      if (state !== null) update(state);
    },
    stop: () => clearTimeout(timer),
  };
}
