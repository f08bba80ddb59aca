// Blocks: which visitors and addresses an organization does not want to hear of. An address is never kept, only a keyed
// digest of it, and for 30 days at most.
import type {
  AddressBlockRow,
  VisitorBlockRow,
  VisitorBlockWithVisitor,
  VisitorRow,
} from '../../engine/rows.ts';
import { canonicalAddress } from '../../net/ip-ranges.ts';
import type { Block } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { audit } from '../core/audit.ts';
import { ServiceError, badField, notFound } from '../core/errors.ts';
import { paginate } from '../core/pagination.ts';
import { isoTime } from '../core/serializers.ts';
import { accessVisitorData } from '../data/visitor-data.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';
import { addressDigest, blockHolds } from '../auth/blocked.ts';

const maxAddressBlockMs = 30 * 86_400_000;
/** All of an organization's blocks are held in memory: a bound for it. */
const maxBlocks = 5_000;
const loopbacks: readonly string[] = ['127.0.0.1', '::1'];

/**
 * Blocks a visitor, and where asked the address that they wrote from last.
 * @throws ServiceError not_found, bad_request, conflict (the address is not known, too many blocks)
 */
export async function blockVisitor(
  tx: Tx,
  call: MemberCall,
  input: Input<'visitors.block'>,
): Promise<Output<'visitors.block'>> {
  const visitor = await accessVisitorData(tx, call, input);
  const { id, now } = await newBlock(tx, call);
  const expiresAt = input.until === null ? null : futureTime(input.until, now);
  const row: VisitorBlockRow = {
    id,
    organization_id: visitor.organization_id,
    visitor_key: visitor.id,
    expires_at: expiresAt,
    created_by: call.actor.memberId,
    created_at: now,
  };
  await tx.repositories.blocks.putVisitor(row);
  const warning = input.address ? await blockAddressOf(tx, call, visitor, expiresAt, now) : {};
  await changed(tx, call, 'visitors.block', `visitor:${visitor.id}`, { address: input.address });
  return {
    ...serializeVisitorBlock({ ...row, ...visitor, id: row.id, created_at: row.created_at }),
    ...warning,
  };
}

async function blockAddressOf(
  tx: Tx,
  call: MemberCall,
  visitor: VisitorRow,
  expiresAt: number | null,
  now: number,
): Promise<Warning> {
  const { actor, service } = call;
  if (visitor.address_digest === null)
    throw new ServiceError(
      'conflict',
      'The address of this visitor is not known: they have not written from a web page.',
    );
  await tx.repositories.blocks.putAddress({
    id: service.engine.clock.newId(),
    organization_id: visitor.organization_id,
    digest: visitor.address_digest,
    visitor_key: visitor.id,
    expires_at: Math.min(expiresAt ?? Infinity, now + maxAddressBlockMs),
    created_by: actor.memberId,
    created_at: now,
  });
  return warningOf(call, visitor.address_digest);
}

interface Warning {
  readonly warning?: string;
}

/**
 * Of an address that many may share without knowing: the caller's own, and those of the server's machine, from which all
 * seem to come where a proxy stands before the server that it was not told of. It may be meant all the same, so it is done.
 */
function warningOf({ actor, address, service }: MemberCall, digest: Uint8Array): Warning {
  const shared = address === null ? loopbacks : [...loopbacks, address];
  return shared.some((one) => Buffer.compare(addressDigest(service, actor.organizationId, one), digest) === 0)
    ? {
        warning:
          'this is your own address or the server’s: everybody is blocked who comes through the same router, or through a proxy that the server was not told of (--trust-proxy); lift the block if that was not meant',
      }
    : {};
}

/** @throws ServiceError not_found, bad_request */
export async function unblockVisitor(
  tx: Tx,
  call: MemberCall,
  input: Input<'visitors.unblock'>,
): Promise<{ success: true }> {
  const visitor = await accessVisitorData(tx, call, input);
  await tx.repositories.blocks.removeOfVisitor(visitor.id);
  await changed(tx, call, 'visitors.unblock', `visitor:${visitor.id}`);
  return { success: true };
}

