// Owns an authenticator of the tests: makes passkeys and signs with them as WebAuthn says, and lies where it is told to.
// Must not know the server.
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

/** What a passkey is asked with, as the server sends it. */
export interface Asked {
  readonly challenge: string;
}

/** Where an answer departs from the truth. */
export interface Lies {
  readonly origin?: string;
  readonly rpId?: string;
  /** False: the authenticator did not ask who holds it. */
  readonly verified?: boolean;
  readonly counter?: number;
  readonly type?: string;
  readonly userHandle?: string;
  readonly attestation?: Readonly<Record<string, CborValue>>;
}

type CborValue = number | string | Buffer | ReadonlyMap<number | string, CborValue> | readonly CborValue[];

/** As much of CBOR (RFC 8949) as WebAuthn's answers need. */
function cbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map)
    return Buffer.concat([
      head(5, value.size),
      ...[...(value as ReadonlyMap<number | string, CborValue>)].flatMap(([key, one]) => [
        cbor(key),
        cbor(one),
      ]),
    ]);
  const items = value as readonly CborValue[];
  return Buffer.concat([head(4, items.length), ...items.map(cbor)]);
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.of((major << 5) | length);
  if (length < 256) return Buffer.of((major << 5) | 24, length);
  return Buffer.of((major << 5) | 25, length >> 8, length & 255);
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

export class Authenticator {
  readonly id = randomBytes(32);
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;
  readonly #origin: string;
  readonly #rpId: string;
  counter: number;

  /** @param counter 0: it does not count, as those do that are copied between devices */
  constructor(origin: string, rpId: string, counter = 0) {
    this.#origin = origin;
    this.#rpId = rpId;
    this.counter = counter;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    this.#publicKey = cbor(
      new Map<number, CborValue>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    );
  }

  /** A passkey's making, as a browser hands it over. */
  create(asked: Asked, lies: Lies = {}): object {
    const attested = Buffer.concat([
      Buffer.alloc(16),
      Buffer.of(this.id.length >> 8, this.id.length & 255),
      this.id,
      this.#publicKey,
    ]);
    const { fmt = 'none', ...statement } = lies.attestation ?? {};
    const object = new Map<string, CborValue>([
      ['fmt', fmt],
      ['attStmt', new Map(Object.entries(statement))],
      ['authData', Buffer.concat([this.#data(0x40, lies), attested])],
    ]);
    return this.#credential({
      clientDataJSON: text(this.#client('webauthn.create', asked, lies)),
      attestationObject: text(cbor(object)),
      transports: ['internal'],
    });
  }

  /** A signature, as a browser hands it over. */
  show(asked: Asked, lies: Lies = {}): object {
    if (this.counter > 0) this.counter += 1;
    const client = this.#client('webauthn.get', asked, lies);
    const data = this.#data(0, lies);
    const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
    return this.#credential({
      clientDataJSON: text(client),
      authenticatorData: text(data),
      signature: text(sign('sha256', signed, this.#key)),
      ...(lies.userHandle === undefined ? {} : { userHandle: lies.userHandle }),
    });
  }

  #credential(response: object): object {
    return {
      id: text(this.id),
      rawId: text(this.id),
      type: 'public-key',
      response,
      clientExtensionResults: {},
    };
  }

  #client(type: string, { challenge }: Asked, lies: Lies): Buffer {
    const origin = lies.origin ?? this.#origin;
    return Buffer.from(JSON.stringify({ type: lies.type ?? type, challenge, origin, crossOrigin: false }));
  }

  #data(flags: number, lies: Lies): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(lies.counter ?? this.counter);
    const verified = lies.verified === false ? 0 : 0x04;
    return Buffer.concat([
      createHash('sha256')
        .update(lies.rpId ?? this.#rpId)
        .digest(),
      Buffer.of(0x01 | verified | flags),
      counter,
    ]);
  }
}
