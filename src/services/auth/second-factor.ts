// The second factor of members: passkeys, authenticator codes and recovery codes in a sign-in, the latter two also in a
// member's own settings. Each proof counts once, guesses are limited, and a half-way sign-in is bound to its member and
// address.
import type { LimitWindow } from '../../engine/engine.ts';
import type { MemberRow, SignInTicketRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { PasskeyRequest, SecondFactorMethod } from '../../protocol/sign-in.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, badField, rateLimited } from '../core/errors.ts';
import { scopeOfMember } from '../core/scopes.ts';
import { isoTime } from '../core/serializers.ts';
import type { AnonymousCall, MemberCall, OwnerCall, ReadTx, Service, Tx } from '../service.ts';
import { mayUseHost } from './organization-host.ts';
import { demandsSecondFactor } from './second-factor-demand.ts';
import { openSession, type MemberAccount } from './open-session.ts';
import { assertAuthNotThrottled, countFailedAuth } from './rate-limits.ts';
import { makeSignInTicket } from './secrets.ts';
import { makeRecoveryCodes, makeTotpSecret, matchTotp, normalizeRecoveryCode, totpUri } from './totp.ts';
import { relyingParty, requestOptions, verifyShown, wentBack } from './webauthn.ts';

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
  const methods = await shownFactors(tx, member.id);
  if (methods.length === 0) return demandsSecondFactor(organization, member) ? ['setup'] : [];
  const recovery = (await tx.repositories.secondFactors.countRecoveryCodes(member.id)) > 0;
  return recovery ? [...methods, 'recovery'] : methods;
}

/** What a member can show again and again. Recovery codes stand in for it, and end with the last of it. */
export async function shownFactors(tx: ReadTx, memberId: string): Promise<('passkey' | 'totp')[]> {
  const { passkeys, secondFactors } = tx.repositories;
  const totp = await secondFactors.totpOf(memberId);
  return [
    ...((await passkeys.count(memberId)) > 0 ? ['passkey' as const] : []),
    ...(totp !== undefined && totp.confirmed_at !== null ? ['totp' as const] : []),
  ];
}

/** Whether a member has a second factor, in whatever form. */
export async function hasSecondFactor(tx: ReadTx, memberId: string): Promise<boolean> {
  return (await shownFactors(tx, memberId)).length > 0;
}

/** A right password that waits for more: what its caller is told. */
export interface PendingSignIn {
  readonly ticket: string;
  readonly methods: readonly SecondFactorMethod[];
  readonly passkey?: PasskeyRequest;
}

/** Makes the ticket with which a sign-in goes on from a right password. */
export async function issueTicket(
  tx: Tx,
  call: AnonymousCall,
  account: MemberAccount,
  methods: readonly SecondFactorMethod[],
): Promise<PendingSignIn> {
  const { member } = account;
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
  return pendingSignIn(tx, call.service, account, { ticket, tries: 0, methods });
}

async function pendingSignIn(
  tx: ReadTx,
  service: Service,
  { organization, member }: MemberAccount,
  {
    ticket,
    tries,
    methods,
  }: {
    readonly ticket: string;
    readonly tries: number;
    readonly methods: readonly SecondFactorMethod[];
  },
): Promise<PendingSignIn> {
  const party = relyingParty(service.settings.baseUrl(), organization.slug);
  if (party === null || !methods.includes('passkey')) return { ticket, methods };
  const passkeys = await tx.repositories.passkeys.byMember(member.id);
  return {
    ticket,
    methods,
    passkey: requestOptions(party, challengeOf(service, ticket, tries), passkeys),
  };
}

/**
 * What a passkey signs in this try: bound to the ticket, and so to its member, address and end. A try has its own, so
 * each is used once.
 */
function challengeOf({ secrets }: Service, ticket: string, tries: number): string {
  return Buffer.from(secrets.digest(`passkey:${ticket}:${tries}`)).toString('base64url');
}

function addressDigest({ service, address }: AnonymousCall): Uint8Array {
  return service.secrets.digest(`sign-in-address:${addressKey(address ?? 'local')}`);
}

/** The 401 that says how a sign-in goes on. */
export function secondFactorNeeded(message: string, secondFactor: PendingSignIn): ServiceError {
  return new ServiceError('second_factor', message, { secondFactor });
}

function ticketOver(): ServiceError {
  return new ServiceError(
    'unauthorized',
    'This sign-in is over: it took too long, was tried too often, or came from another address. Begin again with the password.',
  );
}

