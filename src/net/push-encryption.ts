// Encrypts a message for one browser: Message Encryption for Web Push (RFC 8291) in one record of aes128gcm (RFC 8188).
// The push service that carries it can't read it.
import { createCipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, type ECDH } from 'node:crypto';

/** The keys that a browser gave with its subscription. */
export interface SubscriptionKeys {
  /** An uncompressed point of P-256, 65 bytes in base64url. */
  readonly p256dh: string;
  /** 16 bytes in base64url. */
  readonly auth: string;
}

/** What is drawn by chance for one message; tests give it. */
export interface EncryptionSeed {
  /** 16 bytes. */
  readonly salt: Buffer;
  /** The private key of the sender, 32 bytes. */
  readonly privateKey: Buffer;
}

/** A push service takes a body of 4,096 bytes; this much of it is text. */
export const maxPushText = 3_992;
const recordSize = 4_096;
const curve = 'prime256v1';

/**
 * Whether the keys can be encrypted for: a point of the curve and a secret of 16 bytes.
 * @param keys as the browser gave them
 */
export function areSubscriptionKeys({ p256dh, auth }: SubscriptionKeys): boolean {
  const point = Buffer.from(p256dh, 'base64url');
  if (point.length !== 65 || point[0] !== 4 || Buffer.from(auth, 'base64url').length !== 16) return false;
  try {
    createPublicKey({
      key: {
        kty: 'EC',
        crv: 'P-256',
        x: point.subarray(1, 33).toString('base64url'),
        y: point.subarray(33).toString('base64url'),
      },
      format: 'jwk',
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * Encrypts a message.
 * @param text at most `maxPushText` bytes in UTF-8
 * @param keys of the browser, checked by `areSubscriptionKeys`
 * @returns the body of the request, for `Content-Encoding: aes128gcm`
 * @throws Error for a text that is too long, or keys that are none
 */
export function encryptPush(text: string, keys: SubscriptionKeys, seed?: EncryptionSeed): Buffer {
  const plain = Buffer.from(text);
  if (plain.length > maxPushText) throw new Error(`A push holds at most ${maxPushText} bytes.`);
  const receiver = Buffer.from(keys.p256dh, 'base64url');
  const sender = senderKeys(seed);
  const own = sender.getPublicKey();
  const salt = seed?.salt ?? randomBytes(16);
  const shared = sender.computeSecret(receiver);
  const secret = hkdf(
    shared,
    Buffer.from(keys.auth, 'base64url'),
    Buffer.concat([Buffer.from('WebPush: info\0'), receiver, own]),
    32,
  );
  const key = hkdf(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = hkdf(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(recordSize);
  return Buffer.concat([
    salt,
    size,
    Buffer.of(own.length),
    own,
    cipher.update(plain),
    // The delimiter of the last record.
    cipher.update(Buffer.of(2)),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

function senderKeys(seed: EncryptionSeed | undefined): ECDH {
  const keys = createECDH(curve);
  if (seed === undefined) keys.generateKeys();
  else keys.setPrivateKey(seed.privateKey);
  return keys;
}

function hkdf(secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length));
}
