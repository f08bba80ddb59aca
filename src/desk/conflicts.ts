// What is said when an act came too late, loaded with the first that did.
import type { DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';

/** A conflict means that the conversation is not as it was shown: look how it stands now, and who was faster. */
export async function explainConflict(context: DeskContext, id: string): Promise<void> {
  const { client, say } = context;
  try {
    const now = await client.getConversation(id);
    if (now.status === 'closed') return context.flash(say('closedByColleague'), 'bad');
    if (now.assignedTo === context.memberId) return context.flash(say('yoursAlready'), 'info');
    if (now.assignedTo !== null)
      return context.flash(
        say('fasterColleague', { name: sanitizeLine(now.assignedToName ?? '') || say('aColleague') }),
        'bad',
      );
    return context.flash(say('backInQueue'), 'bad');
  } catch (problem) {
    return context.report(problem);
  }
}
