// Queries on invitations: one per member, found by the digest of its link.
import type { InvitationsRepository } from '../../repositories/invitations.ts';
import type { InvitationRow } from '../../rows.ts';
import { first, prepare, run, type Runner } from '../query.ts';

const byDigest = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('invitations').selectAll().where('digest', '=', p.digest),
);
const put = prepare<InvitationRow>()((db, p) =>
  db
    .insertInto('invitations')
    .values({ member_id: p.member_id, digest: p.digest, expires_at: p.expires_at })
    .onConflict((conflict) =>
      conflict.column('member_id').doUpdateSet({ digest: p.digest, expires_at: p.expires_at }),
    ),
);
const remove = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('invitations').where('member_id', '=', p.member_id),
);

export function createInvitationsRepository(runner: Runner): InvitationsRepository {
  return {
    byDigest: (digest: Uint8Array) => first(runner, byDigest, { digest }),
    put: (row: InvitationRow) => run(runner, put, row),
    remove: (memberId: string) => run(runner, remove, { member_id: memberId }),
  };
}
