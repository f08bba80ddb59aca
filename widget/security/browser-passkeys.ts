// Owns the browser's part of passkeys: asks for one to be made or shown, and says in plain words why it was not.
import { startAuthentication, startRegistration } from '@simplewebauthn/browser';
import type { PasskeyCreation, PasskeyRequest } from '../../src/protocol/sign-in.ts';

/** @throws Error in words for the member */
export async function makePasskey(options: PasskeyCreation): Promise<object> {
  assertPlace(options.rp.id);
  return inPlainWords(startRegistration({ optionsJSON: options }));
}

/** @throws Error in words for the member */
export async function showPasskey(options: PasskeyRequest): Promise<object> {
  assertPlace(options.rpId);
  return inPlainWords(startAuthentication({ optionsJSON: options }));
}

/** Browsers refuse any other page with a message that says nothing of where to go. */
function assertPlace(id: string): void {
  const { hostname } = location;
  if (hostname !== id && !hostname.endsWith(`.${id}`))
    throw new Error(`Passkeys of this server work at ${id} only. Open this page there.`);
}

async function inPlainWords(ceremony: Promise<object>): Promise<object> {
  try {
    return await ceremony;
  } catch (error) {
    throw new Error(reason(error instanceof Error ? error : new Error(String(error))), { cause: error });
  }
}

function reason({ name, message }: Error): string {
  switch (name) {
    case 'NotAllowedError':
      return 'No passkey was shown, or it took too long. Try again.';
    case 'InvalidStateError':
      return 'This device has a passkey of yours already.';
    case 'SecurityError':
      return 'The browser makes no passkeys on this page: it needs https and the server’s own name.';
    default:
      return message;
  }
}
