// What is asked of organizations, and of what they use.
import type { Mode } from '../../protocol/entities.ts';
import type { ConversationRow, OrganizationRow, RetentionCursor } from '../rows.ts';

/** One that an import has not completed (export-import.ts), or that is being deleted, is not among those that are found. */
export interface OrganizationsRepository {
  byId(id: string): Promise<OrganizationRow | undefined>;
  bySlug(slug: string): Promise<OrganizationRow | undefined>;
  /** All of them, by slug. */
  list(): Promise<OrganizationRow[]>;
  insert(row: OrganizationRow): Promise<number>;
  setPlan(values: Pick<OrganizationRow, 'id' | 'plan' | 'plan_changed_at'>): Promise<number>;
  /** Sets its own limits; null: the plan's. */
  setLimits(
    values: Pick<
      OrganizationRow,
      | 'id'
      | 'requests_per_minute'
      | 'retention_days'
      | 'own_retention_days'
      | 'max_applications'
      | 'max_seats'
      | 'max_file_bytes'
    >,
  ): Promise<number>;
  setName(id: string, name: string): Promise<number>;
  setReleaseAfter(id: string, minutes: number | null): Promise<number>;
  setEscalation(id: string, escalation: string): Promise<number>;
  setSecondFactor(id: string, demand: OrganizationRow['second_factor']): Promise<number>;
  /** It is not found any more, while it is deleted; its slug is free. */
  hide(id: string): Promise<number>;
  /** Removes the organization and all it owns but its events; 0 when there is none. The newest event of the log stays, without content. */
  remove(id: string): Promise<number>;
  /** How many applications and enabled members it has. */
  counts(id: string): Promise<{ applications: number; members: number }>;
  /** Its conversations of a mode, oldest first. */
  conversations(
    id: string,
    mode: Mode,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<Pick<ConversationRow, 'id' | 'created_at' | 'visitor_key'>[]>;
  /**
   * Looks at the next messages of a conversation: up to which number (null: there is none), how many of them were made
   * between two times, and the bytes of text that all of them keep.
   */
  messageUsage(
    conversationId: string,
    from: number,
    to: number,
    after: number,
    limit: number,
  ): Promise<{ last: number | null; messages: number; storage: number }>;
}
