// Time-based one-time passwords (RFC 6238: SHA-1, six digits, 30 seconds) and recovery codes. Pure: knows no member
// and stores nothing.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const stepMs = 30_000;
const digits = 6;
/** How many steps an authenticator's clock may be off, either way. */
const drift = 1;
const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A new secret: 160 bits, as RFC 4226 recommends, in base32. */
export function makeTotpSecret(): string {
  return encodeBase32(randomBytes(20));
}

/** True for the form of a secret. */
export function isTotpSecret(text: string): boolean {
  return /^[A-Z2-7]{32}$/.test(text);
}

/** The address that authenticators read, as text or as a QR code. */
export function totpUri(secret: string, organization: string, account: string): string {
  const label = `${encodeURIComponent(organization)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?${new URLSearchParams({ secret, issuer: organization }).toString()}`;
}

/** The code of one time step. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac('sha1', decodeBase32(secret)).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 0xf;
  const number = (hash.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 10 ** digits;
  return String(number).padStart(digits, '0');
}

/** The time step of a time (ms). */
export function totpStep(now: number): number {
  return Math.floor(now / stepMs);
}

/**
 * The step whose code was typed, or null.
 * @param lastStep the newest step whose code was taken: it and those before count no more
 */
export function matchTotp(secret: string, code: string, now: number, lastStep: number): number | null {
  const typed = code.replaceAll(/\s/g, '');
  if (!/^[0-9]{6}$/.test(typed)) return null;
  let found: number | null = null;
  for (let step = totpStep(now) - drift; step <= totpStep(now) + drift; step += 1) {
    const right = timingSafeEqual(Buffer.from(totpCode(secret, step)), Buffer.from(typed));
    if (right && step > lastStep) found ??= step;
  }
  return found;
}

/** Ten recovery codes of 60 bits, as `abcd-efgh-ijkl`. */
export function makeRecoveryCodes(): string[] {
  return Array.from({ length: 10 }, () => {
    const text = encodeBase32(randomBytes(10)).toLowerCase();
    return [text.slice(0, 4), text.slice(4, 8), text.slice(8, 12)].join('-');
  });
}

/** A recovery code as it counts, however it was typed; null: it is none. */
export function normalizeRecoveryCode(text: string): string | null {
  const bare = text.toLowerCase().replaceAll(/[\s-]/g, '');
  return /^[a-z2-7]{12}$/.test(bare) ? bare : null;
}

function encodeBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += base32.charAt((held >> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  return text;
}

function decodeBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text) {
    held = (held << 5) | base32.indexOf(character);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 255);
    }
    held &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
}
