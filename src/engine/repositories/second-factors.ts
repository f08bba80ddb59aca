// What is asked of second factors, and of sign-ins that wait for one.
import type { MemberTotpRow, SignInTicketRow } from '../rows.ts';

/** Secrets of authenticators, recovery codes, and sign-ins that wait for one of them. */
export interface SecondFactorsRepository {
  totpOf(memberId: string): Promise<MemberTotpRow | undefined>;
  /** A new secret takes the place of an older one. */
  putTotp(row: MemberTotpRow): Promise<number>;
  setLastStep(id: string, lastStep: number): Promise<number>;
  confirmTotp(id: string, now: number): Promise<number>;
  /** New recovery codes take the place of the older ones. */
  putRecoveryCodes(memberId: string, digests: readonly Uint8Array[]): Promise<void>;
  /** Uses a recovery code up; 0 when the member has no such code. */
  useRecoveryCode(memberId: string, digest: Uint8Array): Promise<number>;
  countRecoveryCodes(memberId: string): Promise<number>;
  removeTotp(memberId: string): Promise<number>;
  removeRecoveryCodes(memberId: string): Promise<number>;
  ticketByDigest(digest: Uint8Array): Promise<SignInTicketRow | undefined>;
  insertTicket(row: SignInTicketRow): Promise<number>;
  setTries(digest: Uint8Array, tries: number): Promise<number>;
  removeTicket(digest: Uint8Array): Promise<number>;
  removeExpiredTickets(now: number): Promise<number>;
}
