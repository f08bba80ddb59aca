// Who hears what, by kind of event: one place, so that it can be read and tested.
import type { Audience, LoggedEventType, MessageRow } from '../engine/rows.ts';

/** A note is heard by staff in the room only; any other message by everyone in it. */
export function messageAudience(message: Pick<MessageRow, 'internal'>): Audience {
  return message.internal === 1 ? 'room_staff' : 'room';
}

/** The audience of the events that are not about one message. */
export const conversationAudience = {
  'conversation:new': 'staff',
  'conversation:accepted': 'staff_and_room',
  'conversation:released': 'staff_and_room',
  'conversation:resolved': 'staff_and_room',
} as const satisfies Partial<Record<LoggedEventType, Audience>>;
