// Staff sign-in and sessions. A wrong organization, address or password takes the
// same time and says the same thing.
import type { Input, Output } from '../../protocol/operations.ts';
import type { SecondFactorMethod } from '../../protocol/sign-in.ts';
import type { MemberRow } from '../../engine/rows.ts';
import { audit } from '../core/audit.ts';
import { accessMember } from '../core/access.ts';
import type { LocalActor } from '../core/actor.ts';
import { scopeOfMember } from '../core/scopes.ts';
import { mayUseHost } from './organization-host.ts';
import { openSession, type MemberAccount } from './open-session.ts';
import { toMemberActor, type Credentials } from './authenticate.ts';
import { tokenFromCookie } from './session-cookie.ts';
import { issueTicket, secondFactorNeeded, type PendingSignIn } from './second-factor-sign-in.ts';
import { secondFactorMethods } from './second-factor.ts';
import { ServiceError, notFound } from '../core/errors.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import { makeSignInTicket } from './secrets.ts';
import {
  assertAuthNotThrottled,
  assertSignInNotThrottled,
  countFailedAuth,
  countFailedSignIn,
  isSignInSlowed,
  rememberSignIn,
} from './rate-limits.ts';
import { isoTime, serializeMember, serializeOrganization } from '../core/serializers.ts';
import type { AnonymousCall, Call, MemberCall, ReadTx, Service, Tx } from '../service.ts';
import { createStaffToken } from './socket-tokens.ts';

const slowedDelayMs = 1_000;

/**
 * Signs a member in.
 * @throws ServiceError unauthorized, rate_limit_exceeded; second_factor where the password alone is not enough
 */
export async function signIn(
  call: AnonymousCall,
  input: Input<'session.create'>,
): Promise<Output<'session.create'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  const attempt = { account: `${input.organization}/${input.email}`, address };
  const known = await assertSignInNotThrottled(service, attempt);
  if (!known && (await isSignInSlowed(service, attempt))) await delay(service, slowedDelayMs);
  const found = await findMemberAccount(call, input);
  const hash = found?.member.password_hash ?? null;
  const right = await service.secrets.verifyPassword(input.password, hash, addressKey(address), known);
  if (found === null || !right || found.member.disabled_at !== null) {
    await auditFailedSignIn(call, await findRefusedAccount(service, input, found));
    await countFailedSignIn(service, attempt);
    throw wrongSignIn();
  }
  const scope = scopeOfMember(found.organization.id, found.member.id);
  const started = await service.engine.store.write(scope, (tx) => startSession(tx, call, found));
  await rememberSignIn(service, attempt);
  if ('session' in started) return started.session;
  throw secondFactorNeeded(
    started.pending.methods.includes('setup')
      ? 'The organization demands a second factor: set one up to sign in.'
      : `The password is right. Now show your second factor: ${started.pending.methods.map((one) => factorNames[one]).join(' or ')}.`,
    started.pending,
  );
}

const factorNames: Readonly<Record<SecondFactorMethod, string>> = {
  passkey: 'a passkey',
  totp: 'the code of your authenticator',
  recovery: 'a recovery code',
  setup: 'a new authenticator',
};

function wrongSignIn(): ServiceError {
  return new ServiceError(
    'unauthorized',
    'The organization, the e-mail address or the password is not right.',
  );
}

/** Who tried, for the organization's own log; an organization that does not exist has none. */
async function auditFailedSignIn(
  call: AnonymousCall,
  refused: { readonly organizationId: string; readonly memberId: string } | null,
): Promise<void> {
  if (refused === null) return;
  const { organizationId, memberId } = refused;
  await call.service.engine.store.write(scopeOfMember(organizationId, memberId), (tx) =>
    audit(tx, call, { organizationId, action: 'session.refused', subject: `member:${memberId}` }),
  );
}

