// Which commands apply now: what hints, help and the palette offer. Pure.
import { sizeLimits } from '../protocol/codes.ts';
import type { SdkAttachment } from '../sdk/types.ts';
import type { CommandName, KeyScope, Keymap } from './keymap.ts';
import { canManage } from './conversation-commands.ts';
import { cannedQuery, hasContent, mentionChoices } from './composer.ts';
import { cursorIndex, isSnoozed, shownCursor, shownRows } from './queue.ts';
import { shownMessages } from './shown-messages.ts';
import type { DeskState } from './desk-state.ts';
import type { StaffConversationListItem } from '../protocol/entities.ts';

/** Where keys go now. */
export function keyScopeOf(state: DeskState): KeyScope {
  const { dialog, queue, focus, composer } = state;
  if (dialog !== null) return dialog.kind === 'confirm' ? 'confirm' : 'menu';
  if (focus === 'queue') return queue.search?.typing === true ? 'search' : 'queue';
  return focus === 'composer' && composer !== null ? 'composer' : 'conversation';
}

/** The conversation that commands concern: the one under the cursor in the queue, else the open one. */
export function targetConversation(state: DeskState): StaffConversationListItem | undefined {
  const { queue, open, focus, session } = state;
  if (focus === 'queue' || open === null) {
    const rows = shownRows(queue, session?.member.id ?? '');
    return rows[cursorIndex(rows, shownCursor(queue))];
  }
  return queue.items.find(({ id }) => id === open.id) ?? open.detail ?? undefined;
}

/** The message that commands on messages concern: the selected one, else the last own one. */
export function targetMessage(
  state: DeskState,
  own: boolean,
): ReturnType<typeof shownMessages>[number] | undefined {
  const { open } = state;
  if (open === null) return undefined;
  const messages = shownMessages(open);
  if (open.selected !== null) return messages.find(({ key }) => key === open.selected);
  return messages.findLast((one) => one.deleted !== true && (!own || one.own || one.state !== 'sent'));
}

/** The files that commands concern: those of the selected message, else of the newest message that has any. */
export function targetFiles(state: DeskState): readonly SdkAttachment[] {
  const { open } = state;
  if (open === null) return [];
  const chosen = open.selected === null ? undefined : targetMessage(state, false);
  const message =
    chosen ??
    shownMessages(open).findLast((one) => one.deleted !== true && (one.attachments ?? []).length > 0);
  return message?.deleted === true ? [] : (message?.attachments ?? []);
}

/** What can be done to all marked conversations at once. */
const bulkCommands: ReadonlySet<CommandName> = new Set([
  'accept',
  'resolve',
  'release',
  'transfer',
  'reopen',
  'tag',
  'priority',
  'snooze',
  'wake',
  'unread',
]);

/** Whether acts concern the marked conversations: in the queue, where some are. */
export function concernsMarked({ focus, marked }: DeskState): boolean {
  return focus === 'queue' && marked.size > 0;
}

/** Whether a command would do anything now. One that concerns no conversation always does. */
export function isAvailable(state: DeskState, command: CommandName): boolean {
  if (bulkCommands.has(command) && concernsMarked(state)) return true;
  const item = targetConversation(state);
  const memberId = state.session?.member.id ?? '';
  const isAdmin = state.session?.member.role === 'admin';
  switch (command) {
    case 'accept':
      return item?.status === 'pending';
    case 'release':
    case 'transfer':
      return item?.status === 'active' && canManage(item, memberId, isAdmin);
    case 'resolve':
      return item !== undefined && item.status !== 'closed' && canManage(item, memberId, isAdmin);
    case 'reply':
    case 'note':
    case 'aiDraft':
      return item !== undefined && item.status !== 'closed';
    case 'tag':
    case 'priority':
    case 'mark':
      return item !== undefined;
    case 'snooze':
      return (
        item !== undefined &&
        item.status !== 'closed' &&
        (item.assignedTo === null || canManage(item, memberId, isAdmin))
      );
    case 'wake':
      return item !== undefined && isSnoozed(item);
    case 'reopen':
      return item?.status === 'closed';
    case 'unread':
      return item !== undefined && item.lastMessage !== null;
    case 'gaps':
      return isAdmin && item !== undefined;
    case 'keep':
      return isAdmin && state.open !== null && targetMessage(state, true)?.internal !== true;
    case 'transcript':
      return item !== undefined && item.visitor.email !== null;
    case 'open':
    case 'block':
    case 'unblock':
    case 'visitor':
      return item !== undefined;
    case 'edit':
    case 'remove': {
      const message = targetMessage(state, true);
      return (
        message !== undefined &&
        message.deleted !== true &&
        message.own &&
        message.state === 'sent' &&
        state.now - Date.parse(message.createdAt) < sizeLimits.editWindowMs
      );
    }
    case 'discard':
      return state.open !== null && shownMessages(state.open).some((one) => one.state !== 'sent');
    case 'retry':
      return state.open !== null && shownMessages(state.open).some((one) => one.state === 'failed');
    case 'copy':
      return (state.open?.room?.messages.length ?? 0) > 0;
    case 'attach':
      return (
        state.open !== null &&
        state.composer !== null &&
        state.composer.editing === null &&
        state.composer.keeping === null &&
        item !== undefined &&
        item.status !== 'closed'
      );
    case 'saveFile':
    case 'openFile':
      return targetFiles(state).length > 0;
    case 'send':
      return hasContent(state.composer);
    default:
      return true;
  }
}

