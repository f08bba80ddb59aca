// What is asked of the log of what the assistant was asked and answered.
import type { AiLogRow, ConversationRow, RetentionScope } from '../rows.ts';
import type { LogStretches } from './log-stretches.ts';
import type { PlaceInTime } from './time-order.ts';

/** Where a walk through conversations stands; one that begins has an empty id. */
export type UnansweredCursor = Pick<ConversationRow, 'id' | 'updated_at'>;
export type UnansweredRow = UnansweredCursor & Pick<ConversationRow, 'organization_id'>;

/** Whose questions are meant. */
export interface AiLogFilter {
  readonly organizationId: string;
  /** null: of all its applications. */
  readonly applicationId: string | null;
}

export interface AiLogRepository {
  /** 0 when there is one of this id. */
  insert(row: AiLogRow): Promise<number>;
  readonly log: LogStretches<AiLogFilter, AiLogRow>;
  /** At most `limit`, oldest first, behind a place. */
  ofVisitor(visitorKey: string, after: PlaceInTime, limit: number): Promise<AiLogRow[]>;
  /** Removes at most `limit` rows older than the scope's time, oldest first. */
  removeOld(scope: RetentionScope, limit: number): Promise<number>;
  /** Remembers which passage a visitor chose after the newest question of a conversation that was answered by choices. */
  setChosen(conversationId: string, passageId: string): Promise<number>;
  /** Questions of visitors of live data that had no answer and that no person dealt with, newest first. */
  gaps(applicationId: string, limit: number): Promise<AiLogRow[]>;
  /** Marks questions of an application as dealt with. @param at a time, ms */
  settle(applicationId: string, ids: readonly string[], at: number): Promise<number>;
  /** Takes the texts out of a conversation's rows since a time. */
  blank(conversationId: string, since: number): Promise<number>;
  /** Organizations with an application that answers by itself, which looks at all applications; or this one, if it has. */
  automaticOrganizations(organizationId?: string): Promise<string[]>;
  /**
   * Pending conversations, of all organizations or of one, that an assistant may answer in and that changed after one of
   * them, longest waiting first.
   */
  unanswered(after: UnansweredCursor, limit: number, organizationId?: string): Promise<UnansweredRow[]>;
}
