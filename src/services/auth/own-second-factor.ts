// A member's own second factor, as they set it up, look at it and switch it off; and its removal for one who lost it.
import type { Input, Output } from '../../protocol/operations.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, badField } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import type { MemberCall, OwnerCall, ReadTx, Tx } from '../service.ts';
import { demandsSecondFactor } from './second-factor-demand.ts';
import {
  hasSecondFactor,
  useCode,
  confirmSecret,
  putSecret,
  replaceRecoveryCodes,
  countAttempt,
} from './second-factor.ts';

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
  const right = await service.secrets.verifyPassword(
    password,
    member?.password_hash ?? null,
    actor.organizationId,
  );
  if (!right) throw badField(field, 'is not the present one');
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
