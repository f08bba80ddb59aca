// The signature of Standard Webhooks (symmetric, v1): secrets and headers. Pure.
import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/** A new signing secret, 256 bits, written as Standard Webhooks says. */
export function createWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** True for the form of a signing secret. */
export function isWebhookSecret(text: string): boolean {
  return /^whsec_[A-Za-z0-9+/]{43}=$/.test(text);
}

/** The key that a secret of that form signs with. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'));
}

/**
 * The headers that prove who sent a body.
 * @param keys of the secrets, the present one first; a receiver accepts a body that one of them has signed
 * @param id the same for every attempt, so that the receiver can drop repetitions
 * @param seconds when this attempt was made, since the epoch, so that the receiver can drop old ones
 */
export function signatureHeaders(
  keys: readonly KeyObject[],
  id: string,
  seconds: number,
  body: string,
): Record<string, string> {
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
}
