// What is asked of canned replies.
import type { CannedReplyRow } from '../rows.ts';

export interface CannedRepliesRepository {
  byId(id: string): Promise<CannedReplyRow | undefined>;
  byShortcut(organizationId: string, shortcut: string): Promise<CannedReplyRow | undefined>;
  /** By shortcut. */
  page(organizationId: string, limit: number, offset: number): Promise<CannedReplyRow[]>;
  count(organizationId: string): Promise<number>;
  insert(row: CannedReplyRow): Promise<number>;
  update(row: CannedReplyRow): Promise<number>;
  remove(id: string): Promise<number>;
}
