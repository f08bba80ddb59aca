// The bell of an open dashboard or console, for what its other events do not tell: a signal to the one member. New
// conversations and messages ring there by themselves.
import type { MemberRow } from '../../engine/rows.ts';
import type { EventPayloads } from '../../protocol/events.ts';
import type { Service } from '../service.ts';
import type { FoundHappening } from './happenings.ts';

/** Rings for a mention, an assignment or the end of a snooze; every node tells the connections that it has. */
export function ringBell(service: Service, member: MemberRow, found: FoundHappening): void {
  const { event, conversationId, message } = found;
  if (event !== 'mention' && event !== 'assigned' && event !== 'due') return;
  sendBell(service, member, {
    event,
    conversationId,
    messageId: message?.id ?? null,
    name: message?.member_name ?? null,
    minutes: null,
  });
}

/** Tells a member's connections. */
export function sendBell(
  { engine }: Service,
  { id, organization_id }: Pick<MemberRow, 'id' | 'organization_id'>,
  notification: EventPayloads['notification:new'],
): void {
  engine.signals.send({
    type: 'notification',
    organizationId: organization_id,
    memberId: id,
    notification,
  });
}
