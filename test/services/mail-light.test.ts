// A mail whose files lie beside it says the same as one that is read whole, in all of the encodings, also where it is
// damaged; and it leaves nothing in memory but its text.
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lightenMail } from '../../src/services/mail/inbound/light-mail.ts';
import { maxMailParts, type ParsedMail } from '../../src/services/mail/inbound/parsed-mail.ts';
import { parseMail } from '../../src/services/mail/inbound/parse-mail.ts';
import { rounds, seededRandom } from '../helpers/rounds.ts';

let root = '';
let number = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'deskbell-light-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function keep(raw: Buffer): Promise<string> {
  number += 1;
  const path = join(root, `mail-${number}`);
  await writeFile(path, raw);
  return path;
}

/** Bytes as far as they must be the same: what came as lines may have other ends of lines. */
function outline(name: string, of: Uint8Array): string {
  const bytes = Buffer.from(of);
  const same = /^[ab]\./.test(name)
    ? bytes
    : Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n').trimEnd(), 'latin1');
  return `${same.length} ${createHash('sha256').update(same).digest('hex')}`;
}

/** What is said of a mail, with the bytes of its files wherever they lie. */
async function said(mail: ParsedMail): Promise<unknown> {
  const files = await Promise.all(
    mail.files.map(async ({ bytes, ...rest }) => ({
      ...rest,
      bytes: outline(rest.name, 'path' in bytes ? await readFile(bytes.path) : bytes),
    })),
  );
  return { ...mail, files };
}

async function readLight(raw: Buffer, keptPart?: number): Promise<ParsedMail> {
  const light = await lightenMail(await keep(raw), keptPart);
  return parseMail(light.raw, light);
}

const random = seededRandom();
const bytes = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, () => Math.floor(random() * 256)));
const lines = (text: string): string => text.replace(/.{76}/g, '$&\r\n');
const hexEscaped = (of: Buffer): string =>
  [...of]
    .map((one) => `=${one.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
    .replace(/.{75}/g, '$&=\r\n');

interface Part {
  readonly head: readonly string[];
  readonly body: string | Buffer;
}

function mailOf(parts: readonly Part[], head: readonly string[] = []): Buffer {
  return Buffer.concat([
    Buffer.from(
      ['From: Rosa <rosa@example.net>', 'To: x@example.com', 'Subject: files', ...head].join('\r\n') +
        '\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="cut"\r\n\r\nfor old programs\r\n',
    ),
    ...parts.flatMap(({ head: own, body }) => [
      Buffer.from(`--cut\r\n${own.map((line) => `${line}\r\n`).join('')}\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]),
    Buffer.from('--cut--\r\n'),
  ]);
}

const text: Part = { head: ['Content-Type: text/plain; charset=utf-8'], body: 'See the files.' };
const named = (name: string, type: string, encoding: string): string[] => [
  `Content-Type: ${type}`,
  `Content-Disposition: attachment; filename="${name}"`,
  ...(encoding === '' ? [] : [`Content-Transfer-Encoding: ${encoding}`]),
];
const everyKind = (size: number): Part[] => [
  text,
  { head: named('a.bin', 'application/octet-stream', 'base64'), body: lines(bytes(size).toString('base64')) },
  {
    head: named('b.bin', 'application/octet-stream', 'BASE64'),
    body: lines(bytes(size + 1).toString('base64')),
  },
  { head: named('c.bin', 'application/octet-stream', 'quoted-printable'), body: hexEscaped(bytes(size)) },
  { head: named('d.txt', 'text/plain', '7bit'), body: 'a line\r\n'.repeat(size / 8).trimEnd() },
  { head: named('e.html', 'text/html', ''), body: `<p>${'b'.repeat(size)}</p>` },
  { head: named('f.eml', 'message/rfc822', ''), body: `Subject: forwarded\r\n\r\n${'c'.repeat(size)}` },
  {
    head: ['Content-Type: image/png', 'Content-ID: <one>', 'Content-Transfer-Encoding: base64'],
    body: lines(bytes(size).toString('base64')),
  },
  { head: named('empty.bin', 'application/octet-stream', 'base64'), body: '' },
];

it.each([1_000, 100_000])('says the same of files of %i bytes in every encoding', async (size) => {
  const raw = mailOf(everyKind(size), ['Message-ID: <files@example.net>']);
  const whole = await said(await parseMail(raw));
  expect(whole).toMatchObject({ text: 'See the files.', filesLeftOut: 1 });
  for (const kept of [0, 500, undefined]) expect(await said(await readLight(raw, kept))).toEqual(whole);
  // Without a Message-ID it is known by all of its bytes.
  const bare = mailOf(everyKind(size));
  const { key } = await parseMail(bare);
  expect((await readLight(bare)).key).toBe(key);
});

it('keeps of a large mail its text alone, and its files beside it for no one else to read', async () => {
  const raw = mailOf(everyKind(1_000_000));
  const path = await keep(raw);
  const light = await lightenMail(path);
  expect(raw.length).toBeGreaterThan(9_000_000);
  expect(light.raw.length).toBeLessThan(5_000);
  const beside = (await readdir(root)).filter((name) => join(root, name).startsWith(`${path}.`));
  expect(beside).toHaveLength(7);
  for (const name of beside) expect((await stat(join(root, name))).mode & 0o777).toBe(0o600);
});

it('is bounded also where it has many small files, long texts and much between its parts', async () => {
  const many = Array.from({ length: 2_000 }, (_, at): Part => ({
    head: named(`${at}.txt`, 'application/x-one', '7bit'),
    body: 'd'.repeat(6_000),
  }));
  const long: Part = { head: ['Content-Type: text/plain'], body: 'words and more\r\n'.repeat(400_000) };
  const between: Part = {
    head: ['Content-Type: multipart/mixed; boundary=inner'],
    body: 'e'.repeat(3_000_000),
  };
  const raw = mailOf([text, ...many, long, between, text]);
  const path = await keep(raw);
  const light = await lightenMail(path);
  expect(raw.length).toBeGreaterThan(20_000_000);
  expect(light.raw.length).toBeLessThan(5_000_000);
  const mail = await parseMail(light.raw, light);
  expect(mail.text).toMatch(/^See the files\./);
  expect(mail.files.map(({ name }) => name)).toEqual(
    Array.from({ length: maxMailParts }, (_, at) => `${at}.txt`),
  );
  expect(mail.filesLeftOut).toBe(2_000 - maxMailParts);
});

it('damaged at random says the same, and ends no reader', async () => {
  const sound = mailOf(everyKind(400), ['Message-ID: <files@example.net>']);
  for (let round = 0; round < rounds(300, 20_000); round += 1) {
    const raw = Buffer.from(sound);
    for (let changes = 1 + Math.floor(random() * 6); changes > 0; changes -= 1)
      raw.writeUInt8(Math.floor(random() * 256), Math.floor(random() * raw.length));
    const whole = await parseMail(raw).catch(() => null);
    const light = await readLight(raw, 64).catch(() => null);
    expect(light === null, `round ${round}`).toBe(whole === null);
    if (whole === null || light === null) continue;
    // Which files a damaged mail has is up to who decodes them.
    const { files, filesLeftOut, ...rest } = whole;
    expect(light, `round ${round}`).toMatchObject(rest);
  }
});
