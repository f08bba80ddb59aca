// Owns: what the stores of files promise, the folder and the bucket alike; that requests to a bucket are signed as
// Amazon's rules say; and what becomes of files when the store or the scanner fails.
import { existsSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createClamdScanner } from '../../src/files/clamd.ts';
import { createFolderStore } from '../../src/files/folder-store.ts';
import { createS3Store } from '../../src/files/s3-store.ts';
import { checkFiles } from '../../src/cli/files-check.ts';
import { readConfig } from '../../src/config.ts';
import { sweepFiles } from '../../src/services/files/file-job.ts';
import { scanWaiting } from '../../src/services/files/scanning.ts';
import { fileLimits } from '../../src/protocol/codes.ts';
import { objectName } from '../../src/services/files/links.ts';
import type { FileStore } from '../../src/services/files/file-store.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { setByPath } from '../helpers/settings.ts';
import { eicar, FakeClamd } from '../helpers/fake-clamd.ts';
import { FakeS3, signatureOf } from '../helpers/fake-s3.ts';
import { download, storedObjects, uploadFile } from '../helpers/files.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const objects = Array.from({ length: 5 }, (_, index) =>
  createHash('sha256').update(`${index}`).digest('hex'),
);
let folder: string;
const s3 = new FakeS3();
let endpoint: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-stores-'));
  endpoint = await s3.start();
});
afterAll(async () => {
  await s3.stop();
  await rm(folder, { recursive: true });
});

const bucketStore = (secret = s3.secret): FileStore =>
  createS3Store(
    { bucket: s3.bucket, prefix: 'desk/a b', endpoint, region: s3.region },
    { accessKeyId: s3.accessKeyId, secretAccessKey: secret, sessionToken: null },
  );

