// What the desk shows, as one immutable value without a screen. Owns the types and the initial value; the
// controllers change it, the views draw it.
import type { KnowledgeGap } from '../protocol/assistant.ts';
import type {
  CannedReply,
  Colleague,
  StaffConversation,
  StaffConversationListItem,
} from '../protocol/entities.ts';
import type { StaffMessage, StaffRoom, StaffSession } from '../sdk/staff-types.ts';
import type { ConnectionStatus } from '../sdk/types.ts';
import type { ComposerState } from './composer.ts';
import type { QueueLists, QueueView } from './queue.ts';
import { emptyLists } from './queue.ts';

export type Focus = 'queue' | 'conversation' | 'composer';

/** How many panes stand side by side: the queue, the conversation, the visitor's data. One: the one with the focus. */
export type PaneCount = 1 | 2 | 3;

/** A message that is shown, or the place of one that was deleted while it was in sight. */
export type ShownMessage = StaffMessage & { readonly deleted?: true };

/** The conversation that is open. */
export interface OpenConversation {
  readonly id: string;
  readonly room: StaffRoom | null;
  readonly detail: StaffConversation | null;
  /** Why it could not be opened. */
  readonly problem: string | null;
  /** The visitor's first message that was unread when it was opened: the line stands before it. */
  readonly unreadFrom: string | null;
  /** The newest message is in sight, and stays in sight as others come. */
  readonly atEnd: boolean;
  /** The `key` of the message that commands concern. */
  readonly selected: string | null;
  readonly loadingOlder: boolean;
  /** The same visitor's other conversations; null: not known yet. */
  readonly earlier: readonly StaffConversationListItem[] | null;
  readonly loadingEarlier: boolean;
  /** Messages that came while the end was out of sight. */
  readonly unseen: number;
  /** Messages that were deleted while they were in sight, without their text. */
  readonly deletedMessages: readonly ShownMessage[];
}

/** Something to choose from, filtered while typing. */
export interface Choice {
  readonly id: string;
  readonly label: string;
  /** Shown dim behind the label. */
  readonly detail: string;
  /** Shown at the right: keys, or whether a colleague is online. */
  readonly note: string;
}

/** A question without an answer, to be answered or kept with the title that visitors chose. */
export interface GapChoice {
  readonly gap: KnowledgeGap;
  readonly applicationId: string;
  readonly withTitle: boolean;
}

/** What there is to choose. `snoozeTime`: a time that is written by hand; `viewText`: a view that is; `attachPath`, `savePath`: a path. */
export type MenuName =
  | 'palette'
  | 'transfer'
  | 'canned'
  | 'gaps'
  | 'tag'
  | 'priority'
  | 'snooze'
  | 'snoozeTime'
  | 'views'
  | 'viewText'
  | 'attachPath'
  | 'saveFile'
  | 'savePath'
  | 'openFile';

export type Dialog =
  | { readonly kind: 'help' }
  | { readonly kind: 'visitor' }
  | {
      readonly kind: 'menu';
      readonly menu: MenuName;
      readonly filter: string;
      readonly index: number;
      readonly loading: boolean;
      /** The conversation or the view that a choice concerns; null: all that are marked, or none. */
      readonly about: string | null;
    }
  | { readonly kind: 'confirm'; readonly question: string; readonly yes: string; readonly ask: Question };

/** What a confirmed question does. */
export type Question =
  | { readonly command: 'resolve'; readonly id: string }
  | { readonly command: 'resolveMarked' }
  | { readonly command: 'deleteView'; readonly id: string }
  | { readonly command: 'release'; readonly id: string }
  | { readonly command: 'transcript'; readonly id: string; readonly address: string }
  | { readonly command: 'block'; readonly item: StaffConversationListItem }
  | { readonly command: 'remove'; readonly id: string; readonly messageId: string }
  | { readonly command: 'discard'; readonly key: string }
  | { readonly command: 'keepTitle'; readonly choice: GapChoice; readonly reviewed: boolean }
  | { readonly command: 'quit' };

export interface Flash {
  readonly text: string;
  readonly tone: 'info' | 'good' | 'bad';
  /** Ms since the epoch. */
  readonly until: number;
}

export interface DeskState {
  /** Ms since the epoch; moves with the clock, so that waiting times tick. */
  readonly now: number;
  readonly session: StaffSession | null;
  readonly connection: ConnectionStatus;
  /** When the next attempt to connect is due, ms since the epoch; null: not waiting for one. */
  readonly reconnectAt: number | null;
  /** Sending waits until then, because the service said so. */
  readonly sendingWaitsUntil: number | null;
  readonly focus: Focus;
  readonly panes: PaneCount;
  readonly queue: QueueLists;
  readonly open: OpenConversation | null;
  readonly composer: ComposerState | null;
  readonly dialog: Dialog | null;
  readonly flash: Flash | null;
  /** Commands under way, as `accept:<id>`. */
  readonly pending: ReadonlySet<string>;
  readonly colleagues: readonly Colleague[] | null;
  readonly cannedReplies: readonly CannedReply[] | null;
  /** Questions that the documents did not answer, as they were asked for last. */
  readonly gaps: readonly GapChoice[];
  /** The organization's tags, as they were asked for last; null: not asked yet. */
  readonly tags: readonly string[] | null;
  /** The saved views, the same. */
  readonly views: readonly QueueView[] | null;
  /** How many conversations a view has, by its id. */
  readonly viewCounts: ReadonlyMap<string, number>;
  /** Conversations that the next act in the queue concerns together. */
  readonly marked: ReadonlySet<string>;
  /** Conversations with an unsent draft. */
  readonly drafted: ReadonlySet<string>;
  /** The window has the focus, as far as it tells. */
  readonly watched: boolean;
}

/** @param now ms since the epoch */
export function initialState(now: number): DeskState {
  return {
    now,
    session: null,
    connection: 'idle',
    reconnectAt: null,
    sendingWaitsUntil: null,
    focus: 'queue',
    panes: 2,
    queue: emptyLists,
    open: null,
    composer: null,
    dialog: null,
    flash: null,
    pending: new Set(),
    colleagues: null,
    cannedReplies: null,
    gaps: [],
    tags: null,
    views: null,
    viewCounts: new Map(),
    marked: new Set(),
    drafted: new Set(),
    watched: true,
  };
}
