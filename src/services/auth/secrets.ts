// Keys, passwords, tokens and encryption at rest. Everything secret is made,
// checked, sealed and opened here; nothing here logs or stores.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
  type ScryptOptions,
} from 'node:crypto';
import { promisify } from 'node:util';
import { createFairLimit } from '../../net/fair-limit.ts';
import { staffTokenPrefix } from '../../protocol/codes.ts';
import type { Mode } from '../../protocol/entities.ts';

const scryptAsync = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** What a sealed value belongs to: moved to another row it no longer opens. */
export interface SealPlace {
  readonly table: string;
  readonly row: string;
  readonly organizationId: string;
}

export interface Secrets {
  /** Recognises this key without revealing it. */
  readonly keyCheck: string;
  /** HMAC key of WebSocket tokens. */
  readonly tokenKey: Uint8Array;
  /** Encrypts text for one place (AES-256-GCM, 96-bit random nonce, key version in front). */
  seal(text: string, place: SealPlace): Uint8Array;
  /** @throws Error when the bytes were changed or belong to another place */
  open(sealed: Uint8Array, place: SealPlace): string;
  /** Signs what concerns a file: its links, and its name in the store. */
  signFile(text: string): Uint8Array;
  /** Keyed digest under which an API key or a session token is found. */
  digest(secret: string): Uint8Array;
  /**
   * @param asker whose turn it is: hashing is slow, and those who ask for it are served in turn
   * @returns the encoded hash with its parameters
   * @throws QueueFullError when too many wait already
   */
  hashPassword(password: string, asker: string): Promise<string>;
  /**
   * True when the password is right. Takes as long for `null` (no such member) as for a wrong one.
   * @param known the asker has known this password before: they wait behind no stranger
   * @throws QueueFullError when too many wait already
   */
  verifyPassword(password: string, encoded: string | null, asker: string, known?: boolean): Promise<boolean>;
}

/** Each hash takes tens of MB and a fifth of a second: a flood of sign-ins must not take everything. */
const hashLimits = { maxRunning: 2, maxRunningPerKey: 1, maxWaiting: 32, maxWaitingPerKey: 8 };
/** Beside them, for those who have shown the right password before: a flood of strangers must not keep them out. */
const knownLimits = { ...hashLimits, maxRunning: 1 };
const keyVersion = 1;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * @param masterKey 32 bytes; every other key is derived from it (HKDF-SHA256, RFC 5869)
 * @param passwordCost log2 of scrypt's N; 15 with r=8, p=3 is OWASP's equivalent of its first choice
 */
export function createSecrets(masterKey: Uint8Array, passwordCost = 15): Secrets {
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `deskbell:${purpose}`, 32));
  const sealKey = derive('seal:1');
  // As a key object: made of bytes anew for each digest, the key would cost seven times the digest.
  const digestKey = createSecretKey(derive('digest'));
  const fileKey = createSecretKey(derive('files'));
  const inTurn = createFairLimit(hashLimits);
  const knownInTurn = createFairLimit(knownLimits);
  const absent = `scrypt$${passwordCost}$8$3$${Buffer.alloc(16).toString('base64url')}$${Buffer.alloc(32).toString('base64url')}`;

  const verify = async (password: string, encoded: string): Promise<boolean> => {
    const parts = readPasswordHash(encoded);
    if (parts === null) return false;
    const { cost, salt, hash } = parts;
    const options = scryptOptions(cost);
    const found = await scryptAsync(password.normalize('NFC'), salt, hash.length, options);
    return timingSafeEqual(found, hash);
  };

  return {
    keyCheck: derive('key-check').toString('base64url'),
    tokenKey: derive('socket-token'),
    seal: (text, place) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce);
      cipher.setAAD(placeBytes(place));
      return Buffer.concat([
        Buffer.of(keyVersion),
        nonce,
        cipher.update(text, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
    },
    open: (sealed, place) => {
      const bytes = Buffer.from(sealed);
      if (bytes.length < 1 + nonceBytes + tagBytes || bytes[0] !== keyVersion)
        throw new Error('Not a sealed value.');
      const decipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(1, 1 + nonceBytes));
      decipher.setAAD(placeBytes(place));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      return Buffer.concat([
        decipher.update(bytes.subarray(1 + nonceBytes, -tagBytes)),
        decipher.final(),
      ]).toString('utf8');
    },
    signFile: (text) => createHmac('sha256', fileKey).update(text).digest(),
    digest: (secret) => createHmac('sha256', digestKey).update(secret).digest(),
    hashPassword: (password, asker) =>
      inTurn(asker, async () => {
        const salt = randomBytes(16);
        const hash = await scryptAsync(password.normalize('NFC'), salt, 32, scryptOptions(passwordCost));
        return `scrypt$${passwordCost}$8$3$${salt.toString('base64url')}$${hash.toString('base64url')}`;
      }),
    verifyPassword: (password, encoded, asker, known = false) =>
      (known ? knownInTurn : inTurn)(asker, async () => {
        const right = await verify(password, encoded ?? absent);
        return right && encoded !== null;
      }),
  };
}

