// Inviting members by a link that works once, for three days: the invited person
// chooses the password, so that none is ever sent.
import type { MemberRow, OrganizationRow } from '../../engine/rows.ts';
import { addressKey } from '../../net/ip-ranges.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { mayUseHost } from '../auth/organization-host.ts';
import { assertAuthNotThrottled, countFailedAuth } from '../auth/rate-limits.ts';
import { addMember, noPassword } from './members.ts';
import { isoTime, serializeMember, serializeOrganization } from '../core/serializers.ts';
import { makeInvitationToken } from '../auth/secrets.ts';
import type { AnonymousCall, OwnerCall, ReadTx, Tx } from '../service.ts';

const livesMs = 3 * 86_400_000;

/** @throws ServiceError not_found, plan_limit, conflict (address taken) */
export async function inviteMember(
  tx: Tx,
  call: OwnerCall,
  input: Input<'members.invite'>,
): Promise<Output<'members.invite'>> {
  const { clock } = call.service.engine;
  const member = await addMember(tx, call, input, noPassword);
  const token = makeInvitationToken();
  const expiresAt = clock.now() + livesMs;
  await tx.repositories.invitations.put({
    member_id: member.id,
    digest: call.service.secrets.digest(token),
    expires_at: expiresAt,
  });
  await audit(tx, call, {
    organizationId: member.organizationId,
    action: 'members.invite',
    subject: `member:${member.id}`,
  });
  const base = call.service.settings.baseUrl();
  // In the fragment: browsers never send it, so it stays out of every log on the way.
  return {
    member,
    token,
    url: base === null ? null : `${base}/invitation#${token}`,
    expiresAt: isoTime(expiresAt),
  };
}

/**
 * Sets the password of an invited member; the link is used up.
 * @throws ServiceError unauthorized, rate_limit_exceeded
 */
export async function acceptInvitation(
  call: AnonymousCall,
  input: Input<'invitations.accept'>,
): Promise<Output<'invitations.accept'>> {
  const { service } = call;
  const address = call.address ?? 'local';
  await assertAuthNotThrottled(service, address);
  const digest = service.secrets.digest(input.token);
  const { store } = service.engine;
  // Looked up first: hashing is slow, and a guessed link must not cost it.
  const invited = await store.read((tx) => findInvited(tx, call, digest));
  if (invited === null) {
    await countFailedAuth(service, address);
    throw unknownInvitation();
  }
  const passwordHash = await service.secrets.hashPassword(input.password, addressKey(address));
  return store.write({ organization: invited.organization.id }, async (tx) => {
    const found = await findInvited(tx, call, digest);
    if (found === null) throw unknownInvitation();
    const { member, organization } = found;
    await tx.repositories.members.setPassword(member.id, passwordHash);
    await tx.repositories.members.removeSessionsOf(member.id);
    await tx.repositories.invitations.remove(member.id);
    tx.configurationChanged(organization.id);
    await audit(tx, call, {
      organizationId: organization.id,
      action: 'invitations.accept',
      subject: `member:${member.id}`,
    });
    return { member: serializeMember(member), organization: serializeOrganization(organization) };
  });
}

/** The member whom a link invites, with the organization; null for a link that is unknown, used or over. */
async function findInvited(
  tx: ReadTx,
  { service, actor }: AnonymousCall,
  digest: Uint8Array,
): Promise<{ readonly member: MemberRow; readonly organization: OrganizationRow } | null> {
  const invitation = await tx.repositories.invitations.byDigest(digest);
  if (invitation === undefined || invitation.expires_at <= service.engine.clock.now()) return null;
  const member = await tx.repositories.members.byId(invitation.member_id);
  const organization =
    member === undefined ? undefined : await tx.repositories.organizations.byId(member.organization_id);
  if (member === undefined || organization === undefined || member.disabled_at !== null) return null;
  return mayUseHost(service, actor.host, organization) ? { member, organization } : null;
}

function unknownInvitation(): ServiceError {
  return new ServiceError(
    'unauthorized',
    'The invitation is unknown, used or over. Ask an admin for a new one.',
  );
}
