// What is asked of rows that are older than an organization keeps them.
import type { Mode } from '../../protocol/entities.ts';
import type { RetentionCursor, RetentionScope } from '../rows.ts';

export interface RetentionRepository {
  /** Conversations begun before the window, oldest first, and whether each is removed as a whole. */
  candidates(
    scope: RetentionScope,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<{ created_at: number; id: string; goes: number }[]>;
  /** Looks at the next messages of a conversation: how many, up to which number, and how many are before the window. */
  oldMessages(
    conversationId: string,
    cutoff: number,
    after: number,
    limit: number,
  ): Promise<{ looked: number; last: number | null; old: number }>;
  /** Removes messages older than the window, of those with a number above `after` and up to `upTo`. */
  removeMessages(conversationId: string, cutoff: number, after: number, upTo: number): Promise<number>;
  /** Removes a conversation that has no message left and was silent for the whole window; 0 when it was not. */
  removeConversation(id: string, cutoff: number): Promise<number>;
  /** Visitors from before the window, oldest first, and whether no conversation of theirs stays. */
  visitors(
    scope: RetentionScope,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<{ created_at: number; id: string; goes: number }[]>;
  /** Removes a visitor without conversations and questions to the assistant; 0 when there is one. */
  removeVisitor(id: string): Promise<number>;
  countConversations(organizationId: string, mode: Mode): Promise<number>;
  /** When the newest row was made; null for a database without any. */
  newestTime(): Promise<number | null>;
}
