// Conversations and messages as plain lines that can be read one after another: for screen
// readers and terminals without a screen. Pure.
import { inEnglish } from '../../../desk/english.ts';
import type { StaffConversationListItem } from '../../../protocol/entities.ts';
import { visitorName } from '../../../desk/conversation-commands.ts';
import type { DeskState, ShownMessage } from '../../../desk/desk-state.ts';
import { mailMarks } from '../../../desk/mail-marks.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import { timeOfDay, longDuration, shortTimestamp } from '../../../desk/time.ts';
import { isOnlyNames } from '../../../sdk/attachments.ts';
import { fileSpans } from './message-lines.ts';
import { contentLines } from '../text/rich-lines.ts';
import { textOf } from '../text/wrap.ts';

/** One conversation as a line: `Maria Santos, waiting 3 min, 2 new: Where is …` */
export function conversationText(item: StaffConversationListItem, state: DeskState): string {
  const waits =
    item.waitingSince !== null && item.status !== 'closed'
      ? `, waiting ${longDuration(state.now - Date.parse(item.waitingSince))}`
      : `, ${shortTimestamp(item.updatedAt, state.now)}`;
  const unread = item.unreadCount > 0 ? `, ${item.unreadCount} new` : '';
  const who =
    item.status === 'active'
      ? item.assignedTo === state.session?.member.id
        ? ', yours'
        : `, ${sanitizeLine(item.assignedToName ?? '')} has it`
      : item.status === 'closed'
        ? ', closed'
        : '';
  const channel = item.channel === 'email' ? ', by e-mail' : '';
  const draft = state.drafted.has(item.id) ? ', with a draft' : '';
  const text = sanitizeLine(item.lastMessage?.preview ?? item.subject ?? '');
  return `${sanitizeLine(visitorName(item, inEnglish))}${channel}${who}${waits}${unread}${draft}${text === '' ? '' : `: ${text}`}`;
}

function author(message: ShownMessage, memberId: string): string {
  const isOwn = message.own || message.state !== 'sent' || message.senderId === memberId;
  const name = isOwn
    ? 'You'
    : sanitizeLine(message.senderName) || (message.senderRole === 'visitor' ? 'Visitor' : 'A colleague');
  const role =
    message.internal === true
      ? ', internal note'
      : message.senderRole === 'assistant'
        ? ', assistant'
        : message.senderRole === 'operator' && !isOwn
          ? ', colleague'
          : '';
  return name + role;
}

/** A message as lines: who and when with the first line of the text, the others indented. */
export function messageText(message: ShownMessage, state: DeskState, columns: number): readonly string[] {
  const memberId = state.session?.member.id ?? '';
  const head = `${author(message, memberId)}, ${timeOfDay(message.createdAt)}`;
  if (message.deleted === true) return [`${head}: this message was deleted.`];
  const said = [
    ...(message.state === 'failed' ? [`not sent: ${sanitizeLine(message.error?.message ?? '')}`] : []),
    ...(message.state !== 'failed' && message.editedAt !== null ? ['edited'] : []),
    ...mailMarks(message, inEnglish).map(({ text }) => text),
  ];
  const marks = said.length === 0 ? '' : ` (${said.join(', ')})`;
  const { attachments = [] } = message;
  const lines = [
    ...(isOnlyNames(message.content, message.contentFormat, attachments)
      ? []
      : contentLines(message, Math.max(20, columns - 2)).map((line) => textOf(line))),
    ...attachments.map((file) => `File: ${textOf(fileSpans(file)).replace('⧉ ', '')}`),
  ];
  if (lines.length === 1 && head.length + marks.length + (lines[0] ?? '').length + 2 <= columns)
    return [`${head}${marks}: ${lines[0] ?? ''}`];
  return [`${head}${marks}:`, ...lines.map((line) => `  ${line}`)];
}
