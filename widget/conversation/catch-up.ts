// Owns which conversation a visitor sees when they open the panel first.
import type { SdkApi } from '../../src/sdk/types.ts';
import type { Composer } from '../panel/composer.ts';
import type { Contact } from './contact.ts';
import type { Drafts } from './drafts.ts';

export interface CatchUpOptions {
  readonly api: SdkApi;
  readonly contact: Contact;
  readonly composer: Composer;
  readonly drafts: Drafts;
  showList(): void;
}

/**
 * Shows the conversation that the visitor was writing in, or else the newest that is not over, or the list when all are.
 * @throws SdkError
 */
export async function catchUp({ api, contact, composer, drafts, showList }: CatchUpOptions): Promise<void> {
  const state = api.getState();
  const isChosen = (): boolean => api.getState().conversationId !== null;
  if (state.visitorId === null || isChosen()) return;
  // What is there already is kept up to date: then there is nothing to ask for. Never in the middle of an update.
  const { conversations } = await (state.conversations.length > 0 ? state : api.listConversations());
  if (!isChosen() && conversations.length === 0 && contact.enabled && (await api.identify({})).name === null)
    contact.reopen();
  if (isChosen() || conversations.length === 0 || !composer.isEmpty()) return;
  const open = conversations.filter(({ status }) => status !== 'closed');
  const going = open.find(({ id }) => id === drafts.latest()) ?? open[0];
  if (going === undefined) showList();
  else await api.openConversation(going.id);
}
