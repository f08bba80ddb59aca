// What is asked of blocks of visitors and addresses.
import type { Mode } from '../../protocol/entities.ts';
import type { AddressBlockRow, VisitorBlockRow, VisitorBlockWithVisitor } from '../rows.ts';

/** Blocks of visitors, and of addresses by their keyed digest. */
export interface BlocksRepository {
  /** Of an organization, also those that are over. */
  visitors(organizationId: string): Promise<VisitorBlockWithVisitor[]>;
  /** Of an organization, also those that are over. */
  addresses(organizationId: string): Promise<AddressBlockRow[]>;
  /** Also one that is over. */
  ofVisitor(applicationId: string, mode: Mode, visitorId: string): Promise<VisitorBlockRow | undefined>;
  /** Also one that is over. */
  ofAddress(organizationId: string, digest: Uint8Array): Promise<AddressBlockRow | undefined>;
  /** Takes the place of an earlier block of the visitor. */
  putVisitor(row: VisitorBlockRow): Promise<number>;
  /** Takes the place of an earlier block of the address. */
  putAddress(row: AddressBlockRow): Promise<number>;
  /** Removes a visitor's block with the addresses that were blocked with them. */
  removeOfVisitor(visitorKey: string): Promise<number>;
  /** 0 when the organization has no such block. */
  remove(organizationId: string, id: string): Promise<number>;
  removeExpired(now: number): Promise<number>;
}
