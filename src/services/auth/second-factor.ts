// The second factor of members: authenticator codes and recovery codes, in a sign-in and in a member's own settings.
// Codes count once, guesses are limited, and a half-way sign-in is bound to its member and address.
import type { LimitWindow } from '../../engine/engine.ts';
import type { MemberRow, SignInTicketRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { SecondFactorMethod } from '../../protocol/sign-in.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, badField, rateLimited } from '../core/errors.ts';
import { scopeOfMember } from '../core/scopes.ts';
import { isoTime } from '../core/serializers.ts';
import type { AnonymousCall, MemberCall, OwnerCall, ReadTx, Service, Tx } from '../service.ts';
import { mayUseHost } from './authenticate.ts';
import { demandsSecondFactor } from './second-factor-demand.ts';
import { openSession, type MemberAccount } from './open-session.ts';
import { assertAuthNotThrottled, countFailedAuth } from './rate-limits.ts';
import { makeSignInTicket } from './secrets.ts';
import { makeRecoveryCodes, makeTotpSecret, matchTotp, normalizeRecoveryCode, totpUri } from './totp.ts';

const ticketLifeMs = 5 * 60_000;
const maxTries = 5;
/** How often a member's codes and present password may be tried, right ones included, whatever the ticket or session. */
const attemptWindows: readonly LimitWindow[] = [
  { limit: 10, windowMs: 10 * 60_000 },
  { limit: 50, windowMs: 24 * 3_600_000 },
];

/** With what a member may complete a sign-in; empty where the password is enough. */
export async function secondFactorMethods(
  tx: ReadTx,
  { organization, member }: MemberAccount,
): Promise<SecondFactorMethod[]> {
  const { secondFactors } = tx.repositories;
  const totp = await secondFactors.totpOf(member.id);
  if (totp === undefined || totp.confirmed_at === null)
    return demandsSecondFactor(organization, member) ? ['setup'] : [];
  return (await secondFactors.countRecoveryCodes(member.id)) > 0 ? ['totp', 'recovery'] : ['totp'];
}

/** Makes the ticket with which a sign-in goes on from a right password. */
export async function issueTicket(tx: Tx, call: AnonymousCall, member: MemberRow): Promise<string> {
  const { secrets, engine } = call.service;
  const now = engine.clock.now();
  const ticket = makeSignInTicket();
  await tx.repositories.secondFactors.removeExpiredTickets(now);
  await tx.repositories.secondFactors.insertTicket({
    digest: secrets.digest(ticket),
    member_id: member.id,
    address: addressDigest(call),
    tries: 0,
    expires_at: now + ticketLifeMs,
  });
  return ticket;
}

function addressDigest({ service, address }: AnonymousCall): Uint8Array {
  return service.secrets.digest(`sign-in-address:${addressKey(address ?? 'local')}`);
}

/** The 401 that says how a sign-in goes on. */
export function secondFactorNeeded(
  message: string,
  ticket: string,
  methods: readonly SecondFactorMethod[],
): ServiceError {
  return new ServiceError('second_factor', message, { secondFactor: { ticket, methods } });
}

function ticketOver(): ServiceError {
  return new ServiceError(
    'unauthorized',
    'This sign-in is over: it took too long, was tried too often, or came from another address. Begin again with the password.',
  );
}

/**
 * Completes a sign-in with a code; where the organization demands a second factor that is not set up yet, with the first
 * code of the secret that `setUpSecondFactor` gave.
 * @throws ServiceError second_factor while the ticket may be tried again, unauthorized, rate_limit_exceeded
 */
export async function completeSignIn(
  call: AnonymousCall,
  input: Input<'session.secondFactor'>,
): Promise<Output<'session.secondFactor'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  await assertAuthNotThrottled(service, address);
  const digest = service.secrets.digest(input.ticket);
  const member = await memberOfTicket(service, digest);
  if (member !== undefined) await countAttempt(service, member.id);
  const outcome =
    member === undefined
      ? null
      : await service.engine.store.write(scopeOfMember(member.organization_id, member.id), (tx) =>
          tryCode(tx, call, digest, input.code),
        );
  if (outcome !== null && 'session' in outcome) return outcome.session;
  await countFailedAuth(service, address);
  if (outcome === null) throw ticketOver();
  const { triesLeft, methods } = outcome;
  throw secondFactorNeeded(
    `That code is not right, or was used before. Tries left: ${triesLeft}.`,
    input.ticket,
    methods,
  );
}

