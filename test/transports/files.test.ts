// Owns: files sent with messages, at both transports: upload, use, download, limits, who may what, and what is refused.
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stallMs } from '../../src/http/send-time.ts';
import { addressKey } from '../../src/net/ip-ranges.ts';
import { fileLimits } from '../../src/protocol/codes.ts';
import { objectName } from '../../src/services/files/links.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { download, pngPicture, storedObjects, uploadFile } from '../helpers/files.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const mebi = 1_048_576;
let app: TestApp;
let acme: TestOrganization;
let other: TestOrganization;
let visitor: TestClient;
let member: TestMember;
let conversation: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'other');
  visitor = createVisitor(app, acme.application);
  member = await createMember(app, 'acme');
  conversation = await createConversation(visitor);
  await member.call('POST', `/conversations/${conversation}/accept`);
});
afterAll(() => app.stop());

const text = (words = 'some words'): Buffer => Buffer.from(words);

async function upload(person: TestClient, bytes = text(), name = 'notes.txt'): Promise<string> {
  const { status, body } = await uploadFile(app, person, bytes, { name, type: 'text/plain' });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.file.id as string;
}

const send = (person: TestClient, attachments: unknown, more: object = {}, at = conversation) =>
  person.call('POST', `/conversations/${at}/messages`, { content: 'see', attachments, ...more });

/** Files as they are at each server: a link leads to the one that was asked. */
const atAny = <F extends { readonly url: string }>(files: readonly F[]): F[] =>
  files.map((file) => {
    const { origin } = new URL(file.url);
    expect(app.urls).toContain(origin);
    return { ...file, url: file.url.slice(origin.length) };
  });

test('a visitor sends a picture: it is in the answer, the history, the event, the sync, and under its link', async () => {
  const mine = await createConversation(visitor);
  const staff = await member.connect();
  staff.send('room:join', { conversationId: mine });
  await staff.receives('room:joined');
  const picture = pngPicture(40, 30);
  const { status, body } = await uploadFile(app, visitor, picture, { name: 'Bild ä.png', type: 'image/png' });
  expect(status).toBe(201);
  const { file } = body;
  expect(file).toEqual({
    id: expect.any(String),
    name: 'Bild ä.png',
    type: 'image/png',
    size: picture.length,
    width: 40,
    height: 30,
    state: 'ready',
  });
  const sent = await send(visitor, [file.id], {}, mine);
  expect(sent.status).toBe(201);
  const { state: _state, ...fields } = file;
  const { attachments } = sent.body.message;
  expect(attachments).toEqual([{ ...fields, url: expect.stringContaining('/api/v1/files/') }]);
  const history = await visitor.call('GET', `/conversations/${mine}/messages`);
  expect(atAny(history.body.messages[0].attachments)).toEqual(atAny(attachments));
  expect(atAny((await staff.receives('message:new')).attachments)).toEqual(atAny(attachments));
  const late = await member.connect();
  late.send('room:join', { conversationId: mine, lastMessageId: randomUUID() });
  expect(atAny((await late.receives('messages:sync')).messages[0].attachments)).toEqual(atAny(attachments));
  const got = await download(attachments[0].url as string);
  expect(got.status).toBe(200);
  expect(got.bytes.equals(picture)).toBe(true);
  staff.socket.close();
  late.socket.close();
});

