// How members sign in: second factors, sessions and staff tokens as the API shows them. Owns shapes only.
import { z } from 'zod';
import { tokenScopes } from './codes.ts';
import { timestamp, uuid } from './entities.ts';

/**
 * How a sign-in may be completed: a code of an authenticator, a recovery code, or, where the organization demands a
 * second factor and the member has none, setting one up.
 */
export const secondFactorMethod = z.enum(['totp', 'recovery', 'setup']);
export type SecondFactorMethod = z.infer<typeof secondFactorMethod>;

/** What a staff token may be allowed to do. */
export const tokenScope = z.enum(tokenScopes);
export type TokenScope = z.infer<typeof tokenScope>;

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

/** What an authenticator needs, as text and as an `otpauth://` address. */
export const totpSecret = z.object({ secret: z.string(), uri: z.string() });
export type TotpSecret = z.infer<typeof totpSecret>;
