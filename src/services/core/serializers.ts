// Row → entity, one function per entity, for answers and events alike. Nothing
// leaves the service in any other way, so nothing leaves by accident.
import type {
  CannedReplyRow,
  ApiKeyRow,
  ApplicationRow,
  AuditRow,
  ConversationRow,
  DomainRow,
  MemberRow,
  MessageRow,
  MessageWithSender,
  OrganizationRow,
  ParticipantRow,
  QueueRow,
  VisitorRow,
} from '../../engine/rows.ts';
import type * as entity from '../../protocol/entities.ts';
import type { EventPayloads, SocketMessage, SyncMessage } from '../../protocol/events.ts';
import { sizeLimits } from '../../protocol/codes.ts';
import { preview } from '../../text/text.ts';
import { serializeAttachments, type LinkMaker } from '../files/links.ts';
import { readSettings } from '../tenants/settings.ts';

let lastTime = { ms: Number.NaN, text: '' };

/** ISO 8601, UTC, ms. A message says the same time several times, and many are written in one ms. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() };
  return lastTime.text;
}

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/** How a visitor without a name is called. */
export const anonymousName = 'Visitor';

type SenderColumns = Pick<MessageRow, 'sender_role' | 'sender_label'> & {
  visitor_name: string | null;
  member_name: string | null;
};

/** The name to show for a message's sender; a removed member or visitor keeps a neutral one. */
export function senderName(row: SenderColumns): string {
  switch (row.sender_role) {
    case 'visitor':
      return row.visitor_name ?? anonymousName;
    case 'operator':
      return row.member_name ?? 'Operator';
    case 'assistant':
    case 'system':
      return row.sender_label ?? 'Assistant';
  }
}

/** @param forStaff how the mail stands by which it went out is no visitor's concern */
export function serializeMessage(
  row: MessageWithSender,
  maker: LinkMaker,
  forStaff: boolean,
): entity.Message {
  return {
    ...serializeSentMessage(row, maker),
    editedAt: isoOrNull(row.edited_at),
    ...(forStaff && row.emailed !== null && row.emailed_at !== null
      ? { emailed: { state: row.emailed, at: isoTime(row.emailed_at) } }
      : {}),
  };
}

/** As the send response carries it: without `editedAt`. */
export function serializeSentMessage(row: MessageWithSender, maker: LinkMaker): entity.SentMessage {
  const message: entity.SentMessage = {
    id: row.id,
    conversationId: row.conversation_id,
    senderId: row.sender_id,
    senderName: senderName(row),
    senderRole: row.sender_role,
    type: 'text',
    content: row.content,
    contentFormat: row.content_format,
    contentHtml: row.content_html,
    createdAt: isoTime(row.created_at),
  };
  // What few messages have is added to those only: every message comes this way.
  if (row.internal === 1) message.internal = true;
  if (row.choices !== null) message.choices = JSON.parse(row.choices) as entity.AiChoice[];
  if (row.choice !== null) message.choice = row.choice;
  if (row.attachments !== null) Object.assign(message, serializeAttachments(row, maker));
  if (row.via !== null) message.via = row.via;
  return message;
}

export function serializeSocketMessage(row: MessageWithSender, maker: LinkMaker): SocketMessage {
  return serializeSentMessage(row, maker);
}

export function serializeSyncMessage(
  row: MessageWithSender,
  maker: LinkMaker,
  forStaff: boolean,
): SyncMessage {
  const { conversationId: _named, ...message } = serializeMessage(row, maker, forStaff);
  return message;
}

export function serializeEdited(row: MessageWithSender, maker: LinkMaker): EventPayloads['message:edited'] {
  return {
    conversationId: row.conversation_id,
    messageId: row.id,
    content: row.content,
    contentFormat: row.content_format,
    contentHtml: row.content_html,
    editedAt: isoTime(row.edited_at ?? row.created_at),
    senderId: row.sender_id,
    ...serializeAttachments(row, maker),
  };
}

