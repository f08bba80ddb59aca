// What is asked of who takes part in a conversation, and how far each has read.
import type { ParticipantRow } from '../rows.ts';

export interface ParticipantsRepository {
  get(conversationId: string, userId: string): Promise<ParticipantRow | undefined>;
  /** Those who take part now: the visitor first, then staff in the order in which they joined. */
  present(conversationId: string): Promise<ParticipantRow[]>;
  /** Joins, or joins again; `left_at` set from the start records a reader who never took part. */
  join(
    values: Pick<ParticipantRow, 'conversation_id' | 'user_id' | 'role' | 'joined_at' | 'left_at'>,
  ): Promise<number>;
  leave(conversationId: string, userId: string, now: number): Promise<number>;
  /** Moves a read position forward; 0 when it is there or further already. */
  read(values: {
    conversation_id: string;
    user_id: string;
    message_id: string;
    seq: number;
  }): Promise<number>;
  /** Moves a read position back to before a number; 0 when it is there or further back already. */
  unread(conversationId: string, userId: string, seq: number): Promise<number>;
}
