// A member's own passkeys: listed, added by way of a browser, renamed, removed. What a passkey proves in a sign-in is the
// business of second-factor-sign-in.ts.
import { randomBytes } from 'node:crypto';
import type { PasskeyRow } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { Passkey } from '../../protocol/sign-in.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, badField, notFound } from '../core/errors.ts';
import { paginate } from '../core/pagination.ts';
import { memberScope } from '../core/scopes.ts';
import { isoTime } from '../core/serializers.ts';
import type { MemberCall, ReadTx, Service, Tx } from '../service.ts';
import type { MemberAccount } from './open-session.ts';
import {
  assertNotDemanded,
  beginSecondFactor,
  countOwnAttempt,
  endSecondFactor,
} from './own-second-factor.ts';
import { hasSecondFactor } from './second-factor.ts';
import { writeAs } from './standing.ts';
import {
  challengeLifeMs,
  creationOptions,
  relyingParty,
  verifyCreated,
  type NewCredential,
  type RelyingParty,
} from './webauthn.ts';

const maxPasskeys = 20;

export async function listPasskeys(
  tx: ReadTx,
  { actor }: MemberCall,
  input: Input<'passkeys.list'>,
): Promise<Output<'passkeys.list'>> {
  const { page, ...counts } = paginate(await tx.repositories.passkeys.byMember(actor.memberId), input);
  return { passkeys: page.map(serializePasskey), ...counts };
}

function serializePasskey(row: PasskeyRow): Passkey {
  return {
    id: row.id,
    name: row.name,
    createdAt: isoTime(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
  };
}

/**
 * What the browser is asked to make. The caller's password has been checked.
 * @throws ServiceError conflict (the server's address, or too many)
 */
export async function beginPasskey(tx: Tx, call: MemberCall): Promise<Output<'passkeys.begin'>> {
  const { actor, service } = call;
  const account = await ownAccount(tx, call);
  const party = partyOf(service, account);
  const existing = await tx.repositories.passkeys.byMember(actor.memberId);
  assertRoom(existing.length);
  const challenge = randomBytes(32).toString('base64url');
  await tx.repositories.passkeys.putRegistration({
    member_id: actor.memberId,
    session_id: actor.sessionId,
    challenge,
    expires_at: service.engine.clock.now() + challengeLifeMs,
  });
  return creationOptions(party, challenge, account, existing);
}

async function ownAccount(tx: ReadTx, { actor }: MemberCall): Promise<MemberAccount> {
  const member = await accessMember(tx, actor, actor.memberId);
  const organization = await tx.repositories.organizations.byId(actor.organizationId);
  if (organization === undefined) throw new ServiceError('unauthorized', 'The organization does not exist.');
  return { organization, member };
}

function partyOf({ settings }: Service, { organization }: MemberAccount): RelyingParty {
  const party = relyingParty(settings.baseUrl(), organization.slug);
  if (party === null)
    throw new ServiceError(
      'conflict',
      'Browsers make passkeys only for a name over https. Ask for a server that is started with --base-url https://…',
    );
  return party;
}

function assertRoom(count: number): void {
  if (count >= maxPasskeys)
    throw new ServiceError('conflict', `A member has at most ${maxPasskeys} passkeys. Remove one first.`);
}

/**
 * Adds the passkey that a browser has made. The challenge that it was asked with is used up by this, right or wrong.
 * @throws ServiceError conflict (nothing was begun, known already, too many), bad_request (the answer), rate_limit_exceeded
 */
export async function addPasskey(
  call: MemberCall,
  input: Input<'passkeys.add'>,
): Promise<Output<'passkeys.add'>> {
  await countOwnAttempt(call);
  const begun = await writeAs(call, memberScope(call), takeRegistration);
  if (begun === null)
    throw new ServiceError(
      'conflict',
      'No passkey was begun in the last five minutes in this session. Begin again.',
    );
  const credential = await verifyCreated(begun.party, begun.challenge, input.response);
  if (credential === null)
    throw badField('response', 'is not a passkey that was made for this challenge here');
  return writeAs(call, memberScope(call), (tx, current) => storePasskey(tx, current, input.name, credential));
}

interface Begun {
  readonly party: RelyingParty;
  readonly challenge: string;
}

async function takeRegistration(tx: Tx, call: MemberCall): Promise<Begun | null> {
  const { actor, service } = call;
  const row = await tx.repositories.passkeys.registrationOf(actor.memberId);
  if (row === undefined || row.session_id !== actor.sessionId) return null;
  await tx.repositories.passkeys.removeRegistration(actor.memberId);
  if (row.expires_at <= service.engine.clock.now()) return null;
  return { party: partyOf(service, await ownAccount(tx, call)), challenge: row.challenge };
}

async function storePasskey(
  tx: Tx,
  call: MemberCall,
  name: string,
  credential: NewCredential,
): Promise<Output<'passkeys.add'>> {
  const { actor, service } = call;
  const { passkeys } = tx.repositories;
  assertRoom(await passkeys.count(actor.memberId));
  if ((await passkeys.byCredentialId(credential.credential_id)) !== undefined)
    throw new ServiceError('conflict', 'This passkey is registered already.');
  const isFirst = !(await hasSecondFactor(tx, actor.memberId));
  const row: PasskeyRow = {
    id: service.engine.clock.newId(),
    organization_id: actor.organizationId,
    member_id: actor.memberId,
    name,
    ...credential,
    created_at: service.engine.clock.now(),
    last_used_at: null,
  };
  await passkeys.insert(row);
  await auditPasskey(tx, call, 'passkeys.add', row);
  if (!isFirst) return { passkey: serializePasskey(row) };
  tx.configurationChanged(actor.organizationId);
  return { passkey: serializePasskey(row), recoveryCodes: await beginSecondFactor(tx, call) };
}

/** @throws ServiceError not_found */
export async function renamePasskey(
  tx: Tx,
  call: MemberCall,
  { passkeyId, name }: Input<'passkeys.rename'>,
): Promise<Output<'passkeys.rename'>> {
  const row = await ownPasskey(tx, call, passkeyId);
  await tx.repositories.passkeys.setName(row.id, name);
  await auditPasskey(tx, call, 'passkeys.rename', { ...row, name });
  return serializePasskey({ ...row, name });
}

/**
 * Removes a passkey. The caller's password has been checked.
 * @throws ServiceError not_found; conflict: it is the last second factor, and the organization demands one
 */
export async function removePasskey(
  tx: Tx,
  call: MemberCall,
  { passkeyId }: Input<'passkeys.remove'>,
): Promise<{ success: true }> {
  const { memberId, organizationId } = call.actor;
  const row = await ownPasskey(tx, call, passkeyId);
  await tx.repositories.passkeys.remove(row.id);
  if (!(await hasSecondFactor(tx, memberId))) {
    await assertNotDemanded(tx, call);
    await endSecondFactor(tx, memberId);
    tx.configurationChanged(organizationId);
  }
  await auditPasskey(tx, call, 'passkeys.remove', row);
  return { success: true };
}

async function ownPasskey(tx: ReadTx, { actor }: MemberCall, id: string): Promise<PasskeyRow> {
  const row = await tx.repositories.passkeys.byId(id);
  if (row === undefined || row.member_id !== actor.memberId) throw notFound('passkey');
  return row;
}

function auditPasskey(tx: Tx, call: MemberCall, action: string, { id, name }: PasskeyRow): Promise<void> {
  const { organizationId } = call.actor;
  return audit(tx, call, { organizationId, action, subject: `passkey:${id}`, detail: { name } });
}
