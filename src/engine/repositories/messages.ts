// What is asked of messages. Their order inside a conversation is `seq`, never a time.
import type { ConversationWithVisitor, MessageRow, MessageWithSender } from '../rows.ts';
import type { ConversationStep } from './conversations.ts';
import type { Soon } from './soon.ts';

/** A page of a conversation's messages. */
export interface HistoryFilter {
  readonly conversationId: string;
  /** Whether internal notes are among them. */
  readonly notes: boolean;
  readonly order: 'asc' | 'desc';
  /** Only messages after, or before, this sequence number. */
  readonly afterSeq?: number | undefined;
  readonly beforeSeq?: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** The messages of a conversation between two of its sequence numbers, which are not among them. */
export interface HistoryStretch {
  readonly conversationId: string;
  /** Whether internal notes are among them. */
  readonly notes: boolean;
  readonly afterSeq: number;
  readonly beforeSeq: number;
}

/** A message that has no place in its conversation yet. */
export type NewMessage = Omit<MessageRow, 'seq' | 'changed_seq' | MailColumn>;

/** What is written of a message only where mails come or go. */
export type MailColumn = 'via' | 'mail_id' | 'emailed' | 'emailed_at';

export interface MessagesRepository {
  /** Also a deleted one: its row stays, without text. */
  byId(id: string): Promise<MessageWithSender | undefined>;
  byClientId(
    conversationId: string,
    senderId: string,
    clientMessageId: string,
  ): Promise<MessageWithSender | undefined>;
  /**
   * Stores a message under the next sequence number of its conversation, and records what the step changes about that,
   * as `advance` does.
   * @returns the conversation after it; undefined where its sender has a message with the same client id in this
   *   conversation: then nothing has changed
   * @throws Error when there is no such conversation
   */
  append(row: NewMessage, by: ConversationStep): Soon<ConversationWithVisitor | undefined>;
  edit(
    values: Pick<
      MessageRow,
      | 'id'
      | 'changed_seq'
      | 'content'
      | 'content_format'
      | 'content_html'
      | 'content_text'
      | 'attachments'
      | 'edited_at'
    >,
  ): Promise<number>;
  /**
   * Takes the text and the names of its files out of a message, and its words out of the search index; 0 when it was deleted already. The
   * conversation's `last_visitor_seq` follows.
   */
  remove(id: string, changedSeq: number, now: number): Promise<number>;
  /** Notes that a message came in by mail. */
  setVia(id: string, via: MessageRow['via'], mailId: string | null): Promise<number>;
  /** Notes how the mail stands by which a message goes out. */
  setEmailed(id: string, state: MessageRow['emailed'], at: number | null): Promise<number>;
  /** A page of what still exists. */
  page(filter: HistoryFilter): Promise<MessageWithSender[]>;
  /** The first messages of members after a position that no mail has carried or was to carry, as the visitor sees them. */
  unmailedAnswers(conversationId: string, afterSeq: number, limit: number): Promise<MessageWithSender[]>;
  /** How many messages a stretch of history has. */
  count(stretch: HistoryStretch): Promise<number>;
  /** How many messages from staff or the assistant are in a stretch, as the visitor sees them. */
  countOfStaff(stretch: Omit<HistoryStretch, 'notes'>): Promise<number>;
  /**
   * Messages up to a position that were edited or deleted after it was written; with notes, also those that were mailed.
   * What was never changed nor mailed is not looked at.
   * @param page.after only those behind this sequence number, in their order
   */
  changedSince(
    conversationId: string,
    seq: number,
    notes: boolean,
    page: { readonly after: number; readonly limit: number },
  ): Promise<MessageWithSender[]>;
}
