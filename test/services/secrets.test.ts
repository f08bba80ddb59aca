// Attacks what is kept secret: sealed values that are moved, cut or flipped, keys that
// almost parse, passwords and signatures that are almost right.
import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createSecrets,
  isMemberToken,
  makeApiKey,
  makeIdentitySecret,
  makeSessionToken,
  readApiKey,
  signatureMatches,
} from '../../src/services/auth/secrets.ts';
import { QueueFullError } from '../../src/net/fair-limit.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { ask } from '../helpers/rest-checks.ts';
import {
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const master = randomBytes(32);
const secrets = createSecrets(master, 4);
const place = { table: 'api_keys.sealed', row: 'row-1', organizationId: 'org-1' };

describe('a sealed value', () => {
  it('opens in its own place and nowhere else', () => {
    const sealed = secrets.seal('the secret', place);
    expect(secrets.open(sealed, place)).toBe('the secret');
    for (const elsewhere of [
      { ...place, row: 'row-2' },
      { ...place, table: 'applications.identity_secret' },
      { ...place, organizationId: 'org-2' },
      { table: 'api_keys.sealed","row-1', row: '', organizationId: 'org-1' },
      { ...place, row: 'row-1 ' },
    ])
      expect(() => secrets.open(sealed, elsewhere), JSON.stringify(elsewhere)).toThrow(
        /authenticate data|Not a sealed value/,
      );
    expect(() => createSecrets(randomBytes(32), 4).open(sealed, place)).toThrow(
      /authenticate data|Not a sealed value/,
    );
    expect(createSecrets(master, 4).open(sealed, place)).toBe('the secret');
  });

  it('is refused with any one bit changed, cut anywhere, or with another nonce', () => {
    const sealed = secrets.seal('the secret', place);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Uint8Array.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => secrets.open(changed, place), `bit ${bit}`).toThrow(
        /authenticate data|Not a sealed value/,
      );
    }
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => secrets.open(sealed.subarray(0, length), place), `length ${length}`).toThrow(
        /authenticate data|Not a sealed value/,
      );
    const swapped = Buffer.concat([
      sealed.subarray(0, 1),
      secrets.seal('the secret', place).subarray(1, 13),
      sealed.subarray(13),
    ]);
    expect(() => secrets.open(swapped, place)).toThrow(/authenticate data|Not a sealed value/);
  });

  it('shows neither its text nor twice the same bytes', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const [one, two] = [secrets.seal(text, place), secrets.seal(text, place)];
        expect(secrets.open(one, place)).toBe(Buffer.from(text, 'utf8').toString('utf8'));
        expect(Buffer.from(one).equals(Buffer.from(two))).toBe(false);
        if (text.length > 3) expect(Buffer.from(one).includes(text)).toBe(false);
      }),
    );
  });
});

describe('an API key', () => {
  it('says what it is, and never twice the same', () => {
    const keys = new Set<string>();
    for (let at = 0; at < 500; at += 1) {
      const mode = at % 2 === 0 ? 'live' : 'test';
      const key = makeApiKey(mode);
      keys.add(key.text);
      expect(key.text).toMatch(new RegExp(`^dbk_${mode}_${key.publicId}[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`));
      expect(readApiKey(key.text)).toEqual({ mode, publicId: key.publicId });
    }
    expect(keys.size).toBe(500);
    // 43 characters of base62 are 256 bits; every character occurs.
    expect(new Set([...keys].join('').replaceAll(/dbk_(live|test)_/g, '')).size).toBe(62);
  });

  it('with one character wrong was never a key: no lookup needed', () => {
    const { text } = makeApiKey('live');
    for (let at = 0; at < text.length; at += 1)
      for (const other of ['0', 'z', '_', ' '])
        if (text[at] !== other) expect(readApiKey(text.slice(0, at) + other + text.slice(at + 1))).toBe(null);
    for (const wrong of [
      '',
      'dbk_live_',
      text.slice(1),
      `${text}0`,
      ` ${text}`,
      `${text}\n`,
      text.replace('live', 'test'),
      text.replace('dbk', 'dbs'),
      makeSessionToken(),
      makeIdentitySecret(),
      '__proto__',
    ])
      expect(readApiKey(wrong)).toBe(null);
  });
});

