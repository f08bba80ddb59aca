// Owns how priority, tags and a snooze look, in a row of the queue and over the conversation.
import type { JSX } from 'preact';
import { priorityTexts } from '../../desk/queue-order.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import type { StaffConversationListItem } from '../../protocol/entities.ts';
import { Icon } from '../ui/icon.tsx';
import { say, t } from '../words.ts';
import { fullTime, timeOrDay } from './times.ts';

/** What stands out of the ordinary; nothing for a conversation without any. */
export function OrderMarks({ item }: { readonly item: StaffConversationListItem }): JSX.Element {
  const { priority, tags, snoozedUntil } = item;
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
      {tags.map((tag) => (
        <span key={tag} class="mark chip" dir="auto">
          {sanitizeLine(tag)}
        </span>
      ))}
    </>
  );
}
