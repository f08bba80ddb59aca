// Says why what was written can't go out, loaded with the first that can't. Decides nothing.
import { sizeLimits } from '../protocol/codes.ts';
import type { StaffConversationListItem } from '../protocol/entities.ts';
import { visitorName } from './conversation-commands.ts';
import type { DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';

/** A text that can't go out. */
export interface Refused {
  readonly conversationId: string;
  readonly text: string;
  /** Its conversation as it stands; undefined: not known, and so closed. */
  readonly item: StaffConversationListItem | undefined;
}

/** Says why, and whom it was for where another conversation is open. */
export function explainRefusal(context: DeskContext, { conversationId, text, item }: Refused): void {
  const { say, state } = context;
  const why = reason(context, text, item);
  const told =
    state.open?.id === conversationId
      ? why
      : `${say('messageToNotSent', { name: visitorName(item, say) })} ${why}`;
  context.flash(told, 'bad');
}

function reason({ say }: DeskContext, text: string, item: Refused['item']): string {
  const excess = text.trim().length - sizeLimits.contentRest;
  if (excess > 0) return say('tooLong', { n: excess });
  if (item === undefined || item.status === 'closed') return say('closedKeepsDraft');
  return say('colleagueHasIt', { name: sanitizeLine(item.assignedToName ?? '') || say('aColleague') });
}
