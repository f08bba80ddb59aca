// Queries on members (staff) and their sessions.
import type { MembersRepository } from '../../repositories/members.ts';
import type { MemberRow, StaffSessionRow } from '../../rows.ts';
import { all, first, prepare, run, type Runner } from '../query.ts';

const byId = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('members').selectAll().where('id', '=', p.id),
);
const byEmail = prepare<{ organization_id: string; email: string }>()((db, p) =>
  db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .where('email', '=', p.email),
);
const byOrganization = prepare<{ organization_id: string }>()((db, p) =>
  db
    .selectFrom('members')
    .selectAll()
    .where('organization_id', '=', p.organization_id)
    .orderBy('created_at')
    .orderBy('id'),
);
const insert = prepare<MemberRow>()((db, p) =>
  db.insertInto('members').values({
    id: p.id,
    organization_id: p.organization_id,
    email: p.email,
    name: p.name,
    role: p.role,
    password_hash: p.password_hash,
    disabled_at: p.disabled_at,
    created_at: p.created_at,
    locale: p.locale,
    timezone: p.timezone,
    signature: p.signature,
    notifications: p.notifications,
  }),
);
const setProfile = prepare<Pick<MemberRow, 'id' | 'name' | 'locale' | 'timezone' | 'signature'>>()((db, p) =>
  db
    .updateTable('members')
    .set({ name: p.name, locale: p.locale, timezone: p.timezone, signature: p.signature })
    .where('id', '=', p.id),
);
const setNotifications = prepare<Pick<MemberRow, 'id' | 'notifications'>>()((db, p) =>
  db.updateTable('members').set({ notifications: p.notifications }).where('id', '=', p.id),
);
const setRole = prepare<Pick<MemberRow, 'id' | 'role'>>()((db, p) =>
  db.updateTable('members').set({ role: p.role }).where('id', '=', p.id),
);
const setPassword = prepare<Pick<MemberRow, 'id' | 'password_hash'>>()((db, p) =>
  db.updateTable('members').set({ password_hash: p.password_hash }).where('id', '=', p.id),
);
const setDisabled = prepare<Pick<MemberRow, 'id' | 'disabled_at'>>()((db, p) =>
  db.updateTable('members').set({ disabled_at: p.disabled_at }).where('id', '=', p.id),
);
const remove = prepare<{ id: string }>()((db, p) => db.deleteFrom('members').where('id', '=', p.id));
const otherAdmins = prepare<{ organization_id: string; id: string; except_hash: string }>()((db, p) =>
  db
    .selectFrom('members')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('organization_id', '=', p.organization_id)
    .where('role', '=', 'admin')
    .where('disabled_at', 'is', null)
    .where('password_hash', '!=', p.except_hash)
    .where('id', '!=', p.id),
);

const sessionByDigest = prepare<{ digest: Uint8Array }>()((db, p) =>
  db.selectFrom('staff_sessions').selectAll().where('digest', '=', p.digest),
);
const sessionById = prepare<{ id: string }>()((db, p) =>
  db.selectFrom('staff_sessions').selectAll().where('id', '=', p.id),
);
const insertSession = prepare<StaffSessionRow>()((db, p) =>
  db.insertInto('staff_sessions').values({
    id: p.id,
    organization_id: p.organization_id,
    member_id: p.member_id,
    digest: p.digest,
    created_at: p.created_at,
    last_seen_at: p.last_seen_at,
    expires_at: p.expires_at,
    name: p.name,
    scopes: p.scopes,
    second_factor: p.second_factor,
    address: p.address,
  }),
);
const touchSession = prepare<Pick<StaffSessionRow, 'id' | 'last_seen_at' | 'expires_at'>>()((db, p) =>
  db
    .updateTable('staff_sessions')
    .set({ last_seen_at: p.last_seen_at, expires_at: p.expires_at })
    .where('id', '=', p.id),
);
const removeSession = prepare<{ id: string }>()((db, p) =>
  db.deleteFrom('staff_sessions').where('id', '=', p.id),
);
const removeSessionsOf = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('staff_sessions').where('member_id', '=', p.member_id),
);
const removeExpiredSessions = prepare<{ now: number }>()((db, p) =>
  db.deleteFrom('staff_sessions').where('expires_at', '<=', p.now),
);

