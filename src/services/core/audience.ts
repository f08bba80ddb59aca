// Who may receive which event. Every transport asks canReceive: WebSocket connections, webhooks and
// `deskbell tail`. An event's row carries its audience as a label; what the label means is said here only.
import type { Audience, EventRow, LoggedEventType, MessageRow } from '../../engine/rows.ts';
import type { Mode } from '../../protocol/entities.ts';
import { userId, type LocalActor, type MemberActor, type VisitorActor } from './actor.ts';

/** The audience of a message's events: a note is for staff in the room, any other message for the whole room. */
export function messageAudience(message: Pick<MessageRow, 'internal'>): Audience {
  return message.internal === 1 ? 'room_staff' : 'room';
}

/** The audience of the events that are not about one message. */
export const conversationAudience = {
  'conversation:new': 'staff',
  'conversation:accepted': 'staff_and_room',
  'conversation:released': 'staff_and_room',
  'conversation:resolved': 'staff_and_room',
  'conversation:reopened': 'staff_and_room',
  'conversation:changed': 'staff',
} as const satisfies Partial<Record<LoggedEventType, Audience>>;

/** True for those who may read internal notes. */
export function canReadNotes(reader: VisitorActor | MemberActor): boolean {
  return reader.kind === 'member';
}

/** An event of the log, as far as its delivery depends on it. */
export type LoggedEvent = Pick<
  EventRow,
  'type' | 'organization_id' | 'conversation_id' | 'mode' | 'audience' | 'actor_id'
> & {
  /** The connection that caused it. */
  readonly originConnectionId?: string | undefined;
};

/** What staff outside a room are told of it: the summary of a new message, or that one was edited or deleted. */
export interface ActivityEvent {
  readonly type: 'conversation:activity' | 'conversation:outdated';
  readonly organization_id: string;
  readonly mode: Mode;
}

/** A signal that is never stored: someone types. */
export interface TypingEvent {
  readonly type: 'typing:start' | 'typing:stop';
  readonly organization_id: string;
  readonly conversation_id: string;
  readonly actor_id: string;
}

/** A signal that is never stored: an organization went online or offline. */
export interface PresenceEvent {
  readonly type: 'presence';
  readonly organization_id: string;
}

/** A signal that is never stored: a tag of the organization has another name, or is gone. */
export interface TagEvent {
  readonly type: 'tag:changed';
  readonly organization_id: string;
}

/** Something that one member alone is told of, or that a notification of theirs is over. */
export interface NotificationEvent {
  readonly type: 'notification:new' | 'notification:cleared';
  readonly organization_id: string;
  readonly member_id: string;
}

export type DeliverableEvent =
  | LoggedEvent
  | ActivityEvent
  | TypingEvent
  | PresenceEvent
  | TagEvent
  | NotificationEvent;

/** An organization's webhook. It receives live events only. */
export interface WebhookListener {
  readonly kind: 'webhook';
  readonly organizationId: string;
}

export type Listener = VisitorActor | MemberActor | LocalActor | WebhookListener;

/** A connection in a room that it was allowed to join. */
export interface RoomSubscription {
  readonly kind: 'room';
  readonly conversationId: string;
  readonly connectionId: string;
  /** Whether it also receives the listener's own messages sent by other connections. */
  readonly echo: boolean;
}

/** A connection outside any room: the queue for staff, presence for visitors. */
export interface OrganizationSubscription {
  readonly kind: 'organization';
  /** Staff receive events of conversations in these modes. */
  readonly modes: readonly Mode[];
  /** Whether staff also hear what may have changed in a queue without an event of its own: edits, deletions, tags. */
  readonly changes: boolean;
}

/** What a webhook was set up for. */
export interface WebhookSubscription {
  readonly kind: 'webhook';
  /** Event types; null: all. */
  readonly types: ReadonlySet<string> | null;
}

