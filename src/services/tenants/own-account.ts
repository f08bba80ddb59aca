// What members set for themselves: name, language, time zone, signature, password.
import type { MemberRow } from '../../engine/rows.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { checkOwnPassword } from '../auth/own-second-factor.ts';
import { accessMember } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { serializeMember } from '../core/serializers.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';

export async function getOwnAccount(tx: ReadTx, { actor }: MemberCall): Promise<Output<'me.get'>> {
  return serializeAccount(await accessMember(tx, actor, actor.memberId));
}

/**
 * Proves the present password and hashes the new one, outside the transaction.
 * @returns null where the password stays
 * @throws ServiceError bad_request (the present password), rate_limit_exceeded
 */
export async function prepareOwnPassword(
  call: MemberCall,
  { password, currentPassword }: Input<'me.update'>,
): Promise<string | null> {
  if (password === undefined) return null;
  await checkOwnPassword(call, { password: currentPassword ?? '' }, 'currentPassword');
  return call.service.secrets.hashPassword(password, call.actor.organizationId);
}

/**
 * What is left out stays. A new password ends every other session and token of the member: those who
 * knew the old one may have made them.
 * @param passwordHash null where the password stays
 */
export async function updateOwnAccount(
  tx: Tx,
  call: MemberCall,
  input: Input<'me.update'>,
  passwordHash: string | null,
): Promise<Output<'me.update'>> {
  const { actor } = call;
  const row = await accessMember(tx, actor, actor.memberId);
  const next: MemberRow = {
    ...row,
    name: input.name ?? row.name,
    locale: input.locale === undefined ? row.locale : input.locale,
    timezone: input.timezone === undefined ? row.timezone : input.timezone,
    signature: input.signature ?? row.signature,
  };
  const fields: string[] = (['name', 'locale', 'timezone', 'signature'] as const).filter(
    (field) => next[field] !== row[field],
  );
  if (fields.length > 0) await tx.repositories.members.setProfile(next);
  if (passwordHash !== null) {
    fields.push('password');
    await tx.repositories.members.setPassword(row.id, passwordHash);
    await tx.repositories.invitations.remove(row.id);
    await tx.repositories.members.removeAllSessionsBut(row.id, actor.sessionId);
  }
  if (fields.length > 0) {
    tx.configurationChanged(row.organization_id);
    await audit(tx, call, {
      organizationId: row.organization_id,
      action: 'me.update',
      subject: `member:${row.id}`,
      detail: { fields: fields.join(',') },
    });
  }
  return serializeAccount(next);
}

function serializeAccount(row: MemberRow): Output<'me.get'> {
  const { locale, timezone, signature } = row;
  return { ...serializeMember(row), locale, timezone, signature };
}
