// Owns how priority, tags, a snooze and what has to do with mail look: in a row of the queue, over the conversation, behind a
// message.
import type { JSX } from 'preact';
import { mailMarks } from '../../desk/mail-marks.ts';
import { priorityTexts } from '../../desk/priorities.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import type { StaffConversationListItem } from '../../protocol/entities.ts';
import type { StaffMessage } from '../../sdk/staff-types.ts';
import { desk } from '../desk.ts';
import { Icon } from '../ui/icon.tsx';
import { say, t } from '../words.ts';
import { fullTime, timeOrDay } from './times.ts';

/** What stands out of the ordinary; nothing for a conversation without any. */
export function OrderMarks({
  item,
  most = Infinity,
}: {
  readonly item: StaffConversationListItem;
  /** So many tags are shown, and how many more there are. */
  readonly most?: number;
}): JSX.Element {
  const { priority, tags, snoozedUntil, channel } = item;
  const more = tags.slice(most);
  return (
    <>
      {priority === 'normal' ? null : (
        <span class={`mark priority ${priority}`}>
          <Icon name="flag" />
          <span class="visually-hidden">{t('priorityOf', { priority: '' })}</span>
          {say(priorityTexts[priority])}
        </span>
      )}
      {channel === 'email' ? (
        <span class="mark channel">
          <Icon name="mail" />
          {say('begunByMail')}
        </span>
      ) : null}
      {snoozedUntil === null ? null : (
        <span class="mark snoozed" title={fullTime(snoozedUntil)}>
          <Icon name="clock" />
          {t('snoozedUntil', { time: timeOrDay(snoozedUntil) })}
        </span>
      )}
      {tags.slice(0, most).map((tag) => (
        <span key={tag} class="mark chip" dir="auto">
          {sanitizeLine(tag)}
        </span>
      ))}
      {more.length === 0 ? null : (
        <span class="mark more" title={more.map((tag) => sanitizeLine(tag)).join(', ')}>
          +{more.length}
        </span>
      )}
    </>
  );
}

/** The same as a line over the conversation, with the way to the one before it; nothing where there is nothing to say. */
export function MarksLine({ item }: { readonly item: StaffConversationListItem }): JSX.Element | null {
  const { priority, tags, snoozedUntil, channel, continues } = item;
  if (
    priority === 'normal' &&
    tags.length === 0 &&
    snoozedUntil === null &&
    (channel ?? continues) === undefined
  )
    return null;
  return (
    <div class="order-marks">
      <OrderMarks item={item} />
      {continues === undefined ? null : (
        <button type="button" class="link" onClick={() => desk().model.open(continues)}>
          {say('continuesEarlier')}
        </button>
      )}
    </div>
  );
}

/** How a message came, and how its mail stands. */
export function drawMailMarks(message: StaffMessage): JSX.Element[] {
  return mailMarks(message, say).map(({ text, bad }) => (
    <span key={text} class={bad ? 'mark bad' : 'mark'}>
      <Icon name="mail" />
      {text}
    </span>
  ));
}