async function readAll(store: FileStore, object: string, range?: { start: number; end: number }) {
  const bytes = await store.open(object, range);
  if (bytes === null) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function listAll(store: FileStore): Promise<string[]> {
  const listed: string[] = [];
  for await (const { object, modifiedAt } of store.list()) {
    listed.push(object);
    expect(Math.abs(modifiedAt - Date.now())).toBeLessThan(600_000);
  }
  return listed;
}

async function put(store: FileStore, object: string, bytes: Buffer): Promise<void> {
  const path = join(folder, 'spooled');
  await writeFile(path, bytes);
  await store.put(object, {
    path,
    size: bytes.length,
    digest: createHash('sha256').update(bytes).digest('hex'),
  });
}

describe.each([
  ['folder', () => createFolderStore(join(folder, 'files'))],
  ['s3', () => bucketStore()],
])('the store %s', (kind, open) => {
  test('keeps, reads whole and in part, lists and removes', async () => {
    const store = open();
    expect(store.kind).toBe(kind);
    await store.check();
    expect(await readAll(store, objects[0]!)).toBeNull();
    await store.remove(objects[0]!);
    for (const [index, object] of objects.entries()) await put(store, object, Buffer.alloc(100_000, index));
    expect((await readAll(store, objects[3]!))?.equals(Buffer.alloc(100_000, 3))).toBe(true);
    expect((await readAll(store, objects[3]!, { start: 10, end: 19 }))?.length).toBe(10);
    const listed = await listAll(store);
    expect(listed.toSorted()).toEqual(objects.toSorted());
    for (const object of objects) await store.remove(object);
    expect(await listAll(store)).toEqual([]);
    expect(await readAll(store, objects[1]!)).toBeNull();
  });
});

describe('a bucket that says something without end is left', () => {
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  let left = 0;
  const pour = (begin: string, endless: string) => (): void => {
    s3.instead = ({ socket }) => {
      if (socket === null) return;
      const go = (): void => {
        while (!socket.destroyed && socket.write(endless));
      };
      socket
        .on('drain', go)
        .on('error', () => undefined)
        .on('close', () => (left += 1));
      socket.write(begin);
      go();
    };
  };
  beforeEach(() => {
    left = 0;
  });
  afterEach(() => {
    s3.instead = null;
  });

  test.each([
    ['before an answer', pour('', 'HTTP/1.1 102 P\r\n\r\n'.repeat(2_000))],
    ['as the length of a piece', pour(head, '0'.repeat(10_000))],
  ])('%s', async (_where, begin) => {
    begin();
    const store = bucketStore();
    await expect(store.check()).rejects.toThrow('says more than it may');
    await expect(readAll(store, objects[0]!)).rejects.toThrow('says more than it may');
    await eventually(() => expect(left).toBe(2));
  });

  test('behind an answer that is not read', async () => {
    pour(head, `2710\r\n${'x'.repeat(10_000)}\r\n`)();
    await bucketStore().remove(objects[0]!);
    await eventually(() => expect(left).toBe(1));
  });

  test('but not an object that comes in small pieces', async () => {
    s3.instead = ({ socket }) => {
      const piece = `1\r\nx\r\n`;
      socket?.end(
        `${head.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')}${piece.repeat(3_000_000)}0\r\n\r\n`,
      );
    };
    expect((await readAll(bucketStore(), objects[0]!))?.length).toBe(3_000_000);
  });
});

test("the tests' own rules of signing give the signature that Amazon publishes", () => {
  // "GET Object" of the documentation of Signature Version 4 for S3.
  const headers = {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'x-amz-date': '20130524T000000Z',
  };
  const request = {
    method: 'GET',
    path: '/test.txt',
    query: [],
    headers,
    bodyDigest: headers['x-amz-content-sha256'],
  };
  expect(
    signatureOf(
      request,
      'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      { date: '20130524T000000Z', region: 'us-east-1', service: 's3' },
      'host;range;x-amz-content-sha256;x-amz-date',
    ),
  ).toBe('f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41');
});

test('a wrong secret is refused, and the error names no secret', async () => {
  const store = bucketStore('another');
  const error = await store.check().catch((thrown: unknown) => thrown);
  expect(String(error)).toBe('Error: the store of files answered 403 SignatureDoesNotMatch');
});

describe('a list', () => {
  const entry = (key: string): string =>
    `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;
  /** How many pages were asked for, and why no more. */
  const walk = async (pages: (token: string | null) => string): Promise<[number, string]> => {
    let asked = 0;
    s3.listed = (token) => {
      asked += 1;
      // A walk that goes on for ever ends here, without a word.
      return asked > 100 ? '' : pages(token);
    };
    try {
      for await (const { object } of bucketStore().list()) expect(objects).toContain(object);
      return [asked, 'read'];
    } catch (error) {
      return [asked, error instanceof Error ? error.message : String(error)];
    } finally {
      s3.listed = null;
    }
  };
  const next = (token: string): string => `<NextContinuationToken>${token}</NextContinuationToken>`;

  test('that leads in a circle ends with an error', async () => {
    const circle = expect.stringContaining('lists in a circle');
    expect(await walk(() => entry(objects[0]!) + next('same'))).toEqual([2, circle]);
    const [asked, why] = await walk((token) => next(String((Number(token ?? 0) % 7) + 1)));
    expect(why).toEqual(circle);
    expect(asked).toBeLessThan(30);
    // One into which pages lead that are not part of it.
    const [, later] = await walk((token) => next(String(Number(token) < 20 ? Number(token) + 1 : 18)));
    expect(later).toEqual(circle);
    expect(await walk((token) => (Number(token) < 50 ? next(String(Number(token) + 1)) : ''))).toEqual([
      51,
      'read',
    ]);
  });

  test('of beginnings without an end is read once', async () => {
    const most = 8 * 1_048_576;
    for (const name of ['Key', 'Contents', 'NextContinuationToken'])
      expect(await walk(() => `<${name}>`.repeat(Math.floor(most / (name.length + 2))))).toEqual([1, 'read']);
    const keys = `<Contents>${'<Key>'.repeat(1_000_000)}</Contents>`;
    expect(await walk(() => keys)).toEqual([1, 'read']);
  });

  test('that is more than was asked for is refused', async () => {
    expect(await walk(() => entry(objects[0]!).repeat(1_000))).toEqual([1, 'read']);
    expect((await walk(() => entry(objects[0]!).repeat(1_001)))[1]).toContain('more than it was asked for');
    expect((await walk(() => next('x'.repeat(8_193))))[1]).toContain(
      'NextContinuationToken of more than 8192 characters',
    );
    expect((await walk(() => entry('/'.repeat(8_193))))[1]).toContain('a Key of more than');
  });
});

test('a scanner that says a little now and then has as long as a scan may take', async () => {
  const clamd = new FakeClamd();
  const [host = '', port] = (await clamd.start()).split(':');
  // It takes nothing up, either.
  clamd.trickles = true;
  const scanner = createClamdScanner({ host, port: Number(port) }, 200);
  try {
    for (const stretches of [1, 1_000])
      await expect(
        scanner.scan(Readable.from(Array<Buffer>(stretches).fill(Buffer.alloc(65_536)))),
      ).rejects.toThrow('the scanner took longer than 0.2 s');
  } finally {
    await clamd.stop();
  }
});

describe('a server with a bucket and a scanner', () => {
  const clamd = new FakeClamd();
  let app: TestApp;
  let acme: TestOrganization;
  let visitor: TestClient;
  let conversation: string;
  let flags: { files: string; clamd: string };
  const environment = {
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secret,
  };

  beforeAll(async () => {
    flags = {
      files: `s3://${s3.bucket}/tenants?endpoint=${endpoint}&region=${s3.region}`,
      clamd: await clamd.start(),
    };
    app = await startApp({ flags, environment });
    acme = await createOrganization(app, 'acme');
    visitor = createVisitor(app, acme.application);
    conversation = await createConversation(visitor);
  });
  afterAll(async () => {
    await app.stop();
    await clamd.stop();
  });

  const send = (id: string) =>
    visitor.call('POST', `/conversations/${conversation}/messages`, { content: 'see', attachments: [id] });

  test('keeps files in the bucket, serves them from there, and removes them with the message', async () => {
    const bytes = Buffer.alloc(300_000, 'ab');
    const { file } = (await uploadFile(app, visitor, bytes)).body;
    expect(file.state).toBe('ready');
    const { message } = (await send(file.id as string)).body;
    expect((await download(message.attachments[0].url as string)).bytes.equals(bytes)).toBe(true);
    const part = await download(message.attachments[0].url as string, { range: 'bytes=5-9' });
    expect([part.status, part.bytes.toString()]).toEqual([206, 'babab']);
    expect([...s3.objects.keys()]).toEqual([expect.stringMatching(/^tenants\/[0-9a-f]{64}$/)]);
    expect(await storedObjects(app)).toEqual([]);
    // The store refuses for a while: what is to go is not forgotten.
    s3.failing.set('DELETE', 503);
    await visitor.call('DELETE', `/conversations/${conversation}/messages/${message.id}`);
    await eventually(() => expect(s3.asked.filter((one) => one.startsWith('DELETE'))).not.toEqual([]));
    await eventually(() => expect(app.logged.join('')).toContain('are still stored'));
    expect((await download(message.attachments[0].url as string)).status).toBe(404);
    const config = readConfig({ data: app.folder, ...flags }, environment);
    const report = await app.service.engine.store.read(({ repositories }) => repositories.files.overview());
    expect(report).toMatchObject({ failing: 1, files: 0 });
    expect((await checkFiles(config, report)).map(({ state, found }) => [state, found])).toEqual([
      ['ok', expect.stringContaining('s3 desk-files/tenants')],
      ['wrong', expect.stringContaining('1 file was removed')],
      ['ok', expect.stringContaining('clamd at 127.0.0.1')],
    ]);
    app = await app.restart();
    visitor = createVisitor(app, acme.application, visitor.id);
    s3.failing.clear();
    await eventually(() => {
      app.clock.advance(15_000);
      expect(s3.objects.size).toBe(0);
    });
  });

  test('an upload that the store refuses is an error, and leaves nothing once it answers again', async () => {
    s3.failing.set('PUT', 500);
    expect((await uploadFile(app, visitor, Buffer.from('a'))).status).toBe(500);
    s3.failing.clear();
    const usage = await app.local('organizations.usage', { organization: 'acme' });
    expect(usage.files).toBe(0);
    await eventually(async () => {
      app.clock.advance(15_000);
      const { removals } = await app.service.engine.store.read(({ repositories }) =>
        repositories.files.overview(),
      );
      expect(removals).toBe(0);
    });
  });

  test('what the scanner finds is refused and not kept', async () => {
    const { status, body } = await uploadFile(
      app,
      visitor,
      Buffer.concat([Buffer.alloc(70_000, 'x'), eicar]),
    );
    expect([status, body.error, body.message]).toEqual([
      422,
      'file_rejected',
      expect.stringContaining('Eicar-Signature'),
    ]);
    expect(s3.objects.size).toBe(0);
    expect(clamd.seen.at(-1)?.length).toBe(70_000 + eicar.length);
  });

  test('without the scanner files wait, can not be sent, and go on once it answers; infected ones vanish', async () => {
    await clamd.stop();
    const clean = (await uploadFile(app, visitor, Buffer.from('clean'))).body.file;
    const sick = (await uploadFile(app, visitor, eicar)).body.file;
    expect([clean.state, sick.state]).toEqual(['scanning', 'scanning']);
    const refused = await send(clean.id as string);
    expect([refused.status, refused.body.details[0].message]).toEqual([
      400,
      expect.stringContaining('still being checked'),
    ]);
    app.clock.advance(15_000);
    await eventually(() => expect(app.logged.join('')).toContain('Files wait for the scanner'));
    const report = await app.service.engine.store.read(({ repositories }) => repositories.files.overview());
    const config = readConfig({ data: app.folder, ...flags }, environment);
    expect((await checkFiles(config, report)).filter(({ state }) => state === 'wrong')).toEqual([
      expect.objectContaining({ found: expect.stringContaining('does not answer') }),
      expect.objectContaining({ found: expect.stringContaining('2 files wait') }),
    ]);
    clamd.answer = 'INSTREAM size limit exceeded. ERROR';
    await clamd.start();
    app.clock.advance(15_000);
    await eventually(() => expect(app.logged.join('')).toContain('size limit exceeded'));
    expect((await visitor.call('GET', `/files/${clean.id}/state`)).body.file.state).toBe('scanning');
    clamd.answer = null;
    await eventually(async () => {
      app.clock.advance(15_000);
      expect((await visitor.call('GET', `/files/${clean.id}/state`)).body.file.state).toBe('ready');
      expect((await visitor.call('GET', `/files/${sick.id}/state`)).status).toBe(404);
      expect(s3.objects.size).toBe(1);
    });
    expect((await send(clean.id as string)).status).toBe(201);
  });

  test('one that the scanner can not judge holds up none of the others, which can be sent for an hour then', async () => {
    const upload = async (text: string): Promise<string> =>
      (await uploadFile(app, visitor, Buffer.from(text))).body.file.id as string;
    const stateOf = async (id: string): Promise<unknown> =>
      (await visitor.call('GET', `/files/${id}/state`)).body.file?.state;
    const removeUnused = (now: number): Promise<number> =>
      app.service.engine.store.write('server', ({ repositories }) =>
        repositories.files.removeUnused(now - fileLimits.unusedMs, now - 86_400_000, 100),
      );
    await clamd.stop();
    const large = [await upload('too large'), await upload('too large')];
    const small = await upload('small');
    await rowsOf(app, "update files set created_at = created_at - 7200000 where state = 'scanning'");
    clamd.refused = Buffer.from('too large');
    await clamd.start();
    expect((await scanWaiting(app.service)).problem).toContain('size limit exceeded');
    expect(await Promise.all([...large, small].map(stateOf))).toEqual(['scanning', 'scanning', 'ready']);
    expect(await removeUnused(app.clock.now())).toBe(0);
    expect((await send(small)).status).toBe(201);
    clamd.refused = null;
    expect((await scanWaiting(app.service)).problem).toBeNull();
    expect(await Promise.all(large.map(stateOf))).toEqual(['ready', 'ready']);
    expect(await removeUnused(app.clock.now() + fileLimits.unusedMs + 1)).toBe(2);
  });

  test('a scanner that is away is asked about one file in each run', async () => {
    await clamd.stop();
    const ids: string[] = [];
    for (let at = 0; at < 3; at += 1)
      ids.push((await uploadFile(app, visitor, Buffer.from(`${at}`))).body.file.id as string);
    const { files } = app.service;
    const opened: string[] = [];
    const store: FileStore = {
      ...files.store,
      open: (object) => {
        opened.push(object);
        return files.store.open(object);
      },
    };
    const run = await scanWaiting({ ...app.service, files: { ...files, store } });
    expect([run.scanned, opened.length]).toEqual([0, 1]);
    await clamd.start();
    expect((await scanWaiting(app.service)).problem).toBeNull();
    for (const id of ids) expect((await send(id)).status).toBe(201);
  });

  describe('a mail with a file', () => {
    const inbox = 'help@acme.example';
    let path: string;
    beforeAll(async () => {
      await setByPath(app, acme.application.id, { 'email.mode': 'inbox', 'email.address': inbox });
      ({ path } = await app.local('email.createKey', { applicationId: acme.application.id }));
    });
    const bring = (id: string): Promise<Reply> =>
      request(
        app.url,
        'POST',
        path,
        { 'content-type': 'message/rfc822' },
        [
          'From: rosa@example.net',
          `To: ${inbox}`,
          `Subject: ${id}`,
          `Message-ID: <${id}@example.net>`,
          'Content-Type: multipart/mixed; boundary=b',
          '',
          '--b\r\nContent-Type: text/plain\r\n\r\nSee this.',
          '--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="n.txt"\r\n\r\nnotes',
          '--b--\r\n',
        ].join('\r\n'),
      );
    const stored = (id: string): Promise<Record<string, unknown>[]> =>
      rowsOf(
        app,
        `select m.content, (select count(*) from files f where f.message_id = m.id) as files from conversations c left join messages m on m.conversation_id = c.id where c.subject = '${id}'`,
      );

    test('waits at its sender while the scanner is away, and comes with the file once it answers', async () => {
      await clamd.stop();
      expect((await bring('later')).status).toBe(503);
      expect(await stored('later')).toEqual([]);
      await clamd.start();
      const waiting = async (): Promise<number> =>
        (await app.service.engine.store.read(({ repositories }) => repositories.files.overview())).scanning;
      await eventually(async () => {
        app.clock.advance(15_000);
        expect(await waiting()).toBe(0);
      });
      for (let time = 0; time < 2; time += 1) expect((await bring('later')).status).toBe(200);
      expect(await stored('later')).toEqual([{ content: 'See this.', files: 1 }]);
    });

    test('comes without the file, which it names, after two hours', async () => {
      await clamd.stop();
      expect((await bring('without')).status).toBe(503);
      app.clock.advance(3_600_000 + 60_000);
      expect((await bring('without')).status).toBe(503);
      app.clock.advance(3_600_000);
      expect((await bring('without')).body).toMatchObject({ state: 'taken' });
      expect(await stored('without')).toEqual([{ content: 'See this.\n\n[n.txt]', files: 0 }]);
      await clamd.start();
    });
  });

  test('staff are refused the same', async () => {
    const member = await createMember(app, 'acme');
    expect((await uploadFile(app, member, eicar, { name: 'photo.jpg', type: 'image/jpeg' })).status).toBe(
      422,
    );
  });
});

