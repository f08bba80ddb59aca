// What is asked of invitations: one per member, found by the digest of its link.
import type { InvitationRow } from '../rows.ts';

export interface InvitationsRepository {
  byDigest(digest: Uint8Array): Promise<InvitationRow | undefined>;
  /** A new invitation takes the place of an older one. */
  put(row: InvitationRow): Promise<number>;
  remove(memberId: string): Promise<number>;
}