function memberOfTicket({ engine: { store } }: Service, digest: Uint8Array): Promise<MemberRow | undefined> {
  return store.read(async ({ repositories }) => {
    const ticket = await repositories.secondFactors.ticketByDigest(digest);
    return ticket === undefined ? undefined : repositories.members.byId(ticket.member_id);
  });
}

interface Waiting extends MemberAccount {
  readonly ticket: SignInTicketRow;
  readonly methods: readonly SecondFactorMethod[];
}

/** The sign-in that a ticket stands for, where it may still go on; null otherwise, whatever is wrong. */
async function waitingSignIn(tx: ReadTx, call: AnonymousCall, digest: Uint8Array): Promise<Waiting | null> {
  const { secondFactors, members, organizations } = tx.repositories;
  const ticket = await secondFactors.ticketByDigest(digest);
  if (ticket === undefined || ticket.expires_at <= call.service.engine.clock.now()) return null;
  if (Buffer.compare(ticket.address, addressDigest(call)) !== 0) return null;
  const member = await members.byId(ticket.member_id);
  const organization = member && (await organizations.byId(member.organization_id));
  if (member === undefined || organization === undefined || member.disabled_at !== null) return null;
  if (!mayUseHost(call.service, call.actor.host, organization)) return null;
  const methods = await secondFactorMethods(tx, { organization, member });
  return methods.length === 0 ? null : { organization, member, ticket, methods };
}

type Outcome =
  | { readonly session: Output<'session.secondFactor'> }
  | { readonly triesLeft: number; readonly methods: readonly SecondFactorMethod[] }
  | null;

async function tryCode(tx: Tx, call: AnonymousCall, digest: Uint8Array, code: string): Promise<Outcome> {
  const waiting = await waitingSignIn(tx, call, digest);
  if (waiting === null) return null;
  const { member, organization, methods, ticket } = waiting;
  const { secondFactors } = tx.repositories;
  const settingUp = methods.includes('setup');
  const method = settingUp
    ? await confirmSecret(tx, call.service, member, code)
    : await useCode(tx, call.service, member, code);
  if (method === null) {
    await audit(tx, call, {
      organizationId: organization.id,
      action: 'session.refused',
      subject: `member:${member.id}`,
      detail: { secondFactor: true },
    });
    const triesLeft = maxTries - ticket.tries - 1;
    if (triesLeft > 0) await secondFactors.setTries(digest, ticket.tries + 1);
    else await secondFactors.removeTicket(digest);
    return triesLeft > 0 ? { triesLeft, methods } : null;
  }
  await secondFactors.removeTicket(digest);
  if (settingUp) {
    await tx.repositories.members.removeOtherSessionsOf(member.id, null);
    tx.configurationChanged(organization.id);
  }
  const session = await openSession(
    tx,
    { ...call, actor: { kind: 'anonymous' } },
    { organization, member },
    { action: 'session.create', secondFactor: true, detail: { secondFactor: method } },
  );
  if (!settingUp) return { session };
  return { session: { ...session, recoveryCodes: await replaceRecoveryCodes(tx, call.service, member.id) } };
}

/** Takes an authenticator's or a recovery code, once. @returns which it was; null: neither */
async function useCode(
  tx: Tx,
  service: Service,
  member: Pick<MemberRow, 'id'>,
  code: string,
): Promise<'totp' | 'recovery' | null> {
  const { secondFactors } = tx.repositories;
  const totp = await secondFactors.totpOf(member.id);
  if (totp === undefined || totp.confirmed_at === null) return null;
  if (await takeTotp(tx, service, member.id, code)) return 'totp';
  const recovery = normalizeRecoveryCode(code);
  if (recovery === null) return null;
  const used = await secondFactors.useRecoveryCode(member.id, recoveryDigest(service, member.id, recovery));
  return used === 1 ? 'recovery' : null;
}

/** Takes the first code of a secret that was not confirmed yet. */
async function confirmSecret(
  tx: Tx,
  service: Service,
  member: Pick<MemberRow, 'id'>,
  code: string,
): Promise<'totp' | null> {
  if (!(await takeTotp(tx, service, member.id, code))) return null;
  const totp = await tx.repositories.secondFactors.totpOf(member.id);
  if (totp === undefined) return null;
  await tx.repositories.secondFactors.confirmTotp(totp.id, service.engine.clock.now());
  return 'totp';
}

