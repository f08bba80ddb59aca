// What the parts of the desk's model share: the state and its listeners, the client, the clock, and the ways out to
// the face that shows the state. Holds no rule about conversations.
import type { StaffClient } from '../sdk/staff-types.ts';
import type { StaffConversationListItem } from '../protocol/entities.ts';
import { asSdkError } from '../sdk/error.ts';
import type { DeskState } from './desk-state.ts';
import type { DraftStore } from './drafts.ts';
import type { EditBuffer } from './editing/buffer.ts';
import type { FileSource } from './composer-files.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { FirstText, Say } from './texts.ts';
import type { DeskTools } from './tools.ts';
import { createStore, type Store } from './store.ts';

/** What the model takes from the process around it; tests give their own. */
export interface DeskRuntime {
  /** Ms since the epoch. */
  now(): number;
  /** Runs once after `ms`. @returns cancels it */
  schedule(ms: number, run: () => void): () => void;
  /** Hands the text over to the operator's editor; null: nothing was changed or it failed. */
  edit(text: string): Promise<string | null>;
  /** Asks to sign in again; null: the operator cancelled. */
  signInAgain(): Promise<string | null>;
  /** Something was refused that the face had offered: the member's rights may be others by now. */
  refused?(): void;
  /** Puts a text into the clipboard. */
  copy(text: string): void;
  exit(code: number): void;
  /** The files of this machine; a face without them has its own ways. */
  readonly files?: {
    /** A file to be sent. @throws Error with a sentence for the operator */
    read(path: string): Promise<FileSource>;
    /** Where a file of this name would be saved. */
    suggestedPath(name: string): string;
    /** Stores what is at an address; never over another file. @returns the whole path; @throws Error with a sentence */
    save(url: string, path: string): Promise<string>;
    /** Opens an address of the web with another program. @throws Error with a sentence */
    open(url: string): Promise<void>;
  };
  /** What a member chose on this device; without it, a choice holds as long as the desk. */
  readonly preferences?: {
    get(name: string): string | null;
    set(name: string, value: string): void;
  };
}

/** Motions of the caret that depend on how the text is broken into rows. */
export type RowMotion = 'lineUp' | 'lineDown' | 'lineStart' | 'lineEnd';

/** What the model asks of whatever draws it. A terminal answers in rows, a browser by its elements. */
export interface Face {
  /** How many conversations a page of the queue is. */
  queuePageSize(): number;
  /** Whether the oldest loaded message of the open conversation is in sight, or nearly so. */
  isNearBeginning(): boolean;
  /** Scrolls the open conversation, and tells the model by `setAtEnd` where it stands afterwards. */
  scroll(to: 'pageUp' | 'pageDown' | 'first'): void;
  /** Brings a message of the open conversation into sight, and tells the model as above. */
  reveal(key: string): void;
  /** Scrolls help or the visitor's data by so many lines. */
  scrollDialog(by: number): void;
  /** The text after a motion; null: there is no row to go to, or the face does not break the text itself. */
  moveCaret(buffer: EditBuffer, motion: RowMotion): EditBuffer | null;
  /** Draws everything anew. */
  redraw(): void;
  /** Lets the member choose files; without it, a path is written. */
  chooseFiles?(): void;
}

/** For a desk without a screen. */
const noFace: Face = {
  queuePageSize: () => 10,
  isNearBeginning: () => false,
  scroll: () => undefined,
  reveal: () => undefined,
  scrollDialog: () => undefined,
  moveCaret: () => null,
  redraw: () => undefined,
};

export type StateStore = Store<DeskState>;

export interface DeskParts {
  readonly client: StaffClient;
  readonly drafts: DraftStore;
  readonly mode: 'live' | 'test' | 'all';
  readonly runtime: DeskRuntime;
  readonly tools: DeskTools;
  /** What the queue does not tell of an open conversation is asked for only when the member wants to see it. */
  readonly asksLess?: boolean;
  /** The queue's first rows are asked for before the socket is open, for a face that is far from the service. */
  readonly loadsEarly?: boolean;
  /** How the model says something. */
  readonly say: Say;
}

