// Attacks the upload of files over REST: every kind of file, files that lie about what they are, too large ones, many at
// once, callers who leave, and callers who may not.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { buildDocx, buildPdf, paragraph, pdfLine } from '../helpers/document-files.ts';
import { askRaw, checkReply, expectCleanLog } from '../helpers/rest-checks.ts';
import {
  createMember,
  createOrganization,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let other: TestOrganization;
let admin: TestMember;
let stranger: TestMember;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'other');
  admin = await createMember(app, 'acme', 'admin');
  stranger = await createMember(app, 'other', 'admin');
});
afterAll(() => app.stop());

const pdf = 'application/pdf';
const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const onePage = (text: string): Uint8Array =>
  buildPdf([pdfLine('Warranty', 24, 780) + pdfLine(text, 12, 740)]);

interface Sent {
  readonly who?: TestMember;
  readonly applicationId?: string;
  readonly source?: string;
  readonly query?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: { readonly url: string };
}

const upload = async (file: Uint8Array | string, sent: Sent = {}) => {
  const { who = admin, applicationId = acme.application.id, source = 'a.pdf', query = '', type = pdf } = sent;
  const path = `/api/v1/admin/knowledge/files?applicationId=${applicationId}&source=${encodeURIComponent(source)}${query}`;
  const reply = await askRaw(sent.at ?? app, {
    method: 'POST',
    path,
    headers: Object.entries({
      ...who.headers,
      ...(type === '' ? {} : { 'content-type': type }),
      ...sent.headers,
    }),
    body: Buffer.from(file),
  });
  return checkReply(reply, 'POST', path);
};

describe('a file becomes a document:', () => {
  it.each([
    ['PDF', pdf, onePage('Every wombat has two years.'), 'Every wombat has two years.'],
    ['DOCX', docx, buildDocx(paragraph('Gifts', 'Heading1') + paragraph('A numbat is wrapped.')), 'A numbat'],
    ['Markdown', 'text/markdown; charset=UTF-8', '# Hours\n\nA quokka opens at nine.', 'A quokka'],
    ['HTML', 'text/html', '<h1>Ways</h1><p>A bilby delivers.</p>', 'A bilby'],
    ['text', 'text/plain', 'A dunnart answers.', 'A dunnart'],
  ])('%s', async (name, type, file, text) => {
    const added = await upload(file, {
      type,
      source: `files/${name}`,
      query: '&title=Mine&url=https://a.example/f',
    });
    expect(added.status).toBe(201);
    expect(added.body.document).toMatchObject({
      source: `files/${name}`,
      title: 'Mine',
      url: 'https://a.example/f',
      change: 'added',
    });
    const found = await app.local('knowledge.search', { applicationId: acme.application.id, query: text });
    expect(found.passages[0]?.text).toContain(text);
    expect(
      (await upload(file, { type, source: `files/${name}`, query: '&title=Mine' })).body.document.change,
    ).toBe('unchanged');
  });

  it('also one that says that it is not compressed', async () => {
    const headers = { 'content-encoding': 'identity' };
    expect((await upload('Some text.', { type: 'text/plain', source: 'plain.txt', headers })).status).toBe(
      201,
    );
  });

  it('also one that is far larger than a JSON body may be', async () => {
    const long = Array.from({ length: 3_000 }, (_, at) => `Paragraph ${at} says something of its own.`).join(
      '\n\n',
    );
    const { status, body } = await upload(long, { type: 'text/plain', source: 'long.txt' });
    expect(status).toBe(201);
    expect(body.document.passages).toBeGreaterThan(50);
  });
});

