// Begins a session, however its member has proved who they are. Checks nothing itself.
import type { Output } from '../../protocol/operations.ts';
import type { MemberRow, OrganizationRow } from '../../engine/rows.ts';
import { audit } from '../core/audit.ts';
import { isoTime, serializeMember, serializeOrganization } from '../core/serializers.ts';
import type { Call, Tx } from '../service.ts';
import { sessionExpiry } from './authenticate.ts';
import { makeSessionToken } from './secrets.ts';

export interface MemberAccount {
  readonly organization: OrganizationRow;
  readonly member: MemberRow;
}

/** How a session was begun, for its row and the audit log. */
export interface SessionProof {
  readonly action: string;
  /** Whether more than the password was shown. */
  readonly secondFactor: boolean;
  readonly detail?: Readonly<Record<string, string>>;
}

/** A member who signs in ever again, as a script does that keeps no token, ends their oldest sessions. */
const maxSessions = 100;
/** So many stay then: not every further sign-in has to end one. */
const keptSessions = 80;

/** Makes the session's row and its line in the audit log. */
export async function openSession(
  tx: Tx,
  call: Call,
  { organization, member }: MemberAccount,
  { action, secondFactor, detail = {} }: SessionProof,
): Promise<Output<'session.createLocal'>> {
  const { secrets, engine } = call.service;
  const now = engine.clock.now();
  const token = makeSessionToken();
  const expiresAt = sessionExpiry(now, now);
  await tx.repositories.members.removeExpiredSessions(now);
  await tx.repositories.members.insertSession({
    id: engine.clock.newId(),
    organization_id: organization.id,
    member_id: member.id,
    digest: secrets.digest(token),
    created_at: now,
    last_seen_at: now,
    expires_at: expiresAt,
    name: null,
    scopes: null,
    second_factor: secondFactor ? 1 : 0,
    address: call.address,
  });
  if ((await tx.repositories.members.countSessions(member.id)) > maxSessions) {
    await tx.repositories.members.removeOldSessions(member.id, keptSessions);
    tx.configurationChanged(organization.id);
  }
  await audit(tx, call, {
    organizationId: organization.id,
    action,
    subject: `member:${member.id}`,
    detail,
  });
  return {
    token,
    expiresAt: isoTime(expiresAt),
    member: serializeMember(member),
    organization: serializeOrganization(organization),
  };
}