/** The event log read on the data folder. */
export interface LogSubscription {
  readonly kind: 'log';
  /** null: every organization. */
  readonly organizationId: string | null;
}

export type Subscription =
  | RoomSubscription
  | OrganizationSubscription
  | WebhookSubscription
  | LogSubscription;

/**
 * Whether a listener may receive an event through one of its subscriptions.
 * @param subscription must be the listener's own; that it was allowed to join a room is checked when it joins
 */
export function canReceive(event: DeliverableEvent, listener: Listener, subscription: Subscription): boolean {
  switch (subscription.kind) {
    case 'room':
      return isInRoom(listener) && canReceiveInRoom(event, listener, subscription);
    case 'organization':
      return isInRoom(listener) && canReceiveOutsideRooms(event, listener, subscription);
    case 'webhook':
      return listener.kind === 'webhook' && canReceiveByWebhook(event, listener, subscription);
    case 'log':
      return listener.kind === 'local' && canReadFromLog(event, subscription);
  }
}

function isInRoom(listener: Listener): listener is VisitorActor | MemberActor {
  return listener.kind === 'visitor' || listener.kind === 'member';
}

function canReceiveInRoom(
  event: DeliverableEvent,
  listener: VisitorActor | MemberActor,
  subscription: RoomSubscription,
): boolean {
  if (event.type === 'presence' || event.type === 'tag:changed' || isActivity(event) || isNotification(event))
    return false;
  if (event.conversation_id !== subscription.conversationId) return false;
  if (event.organization_id !== listener.organizationId) return false;
  const isOwn = event.actor_id === userId(listener);
  if (isTyping(event)) return !isOwn;
  if (listener.kind === 'visitor' && event.mode !== listener.mode) return false;
  if (event.audience === 'staff') return false;
  if (event.audience === 'room_staff' && !canReadNotes(listener)) return false;
  if (event.type !== 'message:new' || !isOwn) return true;
  return subscription.echo && event.originConnectionId !== subscription.connectionId;
}

/** False for an event of the log that is for its room alone: most of them. */
export function leavesItsRoom({ audience }: Pick<LoggedEvent, 'audience'>): boolean {
  return audience === 'staff' || audience === 'staff_and_room';
}

function canReceiveOutsideRooms(
  event: DeliverableEvent,
  listener: VisitorActor | MemberActor,
  { modes, changes }: OrganizationSubscription,
): boolean {
  if (isTyping(event)) return false;
  if (event.organization_id !== listener.organizationId) return false;
  if (event.type === 'presence') return listener.kind === 'visitor';
  if (isNotification(event)) return listener.kind === 'member' && listener.memberId === event.member_id;
  if (event.type === 'tag:changed') return changes && listener.kind === 'member';
  if (listener.kind !== 'member' || !modes.includes(event.mode)) return false;
  if (event.type === 'conversation:outdated') return changes;
  return isActivity(event) || leavesItsRoom(event);
}

function canReceiveByWebhook(
  event: DeliverableEvent,
  { organizationId }: WebhookListener,
  { types }: WebhookSubscription,
): boolean {
  if (!isLogged(event) || event.organization_id !== organizationId) return false;
  if (event.mode !== 'live' || event.audience === 'room_staff') return false;
  return types === null || types.has(event.type);
}

function canReadFromLog(event: DeliverableEvent, { organizationId }: LogSubscription): boolean {
  return isLogged(event) && (organizationId === null || event.organization_id === organizationId);
}

function isActivity(event: DeliverableEvent): event is ActivityEvent {
  return event.type === 'conversation:activity' || event.type === 'conversation:outdated';
}

function isTyping(event: DeliverableEvent): event is TypingEvent {
  return event.type === 'typing:start' || event.type === 'typing:stop';
}

function isNotification(event: DeliverableEvent): event is NotificationEvent {
  return event.type === 'notification:new' || event.type === 'notification:cleared';
}

function isLogged(event: DeliverableEvent): event is LoggedEvent {
  return 'audience' in event;
}