describe('refused, with what was wrong:', () => {
  it.each<[string, Uint8Array | string, Sent, number, string]>([
    ['no type', 'x', { type: '' }, 415, 'Send its Content-Type, one of application/pdf, '],
    ['JSON', '{}', { type: 'application/json' }, 415, 'The body must be a file'],
    ['text in another encoding', 'x', { type: 'text/plain; charset=latin1' }, 415, 'text must be in UTF-8'],
    ['a compressed body', 'x', { headers: { 'content-encoding': 'gzip' } }, 415, 'must not be compressed'],
    ['no bytes', '', {}, 400, 'The field file must not be empty.'],
    ['no PDF', 'hello', {}, 400, "The field file can't be read: it is no PDF file, or damaged."],
    ['a scan', buildPdf(['']), {}, 400, "can't be read: it has no text: it may be a scan of pictures."],
    ['a PDF sent as DOCX', onePage('x'), { type: docx }, 400, 'it is no DOCX file, or damaged'],
    ['binary as text', Buffer.from('a\0b'), { type: 'text/plain' }, 400, 'it is binary, or text in UTF-16'],
    ['latin1 as text', Buffer.from('caf\xe9', 'latin1'), { type: 'text/plain' }, 400, 'it is not UTF-8'],
    ['too much text', 'x'.repeat(2_000_001), { type: 'text/plain' }, 400, '2 million characters: split it'],
    ['no source', 'x', { source: ' ' }, 400, 'source'],
    ['an address that is none', onePage('x'), { query: '&url=javascript:1' }, 400, 'url'],
    [
      'bytes in the query',
      onePage('x'),
      { query: '&file=x&mediaType=text/plain', type: docx },
      400,
      'no DOCX',
    ],
  ])('%s', async (_name, file, sent, status, message) => {
    const reply = await upload(file, sent);
    expect([reply.status, reply.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('more than 20 MB, announced or not, without reading on', async () => {
    const announced = await askRaw(app, {
      method: 'POST',
      path: `/api/v1/admin/knowledge/files?applicationId=${acme.application.id}&source=a`,
      headers: Object.entries({ ...admin.headers, 'content-type': pdf, 'content-length': '20000001' }),
    });
    expect([announced.status, announced.body.message]).toEqual([
      413,
      'The body is larger than 20000000 bytes.',
    ]);
  });

  it('a plan without the assistant, before the file is opened', async () => {
    await app.local('organizations.update', { organization: 'other', plan: 'free' });
    const reply = await upload('no PDF at all', { who: stranger, applicationId: other.application.id });
    await app.local('organizations.update', { organization: 'other', plan: 'enterprise' });
    expect([reply.status, reply.body.error]).toEqual([403, 'plan_limit']);
  });

  it("another organization's application, and an operator", async () => {
    expect((await upload(onePage('x'), { who: stranger })).status).toBe(404);
    const operator = await createMember(app, 'acme');
    expect((await upload(onePage('x'), { who: operator })).status).toBe(403);
  });
});

/** One server, where there are several: each has a line of its own for the files that it receives. */
const oneServer = (): { readonly url: string } => ({ url: app.urls[0] ?? app.url });

/** Begins an upload and sends half of it. @returns ends the connection */
async function beginUpload(source: string): Promise<() => void> {
  const { port, hostname } = new URL(oneServer().url);
  const half = connect(Number(port), hostname);
  half.on('error', () => undefined);
  const path = `/api/v1/admin/knowledge/files?applicationId=${acme.application.id}&source=${source}`;
  half.write(
    [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      ...Object.entries(admin.headers).map(([name, value]) => `${name}: ${value}`),
      `Content-Type: ${pdf}`,
      'Content-Length: 1000000',
      'Expect: 100-continue',
      '',
      '',
    ].join('\r\n'),
  );
  // The server has begun with it.
  await once(half, 'data');
  half.write(randomBytes(500_000));
  return () => half.destroy();
}

test('one file of an organization is received at a time; eight wait, and more are told so', async () => {
  const leave = await beginUpload('half');
  const sent = Array.from({ length: 10 }, (_, at) =>
    upload(`Text ${at}.`, { type: 'text/plain', source: `many/${at}`, at: oneServer() }),
  );
  // Nothing is received while the first is there: only those who may not even wait have an answer.
  const early = await Promise.race(sent);
  expect([early.status, early.body.message]).toEqual([
    429,
    'Too many requests of yours wait already; try again in 1 s.',
  ]);
  const ofOthers = await upload('Theirs.', {
    who: stranger,
    applicationId: other.application.id,
    type: 'text/plain',
    at: oneServer(),
  });
  expect(ofOthers.status).toBe(201);
  // A caller who leaves gives up the place, and nothing of that file stays.
  leave();
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  expect(statuses.toSorted((one, two) => one - two)).toEqual([
    201, 201, 201, 201, 201, 201, 201, 201, 429, 429,
  ]);
  const { documents } = await app.local('knowledge.list', { applicationId: acme.application.id });
  expect(documents.map(({ source }) => source)).not.toContain('half');
  expectCleanLog(app, []);
});

test('a caller who leaves while waiting is not served, and the next one is', async () => {
  const leaveFirst = await beginUpload('first');
  const leaveSecond = await beginUpload('second');
  const third = upload('Third.', { type: 'text/plain', source: 'third', at: oneServer() });
  leaveSecond();
  leaveFirst();
  expect((await third).status).toBe(201);
  expectCleanLog(app, []);
});
