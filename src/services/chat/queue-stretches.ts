// An organization's conversations in stretches of so many rows, with a turn of the loop after each: however many an
// organization has, no request holds the loop.
import { conversationStatus, mode } from '../../protocol/entities.ts';
import type { ConversationFilter, StateStretch } from '../../engine/repositories/conversations.ts';
import { readSlice } from '../core/slices.ts';
import type { MemberCall, ReadTx } from '../service.ts';

/** Rows that are looked at between two turns of the loop. */
export const rowsPerTurn = 500;
/** What is looked at in one turn: the next stretches of a pass, at most `most` rows; null: the pass is over. */
export type Pass<S> = (tx: ReadTx, most: number) => Promise<{ stretch: S; rows: number } | null>;

/**
 * Goes through a pass, `rowsPerTurn` rows in each turn of the loop.
 * @param look is called with every stretch, in the snapshot in which it was found
 */
export async function inTurns<S>(
  call: MemberCall,
  pass: Pass<S>,
  look: (tx: ReadTx, stretch: S) => Promise<void>,
): Promise<void> {
  let over = false;
  while (!over)
    over = await readSlice(call, call.actor.organizationId, async (tx) => {
      for (let left = rowsPerTurn; left > 0;) {
        const next = await pass(tx, left);
        if (next === null) return true;
        await look(tx, next.stretch);
        left -= next.rows;
      }
      return false;
    });
}

/** What a list names: ids, or numbers. @param stretchOf some of them as a stretch */
export function passByList<T, S>(list: Iterable<T>, stretchOf: (some: readonly T[]) => S): Pass<S> {
  const left = list[Symbol.iterator]();
  return (_tx, most) => {
    const some: T[] = [];
    while (some.length < most) {
      const next = left.next();
      if (next.done === true) break;
      some.push(next.value);
    }
    return Promise.resolve(some.length === 0 ? null : { stretch: stretchOf(some), rows: some.length });
  };
}

/** All conversations of these modes and statuses. */
export function passByState(
  organizationId: string,
  { mode: oneMode, status }: Pick<ConversationFilter, 'mode' | 'status'>,
): Pass<StateStretch> {
  const states = mode.options.flatMap((each) =>
    conversationStatus.options.flatMap((state) =>
      (oneMode ?? each) === each && (status ?? state) === state ? [{ mode: each, status: state }] : [],
    ),
  );
  let after = 0;
  return async ({ repositories }, most) => {
    for (;;) {
      const [state] = states;
      if (state === undefined) return null;
      const { through, rows } = await repositories.conversations.stretchByState(
        organizationId,
        state.mode,
        state.status,
        after,
        most,
      );
      if (through !== null) {
        const stretch = { ...state, after, through };
        after = through;
        return { stretch, rows };
      }
      states.shift();
      after = 0;
    }
  };
}
