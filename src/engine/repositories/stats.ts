// What is asked for figures: rows to be counted, never texts.
import type { RetentionCursor } from '../rows.ts';

export interface StatsRepository {
  /** Live conversations begun before `to`, oldest first; the first responder of those answered between the two times. */
  conversations(
    organizationId: string,
    from: number,
    to: number,
    cursor: RetentionCursor,
    limit: number,
  ): Promise<
    {
      id: string;
      application_id: string;
      created_at: number;
      first_response_at: number | null;
      first_responder: string | null;
      resolved_at: number | null;
      resolved_by: string | null;
    }[]
  >;
  /** The names of an organization's applications and members, by id. */
  names(organizationId: string): Promise<Map<string, string>>;
}
