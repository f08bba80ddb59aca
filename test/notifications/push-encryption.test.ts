// Web push by hand, held against the example of RFC 8291 and against an implementation that is not ours.
import { createECDH, randomBytes } from 'node:crypto';
import { decrypt } from 'http_ece';
import { describe, expect, it } from 'vitest';
import { areSubscriptionKeys, encryptPush, maxPushText } from '../../src/net/push-encryption.ts';

/** RFC 8291, section 5 and appendix A. */
const example = {
  text: 'When I grow up, I want to be a watermelon',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  senderPrivate: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  body: 'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
};

function browserKeys() {
  const ecdh = createECDH('prime256v1');
  const p256dh = ecdh.generateKeys().toString('base64url');
  return { ecdh, keys: { p256dh, auth: randomBytes(16).toString('base64url') } };
}

describe('encryption of a push', () => {
  it('is the example of RFC 8291, byte for byte', () => {
    const { text, auth, p256dh, salt, senderPrivate, body } = example;
    const made = encryptPush(
      text,
      { auth, p256dh },
      { salt: Buffer.from(salt, 'base64url'), privateKey: Buffer.from(senderPrivate, 'base64url') },
    );
    expect(made.toString('base64url')).toBe(body);
  });

  it('is opened by another implementation, from nothing to the longest text', () => {
    for (const text of ['', 'a', 'Größe 👋 '.repeat(100), 'x'.repeat(maxPushText)]) {
      const { ecdh, keys } = browserKeys();
      const body = encryptPush(text, keys);
      expect(body.length).toBeLessThanOrEqual(4_096);
      const opened = decrypt(body, { version: 'aes128gcm', privateKey: ecdh, authSecret: keys.auth });
      expect(opened.toString()).toBe(text);
    }
    expect(() => encryptPush('x'.repeat(maxPushText + 1), browserKeys().keys)).toThrow('at most');
  });

  it('draws another salt and another key for each message', () => {
    const { keys } = browserKeys();
    const [one, other] = [encryptPush('same', keys), encryptPush('same', keys)];
    expect(one.subarray(0, 16).equals(other.subarray(0, 16))).toBe(false);
    expect(one.subarray(21, 86).equals(other.subarray(21, 86))).toBe(false);
  });

  it('knows keys that are none', () => {
    const { keys } = browserKeys();
    expect(areSubscriptionKeys(keys)).toBe(true);
    const off = Buffer.from(keys.p256dh, 'base64url');
    off[64] = (off[64] ?? 0) ^ 1;
    for (const bad of [
      { ...keys, auth: 'short' },
      { ...keys, p256dh: keys.auth },
      { ...keys, p256dh: Buffer.alloc(65).toString('base64url') },
      // Not on the curve.
      { ...keys, p256dh: off.toString('base64url') },
    ])
      expect(areSubscriptionKeys(bad), JSON.stringify(bad)).toBe(false);
  });
});
