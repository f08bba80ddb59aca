// What is asked of messages. Their order inside a conversation is `seq`, never a time.
import type { MessageRow, MessageWithSender } from '../rows.ts';

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

export interface MessagesRepository {
  /** Also a deleted one: its row stays, without text. */
  byId(id: string): Promise<MessageWithSender | undefined>;
  byClientId(
    conversationId: string,
    senderId: string,
    clientMessageId: string,
  ): Promise<MessageWithSender | undefined>;
  /** 0 when its sender has one with the same client id in this conversation. */
  insert(row: MessageRow): Promise<number>;
  edit(
    values: Pick<
      MessageRow,
      'id' | 'changed_seq' | 'content' | 'content_format' | 'content_html' | 'content_text' | 'edited_at'
    >,
  ): Promise<number>;
  /**
   * Takes the text out of a message, and its words out of the search index; 0 when it was deleted already. The
   * conversation's `last_visitor_seq` follows.
   */
  remove(id: string, changedSeq: number, now: number): Promise<number>;
  /** A page of what still exists. */
  page(filter: HistoryFilter): Promise<MessageWithSender[]>;
  /** How many messages from staff or the assistant come after a position, as the visitor sees them. */
  unreadByVisitor(conversationId: string, seq: number): Promise<number>;
  /** Messages up to a position that were edited or deleted after it was written. */
  changedSince(conversationId: string, seq: number, notes: boolean): Promise<MessageWithSender[]>;
}
