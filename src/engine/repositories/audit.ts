// What is asked of the audit log: appended, and pruned by age.
import type { AuditRow } from '../rows.ts';

/** What is looked for in the log. Everything that is said must hold. */
export interface AuditFilter {
  /** null: the whole server. */
  readonly organizationId: string | null;
  /** The action begins so. */
  readonly action?: string | undefined;
  /** A label of the log, or the id of a member, also by a token. */
  readonly actor?: string | undefined;
  /** The subject begins so. */
  readonly subject?: string | undefined;
  /** Occurs in actor, action, subject, detail or address, whatever the case of ASCII letters. */
  readonly text?: string | undefined;
  /** At this time or later. */
  readonly from?: number | undefined;
  /** Before this time. */
  readonly to?: number | undefined;
}

/** A row's place in the log: the newest first. */
export type AuditPlace = Pick<AuditRow, 'created_at' | 'id'>;

/** A bounded part of the log. */
export interface AuditStretch {
  /** Behind this row; null: from the newest on. */
  readonly before: AuditPlace | null;
  readonly through: AuditPlace;
}

export interface AuditRepository {
  insert(row: AuditRow): Promise<number>;
  /** Newest first. */
  byOrganization(organizationId: string, limit: number, offset: number): Promise<AuditRow[]>;
  /** Of all organizations and of none, newest first. */
  everything(limit: number, offset: number): Promise<AuditRow[]>;
  /** Where a stretch of at most `most` rows within a filter's organization and times ends; undefined: there is none. */
  stretch(filter: AuditFilter, before: AuditPlace | null, most: number): Promise<AuditPlace | undefined>;
  /** How many rows of a stretch fit. */
  countFitting(filter: AuditFilter, stretch: AuditStretch): Promise<number>;
  /** Those that fit, newest first. */
  fitting(filter: AuditFilter, stretch: AuditStretch, limit: number, offset: number): Promise<AuditRow[]>;
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
