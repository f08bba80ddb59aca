// What is asked of members (staff) and their sessions.
import type { MemberRow, StaffSessionRow } from '../rows.ts';

export interface MembersRepository {
  byId(id: string): Promise<MemberRow | undefined>;
  byEmail(organizationId: string, email: string): Promise<MemberRow | undefined>;
  /** In the order in which they were added. */
  byOrganization(organizationId: string): Promise<MemberRow[]>;
  insert(row: MemberRow): Promise<number>;
  setProfile(row: Pick<MemberRow, 'id' | 'name' | 'locale' | 'timezone' | 'signature'>): Promise<number>;
  setNotifications(id: string, notifications: string): Promise<number>;
  setRole(id: string, role: MemberRow['role']): Promise<number>;
  setPassword(id: string, passwordHash: string): Promise<number>;
  setDisabled(id: string, disabledAt: number | null): Promise<number>;
  remove(id: string): Promise<number>;
  /** How many enabled admins an organization has besides this member, those with a certain hash left out. */
  otherAdmins(organizationId: string, id: string, exceptHash: string): Promise<number>;
  sessionByDigest(digest: Uint8Array): Promise<StaffSessionRow | undefined>;
  sessionById(id: string): Promise<StaffSessionRow | undefined>;
  insertSession(row: StaffSessionRow): Promise<number>;
  touchSession(id: string, lastSeenAt: number, expiresAt: number): Promise<number>;
  removeSession(id: string): Promise<number>;
  /** Ends every session, token and half-way sign-in of a member, and the link to a new password. */
  removeSessionsOf(memberId: string): Promise<number>;
  /** How many sessions a member has, without tokens. */
  countSessions(memberId: string): Promise<number>;
  /** Ends those of a member's sessions that were used longest ago, but for the newest `kept`; tokens stay. */
  removeOldSessions(memberId: string, kept: number): Promise<number>;
  /** Sessions and tokens of a member, newest first. */
  sessionsOf(memberId: string): Promise<StaffSessionRow[]>;
  /** Ends every session and half-way sign-in of a member but one session, null: without exception; tokens stay. */
  removeOtherSessionsOf(memberId: string, sessionId: string | null): Promise<number>;
  /** Ends every session, token and half-way sign-in of a member but one session, and the link to a new password. */
  removeAllSessionsBut(memberId: string, sessionId: string): Promise<number>;
  setSecondFactorShown(sessionId: string): Promise<number>;
  clearSecondFactorShown(memberId: string): Promise<number>;
  removeExpiredSessions(now: number): Promise<number>;
}
