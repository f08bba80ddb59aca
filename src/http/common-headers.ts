// The headers that every answer carries, by whichever way it leaves.
// Owns their values; writes nothing.

/** What an answer says of itself that must not be kept: most. */
export const notKept = 'no-store';

const unchanging = Object.entries({
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});
const unchangingList = unchanging.flat();

/**
 * All but Cache-Control, which some answers have of their own.
 * @param requestId a UUID that names this request in the log
 * @returns names and values in turn
 */
export function commonHeaderList(requestId: string): string[] {
  return ['X-Request-Id', requestId, ...unchangingList];
}

/**
 * @param requestId a UUID that names this request in the log
 * @returns header names and values
 */
export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': notKept,
    ...Object.fromEntries(unchanging),
  };
}
