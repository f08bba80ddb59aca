import type { DraftRow, RetentionScope } from '../rows.ts';

/** Answers that members have not sent yet: one for each member and conversation. */
export interface DraftsRepository {
  get(conversationId: string, memberId: string): Promise<DraftRow | undefined>;
  /** Puts it in the place of the one before. */
  put(row: DraftRow): Promise<number>;
  remove(conversationId: string, memberId: string): Promise<number>;
  /** Removes drafts of a member, at most `limit`. */
  removeSomeOf(memberId: string, limit: number): Promise<number>;
  /** Removes drafts of an organization that were last changed before the scope's cutoff, at most `limit`. */
  removeOld(scope: RetentionScope, limit: number): Promise<number>;
}
