// What a member is told of something, in words: read from the rows as they are at that moment, and only as much of it as
// the member may see and wants shown.
import type { NotificationEvent, NotificationPreview } from '../../protocol/notifications.ts';
import type { ConversationWithVisitor, MemberRow, MessageWithSender } from '../../engine/rows.ts';
import { preview } from '../../text/text.ts';
import type { MemberActor } from '../core/actor.ts';
import { canReceive, messageAudience, conversationAudience } from '../core/audience.ts';
import { textIn } from './texts.ts';

/** A push's or a mail's words, as plain text. */
export interface Notice {
  readonly title: string;
  readonly body: string;
}

export interface NoticeSubject {
  /** `waiting`: no member has accepted the conversation. */
  readonly event: NotificationEvent | 'waiting';
  readonly conversation: ConversationWithVisitor;
  /** Of `reply` and `mention`. */
  readonly message: MessageWithSender | null;
  /** Of `assigned`: who gave it. */
  readonly by: string | null;
  /** Of `waiting`. */
  readonly minutes: number;
}

const maxTitle = 100;
const maxBody = 200;

/**
 * The words for a member.
 * @param locale the language in which the member is told
 */
export function noticeFor(
  { event, conversation, message, by, minutes }: NoticeSubject,
  { shows, locale }: { readonly shows: NotificationPreview; readonly locale: string | null },
): Notice {
  const colleague = textIn(locale, 'colleague');
  const visitor = shows === 'none' ? '' : (conversation.visitor_name ?? textIn(locale, 'visitor'));
  const subject = shows === 'text' ? (conversation.subject ?? '') : '';
  const text = shows === 'text' && message !== null ? (message.content_text ?? message.content) : '';
  switch (event) {
    case 'new':
      return words(textIn(locale, 'waiting'), [visitor, subject]);
    case 'waiting':
      return words(textIn(locale, 'escalated', { minutes }), [visitor, subject]);
    case 'assigned':
      return words(textIn(locale, 'assigned', { name: by ?? colleague }), [visitor, subject]);
    case 'due':
      return words(textIn(locale, 'due'), [visitor, subject]);
    case 'reply':
      return visitor === ''
        ? words(textIn(locale, 'message'), [])
        : words(visitor, [text === '' ? textIn(locale, 'message') : text]);
    case 'mention':
      return words(textIn(locale, 'mention', { name: message?.member_name ?? colleague }), [text]);
  }
}

function words(title: string, parts: readonly string[]): Notice {
  return {
    title: preview(title, maxTitle),
    body: preview(parts.filter((part) => part !== '').join(': '), maxBody),
  };
}

/**
 * Whether a member may be told of it at all, by the rules of live events: a member of the organization, and of a note
 * only who may read notes.
 */
export function mayReceive(
  member: MemberRow,
  { conversation, message }: Pick<NoticeSubject, 'conversation' | 'message'>,
): boolean {
  const listener: MemberActor = {
    kind: 'member',
    organizationId: member.organization_id,
    memberId: member.id,
    name: member.name,
    role: member.role,
    sessionId: '',
    sessionEndsAt: Number.MAX_SAFE_INTEGER,
    scopes: null,
    origin: null,
  };
  const event = {
    organization_id: conversation.organization_id,
    conversation_id: conversation.id,
    mode: conversation.mode,
  };
  if (conversation.mode !== 'live') return false;
  if (message === null)
    return canReceive(
      {
        ...event,
        type: 'conversation:new',
        audience: conversationAudience['conversation:new'],
        actor_id: conversation.visitor_id,
      },
      listener,
      { kind: 'organization', modes: ['live'], changes: false },
    );
  return canReceive(
    { ...event, type: 'message:new', audience: messageAudience(message), actor_id: message.sender_id },
    listener,
    { kind: 'room', conversationId: conversation.id, connectionId: '', echo: false },
  );
}