test('a message over the socket takes files, for visitors and staff, notes too; without any the field is absent', async () => {
  const socket = await visitor.connect();
  socket.send('message:send', {
    conversationId: conversation,
    content: 'with',
    clientMessageId: 'a1',
    attachments: [await upload(visitor)],
  });
  const { serverMessageId } = await socket.receives('message:ack');
  const staff = await member.connect();
  staff.send('message:send', {
    conversationId: conversation,
    content: 'note',
    internal: true,
    clientMessageId: 'n1',
    attachments: [await upload(member, text('secret'), 'inside.txt')],
  });
  const note = (await staff.receives('message:ack')).serverMessageId;
  await member.call('POST', `/conversations/${conversation}/messages`, { content: 'plain' });
  const seen = (await visitor.call('GET', `/conversations/${conversation}/messages?limit=100`)).body.messages;
  expect(seen.find(({ id }: { id: string }) => id === serverMessageId).attachments).toHaveLength(1);
  expect(seen.some(({ id }: { id: string }) => id === note)).toBe(false);
  expect(seen.find(({ content }: { content: string }) => content === 'plain')).not.toHaveProperty(
    'attachments',
  );
  const inside = (await member.call('GET', `/conversations/${conversation}/messages?limit=100`)).body
    .messages;
  expect(inside.find(({ id }: { id: string }) => id === note).attachments[0].name).toBe('inside.txt');
  socket.socket.close();
  staff.socket.close();
});

