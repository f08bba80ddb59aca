// Why a connection to another server failed, in our own words: a library's message may hold addresses that must not be
// shown.

const messages: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name is unknown',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut off',
  ERR_STREAM_PREMATURE_CLOSE: 'the connection was cut off',
  EHOSTUNREACH: 'the host could not be reached',
  ENETUNREACH: 'the network could not be reached',
  ETIMEDOUT: 'the connection took too long',
  CERT_HAS_EXPIRED: 'its certificate is over',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by a trusted authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by a trusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by a trusted authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  EUPGRADE: 'it speaks another protocol than was asked for',
  Z_DATA_ERROR: 'its encoding is broken',
  Z_BUF_ERROR: 'its encoding is broken',
};

/** @returns the end of a sentence, or undefined for an error that is none of the usual ones */
export function describeNetworkError(error: unknown): string | undefined {
  return messages[errorCode(error)];
}

/** The code of a system error (`ECONNREFUSED`), else the error's name. It never holds an address or a text. */
export function errorCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
