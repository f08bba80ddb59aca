// What each write may read and change, for engines that lock no more than that. The hot operations name a part of
// their organization; every other one has the whole of it.
import type { OrganizationScope, Scope } from '../../engine/engine.ts';
import type { ConversationRow, WebhookRow } from '../../engine/rows.ts';
import type { Mode } from '../../protocol/entities.ts';
import type { Call, MemberCall, ParticipantCall, VisitorCall } from '../service.ts';

/** The caller's organization. The command line may act in any, so it has the whole server. */
export function organizationScope({ actor }: Call): Scope {
  return 'organizationId' in actor ? { organization: actor.organizationId } : 'server';
}

/** Everything: for what is unique across organizations. */
export function serverScope(): Scope {
  return 'server';
}

/** The conversation that the input names. */
export function conversationScope({ actor }: ParticipantCall, input: { conversationId: string }): Scope {
  return scopeOfConversation({ id: input.conversationId, organization_id: actor.organizationId });
}

/** A conversation by its row. */
export function scopeOfConversation(row: Pick<ConversationRow, 'id' | 'organization_id'>): OrganizationScope {
  return { organization: row.organization_id, part: `conversation:${row.id}` };
}

/** The calling visitor with their conversations' number. */
export function visitorScope({ actor }: VisitorCall): Scope {
  const { organizationId, applicationId, mode, visitorId } = actor;
  return scopeOfVisitor({
    organization_id: organizationId,
    application_id: applicationId,
    mode,
    visitor_id: visitorId,
  });
}

/** A visitor by the columns that are unique together. */
export function scopeOfVisitor(row: {
  readonly organization_id: string;
  readonly application_id: string;
  readonly mode: Mode;
  readonly visitor_id: string;
}): OrganizationScope {
  return {
    organization: row.organization_id,
    part: `visitor:${row.application_id}:${row.mode}:${row.visitor_id}`,
  };
}

/** The calling member's own sessions. */
export function memberScope({ actor }: MemberCall): Scope {
  return scopeOfMember(actor.organizationId, actor.memberId);
}

/** A member's sessions. */
export function scopeOfMember(organization: string, memberId: string): OrganizationScope {
  return { organization, part: `member:${memberId}` };
}

/** A webhook's deliveries. */
export function scopeOfWebhook(row: Pick<WebhookRow, 'id' | 'organization_id'>): OrganizationScope {
  return { organization: row.organization_id, part: `webhook:${row.id}` };
}