/** True where the code is right and newer than every one before: it is used up by this. */
async function takeTotp(tx: Tx, service: Service, memberId: string, code: string): Promise<boolean> {
  const { secondFactors } = tx.repositories;
  const row = await secondFactors.totpOf(memberId);
  if (row === undefined) return false;
  const secret = service.secrets.open(row.sealed, secretPlace(row.id, row.organization_id));
  const step = matchTotp(secret, code, service.engine.clock.now(), row.last_step);
  if (step === null) return false;
  await secondFactors.setLastStep(row.id, step);
  return true;
}

/** As export and import seal it. */
const secretPlace = (row: string, organizationId: string) => ({
  table: 'member_totp.sealed',
  row,
  organizationId,
});

function recoveryDigest({ secrets }: Service, memberId: string, code: string): Uint8Array {
  return secrets.digest(`recovery:${memberId}:${code}`);
}

async function replaceRecoveryCodes(tx: Tx, service: Service, memberId: string): Promise<string[]> {
  const codes = makeRecoveryCodes();
  await tx.repositories.secondFactors.putRecoveryCodes(
    memberId,
    codes.map((code) => recoveryDigest(service, memberId, normalizeRecoveryCode(code) ?? code)),
  );
  return codes;
}

/** Counts a try, before it is looked at. @throws ServiceError rate_limit_exceeded */
async function countAttempt({ engine, metrics }: Service, memberId: string): Promise<void> {
  const verdict = await engine.limiter.take([{ key: `sf:${memberId}`, windows: attemptWindows }]);
  if (verdict.ok) return;
  metrics.rateLimited.per_address += 1;
  throw rateLimited('per_address', attemptWindows, verdict.window, verdict.retryAfterMs, 'Too many tries');
}

/**
 * A secret for a member whose organization demands a second factor and who has none.
 * @throws ServiceError unauthorized
 */
export async function setUpSecondFactor(
  call: AnonymousCall,
  input: Input<'session.setUpSecondFactor'>,
): Promise<Output<'session.setUpSecondFactor'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  await assertAuthNotThrottled(service, address);
  const digest = service.secrets.digest(input.ticket);
  const member = await memberOfTicket(service, digest);
  const made =
    member === undefined
      ? null
      : await service.engine.store.write(scopeOfMember(member.organization_id, member.id), async (tx) => {
          const waiting = await waitingSignIn(tx, call, digest);
          return waiting?.methods.includes('setup') === true ? putSecret(tx, service, waiting) : null;
        });
  if (made !== null) return made;
  await countFailedAuth(service, address);
  throw ticketOver();
}

async function putSecret(
  tx: Tx,
  { engine: { clock }, secrets }: Service,
  { organization, member }: MemberAccount,
): Promise<Output<'totp.begin'>> {
  const secret = makeTotpSecret();
  const id = clock.newId();
  await tx.repositories.secondFactors.putTotp({
    id,
    organization_id: organization.id,
    member_id: member.id,
    sealed: secrets.seal(secret, secretPlace(id, organization.id)),
    last_step: 0,
    confirmed_at: null,
    created_at: clock.now(),
  });
  return { secret, uri: totpUri(secret, organization.name, member.email) };
}

/** The state of the caller's own second factor. */
export async function getTotp(tx: ReadTx, { actor }: MemberCall): Promise<Output<'totp.get'>> {
  const { secondFactors } = tx.repositories;
  const enabledAt = (await secondFactors.totpOf(actor.memberId))?.confirmed_at ?? null;
  return {
    enabled: enabledAt !== null,
    enabledAt: enabledAt === null ? null : isoTime(enabledAt),
    recoveryCodesLeft: await secondFactors.countRecoveryCodes(actor.memberId),
  };
}

/**
 * For changes that a stolen session must not make: the member's present password.
 * @throws ServiceError bad_request, rate_limit_exceeded
 */
export async function checkOwnPassword(
  { service, actor }: MemberCall,
  { password }: { readonly password: string },
): Promise<void> {
  await countAttempt(service, actor.memberId);
  const member = await service.engine.store.read(({ repositories }) =>
    repositories.members.byId(actor.memberId),
  );
  if (!(await service.secrets.verifyPassword(password, member?.password_hash ?? null, actor.memberId)))
    throw badField('password', 'is not the present one');
}

