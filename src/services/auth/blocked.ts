// Whether a caller is blocked. Asked of every visitor's call and connection, from memory: an organization's blocks are
// read once and again after a change.
import { addressKey } from '../../net/ip-ranges.ts';
import type { HostSiteActor, VisitorActor } from '../core/actor.ts';
import { ServiceError } from '../core/errors.ts';
import type { ReadTx, Service } from '../service.ts';

/** The keyed digest under which an address is blocked; another one in each organization. */
export function addressDigest({ secrets }: Service, organizationId: string, address: string): Uint8Array {
  return secrets.digest(`block:${organizationId}:${addressKey(address)}`);
}

/**
 * Whether a block holds.
 * @param until when it ends, ms; null: never; undefined: there is none
 */
export function blockHolds(until: number | null | undefined, now: number): boolean {
  return until !== undefined && (until === null || until > now);
}

/**
 * True where the visitor is blocked, or the address from which their page calls. A customer's backend calls for many
 * visitors from one address, so it is not asked for there.
 */
export async function isBlocked(
  service: Service,
  actor: VisitorActor | HostSiteActor,
  address: string,
): Promise<boolean> {
  const { organizationId, applicationId } = actor;
  const { visitors, addresses } = await service.configCache.blocks(organizationId);
  const now = service.engine.clock.now();
  if (
    actor.kind === 'visitor' &&
    blockHolds(visitors.get(visitorBlockKey(applicationId, actor.mode, actor.visitorId)), now)
  )
    return true;
  if (addresses.size === 0 || (actor.kind === 'visitor' && actor.via === 'key')) return false;
  const digest = addressDigest(service, organizationId, address);
  return blockHolds(addresses.get(Buffer.from(digest).toString('base64')), now);
}

/**
 * The same from the rows, inside the transaction that acts for the visitor.
 * @throws ServiceError visitor_blocked
 */
export async function assertNotBlockedNow(
  { repositories: { blocks } }: ReadTx,
  service: Service,
  actor: VisitorActor,
  address: string | null,
): Promise<void> {
  const { organizationId, applicationId, mode, visitorId, via } = actor;
  const byPage = via === 'origin' && address !== null;
  const found = [
    await blocks.ofVisitor(applicationId, mode, visitorId),
    byPage
      ? await blocks.ofAddress(organizationId, addressDigest(service, organizationId, address))
      : undefined,
  ];
  const now = service.engine.clock.now();
  if (found.some((row) => blockHolds(row?.expires_at, now))) throw visitorBlocked();
}

function visitorBlocked(): ServiceError {
  return new ServiceError('visitor_blocked', 'This visitor has been blocked.');
}

/** A visitor as the cache of blocks names them. */
export function visitorBlockKey(applicationId: string, mode: string, visitorId: string): string {
  return `${applicationId}:${mode}:${visitorId}`;
}

/** @throws ServiceError visitor_blocked */
export async function assertNotBlocked(
  service: Service,
  actor: VisitorActor | HostSiteActor,
  address: string,
): Promise<void> {
  if (await isBlocked(service, actor, address)) throw visitorBlocked();
}