/** What staff receive of a new message without having joined its room. */
export function serializeActivity(
  message: MessageWithSender,
  conversation: Pick<ConversationRow, 'updated_at' | 'waiting_since'>,
): EventPayloads['conversation:activity'] {
  return {
    conversationId: message.conversation_id,
    lastMessageId: message.id,
    updatedAt: isoTime(conversation.updated_at),
    preview: preview(message.content_text ?? message.content, sizeLimits.preview),
    waiting: conversation.waiting_since !== null,
    senderId: message.sender_id,
    senderRole: message.sender_role,
    senderName: senderName(message),
    createdAt: isoTime(message.created_at),
    ...(message.internal === 1 ? { internal: true } : {}),
  };
}

export function serializeConversationListItem(row: ConversationRow): entity.ConversationListItem {
  return {
    id: row.id,
    status: row.status,
    ...(row.subject === null ? {} : { subject: row.subject }),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    ...(row.channel === null ? {} : { channel: row.channel }),
    ...(row.continues === null ? {} : { continues: row.continues }),
  };
}

export function serializeConversation(
  row: ConversationRow,
  participants: readonly ParticipantRow[],
): entity.Conversation {
  return {
    ...serializeConversationListItem(row),
    ...(row.assigned_to === null ? {} : { assignedTo: row.assigned_to }),
    participants: participants.map(serializeParticipant),
  };
}

export function serializeNewConversation(row: ConversationRow): EventPayloads['conversation:new'] {
  return {
    id: row.id,
    organizationId: row.organization_id,
    applicationId: row.application_id,
    status: row.status,
    ...(row.subject === null ? {} : { subject: row.subject }),
    createdAt: isoTime(row.created_at),
  };
}

/** What staff hear when something about a conversation changed that is no message and no act. */
export function serializeChanged(
  row: Pick<ConversationRow, 'id' | 'priority' | 'snoozed_until' | 'subject'>,
  tags: readonly string[],
): EventPayloads['conversation:changed'] {
  return {
    conversationId: row.id,
    tags: [...tags],
    priority: row.priority,
    snoozedUntil: isoOrNull(row.snoozed_until),
    subject: row.subject,
  };
}

function serializeParticipant(row: ParticipantRow): entity.Participant {
  return { userId: row.user_id, role: row.role, joinedAt: isoTime(row.joined_at) };
}

/** What a visitor says of themselves, and a backend may verify. */
export const namingFields = ['name', 'email', 'attributes'] as const;

/** Which of these were verified. */
export function readVerifiedFields({
  verified_fields,
}: Pick<VisitorRow, 'verified_fields'>): (typeof namingFields)[number][] {
  const marked = verified_fields.split(',');
  return namingFields.filter((field) => marked.includes(field));
}

export function serializeVisitor(
  row: Omit<VisitorRow, 'id' | 'organization_id' | 'application_id' | 'mode' | 'address_digest'>,
): entity.Visitor {
  return {
    id: row.visitor_id,
    name: row.name,
    email: row.email,
    verified: row.verified === 1,
    verifiedFields: row.verified === 1 ? ['id', ...readVerifiedFields(row)] : [],
    attributes: JSON.parse(row.attributes) as entity.Visitor['attributes'],
    createdAt: isoTime(row.created_at),
  };
}

export function serializeQueueItem(row: QueueRow): entity.StaffConversationListItem {
  return {
    ...serializeConversationListItem(row),
    mode: row.mode,
    assignedTo: row.assigned_to,
    assignedToName: row.assignee_name,
    visitor: serializeVisitor({
      visitor_id: row.visitor_id,
      name: row.visitor_name,
      email: row.visitor_email,
      verified: row.visitor_verified,
      verified_fields: row.visitor_verified_fields,
      attributes: row.visitor_attributes,
      created_at: row.visitor_created_at,
    }),
    application: { id: row.application_id, name: row.application_name },
    lastMessage: serializeLastMessage(row),
    // They are counted among the newest messages: behind many of staff one may be left that was not counted.
    unreadCount: row.unread === 1 ? Math.max(row.unread_count ?? 0, 1) : 0,
    unread: row.unread === 1,
    waitingSince: isoOrNull(row.waiting_since),
    tags: [...row.tags],
    priority: row.priority,
    snoozedUntil: isoOrNull(row.snoozed_until),
    dueAt: null,
  };
}

