// The server's keys for pushes (RFC 8292): made at first use, sealed, one in use and older ones for browsers that were
// given them. By them a push service knows who sends.
import { generateKeyPairSync } from 'node:crypto';
import { importJWK, SignJWT } from 'jose';
import { z } from 'zod';
import type { Output } from '../../protocol/operations.ts';
import type { Secrets } from '../auth/secrets.ts';
import type { LocalActor } from '../core/actor.ts';
import { audit } from '../core/audit.ts';
import type { Call, ReadTx, Service, Tx } from '../service.ts';

/** Where the keys lie among the facts about the database. */
export const metaKey = 'push_keys';
/** A push service takes a signature of a day at most; half of it leaves room for clocks that differ. */
const signatureMs = 12 * 3_600_000;
const renewMs = 3_600_000;
const maxSignatures = 200;

const storedKeys = z.array(z.object({ id: z.string(), x: z.string(), y: z.string(), sealed: z.string() }));
type StoredKey = z.infer<typeof storedKeys>[number];

/** A key as browsers are given it. */
export interface PushKey {
  readonly id: string;
  /** An uncompressed point of P-256, in base64url. */
  readonly publicKey: string;
}

const placeOf = (id: string) => ({ table: 'meta.push_keys', row: id, organizationId: '' });

/** A key pair that is not stored yet: made outside the transaction that may need it. */
export function makePushKey(service: Service): StoredKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '', d = '' } = privateKey.export({ format: 'jwk' });
  const id = service.engine.clock.newId();
  return { id, x, y, sealed: Buffer.from(service.secrets.seal(d, placeOf(id))).toString('base64url') };
}

/** The scope of a write that may make the keys. */
const pushKeysScope = 'server:push-keys';

/** The key in use; undefined: none was made yet. */
export async function currentPushKey(tx: ReadTx): Promise<PushKey | undefined> {
  const newest = (await readKeys(tx)).at(-1);
  return newest && { id: newest.id, publicKey: publicKeyOf(newest) };
}

/** The key in use, made where there is none. */
export async function ensurePushKey(service: Service): Promise<PushKey> {
  const { store } = service.engine;
  const found = await store.read(currentPushKey);
  if (found !== undefined) return found;
  const made = makePushKey(service);
  return store.write(pushKeysScope, async (tx) => {
    const known = await currentPushKey(tx);
    if (known !== undefined) return known;
    await tx.repositories.meta.set(metaKey, JSON.stringify([made]));
    return { id: made.id, publicKey: publicKeyOf(made) };
  });
}

/**
 * Makes a new key. Browsers that were given an older one are still sent pushes with that, until they subscribe again;
 * one that no browser has goes.
 */
export async function rotatePushKey(
  tx: Tx,
  call: Call<LocalActor>,
  _input: object,
  made: StoredKey,
): Promise<Output<'push.rotateKey'>> {
  const used = new Set((await tx.repositories.pushDevices.countByKey()).map(({ key_id }) => key_id));
  const kept = (await readKeys(tx)).filter(({ id }) => used.has(id));
  await tx.repositories.meta.set(metaKey, JSON.stringify([...kept, made]));
  await audit(tx, call, { organizationId: null, action: 'push.rotateKey', subject: `push-key:${made.id}` });
  return { publicKey: publicKeyOf(made) };
}

/** What is wrong with the keys for pushes, and how many browsers use them. */
export async function checkPush(tx: ReadTx, { service }: Call<LocalActor>): Promise<Output<'push.check'>> {
  const { meta, pushDevices } = tx.repositories;
  return inspectPush(service.secrets, (await meta.get(metaKey)) ?? null, await pushDevices.countByKey());
}

/**
 * The same of what was read without a service, for `deskbell doctor`.
 * @param stored the value under `push_keys`; null: none was made yet
 */
export function inspectPush(
  secrets: Pick<Secrets, 'open'>,
  stored: string | null,
  counts: readonly { readonly key_id: string; readonly devices: number; readonly failing: number }[],
): Output<'push.check'> {
  const devices = counts.reduce((sum, one) => sum + one.devices, 0);
  const failing = counts.reduce((sum, one) => sum + one.failing, 0);
  let keys: StoredKey[] = [];
  let problem: string | null = null;
  try {
    keys = stored === null ? [] : storedKeys.parse(JSON.parse(stored));
    for (const key of keys) secrets.open(Buffer.from(key.sealed, 'base64url'), placeOf(key.id));
    const known = new Set(keys.map(({ id }) => id));
    if (counts.some(({ key_id }) => !known.has(key_id)))
      problem = 'some browsers were given a key that is not there any more';
  } catch {
    problem = "the keys for pushes can't be read";
  }
  return { keys: keys.length, devices, failing, problem };
}

async function readKeys(tx: ReadTx): Promise<StoredKey[]> {
  const stored = await tx.repositories.meta.get(metaKey);
  return stored === undefined ? [] : storedKeys.parse(JSON.parse(stored));
}

function publicKeyOf({ x, y }: StoredKey): string {
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString(
    'base64url',
  );
}

interface Signature {
  readonly header: string;
  readonly until: number;
}

/** By service, signatures by key and push service: one holds for half a day. */
const signatures = new WeakMap<Service, Map<string, Signature>>();

/**
 * The Authorization header of a push.
 * @param keyId the key that the browser was given
 * @param endpoint where the push goes: the signature is for its origin
 * @returns null where that key is not there any more
 */
export async function signPush(service: Service, keyId: string, endpoint: string): Promise<string | null> {
  const { clock, store } = service.engine;
  const { origin } = new URL(endpoint);
  const kept = signatures.get(service) ?? new Map<string, Signature>();
  signatures.set(service, kept);
  const known = kept.get(`${keyId} ${origin}`);
  if (known !== undefined && known.until - renewMs > clock.now()) return known.header;
  const key = (await store.read(readKeys)).find(({ id }) => id === keyId);
  if (key === undefined) return null;
  const { x, y, sealed } = key;
  const d = service.secrets.open(Buffer.from(sealed, 'base64url'), placeOf(keyId));
  const until = clock.now() + signatureMs;
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
    .setAudience(origin)
    .setSubject(contactOf(service))
    .setExpirationTime(Math.floor(until / 1000))
    .sign(await importJWK({ kty: 'EC', crv: 'P-256', x, y, d }, 'ES256'));
  const header = `vapid t=${token}, k=${publicKeyOf(key)}`;
  if (kept.size >= maxSignatures) kept.clear();
  kept.set(`${keyId} ${origin}`, { header, until });
  return header;
}

/** Whom a push service may write to. It takes nothing but https and mailto. */
function contactOf(service: Service): string {
  const url = service.settings.baseUrl();
  return url?.startsWith('https:') === true ? url : 'mailto:deskbell@localhost';
}
