// Where a member is signed in, and the tokens that they made for scripts. A token is a session with a name, scopes and
// a fixed end: whatever ends sessions ends tokens.
import type { StaffSessionRow } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { StaffSession, StaffToken, TokenScope } from '../../protocol/sign-in.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, badField, notFound } from '../core/errors.ts';
import { paginate } from '../core/pagination.ts';
import { isoTime } from '../core/serializers.ts';
import type { MemberCall, OwnerCall, ReadTx, Tx } from '../service.ts';
import { makeStaffToken } from './secrets.ts';

const maxTokens = 50;
const maxTokenLifeMs = 366 * 86_400_000;

/** A row of one of the two kinds. */
const isToken = (row: StaffSessionRow): boolean => row.scopes !== null;

async function liveRows(tx: ReadTx, { actor, service }: MemberCall): Promise<StaffSessionRow[]> {
  const now = service.engine.clock.now();
  return (await tx.repositories.members.sessionsOf(actor.memberId)).filter((row) => row.expires_at > now);
}

export async function listSessions(
  tx: ReadTx,
  call: MemberCall,
  input: Input<'sessions.list'>,
): Promise<Output<'sessions.list'>> {
  const rows = (await liveRows(tx, call)).filter((row) => !isToken(row));
  const { page, ...counts } = paginate(rows, input);
  return { sessions: page.map((row) => serializeSession(row, call.actor.sessionId)), ...counts };
}

function serializeSession(row: StaffSessionRow, current: string): StaffSession {
  return {
    id: row.id,
    createdAt: isoTime(row.created_at),
    lastSeenAt: isoTime(row.last_seen_at),
    expiresAt: isoTime(row.expires_at),
    address: row.address,
    secondFactor: row.second_factor === 1,
    current: row.id === current,
  };
}

/** Ends one of the caller's own sessions, on every connection that uses it. @throws ServiceError not_found */
export async function endSession(
  tx: Tx,
  call: MemberCall,
  { sessionId }: Input<'sessions.end'>,
): Promise<{ success: true }> {
  return removeOwn(tx, call, sessionId, 'session');
}

/** Ends a token at once. @throws ServiceError not_found */
export async function revokeToken(
  tx: Tx,
  call: MemberCall,
  { tokenId }: Input<'tokens.revoke'>,
): Promise<{ success: true }> {
  return removeOwn(tx, call, tokenId, 'token');
}

async function removeOwn(
  tx: Tx,
  call: MemberCall,
  id: string,
  what: 'session' | 'token',
): Promise<{ success: true }> {
  const row = await tx.repositories.members.sessionById(id);
  if (row === undefined || row.member_id !== call.actor.memberId || isToken(row) !== (what === 'token'))
    throw notFound(what);
  await tx.repositories.members.removeSession(id);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: call.actor.organizationId,
    action: what === 'token' ? 'tokens.revoke' : 'sessions.end',
    subject: `${what}:${id}`,
  });
  return { success: true };
}

/** Ends all sessions and tokens of a member. @throws ServiceError not_found */
export async function signOutMember(
  tx: Tx,
  call: OwnerCall,
  input: Input<'members.signOut'>,
): Promise<{ success: true }> {
  const row = await accessMember(tx, call.actor, input.memberId);
  await tx.repositories.members.removeSessionsOf(row.id);
  tx.configurationChanged(row.organization_id);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'members.signOut',
    subject: `member:${row.id}`,
  });
  return { success: true };
}

/**
 * Makes a token. It may do what its scopes name and its member may, and counts as having shown a second factor only
 * where the session that makes it has.
 * @throws ServiceError bad_request (its end), conflict (too many)
 */
export async function createToken(
  tx: Tx,
  call: MemberCall,
  { name, scopes: named, expiresAt }: Input<'tokens.create'>,
): Promise<Output<'tokens.create'>> {
  const { actor, service, address } = call;
  const { clock } = service.engine;
  const now = clock.now();
  const ends = Date.parse(expiresAt);
  if (!(ends > now && ends <= now + maxTokenLifeMs))
    throw badField('expiresAt', 'must be in the future, and at most 366 days from now');
  if ((await liveRows(tx, call)).filter(isToken).length >= maxTokens)
    throw new ServiceError('conflict', `A member has at most ${maxTokens} tokens. Revoke one first.`);
  const scopes = [...new Set(named)];
  const session = await tx.repositories.members.sessionById(actor.sessionId);
  const token = makeStaffToken();
  const row: StaffSessionRow = {
    id: clock.newId(),
    organization_id: actor.organizationId,
    member_id: actor.memberId,
    digest: service.secrets.digest(token),
    created_at: now,
    last_seen_at: now,
    expires_at: ends,
    name,
    scopes: JSON.stringify(scopes),
    second_factor: session?.second_factor ?? 0,
    address,
  };
  await tx.repositories.members.insertSession(row);
  await audit(tx, call, {
    organizationId: actor.organizationId,
    action: 'tokens.create',
    subject: `token:${row.id}`,
    detail: { name, scopes: scopes.join(' '), expiresAt: isoTime(ends) },
  });
  return { ...serializeToken(row), token };
}

export async function listTokens(
  tx: ReadTx,
  call: MemberCall,
  input: Input<'tokens.list'>,
): Promise<Output<'tokens.list'>> {
  const { page, ...counts } = paginate((await liveRows(tx, call)).filter(isToken), input);
  return { tokens: page.map(serializeToken), ...counts };
}

function serializeToken(row: StaffSessionRow): StaffToken {
  return {
    id: row.id,
    name: row.name ?? '',
    scopes: JSON.parse(row.scopes ?? '[]') as TokenScope[],
    createdAt: isoTime(row.created_at),
    lastUsedAt: row.last_seen_at === row.created_at ? null : isoTime(row.last_seen_at),
    expiresAt: isoTime(row.expires_at),
  };
}
