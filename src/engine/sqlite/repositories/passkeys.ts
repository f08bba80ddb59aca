// Queries on passkeys of members, and on those that authenticators were asked to make.
import type { PasskeysRepository } from '../../repositories/passkeys.ts';
import type { PasskeyRegistrationRow, PasskeyRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('member_passkeys').selectAll().where('id', '=', p.id),
);
const byCredentialId = prepare<{ credential_id: string }>()((db, p) =>
  db.selectFrom('member_passkeys').selectAll().where('credential_id', '=', p.credential_id),
);
const byMember = prepare<{ member_id: string }>()((db, p) =>
  db
    .selectFrom('member_passkeys')
    .selectAll()
    .where('member_id', '=', p.member_id)
    .orderBy('created_at')
    .orderBy('id'),
);
const count = prepare<{ member_id: string }>()((db, p) =>
  db
    .selectFrom('member_passkeys')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('member_id', '=', p.member_id),
);
const insert = prepare<PasskeyRow>()((db, p) =>
  db.insertInto('member_passkeys').values({
    id: p.id,
    organization_id: p.organization_id,
    member_id: p.member_id,
    name: p.name,
    credential_id: p.credential_id,
    public_key: p.public_key,
    counter: p.counter,
    transports: p.transports,
    created_at: p.created_at,
    last_used_at: p.last_used_at,
  }),
);
const setName = prepare<Pick<PasskeyRow, 'id' | 'name'>>()((db, p) =>
  db.updateTable('member_passkeys').set({ name: p.name }).where('id', '=', p.id),
);
const setUsed = prepare<{ id: string; counter: number; last_used_at: number }>()((db, p) =>
  db
    .updateTable('member_passkeys')
    .set({ counter: p.counter, last_used_at: p.last_used_at })
    .where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('member_passkeys').where('id', '=', p.id));
const removeOfMember = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('member_passkeys').where('member_id', '=', p.member_id),
);
const insertRegistration = prepare<PasskeyRegistrationRow>()((db, p) =>
  db.insertInto('passkey_registrations').values({
    member_id: p.member_id,
    session_id: p.session_id,
    challenge: p.challenge,
    expires_at: p.expires_at,
  }),
);
const registrationOf = prepare<{ member_id: string }>()((db, p) =>
  db.selectFrom('passkey_registrations').selectAll().where('member_id', '=', p.member_id),
);
const removeRegistration = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('passkey_registrations').where('member_id', '=', p.member_id),
);
const removeExpiredRegistrations = prepare<{ now: number }>()((db, p) =>
  db.deleteFrom('passkey_registrations').where('expires_at', '<=', p.now),
);

export function createPasskeysRepository(runner: Runner): PasskeysRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    byCredentialId: (credentialId: string) => first(runner, byCredentialId, { credential_id: credentialId }),
    byMember: (memberId: string) => all(runner, byMember, { member_id: memberId }),
    count: async (memberId: string) => (await first(runner, count, { member_id: memberId }))?.n ?? 0,
    insert: (row: PasskeyRow) => run(runner, insert, row),
    setName: (id: string, name: string) => run(runner, setName, { id, name }),
    setUsed: (id: string, counter: number, now: number) =>
      run(runner, setUsed, { id, counter, last_used_at: now }),
    remove: (id: string) => run(runner, remove, { id }),
    removeAllOf: (memberId: string) => run(runner, removeOfMember, { member_id: memberId }),
    putRegistration: async (row: PasskeyRegistrationRow) => {
      await run(runner, removeRegistration, { member_id: row.member_id });
      return run(runner, insertRegistration, row);
    },
    registrationOf: (memberId: string) => first(runner, registrationOf, { member_id: memberId }),
    removeRegistration: (memberId: string) => run(runner, removeRegistration, { member_id: memberId }),
    removeExpiredRegistrations: (now: number) => run(runner, removeExpiredRegistrations, { now }),
  };
}