/** Whose account was tried; null where there is no such organization. */
async function findRefusedAccount(
  service: Service,
  input: { organization: string },
  found: MemberAccount | null,
): Promise<{ organizationId: string; memberId: string } | null> {
  if (found !== null) return { organizationId: found.organization.id, memberId: found.member.id };
  const organization = await service.engine.store.read(({ repositories }) =>
    repositories.organizations.bySlug(input.organization),
  );
  return organization === undefined ? null : { organizationId: organization.id, memberId: 'unknown' };
}

async function findMemberAccount(
  { service, actor }: AnonymousCall,
  input: { organization: string; email: string },
): Promise<MemberAccount | null> {
  return service.engine.store.read(async ({ repositories }) => {
    const organization = await repositories.organizations.bySlug(input.organization);
    if (organization === undefined || !mayUseHost(service, actor.host, organization)) return null;
    const member = await repositories.members.byEmail(organization.id, input.email);
    return member === undefined ? null : { organization, member };
  });
}

/** A session, or the ticket that leads to one. */
type Started = { readonly session: Output<'session.create'> } | { readonly pending: PendingSignIn };

async function startSession(
  tx: Tx,
  call: AnonymousCall,
  { organization, member }: MemberAccount,
): Promise<Started> {
  // Between the check of the password and now it may have been changed, or the member disabled.
  const current = await tx.repositories.members.byId(member.id);
  if (current === undefined || current.disabled_at !== null || current.password_hash !== member.password_hash)
    throw wrongSignIn();
  const account = { organization, member: current };
  const methods = await secondFactorMethods(tx, account);
  if (methods.length > 0) return { pending: await issueTicket(tx, call, account, methods) };
  const proof = { action: 'session.create', secondFactor: false };
  return { session: await openSession(tx, { ...call, actor: { kind: 'anonymous' } }, account, proof) };
}

/**
 * Signs a member in without a password, for the owner of the data folder, who could set a new one as well. The audit
 * log says so.
 * @throws ServiceError not_found, conflict (the member is disabled)
 */
export async function signInLocally(
  tx: Tx,
  call: Call<LocalActor>,
  input: Input<'session.createLocal'>,
): Promise<Output<'session.createLocal'>> {
  const member = await accessEnabledMember(tx, call, input.memberId);
  const organization = await tx.repositories.organizations.byId(member.organization_id);
  if (organization === undefined) throw notFound('organization');
  // The owner of the data folder could switch the second factor off as well.
  const proof = { action: 'session.createLocal', secondFactor: true };
  return openSession(tx, call, { organization, member }, proof);
}

async function accessEnabledMember(tx: Tx, call: Call<LocalActor>, memberId: string): Promise<MemberRow> {
  const member = await accessMember(tx, call.actor, memberId);
  if (member.disabled_at === null) return member;
  throw new ServiceError('conflict', `${member.name} is disabled. See: deskbell member enable ${member.id}`);
}

/** How long a link works: nothing else is asked of those who have it. */
const linkLifeMs = 10 * 60_000;
/** Stands where other tickets are bound to an address: neither kind can be used as the other. */
const linkMark = 'sign-in-link';

/**
 * Makes the ticket of a link that signs a member in once, for the owner of the data folder.
 * @throws ServiceError not_found, conflict (the member is disabled)
 */
export async function createSignInLink(
  tx: Tx,
  call: Call<LocalActor>,
  input: Input<'session.createLink'>,
): Promise<Output<'session.createLink'>> {
  const { secrets, engine } = call.service;
  const member = await accessEnabledMember(tx, call, input.memberId);
  const expiresAt = engine.clock.now() + linkLifeMs;
  const ticket = makeSignInTicket();
  await tx.repositories.secondFactors.removeExpiredTickets(engine.clock.now());
  await tx.repositories.secondFactors.insertTicket({
    digest: secrets.digest(ticket),
    member_id: member.id,
    address: secrets.digest(linkMark),
    tries: 0,
    expires_at: expiresAt,
  });
  await audit(tx, call, {
    organizationId: member.organization_id,
    action: 'session.createLink',
    subject: `member:${member.id}`,
  });
  return { ticket, expiresAt: isoTime(expiresAt) };
}

