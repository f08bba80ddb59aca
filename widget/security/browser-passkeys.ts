// Owns the browser's part of passkeys: asks for one to be made or shown, and says why it was not.
import { startAuthentication, startRegistration } from '@simplewebauthn/browser';
import type { PasskeyCreation, PasskeyRequest } from '../../src/protocol/sign-in.ts';

/** Why there was no passkey, as the page's texts name it. */
export type PasskeyReason = 'passkeyElsewhere' | 'passkeyNotShown' | 'passkeyThere' | 'passkeyForbidden';

export class PasskeyError extends Error {
  readonly reason: PasskeyReason;
  /** The name at which passkeys work; empty where that is not the reason. */
  readonly id: string;

  constructor(reason: PasskeyReason, message: string, id = '', cause?: Error) {
    super(message, { cause });
    this.reason = reason;
    this.id = id;
  }
}

/** @throws PasskeyError, or the browser's own where it has no words for the member */
export async function makePasskey(options: PasskeyCreation): Promise<object> {
  assertPlace(options.rp.id);
  return reasoned(startRegistration({ optionsJSON: options }));
}

/** @throws PasskeyError, or the browser's own where it has no words for the member */
export async function showPasskey(options: PasskeyRequest): Promise<object> {
  assertPlace(options.rpId);
  return reasoned(startAuthentication({ optionsJSON: options }));
}

/** Browsers refuse any other page with a message that says nothing of where to go. */
function assertPlace(id: string): void {
  const { hostname } = location;
  if (hostname !== id && !hostname.endsWith(`.${id}`))
    throw new PasskeyError('passkeyElsewhere', `The server's passkeys are of ${id}.`, id);
}

async function reasoned(ceremony: Promise<object>): Promise<object> {
  try {
    return await ceremony;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const reason = reasons[error.name];
    throw reason === undefined ? error : new PasskeyError(reason, error.message, '', error);
  }
}

const reasons: Readonly<Record<string, PasskeyReason>> = {
  NotAllowedError: 'passkeyNotShown',
  InvalidStateError: 'passkeyThere',
  SecurityError: 'passkeyForbidden',
};
