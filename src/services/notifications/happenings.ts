// Reads of the event log what members may want to be told of, and whom it concerns.
import type { ConversationWithVisitor, EventRow, MemberRow, MessageWithSender } from '../../engine/rows.ts';
import type { ReadTx, Service } from '../service.ts';
import { findMentions } from '../../text/mentions.ts';
import { isVisitorId, noActor } from '../core/actor.ts';
import { readNotifications } from './preferences.ts';
import { isQuiet } from './quiet-hours.ts';
import type { Happening, Person } from './rules.ts';

/** A happening with the rows that it is told from. */
export interface FoundHappening extends Happening {
  readonly conversation: ConversationWithVisitor;
  readonly message: MessageWithSender | null;
  /** Whom it may concern. */
  readonly candidates: readonly MemberRow[];
}

/** Whether an event may be such a thing: asked of every event, so it looks at nothing but the row. */
export function mayConcernMembers({
  type,
  mode,
  audience,
  actor_id: actor,
}: Pick<EventRow, 'type' | 'mode' | 'audience' | 'actor_id'>): boolean {
  return (
    mode === 'live' &&
    // What is said to the visitor concerns no other member; a note may name one.
    ((type === 'message:new' && (audience === 'room_staff' || isVisitorId(actor))) ||
      type === 'conversation:new' ||
      type === 'conversation:released' ||
      type === 'conversation:accepted' ||
      // Its time ended a snooze, and no one did.
      (type === 'conversation:changed' && actor === noActor))
  );
}

/** What an event is for members, by the rows as they are now; null: nothing. */
export async function findHappening(tx: ReadTx, event: EventRow): Promise<FoundHappening | null> {
  const { conversations, members, messages } = tx.repositories;
  const conversation = await conversations.byId(event.conversation_id);
  if (conversation === undefined) return null;
  const common = {
    conversationId: conversation.id,
    conversation,
    actorId: event.actor_id,
    assigneeId: conversation.assigned_to,
    mentioned: new Set<string>(),
    message: null,
  };
  switch (event.type) {
    case 'conversation:new':
    case 'conversation:released':
      if (conversation.status !== 'pending') return null;
      return { ...common, event: 'new', candidates: await members.byOrganization(event.organization_id) };
    case 'conversation:accepted':
      if (event.member_id === null || event.member_id === event.actor_id) return null;
      // Given on to another one since: that is an event of its own.
      if (event.member_id !== conversation.assigned_to) return null;
      return { ...common, event: 'assigned', candidates: await one(tx, event.member_id) };
    case 'conversation:changed':
      // Closed, or snoozed anew, since its time had come.
      if (conversation.status === 'closed' || conversation.snoozed_until !== null) return null;
      return {
        ...common,
        event: 'due',
        candidates:
          conversation.assigned_to === null
            ? await members.byOrganization(event.organization_id)
            : await one(tx, conversation.assigned_to),
      };
    case 'message:new': {
      // Most messages of a visitor whom no one has accepted yet end here.
      if (event.audience === 'room' && conversation.assigned_to === null) return null;
      const message = event.message_id === null ? undefined : await messages.byId(event.message_id);
      if (message === undefined || message.deleted_at !== null) return null;
      if (message.internal === 1) return findMention(tx, { ...common, message });
      if (message.sender_role !== 'visitor' || conversation.assigned_to === null) return null;
      return { ...common, message, event: 'reply', candidates: await one(tx, conversation.assigned_to) };
    }
    default:
      return null;
  }
}

async function findMention(
  tx: ReadTx,
  note: Omit<FoundHappening, 'event' | 'candidates'> & { readonly message: MessageWithSender },
): Promise<FoundHappening | null> {
  const text = note.message.content_text ?? note.message.content;
  if (!text.includes('@')) return null;
  const members = await tx.repositories.members.byOrganization(note.conversation.organization_id);
  const named = findMentions(
    text,
    members.filter(({ disabled_at }) => disabled_at === null),
  );
  return {
    ...note,
    event: 'mention',
    mentioned: named,
    candidates: members.filter(({ id }) => named.has(id)),
  };
}

async function one(tx: ReadTx, memberId: string): Promise<readonly MemberRow[]> {
  const member = await tx.repositories.members.byId(memberId);
  return member === undefined ? [] : [member];
}

/**
 * A member as the rules see them now.
 * @param connected whether a dashboard or console of theirs is connected
 */
export function asPerson({ focus, engine }: Service, member: MemberRow, connected: boolean): Person {
  const settings = readNotifications(member);
  return {
    memberId: member.id,
    enabled: member.disabled_at === null,
    settings,
    quiet: isQuiet(settings.quietHours, engine.clock.now()),
    connected,
    watching: focus.of(member.id),
  };
}
