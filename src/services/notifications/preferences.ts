// What a member wants to be told of, and how: what is stored are the choices alone, laid over the defaults, so that a new
// default reaches everybody who has chosen nothing else.
import type { Input, Output } from '../../protocol/operations.ts';
import {
  notificationSettingsPatch,
  type NotificationSettings,
  type NotificationSettingsPatch,
} from '../../protocol/notifications.ts';
import { notificationEvents, notificationWays } from '../../protocol/enums.ts';
import type { MemberRow } from '../../engine/rows.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';

/** E-mails go to those who are away only, so they are on for what is meant for one person. */
export const defaultNotifications: NotificationSettings = {
  events: {
    new: { push: true, email: false, bell: true },
    assigned: { push: true, email: true, bell: true },
    reply: { push: true, email: true, bell: true },
    mention: { push: true, email: true, bell: true },
    due: { push: true, email: false, bell: true },
  },
  quietHours: null,
  preview: 'name',
};

/** What a member is told of, and how. */
export function readNotifications({ notifications }: Pick<MemberRow, 'notifications'>): NotificationSettings {
  return withChoices(defaultNotifications, readChoices(notifications));
}

function readChoices(stored: string): NotificationSettingsPatch {
  return notificationSettingsPatch.parse(JSON.parse(stored));
}

function withChoices(
  settings: NotificationSettings,
  { events, quietHours, preview }: NotificationSettingsPatch,
): NotificationSettings {
  const ways = (event: keyof NotificationSettings['events']) => {
    const chosen = events?.[event];
    const { push, email, bell } = settings.events[event];
    return { push: chosen?.push ?? push, email: chosen?.email ?? email, bell: chosen?.bell ?? bell };
  };
  return {
    events: {
      new: ways('new'),
      assigned: ways('assigned'),
      reply: ways('reply'),
      mention: ways('mention'),
      due: ways('due'),
    },
    quietHours: quietHours === undefined ? settings.quietHours : quietHours,
    preview: preview ?? settings.preview,
  };
}

export async function getNotifications(
  tx: ReadTx,
  { actor }: MemberCall,
): Promise<Output<'notifications.get'>> {
  return readNotifications(await accessMember(tx, actor, actor.memberId));
}

/** What is left out stays. */
export async function updateNotifications(
  tx: Tx,
  call: MemberCall,
  input: Input<'notifications.update'>,
): Promise<Output<'notifications.update'>> {
  const { actor } = call;
  const row = await accessMember(tx, actor, actor.memberId);
  const before = readNotifications(row);
  const after = withChoices(before, input);
  const fields = changedFields(before, after);
  if (fields.length === 0) return after;
  await tx.repositories.members.setNotifications(row.id, JSON.stringify(choicesOf(after)));
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'notifications.update',
    subject: `member:${row.id}`,
    detail: { fields: fields.join(',') },
  });
  return after;
}

/** What differs from the defaults. */
function choicesOf(settings: NotificationSettings): NotificationSettingsPatch {
  const events: NonNullable<NotificationSettingsPatch['events']> = {};
  for (const event of notificationEvents)
    for (const way of notificationWays)
      if (settings.events[event][way] !== defaultNotifications.events[event][way])
        events[event] = { ...events[event], [way]: settings.events[event][way] };
  return {
    ...(Object.keys(events).length > 0 ? { events } : {}),
    ...(settings.quietHours === null ? {} : { quietHours: settings.quietHours }),
    ...(settings.preview === defaultNotifications.preview ? {} : { preview: settings.preview }),
  };
}

function changedFields(before: NotificationSettings, after: NotificationSettings): string[] {
  const fields = notificationEvents.flatMap((event) =>
    notificationWays
      .filter((way) => before.events[event][way] !== after.events[event][way])
      .map((way) => `events.${event}.${way}`),
  );
  if (JSON.stringify(before.quietHours) !== JSON.stringify(after.quietHours)) fields.push('quietHours');
  if (before.preview !== after.preview) fields.push('preview');
  return fields;
}
