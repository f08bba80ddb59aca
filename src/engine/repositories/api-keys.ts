// What is asked of API keys.
import type { ApiKeyRow } from '../rows.ts';

export interface ApiKeysRepository {
  byDigest(digest: Uint8Array): Promise<ApiKeyRow | undefined>;
  byId(id: string): Promise<ApiKeyRow | undefined>;
  /** In the order in which they were made. */
  byApplication(applicationId: string): Promise<ApiKeyRow[]>;
  /** Those of an application that may still be used: neither revoked nor, at the time `now`, expired. */
  countWorking(applicationId: string, now: number): Promise<number>;
  /** All others. */
  countOver(applicationId: string, now: number): Promise<number>;
  /** Removes so many of those that are over, the first that ended first. */
  removeOver(applicationId: string, now: number, most: number): Promise<number>;
  insert(row: ApiKeyRow): Promise<number>;
  setExpiry(id: string, expiresAt: number): Promise<number>;
  /** 0 when it was revoked already. */
  setRevoked(id: string, revokedAt: number): Promise<number>;
  setLastUsed(id: string, lastUsedAt: number): Promise<number>;
}
