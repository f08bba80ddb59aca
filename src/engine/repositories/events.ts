// What is asked of the event log.
import type { EventRow } from '../rows.ts';

/**
 * The event log. Its numbers rise without gaps in the order of the commits, and none is ever given twice. Events go with
 * what they tell of, so that a reader finds gaps, and no row of the newest number.
 */
export interface EventsRepository {
  /** At most `limit` rows after a number, oldest first. None: the log has nothing to tell up to its newest number. */
  after(seq: number, limit: number): Promise<EventRow[]>;
  /** The newest number, 0 for an empty log. */
  lastSeq(): Promise<number>;
  /** Looks at the oldest `limit` rows and removes those made before a time, but never the newest of all. */
  prune(before: number, limit: number): Promise<number>;
  /** Removes the events of a visitor's conversations with a number above `after` and up to `through`; not the newest of the log. */
  removeOfVisitor(visitorKey: string, after: number, through: number): Promise<number>;
  /** The same of an organization. */
  removeOfOrganization(organizationId: string, after: number, through: number): Promise<number>;
}
