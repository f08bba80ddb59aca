// The rules of API keys: made, shown again, rotated with a grace period, revoked.
import type { Mode } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { ApiKeyRow, ApplicationRow } from '../../engine/rows.ts';
import { accessApiKey, accessApplication } from '../core/access.ts';
import { audit } from '../core/audit.ts';
import { ServiceError } from '../core/errors.ts';
import { paginate } from '../core/pagination.ts';
import { serializeApiKey } from '../core/serializers.ts';
import { isKeyActive } from '../auth/active-key.ts';
import { makeApiKey } from '../auth/secrets.ts';
import type { OwnerCall, ReadTx, Tx } from '../service.ts';

/** Keys of an application that may be used at once. */
const maxKeys = 200;
/** Keys of an application that are revoked or expired and still listed: who makes and revokes in a loop fills no list. */
const keptOver = 200;
/** Removed with each key that is made, where there are more. */
const removedOver = 10;

function place(row: Pick<ApiKeyRow, 'id' | 'organization_id'>) {
  return { table: 'api_keys.sealed', row: row.id, organizationId: row.organization_id };
}

async function insertKey(
  tx: Tx,
  { service }: OwnerCall,
  application: Pick<ApplicationRow, 'id' | 'organization_id'>,
  mode: Mode,
  name: string,
): Promise<Output<'keys.create'>> {
  const { clock } = service.engine;
  const key = makeApiKey(mode);
  const base = { id: clock.newId(), organization_id: application.organization_id };
  const row: ApiKeyRow = {
    ...base,
    application_id: application.id,
    mode,
    name,
    public_id: key.publicId,
    digest: service.secrets.digest(key.text),
    sealed: service.secrets.seal(key.text, place(base)),
    created_at: clock.now(),
    last_used_at: null,
    expires_at: null,
    revoked_at: null,
  };
  const { apiKeys } = tx.repositories;
  await apiKeys.insert(row);
  const now = row.created_at;
  if ((await apiKeys.countWorking(application.id, now)) > maxKeys)
    throw new ServiceError(
      'conflict',
      `An application has at most ${maxKeys} API keys. Revoke those that are not used: deskbell key list --app ${application.id}`,
    );
  const tooMany = (await apiKeys.countOver(application.id, now)) - keptOver;
  if (tooMany > 0) await apiKeys.removeOver(application.id, now, Math.min(tooMany, removedOver));
  tx.configurationChanged(row.organization_id);
  return { ...serializeApiKey(row), key: key.text };
}

/** @throws ServiceError not_found, conflict (one too many) */
export async function createKey(
  tx: Tx,
  call: OwnerCall,
  input: Input<'keys.create'>,
): Promise<Output<'keys.create'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const made = await insertKey(tx, call, application, input.mode, input.name ?? `${input.mode} key`);
  await audit(tx, call, {
    organizationId: application.organization_id,
    action: 'keys.create',
    subject: `key:${made.id}`,
    detail: { mode: input.mode },
  });
  return made;
}

export async function listKeys(
  tx: ReadTx,
  call: OwnerCall,
  input: Input<'keys.list'>,
): Promise<Output<'keys.list'>> {
  const application = await accessApplication(tx, call.actor, input.applicationId);
  const { page, ...counts } = paginate(await tx.repositories.apiKeys.byApplication(application.id), input);
  return { keys: page.map(serializeApiKey), ...counts };
}

/** Shows a key's text again, and leaves a trace of it. */
export async function revealKey(
  tx: Tx,
  call: OwnerCall,
  input: Input<'keys.reveal'>,
): Promise<Output<'keys.reveal'>> {
  const row = await accessApiKey(tx, call.actor, input.keyId, input.applicationId);
  await audit(tx, call, {
    organizationId: row.organization_id,
    action: 'keys.reveal',
    subject: `key:${row.id}`,
  });
  return { ...serializeApiKey(row), key: call.service.secrets.open(row.sealed, place(row)) };
}

/**
 * Makes the key's successor; the old one works until the grace period is over.
 * @throws ServiceError not_found, conflict (revoked already, or one too many)
 */
export async function rotateKey(
  tx: Tx,
  call: OwnerCall,
  input: Input<'keys.rotate'>,
): Promise<Output<'keys.rotate'>> {
  const old = await accessApiKey(tx, call.actor, input.keyId, input.applicationId);
  const now = call.service.engine.clock.now();
  if (!isKeyActive(old, now))
    throw new ServiceError(
      'conflict',
      `The key is revoked or over; make a new one: deskbell key create --app ${old.application_id}`,
    );
  const ends = now + input.graceSeconds * 1000;
  await tx.repositories.apiKeys.setExpiry(old.id, Math.min(ends, old.expires_at ?? ends));
  const application = { id: old.application_id, organization_id: old.organization_id };
  const made = await insertKey(tx, call, application, old.mode, old.name);
  await audit(tx, call, {
    organizationId: old.organization_id,
    action: 'keys.rotate',
    subject: `key:${old.id}`,
    detail: { successor: made.id, graceSeconds: input.graceSeconds },
  });
  return made;
}

/** The key is dead at once; revoking it again changes nothing. */
export async function revokeKey(
  tx: Tx,
  call: OwnerCall,
  input: Input<'keys.revoke'>,
): Promise<{ success: true }> {
  const row = await accessApiKey(tx, call.actor, input.keyId, input.applicationId);
  if ((await tx.repositories.apiKeys.setRevoked(row.id, call.service.engine.clock.now())) > 0) {
    tx.configurationChanged(row.organization_id);
    await audit(tx, call, {
      organizationId: row.organization_id,
      action: 'keys.revoke',
      subject: `key:${row.id}`,
    });
  }
  return { success: true };
}
