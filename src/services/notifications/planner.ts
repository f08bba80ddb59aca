// From events to effects: which pushes and e-mails an event leads to, one row for each browser and each mail, and the
// bell at once. Whether a row is still to be sent is asked again when it is.
import type { EventRow, MemberRow, OrganizationRow } from '../../engine/rows.ts';
import type { NewEffect, EffectPlanner } from '../outbox/effects.ts';
import { mailRoute } from '../mail/mail-server.ts';
import type { ReadTx, Service } from '../service.ts';
import { planEscalation } from './escalation.ts';
import { asPerson, findHappening, mayConcernMembers, type FoundHappening } from './happenings.ts';
import { ringBell } from './bell.ts';
import { whoIsTold, type Told } from './rules.ts';

/** What is older when it is read is no news any more: the log is read again from a while back after a restart. */
const newsMs = 60_000;
/** An e-mail waits so long: who reads the message in between gets none. */
const mailDelayMs = 120_000;
/** How long a push or a mail is tried for: as long as a push service keeps one. */
const noticeRetryForMs = 3_600_000;

/** Plans what members are told of. */
export function createNotificationPlanner(service: Service): EffectPlanner {
  /** Organizations with a browser that is sent pushes or a mail server of their own, and whether this server sends mails. */
  let reached: ReadonlySet<string> = new Set();
  let mails = false;
  /** Conversations that no one has: what their visitors go on to write concerns no member, until something else happens. */
  const unassigned = new Set<string>();
  return {
    refresh: async (tx) => {
      unassigned.clear();
      const { mail, pushDevices } = tx.repositories;
      reached = new Set([...(await pushDevices.organizations()), ...(await mail.organizationsWithServer())]);
      mails = (await mailRoute(service, tx, '')) !== null;
    },
    // A visitor's message leads to nothing where there is neither; notes ring the bell, too.
    wants: (event) => {
      if (event.type !== 'message:new') unassigned.delete(event.conversation_id);
      else if (event.audience === 'room' && unassigned.has(event.conversation_id)) return false;
      return (
        mayConcernMembers(event) &&
        (event.type !== 'message:new' ||
          event.audience === 'room_staff' ||
          mails ||
          reached.has(event.organization_id))
      );
    },
    plan: async (tx, event) => {
      const organization = await tx.repositories.organizations.byId(event.organization_id);
      if (organization === undefined) return [];
      const found = await findHappening(tx, event);
      if (found === null) {
        if (await isUnassigned(tx, event)) remember(unassigned, event.conversation_id);
        return [];
      }
      const steps =
        found.event === 'new'
          ? await planEscalation(tx, organization, event, found, service.engine.clock.now())
          : [];
      return [...steps, ...(await planNotices(tx, service, { organization, event, found }))];
    },
  };
}

/** More conversations than these are looked up again. */
const maxRemembered = 20_000;

function remember(ids: Set<string>, id: string): void {
  if (ids.size >= maxRemembered) ids.clear();
  ids.add(id);
}

async function isUnassigned({ repositories }: ReadTx, event: EventRow): Promise<boolean> {
  if (event.type !== 'message:new' || event.audience !== 'room') return false;
  return (await repositories.conversations.byId(event.conversation_id))?.assigned_to === null;
}

interface Planned {
  readonly organization: OrganizationRow;
  readonly event: EventRow;
  readonly found: FoundHappening;
}

async function planNotices(tx: ReadTx, service: Service, planned: Planned): Promise<NewEffect[]> {
  const { event, found } = planned;
  if (event.created_at < service.engine.clock.now() - newsMs) return [];
  const effects: NewEffect[] = [];
  const canMail = (await mailRoute(service, tx, event.organization_id)) !== null;
  for (const member of found.candidates) {
    // Whether anything of theirs is connected is not asked here: by way, what either leads to.
    const ways = (connected: boolean) => waysOf(found, service, member, connected);
    if (ways(true).includes('bell')) ringBell(service, member, found);
    if (ways(false).includes('push')) effects.push(...(await planPushes(tx, member, planned)));
    if (canMail && ways(false).includes('email')) effects.push(...(await planMail(tx, member, planned)));
  }
  return effects;
}

function waysOf(
  found: FoundHappening,
  service: Service,
  member: MemberRow,
  connected: boolean,
): Told['ways'] {
  return whoIsTold(found, [asPerson(service, member, connected)])[0]?.ways ?? [];
}

async function planPushes(
  tx: ReadTx,
  member: MemberRow,
  { event, found }: Planned,
): Promise<readonly NewEffect[]> {
  const devices = await tx.repositories.pushDevices.ofMember(member.id);
  return devices.map((device) => ({
    ...aboutMember(member, found),
    kind: 'push',
    key: `push:${event.seq}:${device.id}`,
    recipient: device.label,
    payload: { device: device.id, event: found.event, actor: event.actor_id },
  }));
}

async function planMail(tx: ReadTx, member: MemberRow, { event, found }: Planned): Promise<NewEffect[]> {
  const key =
    found.event === 'reply'
      ? await replyMailKey(tx, member, found)
      : `member-${found.event}:${event.seq}:${member.id}`;
  if (key === null) return [];
  return [
    {
      ...aboutMember(member, found),
      kind: 'mail',
      key,
      recipient: member.email,
      payload: { event: found.event, actor: event.actor_id },
      dueAt: event.created_at + mailDelayMs,
    },
  ];
}

/**
 * Of replies one mail, until the conversation was read: none while one waits or has gone since. One that ended without
 * a mail has told nothing. The key names the mail before, so that replies that are planned together lead to one.
 */
async function replyMailKey(
  { repositories: { effects, messages, participants } }: ReadTx,
  member: MemberRow,
  { conversationId: id, message }: FoundHappening,
): Promise<string | null> {
  const last = await effects.newestOfMember('mail', 'member-reply', id, member.id);
  const told = await messages.byId(last?.message_id ?? '');
  if (last !== undefined && told !== undefined) {
    // Its own event is read once more.
    if (told.id === message?.id) return null;
    const read = (await participants.get(id, member.id))?.last_read_seq ?? 0;
    const goes = last.state === 'waiting' && told.deleted_at === null;
    if (told.seq > read && (goes || last.state === 'delivered')) return null;
  }
  return `member-reply:${id}:${member.id}:${last?.id ?? 'first'}`;
}

function aboutMember(member: MemberRow, { event, conversationId, message }: FoundHappening) {
  return {
    about: `member-${event}`,
    organizationId: member.organization_id,
    conversationId,
    messageId: message?.id,
    memberId: member.id,
    retryForMs: noticeRetryForMs,
  } as const;
}
