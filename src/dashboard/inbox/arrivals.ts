// Owns what a screen reader is told of messages that come: each once, apart from the log, in which most of what is drawn anew
// has been there before.
import { renderContent } from '../../../widget/conversation/rich-text.ts';
import { visitorName } from '../../desk/conversation-commands.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import type { StaffMessage } from '../../sdk/staff-types.ts';
import { deskState } from '../desk.ts';
import { say, t } from '../words.ts';

/** A reader says only what is put into a region that it has seen before. */
const seenAfterMs = 100;
/** Then it is read out, and the log has it. */
const staysMs = 4_000;

let region: HTMLElement | null = null;

/** Has a message read out, where its conversation is open: who writes, and what. */
export function sayArrival(message: StaffMessage): void {
  const { open, queue } = deskState.value;
  if (message.own || message.conversationId !== open?.id) return;
  const visitor = open.detail?.visitor ?? queue.items.find(({ id }) => id === open.id)?.visitor;
  const name =
    message.senderRole === 'visitor' && visitor !== undefined
      ? visitorName({ visitor }, say)
      : sanitizeLine(message.senderName);
  const text = renderContent(message.content, message.contentFormat).map((node) => node.textContent);
  const line = document.createElement('p');
  line.textContent = `${message.internal === true ? `${name}, ${t('internalNote')}` : name}: ${text.join(' ')}`;
  if (region === null) {
    region = document.createElement('div');
    region.className = 'visually-hidden';
    region.role = 'status';
    document.body.append(region);
  }
  setTimeout(() => region?.append(line), seenAfterMs);
  setTimeout(() => line.remove(), seenAfterMs + staysMs);
}
