// Accepting a conversation, and what every act on one shares: says what became of it, above all when a colleague was
// faster. The other acts are in conversation-acts.ts.
import type { Colleague, StaffConversationListItem } from '../protocol/entities.ts';
import { asSdkError } from '../sdk/error.ts';
import type { DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { Say } from './texts.ts';

export interface ConversationCommands {
  /** True when the conversation is the operator's afterwards. Asked again while it runs, it is the same answer. */
  accept(id: string): Promise<boolean>;
  /** @throws SdkError */
  loadColleagues(): Promise<void>;
}

/** What a visitor is called in a sentence. */
export function visitorName(item: Pick<StaffConversationListItem, 'visitor'> | undefined, say: Say): string {
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
  explain: (error: unknown) => unknown = (error) =>
    asSdkError(error).code !== 'conflict'
      ? // At once: where the server can't be reached, the file can't be had either.
        context.report(error)
      : import('./conflicts.ts').then(
          ({ explainConflict }) => explainConflict(context, id),
          () => context.report(error),
        ),
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

/** The commands of the member who is signed in; each runs once at a time, whatever is pressed while it runs. */
export function createConversationCommands(context: DeskContext): ConversationCommands {
  const { client, store, say } = context;

  const accepting = new Map<string, Promise<boolean>>();

  async function accept(id: string): Promise<boolean> {
    const done = await runOnce(context, 'accept', id, () => client.accept(id));
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
    loadColleagues: async () => {
      const { members } = await client.call<{ members: Colleague[] }>('GET', '/members');
      store.set({ colleagues: members });
    },
  };
}
