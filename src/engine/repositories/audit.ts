// What is asked of the audit log: appended, and pruned by age.
import type { AuditRow } from '../rows.ts';
import type { LogStretches } from './log-stretches.ts';

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
}

export interface AuditRepository {
  insert(row: AuditRow): Promise<number>;
  readonly log: LogStretches<AuditFilter, AuditRow>;
  /** Whether something was done to an organization after a time. */
  has(organizationId: string, action: string, after: number): Promise<boolean>;
  /** Removes at most `limit` rows of an organization that itself is removed. */
  removeOfOrganization(organizationId: string, limit: number): Promise<number>;
  /** Removes rows that are older than a time, at most so many, the oldest first. */
  removeOld(before: number, most: number): Promise<number>;
}