/** @throws ServiceError bad_request, conflict (too many blocks) */
export async function blockAddress(
  tx: Tx,
  call: MemberCall,
  input: Input<'blocks.create'>,
): Promise<Output<'blocks.create'>> {
  const { actor, service } = call;
  const address = canonicalAddress(input.address);
  if (address === null) throw badField('address', 'must be an IPv4 or IPv6 address');
  const { id, now } = await newBlock(tx, call);
  const expiresAt = input.until === undefined ? now + maxAddressBlockMs : futureTime(input.until, now);
  if (expiresAt > now + maxAddressBlockMs) throw badField('until', 'must be at most 30 days from now');
  const row: AddressBlockRow = {
    id,
    organization_id: actor.organizationId,
    digest: addressDigest(service, actor.organizationId, address),
    visitor_key: null,
    expires_at: expiresAt,
    created_by: actor.memberId,
    created_at: now,
  };
  await tx.repositories.blocks.putAddress(row);
  await changed(tx, call, 'blocks.create', `block:${id}`);
  return { ...serializeAddressBlock(row), ...warningOf(call, row.digest) };
}

/** @throws ServiceError not_found */
export async function removeBlock(
  tx: Tx,
  call: MemberCall,
  { blockId }: Input<'blocks.remove'>,
): Promise<{ success: true }> {
  if ((await tx.repositories.blocks.remove(call.actor.organizationId, blockId)) === 0)
    throw notFound('block');
  await changed(tx, call, 'blocks.remove', `block:${blockId}`);
  return { success: true };
}

export async function listBlocks(
  tx: ReadTx,
  { actor, service }: MemberCall,
  input: Input<'blocks.list'>,
): Promise<Output<'blocks.list'>> {
  const { blocks } = tx.repositories;
  const now = service.engine.clock.now();
  const live = (row: { readonly expires_at: number | null }): boolean => blockHolds(row.expires_at, now);
  const found = [
    ...(await blocks.visitors(actor.organizationId)).filter(live).map(serializeVisitorBlock),
    ...(await blocks.addresses(actor.organizationId)).filter(live).map(serializeAddressBlock),
  ].toSorted((one, other) => (one.id < other.id ? 1 : -1));
  const { page, ...counts } = paginate(found, input);
  return { blocks: page, ...counts };
}

async function newBlock(tx: ReadTx, { actor, service }: MemberCall): Promise<{ id: string; now: number }> {
  const { blocks } = tx.repositories;
  const visitors = await blocks.visitors(actor.organizationId);
  const addresses = await blocks.addresses(actor.organizationId);
  if (visitors.length + addresses.length >= maxBlocks)
    throw new ServiceError('conflict', `An organization has at most ${maxBlocks} blocks. Lift some first.`);
  const { clock } = service.engine;
  return { id: clock.newId(), now: clock.now() };
}

/** @throws ServiceError bad_request */
function futureTime(text: string, now: number): number {
  const time = Date.parse(text);
  if (!(time > now)) throw badField('until', 'must be in the future');
  return time;
}

/** Live connections prove again that they may stay: those of the blocked can't. */
async function changed(
  tx: Tx,
  call: MemberCall,
  action: string,
  subject: string,
  detail: Readonly<Record<string, boolean>> = {},
): Promise<void> {
  const { organizationId } = call.actor;
  tx.configurationChanged(organizationId);
  await audit(tx, call, { organizationId, action, subject, detail });
}

function serializeVisitorBlock(row: VisitorBlockWithVisitor): Block {
  return {
    id: row.id,
    kind: 'visitor',
    visitor: { id: row.visitor_id, name: row.name, applicationId: row.application_id, mode: row.mode },
    until: row.expires_at === null ? null : isoTime(row.expires_at),
    createdBy: row.created_by,
    createdAt: isoTime(row.created_at),
  };
}

function serializeAddressBlock(row: AddressBlockRow): Block {
  return {
    id: row.id,
    kind: 'address',
    visitor: null,
    until: isoTime(row.expires_at),
    createdBy: row.created_by,
    createdAt: isoTime(row.created_at),
  };
}
