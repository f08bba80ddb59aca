// What a member can show beside the password, and the proofs by code: an authenticator's and a recovery code. Each counts
// once, and guesses are limited.
import type { LimitWindow } from '../../engine/engine.ts';
import type { MemberRow } from '../../engine/rows.ts';
import type { Output } from '../../protocol/operations.ts';
import type { SecondFactorMethod } from '../../protocol/sign-in.ts';
import { rateLimited } from '../core/errors.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { demandsSecondFactor } from './second-factor-demand.ts';
import type { MemberAccount } from './open-session.ts';
import { makeRecoveryCodes, makeTotpSecret, matchTotp, normalizeRecoveryCode, totpUri } from './totp.ts';

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

/** Takes an authenticator's or a recovery code, once. @returns which it was; null: neither */
export async function useCode(
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
export async function confirmSecret(
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

export async function putSecret(
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
export async function countAttempt({ engine, metrics }: Service, memberId: string): Promise<void> {
  const verdict = await engine.limiter.take([{ key: `sf:${memberId}`, windows: attemptWindows }]);
  if (verdict.ok) return;
  metrics.rateLimited.per_address += 1;
  throw rateLimited('per_address', attemptWindows, verdict.window, verdict.retryAfterMs, 'Too many tries');
}
