// What an operator does with a conversation that is accepted: release, resolve, transfer, blocking its visitor,
// deleting an own message.
import type { Colleague, StaffConversationListItem } from '../protocol/entities.ts';
import { asSdkError } from '../sdk/error.ts';
import { runOnce, visitorName } from './conversation-commands.ts';
import type { DeskContext } from './desk-context.ts';
import { sanitizeLine } from './sanitize-line.ts';

export interface ConversationActs {
  release(id: string): Promise<void>;
  resolve(id: string): Promise<void>;
  transfer(id: string, colleague: Colleague): Promise<void>;
  /** Deletes an own message, for the visitor too. */
  removeMessage(id: string, messageId: string): Promise<void>;
  /** Mails a conversation, without its notes, to its visitor. @param address as the operator has read it */
  mailTranscript(id: string, address: string): Promise<void>;
  /** Blocks the visitor of a conversation until the block is lifted. */
  block(item: StaffConversationListItem): Promise<void>;
  unblock(item: StaffConversationListItem): Promise<void>;
}

/** The acts of the member who is signed in; each runs once at a time, whatever is pressed while it runs. */
export function createConversationActs(context: DeskContext): ConversationActs {
  const { client, say } = context;

  const once = <T>(name: string, id: string, run: () => Promise<T>): Promise<T | undefined> =>
    runOnce(context, name, id, run);

  return {
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
    removeMessage: async (id, messageId) => {
      try {
        await client.deleteMessage(id, messageId);
        context.flash(say('deleted'), 'good');
      } catch (error) {
        context.report(error);
      }
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
  };
}
