// Keeps what is typed from being lost: the stored draft is what has left the composer and is not in the outbox yet,
// followed by what is being written. Must not send.
import type { Draft } from './drafts.ts';
import type { DeskContext } from './desk-context.ts';

export interface DraftPersistence {
  /** What is written for a conversation now. */
  write(id: string, draft: Draft): void;
  /** What was written and has not left; null: nothing. */
  read(id: string): Draft | null;
  /** A text leaves the composer. Answers what `arrived` and `returned` take. */
  take(id: string, draft: Draft): Draft;
  /** The outbox has it. */
  confirm(id: string, left: Draft): void;
  /** It could not go: it stands before what was written since. */
  restore(id: string, left: Draft): void;
  /** The composer shows another conversation; the stored draft has the rest. */
  close(id: string): void;
}

/** Two texts as one. Of the two mistakes, taking an answer for a note is the harmless one. */
function joined(parts: readonly Draft[]): Draft {
  const some = parts.filter(({ text }) => text.trim() !== '');
  return { text: some.map(({ text }) => text).join('\n'), note: some.some(({ note }) => note) };
}

/** Keeps the texts of all conversations; the store of drafts is asked only for those that were not opened yet. */
export function createDraftPersistence({
  drafts,
  store,
}: Pick<DeskContext, 'drafts' | 'store'>): DraftPersistence {
  const leaving = new Map<string, readonly Draft[]>();
  const writing = new Map<string, Draft>();

  function persist(id: string): void {
    const now = writing.get(id);
    const whole = joined([...(leaving.get(id) ?? []), ...(now === undefined ? [] : [now])]);
    const known = drafts.get(id);
    if (whole.text === '') {
      if (known !== null) drafts.remove(id);
    } else if (known?.text !== whole.text || known.note !== whole.note) drafts.set(id, whole);
    if (store.get().drafted.has(id) !== (whole.text !== '')) store.set({ drafted: new Set(drafts.ids()) });
  }

  function removeLeft(id: string, left: Draft): void {
    const others = (leaving.get(id) ?? []).filter((one) => one !== left);
    if (others.length > 0) leaving.set(id, others);
    else leaving.delete(id);
  }

  return {
    write: (id, draft) => {
      writing.set(id, draft);
      persist(id);
    },
    read: (id) => writing.get(id) ?? (leaving.has(id) ? null : drafts.get(id)),
    take: (id, draft) => {
      // It is stored already, as what was being written; what is written next is added to it.
      const left = { ...draft };
      leaving.set(id, [...(leaving.get(id) ?? []), left]);
      writing.delete(id);
      return left;
    },
    confirm: (id, left) => {
      removeLeft(id, left);
      persist(id);
    },
    restore: (id, left) => {
      removeLeft(id, left);
      writing.set(id, joined([left, writing.get(id) ?? { text: '', note: false }]));
      persist(id);
    },
    close: (id) => {
      if (!leaving.has(id)) writing.delete(id);
    },
  };
}