function serializeLastMessage(row: QueueRow): entity.StaffConversationListItem['lastMessage'] {
  const { message_id, message_sender_id, message_sender_role, message_content, message_created_at } = row;
  if (message_id === null || message_sender_id === null || message_sender_role === null) return null;
  if (message_content === null || message_created_at === null) return null;
  return {
    id: message_id,
    senderId: message_sender_id,
    senderRole: message_sender_role,
    senderName: senderName({
      sender_role: message_sender_role,
      sender_label: row.message_sender_label,
      visitor_name: row.visitor_name,
      member_name: row.message_sender_name,
    }),
    preview: preview(row.message_content_text ?? message_content, sizeLimits.preview),
    createdAt: isoTime(message_created_at),
    ...(row.message_internal === 1 ? { internal: true } : {}),
  };
}

export function serializeStaffConversation(
  row: QueueRow,
  participants: readonly ParticipantRow[],
): entity.StaffConversation {
  return {
    ...serializeQueueItem(row),
    participants: participants.map(serializeParticipant),
    resolvedBy: row.resolved_by,
    resolvedAt: isoOrNull(row.resolved_at),
  };
}

export function serializeOrganization(row: OrganizationRow): entity.Organization {
  return { id: row.id, name: row.name, slug: row.slug, plan: row.plan };
}

export function serializeApplication(row: ApplicationRow, domains: readonly DomainRow[]): entity.Application {
  return {
    id: row.id,
    appId: row.id,
    organizationId: row.organization_id,
    name: row.name,
    domains: domains.map((one) => one.domain),
  };
}

export function serializeApplicationDetail(
  row: ApplicationRow,
  domains: readonly DomainRow[],
): entity.ApplicationDetail {
  return {
    ...serializeApplication(row, domains),
    settings: readSettings(row),
    createdAt: isoTime(row.created_at),
  };
}

export function serializeDomain(row: DomainRow): entity.Domain {
  return {
    id: row.id,
    applicationId: row.application_id,
    domain: row.domain,
    createdAt: isoTime(row.created_at),
  };
}

export function serializeApiKey(row: ApiKeyRow): entity.ApiKey {
  return {
    id: row.id,
    applicationId: row.application_id,
    name: row.name,
    mode: row.mode,
    hint: `dbk_${row.mode}_${row.public_id}…`,
    createdAt: isoTime(row.created_at),
    lastUsedAt: isoOrNull(row.last_used_at),
    expiresAt: isoOrNull(row.expires_at),
    revokedAt: isoOrNull(row.revoked_at),
  };
}

export function serializeCannedReply(row: CannedReplyRow): entity.CannedReply {
  return {
    id: row.id,
    shortcut: row.shortcut,
    content: row.content,
    contentFormat: row.content_format,
    contentHtml: row.content_html,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

export function serializeMember(row: MemberRow): entity.Member {
  return {
    id: row.id,
    organizationId: row.organization_id,
    email: row.email,
    name: row.name,
    role: row.role,
    disabled: row.disabled_at !== null,
    createdAt: isoTime(row.created_at),
  };
}

export function serializeAuditEntry(row: AuditRow): entity.AuditEntry {
  return {
    id: row.id,
    organizationId: row.organization_id,
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    detail: JSON.parse(row.detail) as entity.AuditEntry['detail'],
    address: row.address,
    createdAt: isoTime(row.created_at),
  };
}