describe('whose file it is', () => {
  test('none sends the file of another: visitor, member, tenant, application, mode', async () => {
    const foreign = createVisitor(app, other.application);
    const second = createVisitor(app, acme.application);
    const byTestKey = createVisitorByKey(app, acme.application, 'test', visitor.id);
    const colleague = await createMember(app, 'acme');
    const strangers: [TestClient, string][] = [
      [foreign, await upload(foreign)],
      [second, await upload(second)],
      [byTestKey, await upload(byTestKey)],
      [member, await upload(member)],
    ];
    for (const [, id] of strangers) {
      const refused = await send(visitor, [id]);
      expect([refused.status, refused.body.error, refused.body.details[0].path]).toEqual([
        400,
        'bad_request',
        'attachments.0',
      ]);
    }
    for (const id of [await upload(visitor), await upload(colleague)])
      expect((await send(member, [id])).status).toBe(400);
    // And none of them is told whether it is there.
    expect((await visitor.call('GET', `/files/${strangers[0]![1]}/state`)).status).toBe(404);
    expect((await second.call('GET', `/files/${strangers[1]![1]}/state`)).body.file.state).toBe('ready');
  });

  test('a file is sent once, also by two at once, and a retry of the message is the message', async () => {
    const id = await upload(visitor);
    const both = await Promise.all([send(visitor, [id]), send(visitor, [id])]);
    expect(both.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([201, 400]);
    expect((await send(visitor, [id])).status).toBe(400);
    const again = await upload(visitor);
    const first = await send(visitor, [again], { clientMessageId: 'once' });
    const second = await send(visitor, [again], { clientMessageId: 'once' });
    expect(second.body.message.id).toBe(first.body.message.id);
    expect(atAny(second.body.message.attachments)).toEqual(atAny(first.body.message.attachments));
    expect((await visitor.call('GET', `/files/${again}/state`)).status).toBe(404);
  });

  test('what is refused stores nothing: a bad file beside a good one, twice the same, eleven', async () => {
    const good = await upload(visitor);
    const before = (await visitor.call('GET', `/conversations/${conversation}/messages?limit=100`)).body
      .messages;
    expect((await send(visitor, [good, randomUUID()])).status).toBe(400);
    expect((await send(visitor, [good, good])).status).toBe(400);
    expect(
      (
        await send(
          visitor,
          Array.from({ length: 11 }, () => randomUUID()),
        )
      ).status,
    ).toBe(400);
    expect((await send(visitor, 'all')).status).toBe(400);
    const socket = await visitor.connect();
    socket.send('message:send', {
      conversationId: conversation,
      content: 'x',
      clientMessageId: 'bad',
      attachments: [randomUUID()],
    });
    expect(await socket.receives('error')).toMatchObject({
      code: 'VALIDATION_ERROR',
      clientMessageId: 'bad',
    });
    socket.socket.close();
    const after = (await visitor.call('GET', `/conversations/${conversation}/messages?limit=100`)).body
      .messages;
    expect(after).toHaveLength(before.length);
    expect((await send(visitor, [good])).status).toBe(201);
  });
});

describe('links', () => {
  async function sentFile(bytes: Buffer, name: string, type = 'application/octet-stream') {
    const { body } = await uploadFile(app, visitor, bytes, { name, type });
    const { message } = (await send(visitor, [body.file.id])).body;
    return message.attachments[0] as { id: string; url: string; type: string };
  }

  test('forged, changed, foreign and old ones are refused; a file that was not sent has none', async () => {
    const { url, id } = await sentFile(text(), 'a.txt');
    const link = new URL(url);
    const change = (name: string, value: string): string => {
      const changed = new URL(url);
      changed.searchParams.set(name, value);
      return changed.href;
    };
    const signature = link.searchParams.get('signature') ?? '';
    const expires = Number(link.searchParams.get('expires'));
    expect(expires * 1000 - app.clock.now()).toBeGreaterThanOrEqual(fileLimits.linkMs);
    for (const wrong of [
      change(
        'signature',
        signature.replace(/^./, (one) => (one === 'A' ? 'B' : 'A')),
      ),
      change('signature', ''),
      change('expires', String(expires + 60)),
      change('expires', `0${expires}`),
      change('expires', '1e99'),
      url.replace(id, (await sentFile(text('b'), 'b.txt')).id),
      url.split('?')[0]!,
      `${url}&expires=${expires}`,
    ])
      expect((await download(wrong)).status, wrong).toBe(404);
    expect((await download(url.replace(id, 'x'.repeat(36)))).status).toBe(404);
    expect((await download(url)).status).toBe(200);
    const unsent = await upload(visitor);
    expect((await download(url.replace(id, unsent))).status).toBe(404);
  });

  test('the link stays the same for a while, and is over after its hour', async () => {
    const { id, url } = await sentFile(text(), 'later.txt');
    const read = async (): Promise<string> => {
      const { messages } = (await visitor.call('GET', `/conversations/${conversation}/messages?order=desc`))
        .body;
      return messages
        .flatMap((one: { attachments?: { id: string; url: string }[] }) => one.attachments ?? [])
        .find((one: { id: string }) => one.id === id).url as string;
    };
    const [kept] = atAny([{ url }]);
    expect(atAny([{ url: await read() }])).toEqual([kept]);
    app.clock.advance(16 * 60_000);
    expect(atAny([{ url: await read() }])).not.toEqual([kept]);
    expect((await download(url)).status).toBe(200);
    app.clock.advance(60 * 60_000);
    const over = await download(url);
    expect([over.status, JSON.parse(over.bytes.toString()).message]).toEqual([
      403,
      expect.stringContaining('Load the message again'),
    ]);
    expect((await download(await read())).status).toBe(200);
  });

  test('what a browser must not run is downloaded, and nothing is ever sniffed', async () => {
    const page = Buffer.from('<!doctype html><script>alert(1)</script>');
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>');
    const pdf = Buffer.from('%PDF-1.7\n<script>alert(1)</script>');
    // A picture by its first bytes, a page by its last: the last ones are behind its end.
    const both = Buffer.concat([pngPicture(3, 3), page]);
    for (const [bytes, name, type] of [
      [page, 'a.html', 'text/html'],
      [svg, 'a.svg', 'image/svg+xml'],
      [page, 'a.png', 'image/png'],
      [pdf, 'a.pdf', 'application/pdf'],
      [text('var a'), 'a.mjs', 'text/javascript'],
    ] as const) {
      const { url } = await sentFile(bytes, name, type);
      const { headers, bytes: got } = await download(url);
      expect(headers.get('content-disposition'), name).toMatch(/^attachment;/);
      expect(headers.get('content-type'), name).not.toMatch(/html|svg|javascript/);
      expect(got.equals(bytes)).toBe(true);
    }
    const picture = await download((await sentFile(both, 'b.png', 'text/html')).url);
    expect(picture.bytes.equals(pngPicture(3, 3))).toBe(true);
    expect(Object.fromEntries(picture.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': expect.stringMatching(/^inline;/),
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'accept-ranges': 'bytes',
    });
    expect(picture.headers.get('set-cookie')).toBeNull();
  });

  test('PNG, JPEG, GIF, WebP and AVIF are shown, and no other picture', async () => {
    // Of each no more than its head, its size and what must stand there.
    const jpeg = 'ffd8 ffc0000b080002000201011100 ffda0008010100003f00 55 ffd9';
    const webp = '52494646 16000000 57454250 56503820 0a000000 000000 9d012a 0200 0200';
    const avif = '0000001c6674797061766966000000006d6966316176696600000000';
    const size = '0000001469737065000000000000000200000002';
    const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
    for (const [type, picture, disposition] of [
      ['image/png', pngPicture(2, 2), 'inline'],
      ['image/jpeg', bytes(jpeg), 'inline'],
      ['image/gif', bytes('474946383961 0200 0200 000000 3b'), 'inline'],
      ['image/webp', bytes(webp), 'inline'],
      ['image/avif', bytes(avif + size), 'inline'],
      ['image/bmp', Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]), 'attachment'],
      ['image/tiff', bytes('49492a0008000000000000000000'), 'attachment'],
    ] as const) {
      const { url } = await sentFile(picture, 'a.bin');
      const { headers } = await download(url);
      expect([type, headers.get('content-type')]).toEqual([type, type]);
      expect([type, headers.get('content-disposition')?.split(';')[0]]).toEqual([type, disposition]);
    }
  });

  test('ranges, ETag, HEAD, and other methods', async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));
    const { url } = await sentFile(bytes, 'long.bin');
    const whole = await download(url);
    const etag = whole.headers.get('etag') ?? '';
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 0],
      ['bytes=100-', 100, 199_999],
      ['bytes=-50', 199_950, 199_999],
      ['bytes=199990-999999', 199_990, 199_999],
    ] as const) {
      const part = await download(url, { range });
      expect(part.status, range).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to}/200000`);
      expect(part.bytes.equals(bytes.subarray(from, to + 1)), range).toBe(true);
    }
    for (const range of ['bytes=200000-', 'bytes=-0']) {
      const { status, headers, bytes: body } = await download(url, { range });
      expect(status, range).toBe(416);
      expect(headers.get('content-range')).toBe('bytes */200000');
      // It holds for this request alone.
      expect(headers.get('cache-control')).toBe('no-store');
      expect(JSON.parse(body.toString())).toEqual({
        error: 'invalid_range',
        message: 'The file has 200000 bytes. Ask for a Range that begins within them.',
      });
    }
    for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-'])
      expect((await download(url, { range })).bytes.length, range).toBe(200_000);
    expect((await download(url, { range: 'bytes=0-1', 'if-range': '"old"' })).status).toBe(200);
    expect((await download(url, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    const same = await download(url, { 'if-none-match': etag });
    expect([same.status, same.bytes.length]).toEqual([304, 0]);
    const head = await download(url, {}, 'HEAD');
    expect([head.status, head.bytes.length, head.headers.get('content-length')]).toEqual([200, 0, '200000']);
    expect((await download(url, {}, 'DELETE')).status).toBe(405);
    expect((await download(url, {}, 'OPTIONS')).status).toBe(204);
  });
});

describe('names', () => {
  test('are harmless wherever they stand', async () => {
    const names: [string, string][] = [
      ['../../etc/passwd', 'passwd'],
      [String.raw`C:\Users\me\photo.jpg`, 'photo.jpg'],
      ['..', 'file'],
      ['', 'file'],
      ['.htaccess', 'htaccess'],
      ['gpj.\u202eexe.txt', 'gpj.exe.txt'],
      ['a\r\nSet-Cookie: x=1\r\n.txt', 'aSet-Cookie_ x=1.txt'],
      ['nul.txt', '_nul.txt'],
      ['a<b>"c|d?.txt', 'a_b__c_d_.txt'],
      ['日本語 の.txt', '日本語 の.txt'],
      ['a\u0000b\u200b.txt', 'ab.txt'],
      [`${'x'.repeat(300)}.jpeg`, `${'x'.repeat(195)}.jpeg`],
      [`${'😀'.repeat(150)}.txt`, `${'😀'.repeat(98)}.txt`],
    ];
    for (const [given, kept] of names) {
      const { body } = await uploadFile(app, visitor, text(), { name: given });
      expect(body.file?.name, JSON.stringify(given)).toBe(kept);
      const { message } = (await send(visitor, [body.file.id])).body;
      const { headers } = await download(message.attachments[0].url as string);
      const disposition = headers.get('content-disposition') ?? '';
      expect(disposition).toMatch(/^attachment; filename="[ -~]*"; filename\*=UTF-8''[!-~]*$/);
      expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? '')).toBe(kept);
    }
    const rfc = await uploadFile(app, visitor, text(), { rawName: "UTF-8'en'%e2%82%ac%20rates.txt" });
    expect(rfc.body.file.name).toBe('€ rates.txt');
    expect((await uploadFile(app, visitor, text(), { rawName: '%E0%A4%A' })).status).toBe(400);
    expect((await uploadFile(app, visitor, text(), { rawName: '%ff' })).status).toBe(400);
    const long = await uploadFile(app, visitor, text(), { rawName: 'a'.repeat(8_001) });
    expect([long.status, long.body.details?.[0]?.path]).toEqual([400, 'X-File-Name']);
  });

  test('of programs are refused, and programs under other names', async () => {
    const msi = Buffer.alloc(2_048);
    Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(msi);
    msi.writeUInt16LE(9, 30);
    msi.writeUInt32LE(1, 48);
    Buffer.from('84100c0000000000c000000000000046', 'hex').copy(msi, 1_024 + 80);
    const word = Buffer.from(msi);
    word.fill(0, 1_024 + 80, 1_024 + 96);
    const iso = Buffer.alloc(40_000);
    iso.write('CD001', 0x8001);
    for (const [name, bytes] of [
      ...['exe', 'MSI', 'bat', 'cmd', 'scr', 'js', 'vbs', 'lnk', 'iso', 'exe.', 'exe . '].map(
        (ending) => [`setup.${ending}`, text()] as const,
      ),
      ['invoice.pdf.exe', text()],
      ['photo.jpg', Buffer.from('MZ\x90\0 This program cannot be run in DOS mode')],
      ['a.txt', Buffer.concat([Buffer.from('4c00000001140200', 'hex'), Buffer.alloc(80)])],
      ['a.doc', msi],
      ['a.dat', iso],
    ] as const) {
      const { status, body } = await uploadFile(app, member, bytes, { name, type: 'image/png' });
      expect([status, body.error], name).toEqual([422, 'file_rejected']);
    }
    const { body } = await uploadFile(app, member, word, { name: 'old.doc' });
    expect(body.file.type).toBe('application/x-cfb');
  });
});

describe('limits', () => {
  test('sizes: what is announced is refused at once, what is not is cut off, and nothing is left', async () => {
    const before = await storedObjects(app);
    const guest = createVisitor(app, acme.application);
    const large = Buffer.alloc(fileLimits.visitorBytes + 1);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as const) {
      const { status, body } = await uploadFile(app, guest, large, { headers });
      expect([status, body.error]).toEqual([413, 'payload_too_large']);
    }
    expect((await uploadFile(app, guest, Buffer.alloc(0))).status).toBe(400);
    const packed = await uploadFile(app, guest, text(), { headers: { 'content-encoding': 'gzip' } });
    expect(packed.status).toBe(415);
    // Which says that it is not compressed.
    const plain = await uploadFile(app, guest, text(), { headers: { 'content-encoding': 'Identity' } });
    expect(plain.status).toBe(201);
    expect((await uploadFile(app, guest, large.subarray(0, fileLimits.visitorBytes))).status).toBe(201);
    expect((await uploadFile(app, member, large)).status).toBe(201);
    expect(await storedObjects(app)).toHaveLength(before.length + 3);
    expect(await readdir(join(app.folder, 'files', 'incoming'))).toEqual([]);
  });

  test('a visitor uploads 100 MiB an hour', async () => {
    const guest = createVisitor(app, acme.application);
    const piece = Buffer.alloc(10 * mebi, 1);
    for (let sent = 0; sent < 10; sent += 1) expect((await uploadFile(app, guest, piece)).status).toBe(201);
    const over = await uploadFile(app, guest, text());
    expect([over.status, over.body.error, over.body.cause]).toEqual([
      429,
      'rate_limit_exceeded',
      'per_visitor',
    ]);
    expect((await uploadFile(app, createVisitor(app, acme.application), text())).status).toBe(201);
    app.clock.advance(62 * 60_000);
    expect((await uploadFile(app, guest, text())).status).toBe(201);
  });

  test('all visitors of an address upload 500 MiB an hour, backends more', async () => {
    app.clock.advance(62 * 60_000);
    // What fifty of them would have sent, but for the last stretch.
    const uses = fileLimits.addressBytesPerHour / 65_536;
    const check = {
      key: `ua:${addressKey('127.0.0.1')}`,
      windows: [{ limit: uses, windowMs: 3_600_000 }],
    };
    for (let use = 1; use < uses; use += 1) await app.service.engine.limiter.take([check]);
    expect((await uploadFile(app, createVisitor(app, acme.application), text())).status).toBe(201);
    const over = await uploadFile(app, createVisitor(app, acme.application), text());
    expect([over.status, over.body.cause]).toEqual([429, 'per_address']);
    expect((await uploadFile(app, createVisitorByKey(app, acme.application), text())).status).toBe(201);
    app.clock.advance(62 * 60_000);
    expect((await uploadFile(app, createVisitor(app, acme.application), text())).status).toBe(201);
  });

  test('ten uploads of an address are under way at once, and a connection that ends leaves nothing', async () => {
    const { hostname, port } = new URL(app.url);
    const lines = [
      'POST /api/v1/files HTTP/1.1',
      `host: ${hostname}:${port}`,
      ...Object.entries(visitor.headers).map(([name, value]) => `${name}: ${value}`),
      'content-type: text/plain',
      'content-length: 1000',
    ];
    const sockets = Array.from({ length: fileLimits.unfinished }, () => {
      const socket = connect(Number(port), hostname);
      socket.write(`${lines.join('\r\n')}\r\n\r\nsome`);
      socket.on('error', () => undefined);
      return socket;
    });
    const incoming = join(app.folder, 'files', 'incoming');
    await eventually(async () => expect(await readdir(incoming)).toHaveLength(fileLimits.unfinished));
    const refused = await uploadFile(app, visitor, text());
    expect([refused.status, refused.body.cause]).toEqual([429, 'per_address']);
    const stored = await storedObjects(app);
    for (const socket of sockets) socket.destroy();
    await eventually(async () => expect(await readdir(incoming)).toEqual([]));
    await eventually(async () => expect((await uploadFile(app, visitor, text())).status).toBe(201));
    expect((await storedObjects(app)).filter((one) => !stored.includes(one))).toHaveLength(1);
  });

  test('an address has so many downloads at once, and one whose reader takes nothing ends', async () => {
    const id = await upload(visitor, Buffer.alloc(fileLimits.visitorBytes, 7), 'large.txt');
    const { url } = (await send(visitor, [id])).body.message.attachments[0] as { url: string };
    const { hostname, port, pathname, search } = new URL(url, app.url);
    // The others are held open as a download holds its own.
    const { seats } = app.service.engine;
    const held = await Promise.all(
      Array.from({ length: fileLimits.downloads - 1 }, () =>
        seats.take([{ key: `download:${addressKey('127.0.0.1')}`, most: fileLimits.downloads }]),
      ),
    );
    const reader = connect(Number(port), hostname);
    const ended = new Promise<void>((resolve) => reader.once('close', () => resolve()));
    reader.on('error', () => undefined);
    reader.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);
    await new Promise((resolve) => reader.once('readable', resolve));
    const refused = await download(url);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    for (const seat of held) if (typeof seat === 'function') seat();
    await eventually(async () => {
      app.clock.advance(stallMs);
      const alone = await seats.take([{ key: `download:${addressKey('127.0.0.1')}`, most: 1 }]);
      if (typeof alone !== 'function') throw new Error('the download is still under way');
      alone();
    });
    reader.resume();
    await ended;
    expect((await download(url)).status).toBe(200);
  });

  test('the storage of a plan holds under a race, and is in plan and usage', async () => {
    const small = await createOrganization(app, 'small', 'enterprise');
    await app.local('organizations.update', { organization: 'small', limits: { fileBytes: 3 * mebi } });
    const people = Array.from({ length: 8 }, () => createVisitor(app, small.application));
    const all = await Promise.all(people.map((one) => uploadFile(app, one, Buffer.alloc(mebi, 7))));
    expect(all.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([
      201, 201, 201, 403, 403, 403, 403, 403,
    ]);
    expect(all.find(({ status }) => status === 403)?.body).toMatchObject({
      error: 'plan_limit',
      message: expect.stringContaining('deskbell org limits small'),
    });
    expect(await app.local('organizations.usage', { organization: 'small' })).toMatchObject({
      files: 3,
      fileBytes: 3 * mebi,
    });
    const detail = await app.local('organizations.get', { organization: 'small' });
    expect([detail.limits.fileBytes, detail.ownLimits.fileBytes]).toEqual([3 * mebi, 3 * mebi]);
    const free = await createOrganization(app, 'free', 'free');
    const plan = await app.local('organizations.get', { organization: free.slug });
    expect(plan.limits.fileBytes).toBe(1_024 * mebi);
    // What goes makes room.
    await eventually(async () => {
      app.clock.advance(61 * 60_000);
      expect((await uploadFile(app, people[0]!, text())).status).toBe(201);
    });
  });

  test('the same Idempotency-Key is the same file, also at once, and for its uploader alone', async () => {
    const headers = { 'idempotency-key': 'photo-1' };
    const before = await storedObjects(app);
    const all = await Promise.all([1, 2, 3].map(() => uploadFile(app, visitor, text('once'), { headers })));
    expect(new Set(all.map(({ body }) => body.file?.id as string)).size).toBe(1);
    const mine = all[0]?.body.file.id;
    expect((await uploadFile(app, visitor, text('once'), { headers })).body.file.id).toBe(mine);
    const theirs = await uploadFile(app, createVisitor(app, acme.application), text('once'), { headers });
    expect(theirs.body.file.id).not.toBe(mine);
    await eventually(async () => {
      app.clock.advance(15_000);
      const added = (await storedObjects(app)).filter((object) => !before.includes(object));
      expect(added).toHaveLength(2);
    });
  });
});

test('a page reads what a preflight allows, and bytes lie under a keyed name', async () => {
  const { headers } = await download(
    `${app.url}/api/v1/files`,
    { origin: acme.application.origin, 'access-control-request-method': 'POST' },
    'OPTIONS',
  );
  expect(headers.get('access-control-allow-headers')).toContain('X-File-Name');
  const id = await upload(visitor);
  expect(await storedObjects(app)).toContain(objectName(app.service.secrets, id));
  expect((await storedObjects(app)).some((name) => name.includes(id))).toBe(false);
});