test('the sweep removes own objects that no row names once they are old, and uploads that were cut off', async () => {
  const app = await startApp();
  const acme = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, acme.application);
  const { file } = (await uploadFile(app, visitor, Buffer.from('mine'))).body;
  await visitor.call('POST', `/conversations/${await createConversation(visitor)}/messages`, {
    content: 'x',
    attachments: [file.id],
  });
  const [kept] = await storedObjects(app);
  const { store, incomingFolder } = app.service.files;
  const [orphan, young] = ['orphan', 'young'].map((id) => objectName(app.service.secrets, id));
  // Of another installation that has the same bucket.
  const [foreign] = objects;
  for (const object of [orphan!, young!, foreign!]) await put(store, object, Buffer.from('left'));
  const partial = join(incomingFolder, 'x.partial');
  await writeFile(partial, 'half');
  // A mail that was cut off, with a file of it beside it.
  const mail = join(incomingFolder, 'y.partial');
  await mkdir(mail);
  for (const name of ['mail', 'mail.1']) await writeFile(join(mail, name), 'half');
  const days = (count: number): Date => new Date(app.clock.now() - count * 86_400_000);
  const at = (object: string): string =>
    join(app.folder, 'files', object.slice(0, 2), object.slice(2, 4), object);
  await utimes(at(orphan!), days(2), days(2));
  await utimes(at(kept!), days(2), days(2));
  await utimes(at(foreign!), days(2), days(2));
  await utimes(at(young!), days(0.5), days(0.5));
  await utimes(partial, days(1), days(1));
  await utimes(mail, days(1), days(1));
  expect(await sweepFiles(app.service)).toBe(3);
  expect(await storedObjects(app)).toEqual([kept!, young!, foreign!].toSorted());
  expect(await readdir(incomingFolder)).toEqual([]);
  await app.stop();
});