const sessionsOf = prepare<{ member_id: string }>()((db, p) =>
  db
    .selectFrom('staff_sessions')
    .selectAll()
    .where('member_id', '=', p.member_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc'),
);
const removeOtherSessionsOf = prepare<{ member_id: string; id: string }>()((db, p) =>
  db
    .deleteFrom('staff_sessions')
    .where('member_id', '=', p.member_id)
    .where('scopes', 'is', null)
    .where('id', '!=', p.id),
);
const countSessions = prepare<{ member_id: string }>()((db, p) =>
  db
    .selectFrom('staff_sessions')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('member_id', '=', p.member_id)
    .where('scopes', 'is', null),
);
const removeOldSessions = prepare<{ member_id: string; kept: number }>()((db, p) =>
  db
    .deleteFrom('staff_sessions')
    .where('id', 'in', (e) =>
      e
        .selectFrom('staff_sessions as own')
        .select('own.id')
        .where('own.member_id', '=', p.member_id)
        .where('own.scopes', 'is', null)
        .orderBy('own.last_seen_at', 'desc')
        .orderBy('own.id', 'desc')
        .limit(1_000)
        .offset(p.kept),
    ),
);
const removeAllSessionsBut = prepare<{ member_id: string; id: string }>()((db, p) =>
  db.deleteFrom('staff_sessions').where('member_id', '=', p.member_id).where('id', '!=', p.id),
);
const removeTicketsOf = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('sign_in_tickets').where('member_id', '=', p.member_id),
);
const removeResetsOf = prepare<{ member_id: string }>()((db, p) =>
  db.deleteFrom('password_resets').where('member_id', '=', p.member_id),
);
const setSecondFactorShown = prepare<{ id: string }>()((db, p) =>
  db.updateTable('staff_sessions').set({ second_factor: 1 }).where('id', '=', p.id),
);
const clearSecondFactorShown = prepare<{ member_id: string }>()((db, p) =>
  db.updateTable('staff_sessions').set({ second_factor: 0 }).where('member_id', '=', p.member_id),
);

export function createMembersRepository(runner: Runner): MembersRepository {
  return {
    byId: (id: string) => first(runner, byId, { id }),
    byEmail: (organizationId: string, email: string) =>
      first(runner, byEmail, { organization_id: organizationId, email }),
    byOrganization: (organizationId: string) =>
      all(runner, byOrganization, { organization_id: organizationId }),
    insert: (row: MemberRow) => run(runner, insert, row),
    setProfile: (row) => run(runner, setProfile, row),
    setNotifications: (id: string, notifications: string) =>
      run(runner, setNotifications, { id, notifications }),
    setRole: (id: string, role: MemberRow['role']) => run(runner, setRole, { id, role }),
    setPassword: (id: string, passwordHash: string) =>
      run(runner, setPassword, { id, password_hash: passwordHash }),
    setDisabled: (id: string, disabledAt: number | null) =>
      run(runner, setDisabled, { id, disabled_at: disabledAt }),
    remove: (id: string) => run(runner, remove, { id }),
    otherAdmins: async (organizationId: string, id: string, exceptHash: string) =>
      (await first(runner, otherAdmins, { organization_id: organizationId, id, except_hash: exceptHash }))
        ?.n ?? 0,
    sessionByDigest: (digest: Uint8Array) => first(runner, sessionByDigest, { digest }),
    sessionById: (id: string) => first(runner, sessionById, { id }),
    insertSession: (row: StaffSessionRow) => run(runner, insertSession, row),
    touchSession: (id: string, lastSeenAt: number, expiresAt: number) =>
      run(runner, touchSession, { id, last_seen_at: lastSeenAt, expires_at: expiresAt }),
    removeSession: (id: string) => run(runner, removeSession, { id }),
    removeSessionsOf: async (memberId: string) => {
      await run(runner, removeResetsOf, { member_id: memberId });
      await run(runner, removeTicketsOf, { member_id: memberId });
      return run(runner, removeSessionsOf, { member_id: memberId });
    },
    countSessions: async (memberId: string) =>
      (await first(runner, countSessions, { member_id: memberId }))?.n ?? 0,
    removeOldSessions: (memberId: string, kept: number) =>
      run(runner, removeOldSessions, { member_id: memberId, kept }),
    sessionsOf: (memberId: string) => all(runner, sessionsOf, { member_id: memberId }),
    removeOtherSessionsOf: async (memberId: string, sessionId: string | null) => {
      await run(runner, removeTicketsOf, { member_id: memberId });
      return run(runner, removeOtherSessionsOf, { member_id: memberId, id: sessionId ?? '' });
    },
    removeAllSessionsBut: async (memberId: string, sessionId: string) => {
      await run(runner, removeResetsOf, { member_id: memberId });
      await run(runner, removeTicketsOf, { member_id: memberId });
      return run(runner, removeAllSessionsBut, { member_id: memberId, id: sessionId });
    },
    clearSecondFactorShown: (memberId: string) =>
      run(runner, clearSecondFactorShown, { member_id: memberId }),
    setSecondFactorShown: (sessionId: string) => run(runner, setSecondFactorShown, { id: sessionId }),
    removeExpiredSessions: (now: number) => run(runner, removeExpiredSessions, { now }),
  };
}
