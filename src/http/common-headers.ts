// The headers that every answer carries, by whichever way it leaves.
// Owns their values; writes nothing.

const unchanging = Object.entries({
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});
const unchangingList = unchanging.flat();

/** The same with names and values in turn. */
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
    ...Object.fromEntries(unchanging),
  };
}
