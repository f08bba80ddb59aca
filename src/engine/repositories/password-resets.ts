import type { PasswordResetRow } from '../rows.ts';

/** Links with which a forgotten password is replaced. A member has one at most; it falls with them. */
export interface PasswordResetsRepository {
  byDigest(digest: Uint8Array): Promise<PasswordResetRow | undefined>;
  /** In the place of the member's former one. */
  put(row: PasswordResetRow): Promise<number>;
  /** Takes one away; 0 when it is not there any more. */
  remove(digest: Uint8Array): Promise<number>;
  removeExpired(now: number): Promise<number>;
}
