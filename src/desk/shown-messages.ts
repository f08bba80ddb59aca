// Which messages of the open conversation are shown, and up to which the visitor has read. Pure.
import type { StaffRoom } from '../sdk/staff-types.ts';
import type { DeskState, OpenConversation, ShownMessage } from './desk-state.ts';

const nothing: readonly ShownMessage[] = [];

const merged = new WeakMap<
  StaffRoom,
  { readonly deleted: readonly ShownMessage[]; readonly messages: readonly ShownMessage[] }
>();

/** The messages with the places of those that were deleted while they were in sight. */
export function shownMessages({ room, deletedMessages }: OpenConversation): readonly ShownMessage[] {
  if (room === null) return nothing;
  if (deletedMessages.length === 0) return room.messages;
  const known = merged.get(room);
  if (known?.deleted === deletedMessages) return known.messages;
  const stored = room.messages.filter(({ state }) => state === 'sent');
  const unsent = room.messages.filter(({ state }) => state !== 'sent');
  const messages = [
    ...[...stored, ...deletedMessages].toSorted((one, other) =>
      one.createdAt === other.createdAt ? 0 : one.createdAt < other.createdAt ? -1 : 1,
    ),
    ...unsent,
  ];
  merged.set(room, { deleted: deletedMessages, messages });
  return messages;
}

/** The own message up to which the visitor has read, as far as the service told since the conversation was opened. */
export function lastSeenMessage({ room }: OpenConversation, visitorId: string | undefined): string | null {
  const upTo = visitorId === undefined ? undefined : room?.reads[visitorId];
  if (room === null || upTo === undefined) return null;
  const at = room.messages.findIndex(({ id }) => id === upTo);
  return (
    room.messages
      .slice(0, at + 1)
      .findLast(({ senderRole, internal }) => senderRole === 'operator' && internal !== true)?.id ?? null
  );
}

/** Whether the newest message of the open conversation is in front of the operator. */
export function isWatching({ watched, open, dialog, panes, focus }: DeskState): boolean {
  return watched && dialog === null && open !== null && open.atEnd && (panes > 1 || focus !== 'queue');
}
