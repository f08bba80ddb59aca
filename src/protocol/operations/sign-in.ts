// The operations of signing in beyond the password: second factor, sessions, staff tokens. Rows of the one table in
// ../operations.ts; holds no logic.
import { z } from 'zod';
import { exactText, text } from '../text.ts';
import * as entity from '../entities.ts';
import { staffSession, staffToken, tokenScope, totpSecret } from '../sign-in.ts';
import {
  adminPageInput,
  dateTime,
  defineOperation,
  listOutput,
  name,
  noInput,
  session,
  successOutput,
} from './shared.ts';

const ticket = exactText(1, 200);
const code = text(1, 100).describe('of the authenticator, or a recovery code');
const password = exactText(1, 1024).describe('the present one');
const recoveryCodes = z.array(z.string());

export const signInOperations = {
  'session.secondFactor': defineOperation({
    summary: 'Complete a sign-in with a second factor',
    audience: 'Staff',
    errors: ['second_factor'],
    who: 'anyone',
    rest: ['POST', '/staff/session/second-factor'],
    status: 201,
    input: z.object({ ticket, code }),
    output: session.extend({
      token: z.string(),
      recoveryCodes: recoveryCodes.optional().describe('only where the second factor was just set up'),
    }),
  }),
  'session.setUpSecondFactor': defineOperation({
    summary: 'Get a secret to set up the second factor that the organization demands',
    audience: 'Staff',
    errors: [],
    who: 'anyone',
    rest: ['POST', '/staff/session/second-factor/setup'],
    status: 201,
    envelope: 'totp',
    input: z.object({ ticket }),
    output: totpSecret,
  }),
  'totp.get': defineOperation({
    summary: 'Get the state of the own second factor',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/me/totp'],
    envelope: 'totp',
    input: noInput,
    output: z.object({
      enabled: z.boolean(),
      enabledAt: entity.timestamp.nullable(),
      recoveryCodesLeft: z.int(),
    }),
  }),
  'totp.begin': defineOperation({
    summary: 'Get a secret for an authenticator; it counts once a code has confirmed it',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/me/totp'],
    status: 201,
    envelope: 'totp',
    input: z.object({ password }),
    output: totpSecret,
  }),
  'totp.confirm': defineOperation({
    summary: 'Switch the second factor on with a first code; ends all other sessions of the member',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/me/totp/confirm'],
    input: z.object({ code }),
    output: z.object({ recoveryCodes }),
  }),
  'totp.disable': defineOperation({
    summary: 'Switch the own second factor off with a code',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/me/totp/disable'],
    input: z.object({ code }),
    output: successOutput,
  }),
  'recoveryCodes.create': defineOperation({
    summary: 'Make ten new recovery codes; the old ones end',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/me/recovery-codes'],
    status: 201,
    input: z.object({ password }),
    output: z.object({ recoveryCodes }),
  }),
  'members.resetSecondFactor': defineOperation({
    summary: "Remove a member's second factor and end all their sessions",
    audience: 'Administration',
    errors: ['not_found', 'conflict'],
    who: 'admin',
    rest: ['DELETE', '/admin/members/:memberId/second-factor'],
    input: z.object({ memberId: entity.uuid }),
    output: successOutput,
  }),
  'members.signOut': defineOperation({
    summary: 'End all sessions and tokens of a member',
    audience: 'Administration',
    errors: ['not_found'],
    who: 'admin',
    rest: ['DELETE', '/admin/members/:memberId/sessions'],
    input: z.object({ memberId: entity.uuid }),
    output: successOutput,
  }),
  'sessions.list': defineOperation({
    summary: 'List the own sessions, newest first',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/sessions'],
    input: z.object(adminPageInput),
    output: z.object({ sessions: z.array(staffSession), ...listOutput }),
  }),
  'sessions.end': defineOperation({
    summary: 'End one of the own sessions',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/sessions/:sessionId'],
    input: z.object({ sessionId: entity.uuid }),
    output: successOutput,
  }),
  'tokens.create': defineOperation({
    summary: 'Make a token for scripts; its text is shown here only',
    audience: 'Staff',
    errors: ['conflict'],
    who: 'operator',
    rest: ['POST', '/staff/tokens'],
    status: 201,
    envelope: 'token',
    input: z.object({
      name,
      scopes: z
        .array(tokenScope)
        .min(1)
        .max(tokenScope.options.length)
        .transform((all) => [...new Set(all)]),
      expiresAt: dateTime.describe('at most 366 days from now'),
    }),
    output: staffToken.extend({ token: z.string() }),
  }),
  'tokens.list': defineOperation({
    summary: 'List the own tokens, without their text, newest first',
    audience: 'Staff',
    errors: [],
    who: 'operator',
    rest: ['GET', '/staff/tokens'],
    input: z.object(adminPageInput),
    output: z.object({ tokens: z.array(staffToken), ...listOutput }),
  }),
  'tokens.revoke': defineOperation({
    summary: 'Revoke one of the own tokens at once',
    audience: 'Staff',
    errors: ['not_found'],
    who: 'operator',
    rest: ['DELETE', '/staff/tokens/:tokenId'],
    input: z.object({ tokenId: entity.uuid }),
    output: successOutput,
  }),
} as const;
