// Queries on saved views of the queue.
import type { ViewRow } from '../rows.ts';

/** Saved questions to the queue. */
export interface ViewsRepository {
  byId(id: string): Promise<ViewRow | undefined>;
  /** Shared ones and a member's own, in the order in which they were made. */
  visible(organizationId: string, memberId: string): Promise<ViewRow[]>;
  /** How many shared ones there are, or how many of its own a member has. */
  count(organizationId: string, ownerId: string | null): Promise<number>;
  /** Every one of an organization that asks for tags. */
  withTags(organizationId: string): Promise<ViewRow[]>;
  insert(row: ViewRow): Promise<number>;
  update(row: ViewRow): Promise<number>;
  remove(id: string): Promise<number>;
  /** Removes a member's own ones; the shared ones stay. */
  removeOwnOf(memberId: string): Promise<number>;
  /** Removes those that name a visitor. */
  removeNaming(organizationId: string, visitorId: string): Promise<number>;
}
