// Addresses that take no mails: because a person said so, or because mails came back. Only a keyed digest is kept.
import type { MailAddressRow } from '../../engine/rows.ts';
import type { ReadTx, Service, Tx } from '../service.ts';

/** For how long an address from which mails came back is left alone. */
export const bounceRestMs = 30 * 86_400_000;

/** The keyed digest of an address; another one in each organization. */
export function mailAddressDigest(
  { secrets }: Pick<Service, 'secrets'>,
  organizationId: string,
  address: string,
): Uint8Array {
  return secrets.digest(`mail-address:${organizationId}:${address.toLowerCase()}`);
}

/**
 * The id of the visitor who writes from an address, in an inbox of an application: a UUID of version 4 that no one else
 * can make, so that no page can speak for them or change their address.
 */
export function mailVisitorId(
  { secrets }: Pick<Service, 'secrets'>,
  applicationId: string,
  address: string,
): string {
  const bytes = Buffer.from(
    secrets.digest(`mail-visitor:${applicationId}:${address.toLowerCase()}`).subarray(0, 16),
  );
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Why an address takes no mails of an organization; null: it takes them. */
export async function refusesMail(
  tx: ReadTx,
  service: Service,
  organizationId: string,
  address: string,
): Promise<string | null> {
  const row = await readAddress(tx, service, organizationId, address);
  if (row === undefined) return null;
  if (row.state === 'stopped') return 'the owner of the address wants no mails';
  return row.created_at + bounceRestMs > service.engine.clock.now()
    ? 'mails to this address came back'
    : null;
}

/** Whether the owner of an address has asked for no mails of an organization. */
export async function wantsNoMail(
  tx: ReadTx,
  service: Service,
  organizationId: string,
  address: string,
): Promise<boolean> {
  return (await readAddress(tx, service, organizationId, address))?.state === 'stopped';
}

/** What is noted of an address that takes no mails, or took none for a while; undefined: nothing. */
export function readAddress(
  { repositories }: ReadTx,
  service: Service,
  organizationId: string,
  address: string,
): Promise<MailAddressRow | undefined> {
  return repositories.mail.address(organizationId, mailAddressDigest(service, organizationId, address));
}

/** Notes that an address takes no mails. @param at since when, ms */
export async function markAddress(
  tx: Tx,
  service: Service,
  organizationId: string,
  address: string,
  state: MailAddressRow['state'],
  at: number = service.engine.clock.now(),
): Promise<void> {
  await tx.repositories.mail.putAddress({
    organization_id: organizationId,
    digest: mailAddressDigest(service, organizationId, address),
    state,
    created_at: at,
  });
}
