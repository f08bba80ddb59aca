// A corpus of answers by mail, each in the shape of a program: cut to what its author wrote, and in its conversation by
// the token. Then the same mails with bytes changed, seeded: none may end the reader.
import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/services/mail/inbound/parse-mail.ts';
import { plusPart, readToken } from '../../src/services/mail/reply-token.ts';
import { mailShapes, type MailShape } from '../helpers/mail-shapes.ts';

const address = `reply+${'abcdefghijklmnopqrstuvwxyz'}.${'a2b3c4d5e6f7g2h3'}@chat.example.com`;

function encode(text: string, { encoding = '8bit', charset = 'utf-8' }: MailShape): Buffer {
  const bytes = Buffer.from(text.replaceAll('\n', '\r\n'), charset === 'iso-8859-1' ? 'latin1' : 'utf8');
  if (encoding === '8bit') return bytes;
  if (encoding === 'base64') return Buffer.from(bytes.toString('base64').replace(/.{76}/g, '$&\r\n'));
  const lines = bytes
    .toString('latin1')
    .split('\r\n')
    .map((line) =>
      line
        .replace(/[^ -<>-~]/g, (one) => `=${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
        .replace(/(.{60,70}?)(?==|.)(?=.{10})/g, '$1=\r\n'),
    );
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

function rawOf(shape: MailShape): Buffer {
  const body = (shape.html ?? shape.text ?? '').replaceAll('ADDRESS', address);
  const head = [
    'From: Rosa Ruiz <rosa@example.net>',
    `To: acme <${address}>`,
    'Subject: =?utf-8?Q?Re:_Hall=C3=B6chen?=',
    'Message-ID: <shape@example.net>',
    'MIME-Version: 1.0',
    `Content-Type: text/${shape.html === undefined ? 'plain' : 'html'}; charset=${shape.charset ?? 'utf-8'}`,
    `Content-Transfer-Encoding: ${shape.encoding ?? '8bit'}`,
    '',
    '',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head), encode(body, shape)]);
}

describe('an answer', () => {
  it.each(mailShapes.map((shape) => [shape.name, shape] as const))('%s', async (_name, shape) => {
    const mail = await parseMail(rawOf(shape));
    expect(mail.text).toBe(shape.answer);
    expect(mail.recipients.map((one) => readToken(plusPart(one) ?? ''))).toEqual([
      readToken(plusPart(address) ?? ''),
    ]);
    expect(mail).toMatchObject({
      from: 'rosa@example.net',
      subject: 'Re: Hallöchen',
      automatic: false,
      bounce: false,
    });
  });

  it('is one of forty shapes or more', () => {
    expect(mailShapes.length).toBeGreaterThanOrEqual(40);
  });
});

/** A generator of numbers that a seed repeats (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

it('changed at random ends no reader, and takes no longer than a mail may', async () => {
  const random = seeded(16);
  const rounds = process.env['DESKBELL_TEST_LONG'] === '1' ? 100_000 : 2_000;
  let slowest = 0;
  for (let round = 0; round < rounds; round += 1) {
    const shape = mailShapes[Math.floor(random() * mailShapes.length)];
    const raw = Buffer.from(rawOf(shape ?? { name: '', answer: '' }));
    for (let changes = 1 + Math.floor(random() * 8); changes > 0; changes -= 1) {
      const at = Math.floor(random() * raw.length);
      const kind = random();
      if (kind < 0.6) raw.writeUInt8(Math.floor(random() * 256), at);
      else raw.copy(raw, at, Math.floor(random() * raw.length));
    }
    const before = process.cpuUsage();
    // Refused is as good as read.
    await parseMail(raw).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    const { user, system } = process.cpuUsage(before);
    slowest = Math.max(slowest, (user + system) / 1_000);
  }
  expect(slowest).toBeLessThan(5_000);
});
