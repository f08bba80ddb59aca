// What is asked of API keys.
import type { ApiKeyRow } from '../rows.ts';

export interface ApiKeysRepository {
  byDigest(digest: Uint8Array): Promise<ApiKeyRow | undefined>;
  byId(id: string): Promise<ApiKeyRow | undefined>;
  /** In the order in which they were made. */
  byApplication(applicationId: string): Promise<ApiKeyRow[]>;
  insert(row: ApiKeyRow): Promise<number>;
  setExpiry(id: string, expiresAt: number): Promise<number>;
  /** 0 when it was revoked already. */
  setRevoked(id: string, revokedAt: number): Promise<number>;
  setLastUsed(id: string, lastUsedAt: number): Promise<number>;
}
