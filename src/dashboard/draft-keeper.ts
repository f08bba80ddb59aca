// Owns where drafts are while their member is not signed in on this device: at the service, under the member. What stays here is
// which conversations have one, and whether it was a note: never a text. Signing out hands them over.
import type { DeskController } from '../desk/desk-controller.ts';
import type { DraftStore } from '../desk/drafts.ts';
import { call, errorCode, staffClient } from './api.ts';
import { beginAnew, desk } from './desk.ts';
import { leaving } from './router.ts';
import { handedOverDrafts } from './storage.ts';
import { t } from './words.ts';

const pathOf = (id: string): string => `/conversations/${id}/draft`;

/**
 * Gives the drafts of this device to the service, and takes away what was saved.
 * @returns how many could not be saved: they stay as they are
 */
async function handOverDrafts(drafts: DraftStore, memberId: string): Promise<number> {
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
 * @param taken told of each conversation as soon as its draft is here again
 */
async function takeBackDrafts(
  drafts: DraftStore,
  memberId: string,
  taken: (id: string) => void,
): Promise<void> {
  const handedOver = handedOverDrafts(memberId);
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
        taken(id);
      }
      handedOver.remove(id);
      await call('DELETE', pathOf(id));
    } catch (error) {
      if (errorCode(error) === 'not_found') handedOver.remove(id);
    }
  }
}

/** The drafts that the service kept since the member signed out here. */
export function takeBack(model: DeskController, drafts: DraftStore): Promise<void> {
  return takeBackDrafts(drafts, model.context.memberId, (id) => {
    model.store.set({ drafted: new Set(drafts.ids()) });
    const draft = drafts.get(id);
    // Its conversation was opened before the draft came; what was written since stands behind it in the store, and what is
    // typed from now on must not take its place there.
    if (draft !== null && model.store.get().composer?.conversationId === id) model.composer.setDraft(draft);
  });
}

/** Ends the session, and begins anew: nothing of the member stays in this page, and no draft on this device. */
export async function signOut(): Promise<void> {
  if (leaving.ask !== null) return leaving.ask(() => void signOut());
  const { model, drafts } = desk();
  const memberId = model.context.memberId;
  const unsaved = await handOverDrafts(drafts, memberId);
  // Where they can't be saved they stay on this device, and the member must know.
  if (unsaved > 0 && !confirm(t('draftsNotSaved', { n: unsaved }))) return takeBack(model, drafts);
  await import('./push.ts').then(({ unsubscribe }) => unsubscribe()).catch(() => undefined);
  try {
    await staffClient().call('DELETE', '/session');
  } catch (error) {
    if (errorCode(error) !== 'unauthorized') {
      // It goes on, and the next page would have it: the member must know, and not take it for ended.
      await takeBack(model, drafts);
      throw error;
    }
  }
  // Not by the hash, which would close the conversation over a socket that is closing itself.
  history.replaceState(null, '', location.pathname + location.search);
  beginAnew();
}
