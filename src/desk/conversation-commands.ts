// What an operator does with a conversation as a whole: accept, release, resolve, transfer. Says what became of it, above
// all when a colleague was faster.
import type { Colleague, StaffConversationListItem } from '../protocol/entities.ts';
import { asSdkError } from '../sdk/error.ts';
import type { DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { inEnglish, type Say } from './texts.ts';

export interface ConversationCommands {
  /** True when the conversation is the operator's afterwards. Asked again while it runs, it is the same answer. */
  accept(id: string): Promise<boolean>;
  release(id: string): Promise<void>;
  resolve(id: string): Promise<void>;
  transfer(id: string, colleague: Colleague): Promise<void>;
  /** Mails a conversation, without its notes, to its visitor. @param address as the operator has read it */
  mailTranscript(id: string, address: string): Promise<void>;
  /** Blocks the visitor of a conversation until the block is lifted. */
  block(item: StaffConversationListItem): Promise<void>;
  unblock(item: StaffConversationListItem): Promise<void>;
  /** @throws SdkError */
  loadColleagues(): Promise<void>;
}

/** What a visitor is called in a sentence. */
export function visitorName(
  item: Pick<StaffConversationListItem, 'visitor'> | undefined,
  say: Say = inEnglish,
): string {
  const name = sanitizeLine(item?.visitor.name ?? '');
  if (name !== '') return name;
  const email = sanitizeLine(item?.visitor.email ?? '');
  if (email !== '') return email;
  return item === undefined ? say('theVisitor') : say('visitorNumber', { id: item.visitor.id.slice(0, 4) });
}

/** Whether a member may release, resolve or transfer a conversation. */
export function canManage(item: StaffConversationListItem, memberId: string, isAdmin: boolean): boolean {
  return isAdmin || item.assignedTo === memberId;
}

/**
 * Runs a command unless it is under way. While it runs, `pending` of the state holds `name:id`.
 * @param explain what to say when it fails
 * @returns undefined: it was under way, or failed
 */
export async function runOnce<T>(
  context: DeskContext,
  name: string,
  id: string,
  run: () => Promise<T>,
  explain: (error: unknown) => unknown = (error) => explainConflict(context, id, error),
): Promise<T | undefined> {
  const { store } = context;
  const key = `${name}:${id}`;
  if (store.get().pending.has(key)) return undefined;
  store.set({ pending: new Set([...store.get().pending, key]) });
  try {
    return await run();
  } catch (error) {
    await explain(error);
    return undefined;
  } finally {
    store.set({ pending: new Set([...store.get().pending].filter((one) => one !== key)) });
  }
}

/** A conflict means that the conversation is not as it was shown: look how it stands now, and who was faster. */
async function explainConflict(context: DeskContext, id: string, error: unknown): Promise<void> {
  const { client, say } = context;
  if (asSdkError(error).code !== 'conflict') return context.report(error);
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

/** The commands of the member who is signed in; each runs once at a time, whatever is pressed while it runs. */
export function createConversationCommands(context: DeskContext): ConversationCommands {
  const { client, store, say } = context;

  const accepting = new Map<string, Promise<boolean>>();

  const once = <T>(name: string, id: string, run: () => Promise<T>): Promise<T | undefined> =>
    runOnce(context, name, id, run);

  async function accept(id: string): Promise<boolean> {
    const done = await once('accept', id, () => client.accept(id));
    accepting.delete(id);
    if (done !== undefined) context.flash(say('accepted', { name: visitorName(done, say) }), 'good');
    return done !== undefined;
  }

  return {
    accept: (id) => {
      const underWay = accepting.get(id);
      if (underWay !== undefined) return underWay;
      const accepted = accept(id);
      accepting.set(id, accepted);
      return accepted;
    },
    release: async (id) => {
      const done = await once('release', id, () => client.release(id));
      if (done !== undefined) context.flash(say('released', { name: visitorName(done, say) }), 'good');
    },
    resolve: async (id) => {
      const done = await once('resolve', id, () => client.resolve(id));
      if (done !== undefined) context.flash(say('resolved', { name: visitorName(done, say) }), 'good');
    },
    transfer: async (id, colleague) => {
      const done = await once('transfer', id, () => client.transfer(id, colleague.id));
      if (done !== undefined)
        context.flash(
          say('transferred', { colleague: sanitizeLine(colleague.name), name: visitorName(done, say) }),
          'good',
        );
    },
    mailTranscript: async (id, address) => {
      const done = await runOnce(
        context,
        'transcript',
        id,
        () => client.call('POST', `/conversations/${id}/transcript`),
        (error) =>
          asSdkError(error).code === 'conflict'
            ? context.flash(say('transcriptRefused'), 'bad')
            : context.report(error),
      );
      if (done !== undefined) context.flash(say('transcriptSent', { address }), 'good');
    },
    block: async (item) => {
      const { application, mode, visitor } = item;
      const body = { applicationId: application.id, mode };
      const done = await once('block', item.id, () =>
        client.call('PUT', `/visitors/${visitor.id}/block`, body),
      );
      if (done !== undefined) context.flash(say('blocked', { name: visitorName(item, say) }), 'good');
    },
    unblock: async (item) => {
      const { application, mode, visitor } = item;
      const query = new URLSearchParams({ applicationId: application.id, mode }).toString();
      const done = await once('unblock', item.id, () =>
        client.call('DELETE', `/visitors/${visitor.id}/block?${query}`),
      );
      if (done !== undefined) context.flash(say('unblocked', { name: visitorName(item, say) }), 'good');
    },
    loadColleagues: async () => {
      const { members } = await client.call<{ members: Colleague[] }>('GET', '/members');
      store.set({ colleagues: members });
    },
  };
}
