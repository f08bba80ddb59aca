// How members sign in: second factors, sessions and staff tokens as the API shows them. Owns shapes only.
import { z } from 'zod';
import { tokenScopes } from './enums.ts';
import { member, timestamp, uuid } from './entities.ts';
import { exactText } from './text.ts';

/**
 * How a sign-in may be completed: a passkey, a code of an authenticator, a recovery code, or, where the organization
 * demands a second factor and the member has none, setting one up.
 */
export const secondFactorMethod = z.enum(['passkey', 'totp', 'recovery', 'setup']);
export type SecondFactorMethod = z.infer<typeof secondFactorMethod>;

/** What a staff token may be allowed to do. */
export const tokenScope = z.enum(tokenScopes);
export type TokenScope = z.infer<typeof tokenScope>;

/** A member as they see themselves. */
export const ownAccount = member.extend({
  /** The language of the dashboard; null: the browser's. */
  locale: z.string().nullable(),
  /** IANA; null: the browser's. */
  timezone: z.string().nullable(),
  /** Markdown that the member may put under an answer; empty: nothing. */
  signature: z.string(),
});
export type OwnAccount = z.infer<typeof ownAccount>;

/** Where a member is signed in. */
export const staffSession = z.object({
  id: uuid,
  createdAt: timestamp,
  lastSeenAt: timestamp,
  expiresAt: timestamp,
  /** Where it was begun; null: on the server's command line. */
  address: z.string().nullable(),
  /** Whether a second factor was shown. */
  secondFactor: z.boolean(),
  /** Whether it is the one that asks. */
  current: z.boolean(),
});
export type StaffSession = z.infer<typeof staffSession>;

/** A token for scripts: a part of what its member may do, until it ends. */
export const staffToken = z.object({
  id: uuid,
  name: z.string(),
  scopes: z.array(tokenScope),
  createdAt: timestamp,
  lastUsedAt: timestamp.nullable(),
  expiresAt: timestamp,
});
export type StaffToken = z.infer<typeof staffToken>;

/** A passkey as its member sees it: never its keys. */
export const passkey = z.object({
  id: uuid,
  name: z.string(),
  createdAt: timestamp,
  lastUsedAt: timestamp.nullable(),
});
export type Passkey = z.infer<typeof passkey>;

const credentialType = z.literal('public-key');
const credentialRef = z.object({ id: z.string(), type: credentialType, transports: z.array(z.string()) });

/** What a browser needs to make a passkey: WebAuthn's PublicKeyCredentialCreationOptions as JSON. */
export const passkeyCreation = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ type: credentialType, alg: z.int() })),
  excludeCredentials: z.array(credentialRef),
  authenticatorSelection: z.object({
    residentKey: z.literal('preferred'),
    userVerification: z.literal('required'),
  }),
  attestation: z.literal('none'),
  timeout: z.int(),
});
export type PasskeyCreation = z.infer<typeof passkeyCreation>;

/** What a browser needs to show a passkey: WebAuthn's PublicKeyCredentialRequestOptions as JSON. */
export const passkeyRequest = z.object({
  challenge: z.string(),
  rpId: z.string(),
  allowCredentials: z.array(credentialRef),
  userVerification: z.literal('required'),
  timeout: z.int(),
});
export type PasskeyRequest = z.infer<typeof passkeyRequest>;

/** Base64url, and the names of transports. */
const token = (max: number) => exactText(1, max).regex(/^[\w-]+$/, 'must be letters, digits, _ and -');
// WebAuthn lets a credential id have 1,023 bytes.
export const credentialId = token(1364);
/** COSE, as it is kept. */
export const publicKey = token(4_096);

/** What a browser answers when it has made a passkey: WebAuthn's RegistrationResponseJSON. */
export const passkeyCreated = z.object({
  id: credentialId,
  rawId: credentialId,
  type: credentialType,
  response: z.object({
    clientDataJSON: token(4_096),
    attestationObject: token(16_384),
    transports: z.array(token(32)).max(10).optional(),
  }),
});
export type PasskeyCreated = z.infer<typeof passkeyCreated>;

/** What a browser answers when it has shown a passkey: WebAuthn's AuthenticationResponseJSON. */
export const passkeyAssertion = z.object({
  id: credentialId,
  rawId: credentialId,
  type: credentialType,
  response: z.object({
    clientDataJSON: token(4_096),
    authenticatorData: token(4_096),
    signature: token(4_096),
    userHandle: token(256).optional(),
  }),
});
export type PasskeyAssertion = z.infer<typeof passkeyAssertion>;

/** What an authenticator needs, as text and as an `otpauth://` address. */
export const totpSecret = z.object({ secret: z.string(), uri: z.string() });
export type TotpSecret = z.infer<typeof totpSecret>;
