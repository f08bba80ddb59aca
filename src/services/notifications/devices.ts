// Browsers that are sent pushes: a member adds the one in which they are signed in, and takes any of their own away. Its
// pushes end with that session.
import { maxPushDevices } from '../../protocol/codes.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { pushSubscription, type PushDevice } from '../../protocol/notifications.ts';
import type { PushDeviceRow } from '../../engine/rows.ts';
import { isPushEndpoint } from '../../net/push-client.ts';
import { areSubscriptionKeys, type SubscriptionKeys } from '../../net/push-encryption.ts';
import { badField, notFound, ServiceError } from '../core/errors.ts';
import { isoTime } from '../core/serializers.ts';
import type { MemberCall, Service, Tx } from '../service.ts';
import { ensurePushKey, type PushKey } from './push-keys.ts';

/** Where a browser's pushes go, and for whom they are encrypted. */
export interface PushTarget {
  readonly endpoint: string;
  readonly keys: SubscriptionKeys;
}

const placeOf = ({ id, organization_id }: Pick<PushDeviceRow, 'id' | 'organization_id'>) => ({
  table: 'push_devices.sealed',
  row: id,
  organizationId: organization_id,
});

/** Opens what was sealed of a device. */
export function openPushTarget({ secrets }: Service, row: PushDeviceRow): PushTarget {
  return pushSubscription.parse(JSON.parse(secrets.open(row.sealed, placeOf(row))));
}

export async function getPush(call: MemberCall): Promise<Output<'push.get'>> {
  const { publicKey } = await ensurePushKey(call.service);
  const rows = await call.service.engine.store.read(({ repositories }) =>
    repositories.pushDevices.ofMember(call.actor.memberId),
  );
  return { publicKey, devices: rows.map((row) => serializeDevice(row, call.actor)) };
}

/**
 * Checks a subscription, and sees to the server having a key for it.
 * @throws ServiceError bad_request (the address or the keys)
 */
export async function prepareDevice({ service }: MemberCall, input: Input<'push.add'>): Promise<PushKey> {
  if (!isPushEndpoint(input.endpoint, service.settings.pushHosts))
    throw badField(
      'endpoint',
      "is at no push service that this server knows; the server's owner may allow its host with DESKBELL_PUSH_HOSTS",
    );
  if (!areSubscriptionKeys(input.keys)) throw badField('keys', 'are none of a push subscription');
  return ensurePushKey(service);
}

/**
 * Adds the browser that asks, in the place of what was known of it before, also another member's: a browser has one
 * subscription, and it is now theirs who are signed in there.
 * @param key the key that the server gives out now; the browser subscribed with it or, a moment ago, with the one before
 * @throws ServiceError conflict (too many)
 */
export async function addDevice(
  tx: Tx,
  { service, actor }: MemberCall,
  { endpoint, keys, label, locale }: Input<'push.add'>,
  key: PushKey,
): Promise<Output<'push.add'>> {
  const { pushDevices } = tx.repositories;
  const digest = service.secrets.digest(`push:${endpoint}`);
  const before = await pushDevices.byDigest(digest);
  if (before !== undefined) await pushDevices.remove(before.id);
  if ((await pushDevices.ofMember(actor.memberId)).length >= maxPushDevices)
    throw new ServiceError(
      'conflict',
      `Pushes go to at most ${maxPushDevices} browsers of a member: remove one first.`,
    );
  const place = { id: service.engine.clock.newId(), organization_id: actor.organizationId };
  const target: PushTarget = { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } };
  const row: PushDeviceRow = {
    ...place,
    member_id: actor.memberId,
    session_id: actor.sessionId,
    endpoint_digest: digest,
    sealed: service.secrets.seal(JSON.stringify(target), placeOf(place)),
    host: new URL(endpoint).host,
    label,
    locale,
    key_id: key.id,
    created_at: service.engine.clock.now(),
    last_sent_at: null,
    problem: null,
  };
  await pushDevices.insert(row);
  // The outbox looks again at who is sent pushes.
  tx.configurationChanged(actor.organizationId);
  return serializeDevice(row, actor);
}

/** @throws ServiceError not_found */
export async function removeDevice(
  tx: Tx,
  { actor }: MemberCall,
  { deviceId }: Input<'push.remove'>,
): Promise<{ success: true }> {
  const row = await tx.repositories.pushDevices.byId(deviceId);
  if (row === undefined || row.member_id !== actor.memberId) throw notFound('browser');
  await tx.repositories.pushDevices.remove(row.id);
  return { success: true };
}

function serializeDevice(row: PushDeviceRow, { sessionId }: MemberCall['actor']): PushDevice {
  return {
    id: row.id,
    label: row.label,
    host: row.host,
    current: row.session_id === sessionId,
    createdAt: isoTime(row.created_at),
    lastSentAt: row.last_sent_at === null ? null : isoTime(row.last_sent_at),
    problem: row.problem,
  };
}