/** The dearest hash that is checked, as log2 of scrypt's N: four times what is made now. */
const maxPasswordCost = 17;
const passwordHashForm = /^scrypt\$(\d{1,2})\$8\$3\$([A-Za-z0-9_-]{22})\$([A-Za-z0-9_-]{43})$/;

/** The parts of an encoded hash of a password; null for anything that can't be one of ours. */
function readPasswordHash(encoded: string): { cost: number; salt: Buffer; hash: Buffer } | null {
  const [, cost = '', salt, hash] = passwordHashForm.exec(encoded) ?? [];
  if (salt === undefined || hash === undefined) return null;
  const parts = {
    cost: Number(cost),
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  };
  return parts.cost >= 1 && parts.cost <= maxPasswordCost ? parts : null;
}

/** Whether it is the hash of a password, at a cost that a sign-in may take. */
export function isPasswordHash(encoded: string): boolean {
  return readPasswordHash(encoded) !== null;
}

function scryptOptions(cost: number): ScryptOptions {
  // Node's default memory cap is below what these parameters take.
  return { N: 2 ** cost, r: 8, p: 3, maxmem: 256 * 2 ** cost * 8 };
}

function placeBytes(place: SealPlace): Buffer {
  return Buffer.from(JSON.stringify([place.table, place.row, place.organizationId, keyVersion]));
}

// API keys: dbk_<mode>_<12 of public id><43 of secret><6 of checksum>, all base62.

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyForm = /^dbk_(live|test)_([0-9A-Za-z]{12})([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export interface NewApiKey {
  readonly text: string;
  readonly publicId: string;
}

/** A new key: 12 characters that name it, 43 that are secret (256 bits), 6 of checksum. */
export function makeApiKey(mode: Mode): NewApiKey {
  const publicId = randomBase62(12);
  const body = `dbk_${mode}_${publicId}${randomBase62(43)}`;
  return { text: body + keyChecksum(body), publicId };
}

/** What a key says of itself, or null for anything that was never a key of ours: no lookup needed. */
export function readApiKey(text: string): { readonly mode: Mode; readonly publicId: string } | null {
  const parts = keyForm.exec(text);
  if (parts === null) return null;
  const [, mode, publicId, , checksum] = parts;
  if (publicId === undefined || (mode !== 'live' && mode !== 'test')) return null;
  return keyChecksum(text.slice(0, -6)) === checksum ? { mode, publicId } : null;
}

function keyChecksum(body: string): string {
  const hash = createHash('sha256').update(body).digest();
  let number = hash.readUIntBE(0, 6);
  let text = '';
  for (let index = 0; index < 6; index += 1) {
    text += base62.charAt(number % 62);
    number = Math.floor(number / 62);
  }
  return text;
}

/** Uniform: bytes of 248 and above are thrown away, as 62 does not divide 256. */
function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += base62.charAt(byte % 62);
    }
  }
  return text;
}

/** A staff session token: opaque, 256 bits. */
export function makeSessionToken(): string {
  return `dbs_${randomBase62(43)}`;
}

/** True for the form of a session's or a staff token; says nothing about whether it is one. */
export function isMemberToken(text: string): boolean {
  return /^db[st]_[0-9A-Za-z]{43}$/.test(text);
}

/** A staff token for scripts: opaque, 256 bits. */
export function makeStaffToken(): string {
  return `${staffTokenPrefix}${randomBase62(43)}`;
}

/** What a right password is answered with where a second factor is needed, 256 bits. */
export function makeSignInTicket(): string {
  return `dbx_${randomBase62(43)}`;
}

/** The token of an invitation link, 256 bits. */
export function makeInvitationToken(): string {
  return `dbv_${randomBase62(43)}`;
}

/** The token of a link that replaces a forgotten password, 256 bits. */
export function makeResetToken(): string {
  return `dbr_${randomBase62(43)}`;
}

/** An application's identity secret, 256 bits. */
export function makeIdentitySecret(): string {
  return `dbi_${randomBase62(43)}`;
}

/** True for the form of an identity secret. */
export function isIdentitySecret(text: string): boolean {
  return /^dbi_[0-9A-Za-z]{43}$/.test(text);
}

/** True when `signature` is the hex HMAC-SHA256 of the visitor id under the identity secret. Constant time. */
export function signatureMatches(identitySecret: string, visitorId: string, signature: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  const wanted = createHmac('sha256', identitySecret).update(visitorId).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), wanted);
}
