// Queries on second factors: the secrets of authenticators, recovery codes, and sign-ins that wait for one of them.
import type { SecondFactorsRepository } from '../../repositories/second-factors.ts';
import type { MemberTotpRow, RecoveryCodeRow, SignInTicketRow } from '../../rows.ts';
import { first, prepare, run, type Runner } from '../query.ts';

const totpOf = prepare<{ member_id: string }>()((db, p) =>
  db.selectFrom('member_totp').selectAll().where('member_id', '=', p.member_id),
);
const insertTotp = prepare<MemberTotpRow>()((db, p) =>
  db.insertInto('member_totp').values({
    id: p.id,
    organization_id: p.organization_id,
    member_id: p.member_id,
    sealed: p.sealed,
    last_step: p.last_step,
    confirmed_at: p.confirmed_at,
    created_at: p.created_at,
  }),
);
const setLastStep = prepare<Pick<MemberTotpRow, 'id' | 'last_step'>>()((db, p) =>
  db.updateTable('member_totp').set({ last_step: p.last_step }).where('id', '=', p.id),
);
const confirmTotp = prepare<{ id: string; confirmed_at: number }>()((db, p) =>
  db.updateTable('member_totp').set({ confirmed_at: p.confirmed_at }).where('id', '=', p.id),
);
const removeTotp = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('member_totp').where('member_id', '=', p.member_id),
);
const insertCode = prepare<RecoveryCodeRow>()((db, p) =>
  db.insertInto('recovery_codes').values({ digest: p.digest, member_id: p.member_id }),
);
const useCode = prepare<RecoveryCodeRow>()((db, p) =>
  db.deleteFrom('recovery_codes').where('digest', '=', p.digest).where('member_id', '=', p.member_id),
);
const countCodes = prepare<{ member_id: string }>()((db, p) =>
  db
    .selectFrom('recovery_codes')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('member_id', '=', p.member_id),
);
const removeCodes = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('recovery_codes').where('member_id', '=', p.member_id),
);
const ticketByDigest = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('sign_in_tickets').selectAll().where('digest', '=', p.digest),
);
const insertTicket = prepare<SignInTicketRow>()((db, p) =>
  db.insertInto('sign_in_tickets').values({
    digest: p.digest,
    member_id: p.member_id,
    address: p.address,
    tries: p.tries,
    expires_at: p.expires_at,
  }),
);
const setTries = prepare<Pick<SignInTicketRow, 'digest' | 'tries'>>()((db, p) =>
  db.updateTable('sign_in_tickets').set({ tries: p.tries }).where('digest', '=', p.digest),
);
const removeTicket = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.deleteFrom('sign_in_tickets').where('digest', '=', p.digest),
);
const removeExpiredTickets = prepare<{ now: number }>()((db, p) =>
  db.deleteFrom('sign_in_tickets').where('expires_at', '<=', p.now),
);

export function createSecondFactorsRepository(runner: Runner): SecondFactorsRepository {
  return {
    totpOf: (memberId: string) => first(runner, totpOf, { member_id: memberId }),
    putTotp: async (row: MemberTotpRow) => {
      await run(runner, removeTotp, { member_id: row.member_id });
      return run(runner, insertTotp, row);
    },
    setLastStep: (id: string, lastStep: number) => run(runner, setLastStep, { id, last_step: lastStep }),
    confirmTotp: (id: string, now: number) => run(runner, confirmTotp, { id, confirmed_at: now }),
    putRecoveryCodes: async (memberId: string, digests: readonly Uint8Array[]) => {
      await run(runner, removeCodes, { member_id: memberId });
      for (const digest of digests) await run(runner, insertCode, { digest, member_id: memberId });
    },
    useRecoveryCode: (memberId: string, digest: Uint8Array) =>
      run(runner, useCode, { digest, member_id: memberId }),
    countRecoveryCodes: async (memberId: string) =>
      (await first(runner, countCodes, { member_id: memberId }))?.n ?? 0,
    removeTotp: (memberId: string) => run(runner, removeTotp, { member_id: memberId }),
    removeRecoveryCodes: (memberId: string) => run(runner, removeCodes, { member_id: memberId }),
    ticketByDigest: (digest: Uint8Array) => first(runner, ticketByDigest, { digest }),
    insertTicket: (row: SignInTicketRow) => run(runner, insertTicket, row),
    setTries: (digest: Uint8Array, tries: number) => run(runner, setTries, { digest, tries }),
    removeTicket: (digest: Uint8Array) => run(runner, removeTicket, { digest }),
    removeExpiredTickets: (now: number) => run(runner, removeExpiredTickets, { now }),
  };
}
