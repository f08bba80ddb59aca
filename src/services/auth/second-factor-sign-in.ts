// A sign-in that waits for a second factor: its ticket, which is bound to its member and address, and the tries to
// complete it with a passkey or a code.
import type { MemberRow, SignInTicketRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { PasskeyRequest, SecondFactorMethod } from '../../protocol/sign-in.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { scopeOfMember } from '../core/scopes.ts';
import type { AnonymousCall, ReadTx, Service, Tx } from '../service.ts';
import { mayUseHost } from './organization-host.ts';
import { openSession, type MemberAccount } from './open-session.ts';
import { assertAuthNotThrottled, countFailedAuth } from './rate-limits.ts';
import { makeSignInTicket } from './secrets.ts';
import { relyingParty, requestOptions, verifyShown, wentBack } from './webauthn.ts';
import {
  secondFactorMethods,
  useCode,
  confirmSecret,
  putSecret,
  replaceRecoveryCodes,
  countAttempt,
} from './second-factor.ts';

const ticketLifeMs = 5 * 60_000;
const maxTries = 5;

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