/**
 * Completes a sign-in with a passkey or a code; where the organization demands a second factor that is not set up yet,
 * with the first code of the secret that `setUpSecondFactor` gave.
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
  const proof = await readProof(call, digest, input);
  const outcome =
    member === undefined
      ? null
      : await service.engine.store.write(scopeOfMember(member.organization_id, member.id), (tx) =>
          tryProof(tx, call, { ticket: input.ticket, digest, proof }),
        );
  if (outcome !== null && 'session' in outcome) return outcome.session;
  await countFailedAuth(service, address);
  if (outcome === null) throw ticketOver();
  const { triesLeft, pending } = outcome;
  const what = input.assertion === undefined ? 'code' : 'passkey';
  throw secondFactorNeeded(
    `That ${what} is not right, or was used before. Tries left: ${triesLeft}.`,
    pending,
  );
}

/** What a caller shows: a code, a passkey whose signature was found to be right, or a passkey that proves nothing. */
type Proof =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'passkey'; readonly id: string; readonly counter: number }
  | { readonly kind: 'nothing' };

/** Signatures are verified before the transaction, which waits for nothing but its store. */
async function readProof(
  call: AnonymousCall,
  digest: Uint8Array,
  { ticket, code, assertion }: Input<'session.secondFactor'>,
): Promise<Proof> {
  if (code !== undefined) return { kind: 'code', code };
  if (assertion === undefined) return { kind: 'nothing' };
  const { service } = call;
  const found = await service.engine.store.read(async (tx) => {
    const waiting = await waitingSignIn(tx, call, digest);
    const passkey = await tx.repositories.passkeys.byCredentialId(assertion.id);
    return waiting !== null && passkey?.member_id === waiting.member.id ? { waiting, passkey } : null;
  });
  if (found === null) return { kind: 'nothing' };
  const { waiting, passkey } = found;
  const party = relyingParty(service.settings.baseUrl(), waiting.organization.slug);
  const shown =
    party &&
    (await verifyShown(party, challengeOf(service, ticket, waiting.ticket.tries), passkey, assertion));
  return shown === null ? { kind: 'nothing' } : { kind: 'passkey', id: passkey.id, counter: shown.counter };
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
  | { readonly triesLeft: number; readonly pending: PendingSignIn }
  | null;

interface Try {
  readonly ticket: string;
  readonly digest: Uint8Array;
  readonly proof: Proof;
}

async function tryProof(tx: Tx, call: AnonymousCall, attempt: Try): Promise<Outcome> {
  const waiting = await waitingSignIn(tx, call, attempt.digest);
  if (waiting === null) return null;
  const { member, organization } = waiting;
  const settingUp = waiting.methods.includes('setup');
  const used = await useProof(tx, call.service, waiting, attempt.proof);
  if ('refused' in used) return refuseTry(tx, call, attempt, waiting, used.refused);
  await tx.repositories.secondFactors.removeTicket(attempt.digest);
  if (settingUp) {
    await tx.repositories.members.removeOtherSessionsOf(member.id, null);
    tx.configurationChanged(organization.id);
  }
  const session = await openSession(
    tx,
    { ...call, actor: { kind: 'anonymous' } },
    { organization, member },
    { action: 'session.create', secondFactor: true, detail: used.detail },
  );
  if (!settingUp) return { session };
  return { session: { ...session, recoveryCodes: await replaceRecoveryCodes(tx, call.service, member.id) } };
}

/** Counts a wrong try against its ticket, and says so in the audit log. */
async function refuseTry(
  tx: Tx,
  call: AnonymousCall,
  { ticket, digest }: Try,
  waiting: Waiting,
  why: AuditDetail,
): Promise<Outcome> {
  const { organization, member, methods } = waiting;
  await audit(tx, call, {
    organizationId: organization.id,
    action: 'session.refused',
    subject: `member:${member.id}`,
    detail: { secondFactor: true, ...why },
  });
  const tries = waiting.ticket.tries + 1;
  if (tries >= maxTries) {
    await tx.repositories.secondFactors.removeTicket(digest);
    return null;
  }
  await tx.repositories.secondFactors.setTries(digest, tries);
  const pending = await pendingSignIn(tx, call.service, waiting, { ticket, tries, methods });
  return { triesLeft: maxTries - tries, pending };
}

type AuditDetail = Readonly<Record<string, string | boolean>>;
/** What the audit log says of a proof that was taken, or of one that was not. */
type Used = { readonly detail: Readonly<Record<string, string>> } | { readonly refused: AuditDetail };

/** Takes what the caller shows, once. */
async function useProof(tx: Tx, service: Service, waiting: Waiting, proof: Proof): Promise<Used> {
  const { member, methods } = waiting;
  if (proof.kind === 'nothing') return { refused: {} };
  if (proof.kind === 'passkey') return usePasskey(tx, service, waiting, proof);
  const method = methods.includes('setup')
    ? await confirmSecret(tx, service, member, proof.code)
    : await useCode(tx, service, member, proof.code);
  return method === null ? { refused: {} } : { detail: { secondFactor: method } };
}

/** Takes a right signature, where its passkey is still there and its count has grown. */
async function usePasskey(
  tx: Tx,
  service: Service,
  { member }: Waiting,
  proof: Extract<Proof, { kind: 'passkey' }>,
): Promise<Used> {
  const { passkeys } = tx.repositories;
  const passkey = await passkeys.byId(proof.id);
  if (passkey?.member_id !== member.id) return { refused: {} };
  if (wentBack(passkey.counter, proof.counter))
    return { refused: { passkey: passkey.id, name: passkey.name, cloned: true } };
  await passkeys.setUsed(passkey.id, proof.counter, service.engine.clock.now());
  return { detail: { secondFactor: 'passkey', passkey: passkey.id, name: passkey.name } };
}

/** Takes an authenticator's or a recovery code, once. @returns which it was; null: neither */
async function useCode(
  tx: Tx,
  service: Service,
  member: Pick<MemberRow, 'id'>,
  code: string,
): Promise<'totp' | 'recovery' | null> {
  const { secondFactors } = tx.repositories;
  const shown = await shownFactors(tx, member.id);
  if (shown.includes('totp') && (await takeTotp(tx, service, member.id, code))) return 'totp';
  if (shown.length === 0) return null;
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

/** Makes ten fresh recovery codes in place of the older ones. */
export async function replaceRecoveryCodes(tx: Tx, service: Service, memberId: string): Promise<string[]> {
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
 * @param field of the input, for the error
 * @throws ServiceError bad_request, rate_limit_exceeded
 */
export async function checkOwnPassword(
  { service, actor }: MemberCall,
  { password }: { readonly password: string },
  field = 'password',
): Promise<void> {
  await countAttempt(service, actor.memberId);
  const member = await service.engine.store.read(({ repositories }) =>
    repositories.members.byId(actor.memberId),
  );
  if (!(await service.secrets.verifyPassword(password, member?.password_hash ?? null, actor.memberId)))
    throw badField(field, 'is not the present one');
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
  const totp = await tx.repositories.secondFactors.totpOf(actor.memberId);
  if (totp === undefined || totp.confirmed_at !== null)
    throw new ServiceError('conflict', 'There is no secret to confirm. Ask for one first.');
  if ((await confirmSecret(tx, service, { id: actor.memberId }, code)) === null) throw wrongCode();
  await auditOwn(tx, call, 'totp.confirm');
  return { recoveryCodes: await beginSecondFactor(tx, call) };
}

/** @throws ServiceError conflict (it is off; it is the last and the organization demands one), bad_request (the code) */
export async function disableTotp(
  tx: Tx,
  call: MemberCall,
  { code }: Input<'totp.disable'>,
): Promise<{ success: true }> {
  const { actor, service } = call;
  const isLast = (await tx.repositories.passkeys.count(actor.memberId)) === 0;
  if (isLast) await assertNotDemanded(tx, call);
  if ((await useCode(tx, service, { id: actor.memberId }, code)) === null) throw wrongCode();
  await tx.repositories.secondFactors.removeTotp(actor.memberId);
  if (isLast) await endSecondFactor(tx, actor.memberId);
  await auditOwn(tx, call, 'totp.disable');
  return { success: true };
}

/** @throws ServiceError conflict where the caller must keep a second factor */
export async function assertNotDemanded(tx: ReadTx, { actor }: MemberCall): Promise<void> {
  const organization = await tx.repositories.organizations.byId(actor.organizationId);
  if (organization !== undefined && demandsSecondFactor(organization, actor))
    throw new ServiceError('conflict', 'The organization demands a second factor, so the last one stays.');
}

/** What ends with a member's last second factor: the codes that stand in for it, and what sessions have shown. */
export async function endSecondFactor(tx: Tx, memberId: string): Promise<void> {
  await tx.repositories.secondFactors.removeRecoveryCodes(memberId);
  await tx.repositories.members.clearSecondFactorShown(memberId);
}

/** What begins with a member's first second factor: only the session that set it up goes on. */
export async function beginSecondFactor(tx: Tx, { actor, service }: MemberCall): Promise<string[]> {
  await tx.repositories.members.removeOtherSessionsOf(actor.memberId, actor.sessionId);
  await tx.repositories.members.setSecondFactorShown(actor.sessionId);
  return replaceRecoveryCodes(tx, service, actor.memberId);
}

function wrongCode(): ServiceError {
  return badField('code', 'is not right, or was used before');
}

/** @throws ServiceError conflict where the second factor is off */
export async function createRecoveryCodes(tx: Tx, call: MemberCall): Promise<Output<'recoveryCodes.create'>> {
  if (!(await hasSecondFactor(tx, call.actor.memberId)))
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
  await tx.repositories.secondFactors.removeTotp(row.id);
  await tx.repositories.secondFactors.removeRecoveryCodes(row.id);
  await tx.repositories.passkeys.removeAllOf(row.id);
  await tx.repositories.members.removeSessionsOf(row.id);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'members.resetSecondFactor',
    subject: `member:${row.id}`,
  });
  return { success: true };
}
