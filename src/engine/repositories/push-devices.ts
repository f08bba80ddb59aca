import type { PushDeviceRow } from '../rows.ts';

/** Browsers that are sent pushes. They fall with their session, member and organization. */
export interface PushDevicesRepository {
  byId(id: string): Promise<PushDeviceRow | undefined>;
  byDigest(digest: Uint8Array): Promise<PushDeviceRow | undefined>;
  /** Oldest first. */
  ofMember(memberId: string): Promise<PushDeviceRow[]>;
  insert(row: PushDeviceRow): Promise<number>;
  remove(id: string): Promise<number>;
  /** Notes that a push service took a push. */
  setSent(id: string, sentAt: number): Promise<number>;
  /** Notes why the last push did not arrive. */
  setProblem(id: string, problem: string): Promise<number>;
  /** The organizations whose members have one. */
  organizations(): Promise<string[]>;
  /** How many there are of each of the server's keys, and of how many the last push did not arrive. */
  countByKey(): Promise<{ key_id: string; devices: number; failing: number }[]>;
}
