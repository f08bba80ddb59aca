// Queries on links with which a forgotten password is replaced.
import type { PasswordResetsRepository } from '../../repositories/password-resets.ts';
import type { PasswordResetRow } from '../../rows.ts';
import { first, prepare, run, type Runner } from '../query.ts';

const byDigest = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('password_resets').selectAll().where('digest', '=', p.digest),
);
const insert = prepare<PasswordResetRow>()((db, p) =>
  db.insertInto('password_resets').values({
    digest: p.digest,
    member_id: p.member_id,
    created_at: p.created_at,
    expires_at: p.expires_at,
  }),
);
const remove = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.deleteFrom('password_resets').where('digest', '=', p.digest),
);
const removeOf = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('password_resets').where('member_id', '=', p.member_id),
);
const removeExpired = prepare<{ now: number }>()((db, p) =>
  db.deleteFrom('password_resets').where('expires_at', '<=', p.now),
);

export function createPasswordResetsRepository(runner: Runner): PasswordResetsRepository {
  return {
    byDigest: (digest) => first(runner, byDigest, { digest }),
    put: async (row) => {
      await run(runner, removeOf, { member_id: row.member_id });
      return run(runner, insert, row);
    },
    remove: (digest) => run(runner, remove, { digest }),
    removeExpired: (now) => run(runner, removeExpired, { now }),
  };
}
