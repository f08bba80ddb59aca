// When an API key counts: asked at each request, inside each write, and of the sockets that came by one.
import type { ApiKeyRow } from '../../engine/rows.ts';

/**
 * Whether a key was neither revoked nor has run out, as one that was rotated does at the end of its grace.
 * @param now ms since the epoch
 */
export function isKeyActive({ revoked_at, expires_at }: ApiKeyRow, now: number): boolean {
  return revoked_at === null && (expires_at === null || expires_at > now);
}
