// What is asked of visitors.
import type { Mode } from '../../protocol/entities.ts';
import type { VisitorRow } from '../rows.ts';

/** What naming a visitor changes. */
export type NamedVisitor = Pick<
  VisitorRow,
  'id' | 'name' | 'email' | 'verified' | 'verified_fields' | 'attributes'
>;

export interface VisitorsRepository {
  byVisitorId(applicationId: string, mode: Mode, visitorId: string): Promise<VisitorRow | undefined>;
  /** Whether there is one with this internal key. */
  has(id: string): Promise<boolean>;
  insert(row: VisitorRow): Promise<number>;
  identify(values: NamedVisitor): Promise<number>;
  setAddressDigest(id: string, digest: Uint8Array): Promise<number>;
}
