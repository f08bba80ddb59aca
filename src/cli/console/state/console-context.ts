// What the parts of the console's model share: the state and its listeners, the client,
// the clock, and the ways out to the terminal. Holds no rule about conversations.
import type { StaffClient } from '../../../sdk/staff-types.ts';
import type { StaffConversationListItem } from '../../../protocol/entities.ts';
import { asSdkError } from '../../../sdk/error.ts';
import type { DraftStore } from '../drafts.ts';
import { paneLayout, type PaneLayout } from './pane-layout.ts';
import { composerLines } from './composer.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { ViewState } from './view-state.ts';

/** What the model takes from its surroundings, so that tests can hold it in their hands. */
export interface ConsoleRuntime {
  /** Ms since the epoch. */
  now(): number;
  /** Runs once after `ms`; answers how to call it off. */
  schedule(ms: number, run: () => void): () => void;
  /** Hands the text over to the person's editor; null: nothing was changed or it failed. */
  edit(text: string): Promise<string | null>;
  /** Asks to sign in again; null: the operator cancelled. */
  signInAgain(): Promise<string | null>;
  exit(code: number): void;
}

export interface StateStore {
  get(): ViewState;
  set(patch: Partial<ViewState>): void;
  /** Called once for all changes of one turn. */
  subscribe(listener: () => void): () => void;
}

export interface ConsoleContext extends ConsoleRuntime {
  readonly client: StaffClient;
  readonly store: StateStore;
  readonly drafts: DraftStore;
  readonly mode: 'live' | 'test' | 'all';
  memberId(): string;
  isAdmin(): boolean;
  layout(): PaneLayout;
  /** A sentence in the status line, for a while. */
  flash(text: string, tone?: 'info' | 'good' | 'bad'): void;
  /** Says what went wrong, in words for people. */
  report(error: unknown): void;
  item(id: string): StaffConversationListItem | undefined;
}

/** @param initial what is shown at first */
export function createStateStore(initial: ViewState): StateStore {
  let state = initial;
  let told = true;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    set: (patch) => {
      if ((Object.keys(patch) as (keyof ViewState)[]).every((name) => Object.is(state[name], patch[name])))
        return;
      state = { ...state, ...patch };
      if (!told) return;
      told = false;
      queueMicrotask(() => {
        told = true;
        for (const listener of listeners) listener();
      });
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const flashMs = 6_000;

/** The state's layout; the composer's height is part of it. */
export function layoutOfState(state: ViewState): PaneLayout {
  const { columns, rows, focus, composer } = state;
  if (composer === null) return paneLayout(columns, rows, focus, 0);
  return paneLayout(
    columns,
    rows,
    focus,
    composerLines(composer, paneLayout(columns, rows, focus, 1).composerColumns),
  );
}

/** What went wrong, as a sentence for the person at the console. */
export function errorMessage(thrown: unknown): string {
  const error = asSdkError(thrown);
  switch (error.code) {
    case 'network':
      return 'The server can’t be reached just now.';
    case 'not_found':
      return 'That is not there any more.';
    case 'rate_limit_exceeded':
    case 'RATE_LIMITED':
      return `Too many requests; the service asks to wait${error.retryAfter === undefined ? '' : ` ${error.retryAfter} s`}.`;
    case 'edit_window_expired':
      return 'Only messages of the last 15 minutes can be changed.';
    case 'destroyed':
      return 'That was called off.';
    default:
      return sanitizeLine(error.message) || 'Something went wrong.';
  }
}

/** Ties the parts together; asks nothing and starts nothing. */
export function createConsoleContext(
  surroundings: ConsoleRuntime,
  parts: {
    readonly client: StaffClient;
    readonly store: StateStore;
    readonly drafts: DraftStore;
    readonly mode: ConsoleContext['mode'];
  },
): ConsoleContext {
  const { store } = parts;
  const flash: ConsoleContext['flash'] = (text, tone = 'info') => {
    const until = surroundings.now() + flashMs;
    store.set({ flash: { text, tone, until } });
    surroundings.schedule(flashMs, () => {
      if (store.get().flash?.until === until) store.set({ flash: null });
    });
  };
  return {
    ...surroundings,
    ...parts,
    memberId: () => store.get().session?.member.id ?? '',
    isAdmin: () => store.get().session?.member.role === 'admin',
    layout: () => layoutOfState(store.get()),
    flash,
    report: (error) => flash(errorMessage(error), 'bad'),
    item: (id) => store.get().queue.items.find((one) => one.id === id),
  };
}
