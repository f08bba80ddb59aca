// WebAuthn as this service uses it: where passkeys belong, what browsers are asked, and whether their answers are right.
// Stores nothing. The library is loaded when the first answer is verified.
import type { PasskeyRow } from '../../engine/rows.ts';
import type {
  PasskeyAssertion,
  PasskeyCreated,
  PasskeyCreation,
  PasskeyRequest,
} from '../../protocol/sign-in.ts';
import type { MemberAccount } from './open-session.ts';

/** How long a browser's answer is waited for. */
export const challengeLifeMs = 5 * 60_000;
/** EdDSA, ES256 and RS256: every authenticator knows one of them. */
const algorithms = [-8, -7, -257];
const loopback = new Set(['127.0.0.1', '[::1]']);

/** The party that a passkey is made for, and the origins of its pages. */
export interface RelyingParty {
  readonly id: string;
  readonly origins: readonly string[];
}

/**
 * Where an organization's passkeys belong: the service's own name, at its base address and at the organization's host.
 * @param baseUrl the service's public address; no request has a say in this
 * @param slug the organization's
 * @returns null where browsers make no passkeys: at an address without a name, or without https
 */
export function relyingParty(baseUrl: string | null, slug: string): RelyingParty | null {
  if (baseUrl === null) return null;
  const base = new URL(baseUrl);
  // Browsers make passkeys for names only, and take localhost for safe without https.
  if (loopback.has(base.hostname)) base.hostname = 'localhost';
  const { hostname, protocol, host, origin } = base;
  const isAddress = hostname.startsWith('[') || /^[0-9.]+$/.test(hostname);
  if (isAddress || (protocol !== 'https:' && hostname !== 'localhost')) return null;
  return { id: hostname, origins: [origin, `${protocol}//${slug}.${host}`] };
}

/** The id under which authenticators keep a member: nothing that says who it is. */
function userHandle(memberId: string): string {
  return Buffer.from(memberId).toString('base64url');
}

function references(passkeys: readonly PasskeyRow[]): PasskeyRequest['allowCredentials'] {
  return passkeys.map((row) => ({
    id: row.credential_id,
    type: 'public-key',
    transports: row.transports.split(' ').filter((one) => one !== ''),
  }));
}

/** What a browser is asked to make. User verification is required: the passkey alone could be in other hands. */
export function creationOptions(
  party: RelyingParty,
  challenge: string,
  { organization, member }: MemberAccount,
  existing: readonly PasskeyRow[],
): PasskeyCreation {
  return {
    challenge,
    rp: { id: party.id, name: organization.name },
    user: { id: userHandle(member.id), name: member.email, displayName: member.name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: references(existing),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    attestation: 'none',
    timeout: challengeLifeMs,
  };
}

/** What a browser is asked to show. */
export function requestOptions(
  party: RelyingParty,
  challenge: string,
  passkeys: readonly PasskeyRow[],
): PasskeyRequest {
  return {
    challenge,
    rpId: party.id,
    allowCredentials: references(passkeys),
    userVerification: 'required',
    timeout: challengeLifeMs,
  };
}

/** What is kept of a passkey that was made. */
export type NewCredential = Pick<PasskeyRow, 'credential_id' | 'public_key' | 'counter' | 'transports'>;

/**
 * Verifies that an authenticator has made a passkey for this challenge, on one of the party's pages, with its user
 * verified.
 * @returns null when anything about the answer is wrong
 */
export async function verifyCreated(
  party: RelyingParty,
  challenge: string,
  created: PasskeyCreated,
): Promise<NewCredential | null> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { clientDataJSON, attestationObject, transports = [] } = created.response;
  try {
    await assertNoCertificates(created);
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: { ...created, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) return null;
    const { id, publicKey, counter } = registrationInfo.credential;
    return {
      credential_id: id,
      public_key: Buffer.from(publicKey).toString('base64url'),
      counter,
      transports: transports.join(' '),
    };
  } catch {
    // The library says with an error what is wrong with an answer. The caller learns only that it is.
    return null;
  }
}

/**
 * No certificates were asked for. Verifying those that came all the same would fetch revocation lists, past the guard of
 * outgoing requests.
 */
async function assertNoCertificates({ response }: PasskeyCreated): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const object = decodeAttestationObject(
    new Uint8Array(Buffer.from(response.attestationObject, 'base64url')),
  );
  const format = object.get('fmt');
  const signedByItself = format === 'packed' && object.get('attStmt').get('x5c') === undefined;
  if (format !== 'none' && !signedByItself) throw new Error(`Attestation ${format} was not asked for.`);
}

/**
 * Verifies that a passkey has signed this challenge, on one of the party's pages, with its user verified.
 * @returns the count of its signatures, which the caller holds against the one before; null when anything is wrong
 */
export async function verifyShown(
  party: RelyingParty,
  challenge: string,
  passkey: PasskeyRow,
  assertion: PasskeyAssertion,
): Promise<{ readonly counter: number } | null> {
  const { userHandle: shownFor, ...response } = assertion.response;
  if (shownFor !== undefined && shownFor !== userHandle(passkey.member_id)) return null;
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...assertion, response, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
        // The library would look at the count before the signature, and so at what anyone may have written.
        counter: 0,
      },
    });
    return verified ? { counter: authenticationInfo.newCounter } : null;
  } catch {
    // The library says with an error what is wrong with an answer. The caller learns only that it is.
    return null;
  }
}

/**
 * Whether an authenticator that counts its signatures has given a count that it had given before: it was cloned, or
 * this is one of its older answers (WebAuthn, 6.1.1).
 */
export function wentBack(before: number, now: number): boolean {
  return (before > 0 || now > 0) && now <= before;
}