/** Counts a try of the caller's own code. @throws ServiceError rate_limit_exceeded */
export function countOwnAttempt({ service, actor }: MemberCall): Promise<void> {
  return countAttempt(service, actor.memberId);
}

/** @throws ServiceError conflict where one is on already */
export async function beginTotp(tx: Tx, call: MemberCall): Promise<Output<'totp.begin'>> {
  const { actor, service } = call;
  const totp = await tx.repositories.secondFactors.totpOf(actor.memberId);
  if (totp !== undefined && totp.confirmed_at !== null)
    throw new ServiceError(
      'conflict',
      'The second factor is on already. Switch it off first to set up another.',
    );
  const member = await accessMember(tx, actor, actor.memberId);
  const organization = await tx.repositories.organizations.byId(actor.organizationId);
  if (organization === undefined) throw new ServiceError('unauthorized', 'The organization does not exist.');
  return putSecret(tx, service, { organization, member });
}

/**
 * Switches the second factor on and ends every other session of the member.
 * @throws ServiceError conflict (nothing to confirm), bad_request (the code)
 */
export async function confirmTotp(
  tx: Tx,
  call: MemberCall,
  { code }: Input<'totp.confirm'>,
): Promise<Output<'totp.confirm'>> {
  const { actor, service } = call;
  const { members, secondFactors } = tx.repositories;
  const totp = await secondFactors.totpOf(actor.memberId);
  if (totp === undefined || totp.confirmed_at !== null)
    throw new ServiceError('conflict', 'There is no secret to confirm. Ask for one first.');
  if ((await confirmSecret(tx, service, { id: actor.memberId }, code)) === null) throw wrongCode();
  await members.removeOtherSessionsOf(actor.memberId, actor.sessionId);
  await members.setSecondFactorShown(actor.sessionId);
  await auditOwn(tx, call, 'totp.confirm');
  return { recoveryCodes: await replaceRecoveryCodes(tx, service, actor.memberId) };
}

/** @throws ServiceError conflict (the organization demands it), bad_request (the code) */
export async function disableTotp(
  tx: Tx,
  call: MemberCall,
  { code }: Input<'totp.disable'>,
): Promise<{ success: true }> {
  const { actor, service } = call;
  const { members, organizations, secondFactors } = tx.repositories;
  const organization = await organizations.byId(actor.organizationId);
  if (organization !== undefined && demandsSecondFactor(organization, actor))
    throw new ServiceError('conflict', 'The organization demands a second factor, so it stays on.');
  if ((await useCode(tx, service, { id: actor.memberId }, code)) === null) throw wrongCode();
  await secondFactors.removeAllOf(actor.memberId);
  await members.clearSecondFactorShown(actor.memberId);
  await auditOwn(tx, call, 'totp.disable');
  return { success: true };
}

function wrongCode(): ServiceError {
  return badField('code', 'is not right, or was used before');
}

/** @throws ServiceError conflict where the second factor is off */
export async function createRecoveryCodes(tx: Tx, call: MemberCall): Promise<Output<'recoveryCodes.create'>> {
  const totp = await tx.repositories.secondFactors.totpOf(call.actor.memberId);
  if (totp === undefined || totp.confirmed_at === null)
    throw new ServiceError('conflict', 'The second factor is off. Switch it on first.');
  await auditOwn(tx, call, 'recoveryCodes.create');
  return { recoveryCodes: await replaceRecoveryCodes(tx, call.service, call.actor.memberId) };
}

async function auditOwn(tx: Tx, call: MemberCall, action: string): Promise<void> {
  const { organizationId, memberId } = call.actor;
  tx.configurationChanged(organizationId);
  await audit(tx, call, { organizationId, action, subject: `member:${memberId}` });
}

/**
 * For a member who has lost their second factor: removes it and ends all their sessions.
 * @throws ServiceError not_found; conflict for the caller's own, which takes a code
 */
export async function resetSecondFactor(
  tx: Tx,
  call: OwnerCall,
  input: Input<'members.resetSecondFactor'>,
): Promise<{ success: true }> {
  const row = await accessMember(tx, call.actor, input.memberId);
  if (call.actor.kind === 'member' && call.actor.memberId === row.id)
    throw new ServiceError('conflict', 'Your own second factor is switched off with a code of it.');
  await tx.repositories.secondFactors.removeAllOf(row.id);
  await tx.repositories.members.removeSessionsOf(row.id);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'members.resetSecondFactor',
    subject: `member:${row.id}`,
  });
  return { success: true };
}