test('a server without a data folder leaves none behind', async () => {
  const app = await startApp({
    engine: 'postgres',
    flags: { files: `s3://${s3.bucket}/none?endpoint=${endpoint}&region=${s3.region}` },
    environment: { AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secret },
  });
  try {
    const acme = await createOrganization(app, 'acme');
    const visitor = createVisitor(app, acme.application);
    expect((await uploadFile(app, visitor, Buffer.from('mine'))).status).toBe(201);
    expect(existsSync(app.service.files.incomingFolder)).toBe(true);
  } finally {
    await app.stop();
  }
  expect(existsSync(app.service.files.incomingFolder)).toBe(false);
});

test('a host of their own serves files and nothing else', async () => {
  const app = await startApp({ flags: { filesUrl: 'https://files.example.com' } });
  const { application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  const { file } = (await uploadFile(app, visitor, Buffer.from('mine'))).body;
  const sent = await visitor.call('POST', `/conversations/${await createConversation(visitor)}/messages`, {
    content: 'x',
    attachments: [file.id],
  });
  const { url } = sent.body.message.attachments[0];
  expect(url).toMatch(/^https:\/\/files\.example\.com\/api\/v1\/files\//);
  const host = { host: 'files.example.com' };
  const path = new URL(url as string).pathname + new URL(url as string).search;
  expect((await download(app.url + path, host)).bytes.toString()).toBe('mine');
  for (const other of [
    '/',
    '/dashboard',
    '/widget.js',
    '/api/v1/visitor',
    '/api/v1/staff/session',
    '/openapi.json',
  ])
    expect((await download(app.url + other, host)).status, other).toBe(404);
  expect((await download(`${app.url}/widget.js`)).status).toBe(200);
  await app.stop();
});