it('a session token has its own form', () => {
  expect(isMemberToken(makeSessionToken())).toBe(true);
  expect(makeSessionToken()).not.toBe(makeSessionToken());
  for (const wrong of [
    '',
    'dbs_',
    `${makeSessionToken()}a`,
    makeSessionToken().slice(0, -1),
    `${makeSessionToken()}\n`,
    makeApiKey('live').text,
  ])
    expect(isMemberToken(wrong)).toBe(false);
});

it('a digest is keyed: the same under one master key, another under another', () => {
  const other = createSecrets(randomBytes(32), 4);
  expect(secrets.digest('a')).toEqual(createSecrets(master, 4).digest('a'));
  expect(secrets.digest('a')).not.toEqual(other.digest('a'));
  expect(secrets.digest('a')).not.toEqual(secrets.digest('b'));
  expect(secrets.keyCheck).not.toBe(other.keyCheck);
  expect(Buffer.from(secrets.tokenKey).equals(Buffer.from(master))).toBe(false);
});

describe('a password', () => {
  it('is salted, compared whole, and normalised', async () => {
    const [one, two] = [
      await secrets.hashPassword('pässword one', 'test'),
      await secrets.hashPassword('pässword one', 'test'),
    ];
    expect(one).not.toBe(two);
    expect(one).not.toContain('pässword');
    expect(await secrets.verifyPassword('pässword one', one, 'test')).toBe(true);
    expect(await secrets.verifyPassword('pässword one'.normalize('NFD'), one, 'test')).toBe(true);
    for (const wrong of ['', 'pässword on', 'pässword one ', 'Pässword one', 'password one', '𝐩ässword one'])
      expect(await secrets.verifyPassword(wrong, one, 'test'), wrong).toBe(false);
  });

  it('of no one is never right, and parameters travel with the hash', async () => {
    for (const guess of ['', '\0', 'x', 'A'.repeat(32)])
      expect(await secrets.verifyPassword(guess, null, 'test')).toBe(false);
    const dearer = createSecrets(master, 5);
    expect(
      await secrets.verifyPassword('secret word', await dearer.hashPassword('secret word', 'test'), 'test'),
    ).toBe(true);
    for (const broken of ['', 'scrypt', 'bcrypt$4$8$3$aa$bb', 'scrypt$4$8$3$aa', 'plain$secret word'])
      expect(await secrets.verifyPassword('secret word', broken, 'test')).toBe(false);
  });

  it('is hashed two at a time, and everyone gets an answer', async () => {
    const hash = await secrets.hashPassword('right one', 'test');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        secrets.verifyPassword(at % 2 === 0 ? 'right one' : 'wrong one', hash, `asker ${at}`),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, (_, at) => at % 2 === 0));
  });

  it('of someone known waits behind no stranger', async () => {
    const hash = await secrets.hashPassword('right one', 'test');
    const strangers = Promise.allSettled(
      Array.from({ length: 40 }, (_, at) => secrets.verifyPassword('wrong one', hash, `stranger ${at}`)),
    );
    await expect(secrets.verifyPassword('right one', hash, 'another stranger')).rejects.toBeInstanceOf(
      QueueFullError,
    );
    expect(await secrets.verifyPassword('right one', hash, 'stranger 1', true)).toBe(true);
    await strangers;
  });
});

