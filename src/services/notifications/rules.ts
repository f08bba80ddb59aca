// Who is told of what, and how: pure functions of what happened and of the people it may concern, so that every rule is
// in one place and in one table of tests.
import { notificationWays } from '../../protocol/enums.ts';
import type {
  EscalationStep,
  NotificationEvent,
  NotificationSettings,
  NotificationWay,
} from '../../protocol/notifications.ts';

/** Something that members may want to be told of. */
export interface Happening {
  readonly event: NotificationEvent;
  readonly conversationId: string;
  /** Who caused it: no one is told of their own deeds. */
  readonly actorId: string;
  /** Who has the conversation; null: no one. */
  readonly assigneeId: string | null;
  /** Whom a note names. */
  readonly mentioned: ReadonlySet<string>;
}

/** A member as the rules see them, at the moment of telling. */
export interface Person {
  readonly memberId: string;
  readonly enabled: boolean;
  readonly settings: Pick<NotificationSettings, 'events'>;
  /** Whether it is in their quiet hours. */
  readonly quiet: boolean;
  /** Whether a dashboard or console of theirs is connected. */
  readonly connected: boolean;
  /** The conversations that they have before their eyes. */
  readonly watching: ReadonlySet<string>;
}

export interface Told {
  readonly memberId: string;
  /** In the order of the protocol; never empty. */
  readonly ways: readonly NotificationWay[];
}

/**
 * Who is told of a happening, by which ways:
 * - whom it concerns, by its event, and no one of what they did themselves;
 * - no one who is disabled, in their quiet hours, or looking at the conversation;
 * - by the ways that they have chosen for the event: e-mail only while nothing of theirs is connected, the bell only
 *   while something is.
 */
export function whoIsTold(happening: Happening, people: readonly Person[]): Told[] {
  return people.flatMap((person) => {
    if (!isConcerned(happening, person) || !mayBeTold(happening, person) || person.quiet) return [];
    const chosen = person.settings.events[happening.event];
    return told(person, (way) => chosen[way] && (way !== 'email' || !person.connected));
  });
}

/**
 * Who is told that no member has accepted a conversation, by the ways that the organization has chosen. A step that names
 * one member reaches them in their quiet hours too; no one else is told in theirs.
 */
export function whoIsEscalatedTo(
  { to, ways }: EscalationStep,
  { conversationId }: Pick<Happening, 'conversationId'>,
  people: readonly Person[],
): Told[] {
  return people.flatMap((person) => {
    const named = to === person.memberId;
    const meant = named || to === 'all' || (to === 'available' && person.connected);
    if (!meant || !mayBeTold({ conversationId }, person) || (person.quiet && !named)) return [];
    return told(person, (way) => ways.includes(way));
  });
}

function isConcerned({ event, actorId, assigneeId, mentioned }: Happening, { memberId }: Person): boolean {
  if (memberId === actorId) return false;
  switch (event) {
    case 'new':
      return assigneeId === null;
    case 'due':
      return assigneeId === null || memberId === assigneeId;
    case 'assigned':
    case 'reply':
      return memberId === assigneeId;
    case 'mention':
      return mentioned.has(memberId);
  }
}

function mayBeTold({ conversationId }: Pick<Happening, 'conversationId'>, person: Person): boolean {
  return person.enabled && !person.watching.has(conversationId);
}

/** A bell rings only where something is open. */
function told(person: Person, isChosen: (way: NotificationWay) => boolean): Told[] {
  const ways = notificationWays.filter((way) => isChosen(way) && (way !== 'bell' || person.connected));
  return ways.length === 0 ? [] : [{ memberId: person.memberId, ways }];
}
