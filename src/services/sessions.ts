// Staff sign-in and sessions. A wrong organization, address or password takes the
// same time and says the same thing.
import type { Input, Output } from '../protocol/operations.ts';
import type { MemberRow, OrganizationRow } from '../engine/rows.ts';
import { audit } from './audit.ts';
import { accessMember } from './access.ts';
import type { LocalActor } from './actor.ts';
import { sessionEnd } from './authenticate.ts';
import { Failure, notFound } from './failure.ts';
import { accountIsAttacked, assertNotFailing, failedLimit } from './limiting.ts';
import { isoTime, presentMember, presentOrganization } from './present.ts';
import { makeSessionToken } from './secrets.ts';
import type { AnonymousCall, Call, MemberCall, Service, Tx } from './service.ts';
import { staffToken } from './socket-tokens.ts';

const attackedDelayMs = 1_000;

/**
 * Signs a member in.
 * @throws Failure unauthorized, rate_limit_exceeded
 */
export async function signIn(call: AnonymousCall, input: Input<'session.create'>): Promise<Output<'session.create'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  assertNotFailing(service, address);
  const account = `${input.organization}/${input.email}`;
  // Slower, not refused: who knows the password must get in even while somebody else guesses.
  if (accountIsAttacked(service, account, false)) await pause(service, attackedDelayMs);
  const found = await findMember(service, input);
  const right = await service.secrets.verifyPassword(input.password, found?.member.password_hash ?? null);
  if (found === null || !right || found.member.disabled_at !== null) {
    accountIsAttacked(service, account, true);
    await recordRefusal(call, input, found);
    failedLimit(service, address);
    throw new Failure('unauthorized', 'The organization, the e-mail address or the password is not right.');
  }
  return service.engine.store.write((tx) => startSession(tx, call, found));
}

/** Who tried, for the organization's own log; an organization that does not exist has none. */
async function recordRefusal(call: AnonymousCall, input: { organization: string }, found: Found | null): Promise<void> {
  await call.service.engine.store.write(async (tx) => {
    const organization = found?.organization ?? (await tx.tables.organizations.bySlug(input.organization));
    if (organization === undefined) return;
    await audit(tx, call, {
      organizationId: organization.id,
      action: 'session.refused',
      subject: found === null ? 'member:unknown' : `member:${found.member.id}`,
    });
  });
}

interface Found {
  readonly organization: OrganizationRow;
  readonly member: MemberRow;
}

async function findMember(service: Service, input: { organization: string; email: string }): Promise<Found | null> {
  return service.engine.store.read(async ({ tables }) => {
    const organization = await tables.organizations.bySlug(input.organization);
    if (organization === undefined) return null;
    const member = await tables.members.byEmail(organization.id, input.email);
    return member === undefined ? null : { organization, member };
  });
}

async function startSession(tx: Tx, call: AnonymousCall, { organization, member }: Found): Promise<Output<'session.create'>> {
  // Between the check of the password and now it may have been changed, or the member disabled.
  const current = await tx.tables.members.byId(member.id);
  if (current === undefined || current.disabled_at !== null || current.password_hash !== member.password_hash)
    throw new Failure('unauthorized', 'The organization, the e-mail address or the password is not right.');
  return openSession(tx, { ...call, actor: { kind: 'anonymous' } }, 'session.create', { organization, member: current });
}

/**
 * Signs a member in without a password, for the owner of the data folder, who could set a new one as well. The audit
 * log says so.
 * @throws Failure not_found, conflict (the member is disabled)
 */
export async function signInLocally(
  tx: Tx,
  call: Call<LocalActor>,
  input: Input<'session.createLocal'>,
): Promise<Output<'session.createLocal'>> {
  const member = await accessMember(tx, call.actor, input.memberId);
  const organization = await tx.tables.organizations.byId(member.organization_id);
  if (organization === undefined) throw notFound('organization');
  if (member.disabled_at !== null) throw new Failure('conflict', `${member.name} is disabled. See: deskbell member enable ${member.id}`);
  return openSession(tx, call, 'session.createLocal', { organization, member });
}

async function openSession(tx: Tx, call: Call, action: string, { organization, member }: Found): Promise<Output<'session.create'>> {
  const { secrets, engine } = call.service;
  const now = engine.clock.now();
  const token = makeSessionToken();
  const expiresAt = sessionEnd(now, now);
  await tx.tables.members.removeExpiredSessions(now);
  await tx.tables.members.insertSession({
    id: engine.clock.newId(),
    organization_id: organization.id,
    member_id: member.id,
    digest: secrets.digest(token),
    created_at: now,
    last_seen_at: now,
    expires_at: expiresAt,
  });
  await audit(tx, call, { organizationId: organization.id, action, subject: `member:${member.id}` });
  return {
    token,
    expiresAt: isoTime(expiresAt),
    member: presentMember(member),
    organization: presentOrganization(organization),
  };
}

/** Who am I. */
export async function currentSession({ service, actor }: MemberCall): Promise<Output<'session.get'>> {
  const found = await service.lookups.sessionById(actor.sessionId);
  if (found === null) throw new Failure('unauthorized', 'The session is over. Sign in again.');
  return {
    expiresAt: isoTime(found.session.expires_at),
    member: presentMember(found.member),
    organization: presentOrganization(found.organization),
  };
}

/** Signs out: the token is dead at once, on every connection that uses it. */
export async function signOut(tx: Tx, call: MemberCall): Promise<{ success: true }> {
  await tx.tables.members.removeSession(call.actor.sessionId);
  tx.configurationChanged();
  await audit(tx, call, {
    organizationId: call.actor.organizationId,
    action: 'session.delete',
    subject: `member:${call.actor.memberId}`,
  });
  return { success: true };
}

export async function issueStaffToken({ service, actor }: MemberCall): Promise<Output<'staff.token'>> {
  return { token: await staffToken(service, actor) };
}

function pause(service: Service, ms: number): Promise<void> {
  return new Promise((resolve) => service.engine.clock.after(ms, resolve));
}
