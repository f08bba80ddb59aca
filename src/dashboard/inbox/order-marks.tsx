// Owns how priority, tags and a snooze look, in a row of the queue and over the conversation.
import type { JSX } from 'preact';
import { priorityTexts } from '../../desk/queue-order.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import type { StaffConversationListItem } from '../../protocol/entities.ts';
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
  const { priority, tags, snoozedUntil } = item;
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
