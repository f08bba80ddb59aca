// Owns where drafts are while their member is not signed in on this device: at the service, under the member. What stays here is
// which conversations have one, and whether it was a note: never a text.
import type { DraftStore } from '../desk/drafts.ts';
import { call, errorCode } from './api.ts';
import { handedOverDrafts } from './storage.ts';

const pathOf = (id: string): string => `/conversations/${id}/draft`;

/**
 * Gives the drafts of this device to the service, and takes away what was saved.
 * @returns how many could not be saved: they stay as they are
 */
export async function handOverDrafts(drafts: DraftStore, memberId: string): Promise<number> {
  const handedOver = handedOverDrafts(memberId);
  let unsaved = 0;
  for (const id of drafts.ids()) {
    const draft = drafts.get(id);
    if (draft === null) continue;
    try {
      await call('PUT', pathOf(id), { content: draft.text });
      handedOver.add(id, draft.note);
      drafts.remove(id);
    } catch (error) {
      // The conversation is gone, and what was written for it goes with it.
      if (errorCode(error) === 'not_found') drafts.remove(id);
      else unsaved += 1;
    }
  }
  return unsaved;
}

/**
 * Takes back what was handed over from this device. What can't be asked for now is asked for the next time.
 * @returns the conversations whose drafts are here again
 */
export async function takeBackDrafts(drafts: DraftStore, memberId: string): Promise<readonly string[]> {
  const handedOver = handedOverDrafts(memberId);
  const taken: string[] = [];
  for (const [id, note] of handedOver.list()) {
    try {
      const { draft } = await call<{ draft: { content: string } | null }>('GET', pathOf(id));
      if (draft !== null) {
        const here = drafts.get(id);
        drafts.set(id, {
          text: here === null ? draft.content : `${draft.content}\n${here.text}`,
          // Of the two mistakes, taking an answer for a note is the harmless one.
          note: note || here?.note === true,
        });
        taken.push(id);
      }
      handedOver.remove(id);
      await call('DELETE', pathOf(id));
    } catch (error) {
      if (errorCode(error) === 'not_found') handedOver.remove(id);
    }
  }
  return taken;
}