export interface Hint {
  readonly key: string;
  readonly about: string;
}

type Hints = readonly (readonly [CommandName, string])[];

const hintsOf: Readonly<Record<KeyScope, Hints>> = {
  queue: [
    ['open', 'open'],
    ['accept', 'accept'],
    ['reply', 'reply'],
    ['nextUnread', 'next unread'],
    ['search', 'search'],
    ['palette', 'commands'],
    ['help', 'help'],
    ['quit', 'quit'],
    ['resolve', 'resolve'],
    ['release', 'release'],
    ['transfer', 'transfer'],
    ['tag', 'tags'],
    ['snooze', 'snooze'],
    ['mark', 'mark'],
    ['views', 'views'],
  ],
  conversation: [
    ['accept', 'accept'],
    ['reopen', 'reopen'],
    ['reply', 'reply'],
    ['note', 'note'],
    ['retry', 'send again'],
    ['resolve', 'resolve'],
    ['transfer', 'transfer'],
    ['back', 'back'],
    ['palette', 'commands'],
    ['help', 'help'],
    ['nextUnread', 'next unread'],
    ['release', 'release'],
    ['edit', 'edit'],
    ['saveFile', 'save file'],
    ['openFile', 'open file'],
    ['tag', 'tags'],
    ['snooze', 'snooze'],
    ['wake', 'wake'],
  ],
  composer: [
    ['send', 'send'],
    ['newline', 'new line'],
    ['toggleNote', 'note'],
    ['aiDraft', 'AI draft'],
    ['editor', 'editor'],
    ['attach', 'attach'],
    ['undo', 'undo'],
    ['back', 'back'],
    ['nextUnread', 'next unread'],
    ['palette', 'commands'],
  ],
  search: [
    ['open', 'open'],
    ['down', 'down'],
    ['back', 'end search'],
  ],
  menu: [
    ['choose', 'choose'],
    ['down', 'down'],
    ['back', 'close'],
  ],
  confirm: [
    ['yes', 'yes'],
    ['no', 'no'],
  ],
};

/** The keys that help most now, the most useful first. */
export function hints(state: DeskState, keymap: Keymap): readonly Hint[] {
  const scope = keyScopeOf(state);
  if (
    scope === 'composer' &&
    state.composer !== null &&
    (cannedQuery(state.composer) !== null || mentionChoices(state.composer, state.colleagues) !== null)
  )
    return [
      { key: keymap.label('send', scope) ?? '', about: 'insert' },
      { key: keymap.label('back', scope) ?? '', about: 'hide' },
    ];
  const reads = scope === 'menu' && state.dialog?.kind !== 'menu';
  const canned: readonly Hint[] =
    scope === 'composer' && state.composer?.buffer.text === '' ? [{ key: '/', about: 'canned replies' }] : [];
  return [
    ...canned,
    ...hintsOf[scope].flatMap(([command, about]): Hint[] => {
      // Nothing is chosen from help and from the visitor's data.
      if (reads && command === 'choose') return [];
      const key = keymap.label(command, scope);
      return key === undefined || !isAvailable(state, command) ? [] : [{ key, about }];
    }),
  ];
}
