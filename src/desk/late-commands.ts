// Commands that were given before the code for them was there: whether they still mean the same. Nothing is done to what the
// member has not aimed at, and nothing is dropped without a word.
import { targetConversation, targetMessage } from './available-commands.ts';
import type { DeskContext } from './desk-context.ts';
import type { DeskState } from './desk-state.ts';

/** What a command would concern. What a visitor writes in between changes nothing of it. */
function aimOf(state: DeskState): string {
  const { focus, open, marked, dialog } = state;
  const places = [focus, open?.id, open?.selected, dialog?.kind];
  return [...places, targetConversation(state)?.id, targetMessage(state, true)?.key, ...marked].join(' ');
}

/**
 * Whether a command concerns now what it concerned when it was given; where it doesn't, the member is told.
 * @param then the state in which it was given
 */
export function stillMeant(context: DeskContext, then: DeskState): boolean {
  if (aimOf(then) === aimOf(context.state)) return true;
  context.flash(context.say('notDone'), 'bad');
  return false;
}