const flashMs = 6_000;

/** Ties the parts together; asks nothing and starts nothing. */
export class DeskContext {
  readonly client: StaffClient;
  readonly drafts: DraftStore;
  readonly mode: DeskParts['mode'];
  readonly runtime: DeskRuntime;
  readonly say: Say;
  readonly asksLess: boolean;
  readonly loadsEarly: boolean;
  readonly motions: DeskTools['motions'];
  readonly moveCaret: DeskTools['moveCaret'];
  readonly loadDrafting: DeskTools['loadDrafting'];
  readonly store: StateStore;
  face: Face = noFace;

  constructor(
    { client, drafts, mode, runtime, tools, say, asksLess = false, loadsEarly = false }: DeskParts,
    initial: DeskState,
  ) {
    this.client = client;
    this.drafts = drafts;
    this.mode = mode;
    this.runtime = runtime;
    this.say = say;
    this.asksLess = asksLess;
    this.loadsEarly = loadsEarly;
    this.motions = tools.motions;
    this.moveCaret = tools.moveCaret;
    this.loadDrafting = tools.loadDrafting;
    this.store = createStore(initial);
  }

  get state(): DeskState {
    return this.store.get();
  }

  get memberId(): string {
    return this.state.session?.member.id ?? '';
  }

  now(): number {
    return this.runtime.now();
  }

  /** Runs once after `ms`. @returns cancels it */
  schedule(ms: number, run: () => void): () => void {
    return this.runtime.schedule(ms, run);
  }

  /** A sentence in the status line, for a while. */
  flash(text: string, tone: 'info' | 'good' | 'bad' = 'info'): void {
    const until = this.now() + flashMs;
    this.store.set({ flash: { text, tone, until } });
    this.schedule(flashMs, () => {
      if (this.state.flash?.until === until) this.store.set({ flash: null });
    });
  }

  /** Says what went wrong, in a sentence for the operator. @param more a sentence that follows it */
  readonly report = (error: unknown, more = ''): void => {
    if (asSdkError(error).status === 403) this.runtime.refused?.();
    this.flash(`${errorMessage(error, this.say)} ${more}`.trim(), 'bad');
  };

  /** A conversation, as far as the queue knows it. */
  item(id: string): StaffConversationListItem | undefined {
    return this.state.queue.items.find((one) => one.id === id);
  }
}

/** What went wrong, as a sentence for the operator. */
export function errorMessage(thrown: unknown, say: Say): string {
  return refusalMessage(asSdkError(thrown), say);
}

/** What the service refused. */
export interface Refusal {
  readonly code: string;
  /** In the service's words. */
  readonly message: string;
  /** Seconds to wait. */
  readonly retryAfter?: number | undefined;
}

/** What the service refused, as a sentence for the operator. */
export function refusalMessage(error: Refusal, say: Say): string {
  switch (error.code) {
    case 'network':
      return say('unreachable');
    case 'not_found':
      return say('gone');
    case 'rate_limit_exceeded':
    case 'RATE_LIMITED':
      return error.retryAfter === undefined ? say('tooMany') : say('tooManyFor', { n: error.retryAfter });
    case 'edit_window_expired':
      return say('editWindowOver');
    case 'destroyed':
      return say('cancelled');
    default: {
      const known = translated.get(error.code);
      return (known === undefined ? '' : say(known)) || sanitizeLine(error.message) || say('wentWrong');
    }
  }
}

/** What else the server refuses: said in the operator's language where it is not the server's. */
const translated: ReadonlyMap<string, FirstText> = new Map<string, FirstText>([
  ['forbidden', 'mayNot'],
  ['FORBIDDEN', 'mayNot'],
  ['unavailable', 'unavailable'],
  ['conversation_not_active', 'notActive'],
  ['plan_limit', 'planLimit'],
  ['payload_too_large', 'tooLarge'],
  ['ai_unavailable', 'modelAway'],
  ['ai_model_required', 'modelMissing'],
]);
