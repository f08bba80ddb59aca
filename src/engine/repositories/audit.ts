// What is asked of the audit log: appended, and pruned by age.
import type { AuditRow } from '../rows.ts';

export interface AuditRepository {
  insert(row: AuditRow): Promise<number>;
  /** Newest first. */
  byOrganization(organizationId: string, limit: number, offset: number): Promise<AuditRow[]>;
  /** Of all organizations and of none, newest first. */
  everything(limit: number, offset: number): Promise<AuditRow[]>;
  /** How many rows an organization has; null: all there are. */
  count(organizationId: string | null): Promise<number>;
  /** Whether something was done to an organization after a time. */
  has(organizationId: string, action: string, after: number): Promise<boolean>;
  /** Removes at most `limit` rows of an organization that itself is removed. */
  removeOfOrganization(organizationId: string, limit: number): Promise<number>;
  /** How many rows are older than a time. */
  countOld(before: number): Promise<number>;
  /** Removes rows that are older than a time, at most so many, the oldest first. */
  removeOld(before: number, most: number): Promise<number>;
}
