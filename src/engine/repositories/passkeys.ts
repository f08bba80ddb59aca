// What is asked of passkeys.
import type { PasskeyRegistrationRow, PasskeyRow } from '../rows.ts';

/** Passkeys of members, and those that authenticators were asked to make. */
export interface PasskeysRepository {
  byId(id: string): Promise<PasskeyRow | undefined>;
  byCredentialId(credentialId: string): Promise<PasskeyRow | undefined>;
  /** Oldest first. */
  byMember(memberId: string): Promise<PasskeyRow[]>;
  count(memberId: string): Promise<number>;
  insert(row: PasskeyRow): Promise<number>;
  setName(id: string, name: string): Promise<number>;
  setUsed(id: string, counter: number, now: number): Promise<number>;
  remove(id: string): Promise<number>;
  removeAllOf(memberId: string): Promise<number>;
  /** A member has one at a time: the new one takes the place of an older one. */
  putRegistration(row: PasskeyRegistrationRow): Promise<number>;
  registrationOf(memberId: string): Promise<PasskeyRegistrationRow | undefined>;
  removeRegistration(memberId: string): Promise<number>;
  removeExpiredRegistrations(now: number): Promise<number>;
}
