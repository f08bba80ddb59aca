// What an operator does with a conversation as a whole: accept, release, resolve,
// transfer. Says in words what became of it, above all when somebody else was faster.
import type { Colleague, StaffConversationListItem } from '../../../protocol/entities.ts';
import { asSdkError } from '../../../sdk/error.ts';
import type { ConsoleContext } from './console-context.ts';
import { sanitizeLine } from './sanitize-line.ts';

type ActName = 'accept' | 'release' | 'resolve' | 'transfer';

export interface ConversationCommands {
  /** True when the conversation is the caller's afterwards. Asked again meanwhile, it is the same answer. */
  accept(id: string): Promise<boolean>;
  release(id: string): Promise<void>;
  resolve(id: string): Promise<void>;
  transfer(id: string, colleague: Colleague): Promise<void>;
  /** @throws SdkError */
  loadColleagues(): Promise<void>;
}

/** How somebody is called in a sentence. */
export function visitorName(item: Pick<StaffConversationListItem, 'visitor'> | undefined): string {
  const name = sanitizeLine(item?.visitor.name ?? '');
  if (name !== '') return name;
  const email = sanitizeLine(item?.visitor.email ?? '');
  if (email !== '') return email;
  return item === undefined ? 'the visitor' : `Visitor ${item.visitor.id.slice(0, 4)}`;
}

/** Whether a member may release, resolve or hand on a conversation. */
export function canManage(item: StaffConversationListItem, memberId: string, isAdmin: boolean): boolean {
  return isAdmin || item.assignedTo === memberId;
}

/** The acts of the one who is signed in; each is asked for once at a time, whatever is pressed meanwhile. */
export function createConversationCommands(core: ConsoleContext): ConversationCommands {
  const { client, store } = core;

  const accepting = new Map<string, Promise<boolean>>();

  async function once<T>(act: ActName, id: string, run: () => Promise<T>): Promise<T | undefined> {
    const key = `${act}:${id}`;
    if (store.get().pending.has(key)) return undefined;
    store.set({ pending: new Set([...store.get().pending, key]) });
    try {
      return await run();
    } catch (error) {
      await explain(act, id, error);
      return undefined;
    } finally {
      store.set({ pending: new Set([...store.get().pending].filter((one) => one !== key)) });
    }
  }

  /** A conflict means that the conversation is not as it was shown: look how it stands now, and who was faster. */
  async function explain(act: ActName, id: string, error: unknown): Promise<void> {
    if (asSdkError(error).code !== 'conflict') return core.report(error);
    try {
      const now = await client.getConversation(id);
      if (now.status === 'closed') return core.flash('Somebody closed it meanwhile.', 'bad');
      if (now.assignedTo === core.memberId()) return core.flash('It is yours already.', 'info');
      if (now.assignedTo !== null)
        return core.flash(`${sanitizeLine(now.assignedToName ?? '') || 'A colleague'} was faster.`, 'bad');
      return core.flash(
        `It went back to the queue meanwhile, so it can’t be ${act === 'transfer' ? 'handed on' : `${act}d`}.`,
        'bad',
      );
    } catch (problem) {
      return core.report(problem);
    }
  }

  async function accept(id: string): Promise<boolean> {
    const done = await once('accept', id, () => client.accept(id));
    accepting.delete(id);
    if (done !== undefined) core.flash(`You have the conversation with ${visitorName(done)}.`, 'good');
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
      if (done !== undefined)
        core.flash(`The conversation with ${visitorName(done)} is back in the queue.`, 'good');
    },
    resolve: async (id) => {
      const done = await once('resolve', id, () => client.resolve(id));
      if (done !== undefined) core.flash(`Resolved: ${visitorName(done)}.`, 'good');
    },
    transfer: async (id, colleague) => {
      const done = await once('transfer', id, () => client.transfer(id, colleague.id));
      if (done !== undefined)
        core.flash(
          `${sanitizeLine(colleague.name)} has the conversation with ${visitorName(done)} now.`,
          'good',
        );
    },
    loadColleagues: async () => {
      const { members } = await client.call<{ members: Colleague[] }>('GET', '/members');
      store.set({ colleagues: members });
    },
  };
}