it('a signature is the whole HMAC of this visitor under this secret', () => {
  const secret = makeIdentitySecret();
  const right = createHmac('sha256', secret).update('visitor').digest('hex');
  expect(signatureMatches(secret, 'visitor', right)).toBe(true);
  expect(signatureMatches(secret, 'visitor', right.toUpperCase())).toBe(true);
  for (const wrong of [
    '',
    right.slice(0, -2),
    `${right}00`,
    `${right}\n`,
    right.slice(0, -1),
    `0x${right}`,
    createHmac('sha256', secret).update('other').digest('hex'),
    createHmac('sha256', 'other').update('visitor').digest('hex'),
    Buffer.from(right, 'hex').toString('base64'),
    '0'.repeat(64),
    'z'.repeat(64),
    'a'.repeat(10_000),
  ])
    expect(signatureMatches(secret, 'visitor', wrong), wrong.slice(0, 70)).toBe(false);
});

describe('in the file', () => {
  let app: TestApp;
  let acme: TestOrganization;
  let other: TestOrganization;
  beforeAll(async () => {
    app = await startApp();
    acme = await createOrganization(app, 'acme');
    other = await createOrganization(app, 'other');
  });
  afterAll(async () => {
    await app.stop();
  });

  it('no key, password or identity secret lies open', async () => {
    const everything = JSON.stringify(
      await Promise.all(
        ['api_keys', 'applications', 'members', 'staff_sessions', 'audit'].map((table) =>
          rowsOf(app, `select * from ${table}`),
        ),
      ),
      (_key, value: unknown) =>
        value !== null && typeof value === 'object' && 'data' in value
          ? Buffer.from(value.data as number[]).toString('latin1')
          : value,
    );
    for (const secret of [
      acme.application.key,
      acme.application.testKey,
      acme.application.key.slice(-49, -6),
      other.application.key,
    ])
      expect(everything.includes(secret)).toBe(false);
    expect(everything).not.toContain('dbi_');
  });

  it('a key’s ciphertext moved to another row is not shown, and the server goes on', async () => {
    const rows = (await rowsOf(
      app,
      'select id, organization_id from api_keys where mode = ? order by created_at',
      'live',
    )) as {
      id: string;
      organization_id: string;
    }[];
    const [ours, theirs] = [
      rows.find((row) => row.organization_id === acme.id)!,
      rows.find((row) => row.organization_id === other.id)!,
    ];
    expect((await app.local('keys.reveal', { keyId: ours.id })).key).toBe(acme.application.key);
    await rowsOf(
      app,
      'update api_keys set sealed = (select sealed from api_keys where id = ?) where id = ?',
      theirs.id,
      ours.id,
    );
    await expect(app.local('keys.reveal', { keyId: ours.id })).rejects.toThrow(
      /authenticate data|Not a sealed value/,
    );
    expect((await app.local('keys.reveal', { keyId: theirs.id })).key).toBe(other.application.key);
    expect((await ask(app, createVisitorByKey(app, other.application), 'GET', '/conversations')).status).toBe(
      200,
    );
  });

  it('an identity secret moved to another application verifies no one', async () => {
    const [kept] = (await rowsOf(
      app,
      'select identity_secret from applications where id = ?',
      other.application.id,
    )) as {
      identity_secret: Uint8Array;
    }[];
    const theirs = app.service.secrets.open(kept!.identity_secret, {
      table: 'applications.identity_secret',
      row: other.application.id,
      organizationId: other.id,
    });
    await rowsOf(
      app,
      'update applications set identity_secret = (select identity_secret from applications where id = ?) where id = ?',
      other.application.id,
      acme.application.id,
    );
    const visitor = createVisitor(app, acme.application);
    const signature = createHmac('sha256', theirs).update(visitor.id).digest('hex');
    const reply = await visitor.call('PUT', '/visitor', { name: 'Mallory', signature });
    expect(reply.status).toBe(500);
    expect(Object.keys(reply.body).toSorted()).toEqual(['error', 'message', 'requestId']);
    expect(reply.text).not.toMatch(/dbi_|authenticate|sealed|\.ts|at /);
    expect((await ask(app, visitor, 'GET', '/visitor')).body.visitor).toMatchObject({
      name: null,
      verified: false,
    });
    expect(app.logged.join('')).not.toContain(theirs);
  });
});
