// E-mails to members who are away: composed when they are sent, of the rows as they are then.
import type { EffectRow } from '../../engine/rows.ts';
import { automaticHeaders, type MailComposer } from '../mail/mail-effects.ts';
import { headerText } from '../mail/header-text.ts';
import { domainOf, type MailRoute } from '../mail/mail-server.ts';
import type { Service } from '../service.ts';
import { noticeFor } from './notice.ts';
import { countNoticeMail } from './notice-limits.ts';
import { readNotifications } from './preferences.ts';
import { noticePayload, readNotice } from './push-handler.ts';
import { textIn } from './texts.ts';

/** What composes them, by what a row is about. */
export function memberMailComposers(service: Service): Readonly<Record<string, MailComposer>> {
  const compose: MailComposer = (row, route) => composeNotice(service, row, route);
  return {
    'member-new': compose,
    'member-assigned': compose,
    'member-reply': compose,
    'member-mention': compose,
    'member-due': compose,
    'member-waiting': compose,
  };
}

async function composeNotice(service: Service, row: EffectRow, route: MailRoute): ReturnType<MailComposer> {
  const { store, presence } = service.engine;
  const payload = noticePayload.parse(JSON.parse(row.payload));
  const present = await presence.present([row.member_id ?? '']);
  if (payload.event !== 'waiting' && present.size > 0)
    return { state: 'skipped', why: 'a dashboard or console of the member is connected' };
  const told = await store.read((tx) => readNotice(tx, service, row, payload, 'email'));
  if ('state' in told) return told;
  const { member, organization, subject } = told;
  const beyond = await countNoticeMail(service, row, organization, member.email);
  if (beyond !== null) return beyond;
  const notice = noticeFor(subject, {
    shows: readNotifications(member).preview,
    locale: member.locale,
  });
  const base = service.settings.baseUrl();
  const page = `${base ?? ''}/inbox?organization=${organization.slug}`;
  const link =
    base === null ? [] : ['', `${textIn(member.locale, 'open')} ${page}#/c/${subject.conversation.id}`];
  const choose =
    base === null ? [] : ['', '-- ', `${textIn(member.locale, 'choose')} ${page}#/settings/notifications`];
  return {
    mail: {
      from: { name: headerText(organization.name), address: route.address },
      to: member.email,
      subject: headerText(notice.title),
      text: [notice.title, ...(notice.body === '' ? [] : ['', notice.body]), ...link, ...choose, ''].join(
        '\n',
      ),
      messageId: `${row.id}@${domainOf(route.address)}`,
      headers: automaticHeaders,
    },
  };
}