/**
 * Signs a member in with the ticket of a link. The owner of the data folder made it, who could switch a second factor
 * off as well, so it stands for one.
 * @throws ServiceError unauthorized, rate_limit_exceeded
 */
export async function signInByLink(
  call: AnonymousCall,
  input: Input<'session.fromLink'>,
): Promise<Output<'session.fromLink'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  await assertAuthNotThrottled(service, address);
  const digest = service.secrets.digest(input.ticket);
  const found = await service.engine.store.read((tx) => findLink(tx, call, digest));
  const session =
    found === null
      ? null
      : await service.engine.store.write(
          scopeOfMember(found.organization.id, found.member.id),
          async (tx) => {
            // Another request may have used it in between.
            const account = await findLink(tx, call, digest);
            if (account === null) return null;
            await tx.repositories.secondFactors.removeTicket(digest);
            const proof = { action: 'session.fromLink', secondFactor: true };
            return openSession(tx, { ...call, actor: { kind: 'anonymous' } }, account, proof);
          },
        );
  if (session !== null) return session;
  await countFailedAuth(service, address);
  throw new ServiceError(
    'unauthorized',
    'This link was used already, or is over. Make another one, or sign in with the password.',
  );
}

async function findLink(tx: ReadTx, call: AnonymousCall, digest: Uint8Array): Promise<MemberAccount | null> {
  const { secrets, engine } = call.service;
  const { secondFactors, members, organizations } = tx.repositories;
  const ticket = await secondFactors.ticketByDigest(digest);
  if (ticket === undefined || ticket.expires_at <= engine.clock.now()) return null;
  if (Buffer.compare(ticket.address, secrets.digest(linkMark)) !== 0) return null;
  const member = await members.byId(ticket.member_id);
  const organization = member && (await organizations.byId(member.organization_id));
  if (member === undefined || organization === undefined || member.disabled_at !== null) return null;
  return mayUseHost(call.service, call.actor.host, organization) ? { organization, member } : null;
}

/** Who am I. */
export async function getSession({ service, actor }: MemberCall): Promise<Output<'session.get'>> {
  const found = await service.configCache.sessionById(actor.sessionId);
  if (found === null) throw new ServiceError('unauthorized', 'The session is over. Sign in again.');
  return {
    expiresAt: isoTime(found.session.expires_at),
    member: serializeMember(found.member),
    organization: serializeOrganization(found.organization),
  };
}

/** Signs out: the token is dead at once, on every connection that uses it. */
export async function signOut(tx: Tx, call: MemberCall): Promise<{ success: true }> {
  await tx.repositories.members.removeSession(call.actor.sessionId);
  tx.configurationChanged(call.actor.organizationId);
  await audit(tx, call, {
    organizationId: call.actor.organizationId,
    action: 'session.delete',
    subject: `member:${call.actor.memberId}`,
  });
  return { success: true };
}

/**
 * Ends the session of a cookie that a sign-in has just replaced: this browser can't use it any more, nor sign it out. The sign-in
 * stands, whatever becomes of that.
 * @param credentials of the request that signed in
 */
export async function endReplacedSession(service: Service, credentials: Credentials): Promise<void> {
  const token = tokenFromCookie(service, credentials);
  const found =
    token === null ? null : await service.configCache.sessionByDigest(service.secrets.digest(token));
  if (found === null) return;
  const { address } = credentials;
  const call = { service, actor: toMemberActor(found, null), address, contentLimit: 0 };
  const scope = scopeOfMember(found.organization.id, found.member.id);
  // Lost now, it ends in its time, as it would have before.
  await service.engine.store.write(scope, (tx) => signOut(tx, call)).catch(() => undefined);
}

export async function issueStaffToken({ service, actor }: MemberCall): Promise<Output<'staff.token'>> {
  return { token: await createStaffToken(service, actor) };
}

function delay(service: Service, ms: number): Promise<void> {
  return new Promise((resolve) => service.engine.clock.after(ms, resolve));
}
