// Attacks `deskbell knowledge` as a person uses it: folders that change, files that are
// none, a site that moves, and answers that fit a terminal and a program.
import { randomUUID } from 'node:crypto';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inProcess, temporaryFolder } from '../helpers/cli.ts';
import { request } from '../helpers/client.ts';
import { buildDocx, buildPdf, paragraph, pdfLine } from '../helpers/document-files.ts';
import { serve } from '../helpers/process.ts';

let folder: string;
let remove: () => Promise<void>;
let data: string;
let docs: string;
let appId: string;
let names = 0;

const run = (args: readonly string[], terminal = false) =>
  inProcess([...args, '--data', data], { terminal, columns: 100 });

async function json<T>(args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await run([...args, '--json']);
  expect([code, stderr], args.join(' ')).toEqual([0, '']);
  return JSON.parse(stdout) as T;
}

interface Added {
  readonly items: readonly {
    readonly source: string;
    readonly change: string;
    readonly problem?: string;
    readonly id?: string;
  }[];
}

const changes = ({ items }: Added): Record<string, string> =>
  Object.fromEntries(items.map(({ source, change }) => [source, change]));

beforeAll(async () => {
  ({ folder, remove } = await temporaryFolder());
  data = join(folder, 'data');
  await json(['org', 'create', 'Acme', '--slug', 'acme']);
  await json(['org', 'plan', 'acme', 'enterprise']);
});
afterAll(() => remove());
beforeEach(async () => {
  ({ appId } = await json<{ appId: string }>(['app', 'create', 'Site', '--org', 'acme']));
  docs = join(folder, `docs-${(names += 1)}`);
  await mkdir(join(docs, 'faq'), { recursive: true });
  await writeFile(join(docs, 'index.md'), '# Acme help\n\nWelcome to the wombat shop.\n');
  await writeFile(
    join(docs, 'faq', 'refunds.md'),
    '# Refunds\n\n## How long does a refund take?\n\nA refund takes fourteen days.\n',
  );
  await writeFile(join(docs, 'page.HTML'), '<title>Shipping</title><nav>CANARY</nav><p>We ship to Norway.');
  await writeFile(join(docs, 'note.txt'), '\ufeffPlain note about capybaras.');
});

const add = (...more: string[]): string[] => ['knowledge', 'add', docs, '--app', appId, ...more];
const name = (path: string): string => `docs-${names}/${path}`;

describe('knowledge add', () => {
  it('adds a folder, and afterwards says what changed', async () => {
    expect(changes(await json<Added>(add()))).toEqual({
      [name('faq/refunds.md')]: 'added',
      [name('index.md')]: 'added',
      [name('note.txt')]: 'added',
      [name('page.HTML')]: 'added',
    });
    await writeFile(join(docs, 'index.md'), '# Acme help\n\nWelcome to the new shop.\n');
    await rm(join(docs, 'note.txt'));
    expect(changes(await json<Added>(add()))).toEqual({
      [name('faq/refunds.md')]: 'unchanged',
      [name('index.md')]: 'updated',
      [name('page.HTML')]: 'unchanged',
    });
    const list = await json<{ items: { source: string }[] }>(['knowledge', 'list', '--app', appId]);
    expect(list.items.map(({ source }) => source)).toContain(name('note.txt'));
    expect(changes(await json<Added>(add('--prune')))[name('note.txt')]).toBe('removed');
    expect((await json<{ items: unknown[] }>(['knowledge', 'list', '--app', appId])).items).toHaveLength(3);
  });

  it('prunes only what came from this folder, and nothing that merely failed', async () => {
    await mkdir(`${docs}-b`);
    await writeFile(join(`${docs}-b`, 'x.md'), 'Other folder.');
    await json(add());
    await json(['knowledge', 'add', `${docs}-b`, '--app', appId]);
    await writeFile(join(docs, 'index.md'), Buffer.from([0xff, 0xfe, 0x00]));
    const { code, stdout } = await run(add('--prune', '--json'));
    expect(code).toBe(1);
    expect(changes(JSON.parse(stdout) as Added)).toMatchObject({ [name('index.md')]: 'failed' });
    const sources = (
      await json<{ items: { source: string }[] }>(['knowledge', 'list', '--app', appId])
    ).items.map(({ source }) => source);
    expect(sources).toContain(name('index.md'));
    expect(sources).toContain(`docs-${names}-b/x.md`);
  });

  it('names each file that it can not read, adds the others, and ends with 1', async () => {
    await writeFile(join(docs, 'binary.md'), Buffer.from([0x89, 0x50, 0x00, 0x01]));
    await writeFile(join(docs, 'latin.txt'), Buffer.from('caf\xe9', 'latin1'));
    await writeFile(join(docs, 'empty.md'), ' \n');
    await writeFile(join(docs, 'big.md'), 'x'.repeat(2_000_001));
    await writeFile(join(docs, 'deep.html'), '<div>'.repeat(1_000));
    const { code, stdout, stderr } = await run(add());
    expect(code).toBe(1);
    expect(stderr).toBe('5 documents of 9 could not be added.\n');
    expect(stdout).toMatch(/^failed +docs-\d+\/binary\.md +it is binary/m);
    expect(stdout).toMatch(/^failed .*latin\.txt +it is not UTF-8/m);
    expect(stdout).toMatch(/^failed .*empty\.md +it is empty/m);
    expect(stdout).toMatch(/^failed .*big\.md +it is larger than 2 million characters/m);
    expect(stdout).toMatch(/^failed .*deep\.html +.*nested/m);
    expect(stdout).toMatch(/^added +.*refunds\.md +Refunds, 1 passage$/m);
    expect(stdout).toContain('4 added, 0 updated, 0 unchanged, 5 failed.\n');
  });

  it('follows no symbolic link out of a folder and reads nothing hidden', async () => {
    const secret = join(folder, `secret-${names}.md`);
    await writeFile(secret, 'CANARY');
    await symlink(secret, join(docs, 'link.md'));
    await symlink(folder, join(docs, 'linked'));
    await mkdir(join(docs, '.git'));
    await writeFile(join(docs, '.git', 'x.md'), 'CANARY');
    await mkdir(join(docs, 'node_modules'));
    await writeFile(join(docs, 'node_modules', 'x.md'), 'CANARY');
    expect(Object.keys(changes(await json<Added>(add())))).toHaveLength(4);
  });

  it('gives files their address on the web', async () => {
    await json(add('--url', 'https://acme.example/help/'));
    const { items } = await json<{ items: { source: string; url: string }[] }>([
      'knowledge',
      'list',
      '--app',
      appId,
    ]);
    expect(Object.fromEntries(items.map(({ source, url }) => [source.replace(/^.*?\//, ''), url]))).toEqual({
      'faq/refunds.md': 'https://acme.example/help/faq/refunds',
      'index.md': 'https://acme.example/help/',
      'note.txt': 'https://acme.example/help/note.txt',
      'page.HTML': 'https://acme.example/help/page.HTML',
    });
    await json([
      'knowledge',
      'add',
      join(docs, 'index.md'),
      '--app',
      appId,
      '--url',
      'https://acme.example/start',
      '--title',
      'Start',
    ]);
    const one = (
      await json<{ items: { url: string; title: string }[] }>(['knowledge', 'list', '--app', appId])
    ).items.find(({ title }) => title === 'Start');
    expect(one?.url).toBe('https://acme.example/start');
  });

  it.each<[string, () => string[], number, RegExp]>([
    [
      'a path that is not there',
      () => ['/no/such/place'],
      1,
      /^There is no file or folder \/no\/such\/place\.$/,
    ],
    [
      'a file of another kind',
      () => [join(folder, 'data', 'deskbell.db')],
      1,
      /^1 document of 1 could not be added\.$/,
    ],
    ['a folder without documents', () => [data], 1, /^There is nothing to read in .*\.md/],
    ['an address that is none', () => ['ftp://example.com/x'], 2, /is not the address of a site/],
    ['a title for two', () => [docs, docs, '--title', 'x'], 2, /single file/],
    ['a title for a folder', () => [docs, '--title', 'x'], 2, /single file/],
    [
      'an address for a site',
      () => ['https://example.com/', '--url', 'https://x.example'],
      2,
      /are for files/,
    ],
    ['no path', () => [], 2, /missing required argument/i],
  ])('refuses %s', async (_what, args, code, line) => {
    const outcome = await run(['knowledge', 'add', ...args(), '--app', appId]);
    expect([outcome.code, outcome.stderr.trim()]).toEqual([code, expect.stringMatching(line)]);
  });

  it('refuses an unknown application and a plan without the assistant before it reads', async () => {
    expect(
      (await run(['knowledge', 'add', docs, '--app', '01a1fed9-768e-7f89-884a-f9664b6296f6'])).stderr,
    ).toMatch(/^No such application\./);
    await json(['org', 'create', 'Poor', '--slug', `poor-${names}`]);
    const poor = await json<{ appId: string }>(['app', 'create', 'Site', '--org', `poor-${names}`]);
    const { code, stderr } = await run(['knowledge', 'add', docs, '--app', poor.appId]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('part of the premium plan')]);
  });
});

describe('knowledge list, show, remove, search, synonyms', () => {
  beforeEach(async () => {
    await json(add());
  });

  it('show what there is, for people and for programs', async () => {
    const { stdout } = await run(['knowledge', 'list', '--org', 'acme'], true);
    expect(stdout).toContain('refunds.md');
    const [{ id }] = (await json<{ items: [{ id: string }] }>(['knowledge', 'list', '--app', appId])).items;
    expect((await run(['knowledge', 'show', id])).stdout).toMatch(/^title +Refunds$/m);
    expect((await run(['knowledge', 'show', id, '--content'])).stdout).toContain(
      'A refund takes fourteen days.',
    );
    expect((await json<{ content: string }>(['knowledge', 'show', id])).content).toContain('fourteen');
    expect((await run(['knowledge', 'show', 'x'])).code).toBe(2);
    expect((await run(['knowledge', 'list'])).stderr).toContain('--app ID or --org S');
  });

  it('remove by id and by source', async () => {
    const { items } = await json<{ items: { id: string; source: string }[] }>([
      'knowledge',
      'list',
      '--app',
      appId,
    ]);
    expect((await run(['knowledge', 'remove', items[0]!.id, items[1]!.id])).stdout).toBe(
      'Removed 2 documents.\n',
    );
    expect((await run(['knowledge', 'remove', '--app', appId, '--source', items[2]!.source])).stdout).toBe(
      'Removed 1 document.\n',
    );
    expect(
      (await run(['knowledge', 'remove', '--app', appId, '--source', items[2]!.source])).stderr,
    ).toContain('There is no document from');
    expect((await run(['knowledge', 'remove', items[0]!.id])).code).toBe(1);
    for (const wrong of [[], ['--source', 'x'], [items[3]!.id, '--source', 'x', '--app', appId]])
      expect((await run(['knowledge', 'remove', ...wrong])).code).toBe(2);
    expect((await json<{ items: unknown[] }>(['knowledge', 'list', '--app', appId])).items).toHaveLength(1);
  });

  it('search shows passages, where they are and how much they cover', async () => {
    const { stdout } = await run(['knowledge', 'search', '--app', appId, 'how', 'long', 'refund']);
    expect(stdout).toMatch(/^SCORE +COVERS +WHERE +PASSAGE$/m);
    expect(stdout).toMatch(
      /^\d+\.\d\d +\d+ % +Refunds › How long does a refund take\? +A refund takes fourteen days\.$/m,
    );
    expect(stdout).toMatch(/^The first passage answers: +\d+ % +answered from \d+ % on$/m);
    expect(stdout).toMatch(/^One of the first three does: +\d+ % +titles are offered from \d+ % on$/m);
    expect((await run(['knowledge', 'search', '--app', appId, 'zeppelin'])).stdout).toBe(
      'No passage fits.\n',
    );
    expect((await run(['knowledge', 'search', '--app', appId, 'x'.repeat(1_001)])).code).toBe(2);
    expect(
      (
        await json<{ passages: unknown[]; coverage: number }>([
          'knowledge',
          'search',
          '--app',
          appId,
          'refund',
        ])
      ).coverage,
    ).toBe(1);
  });

  it('keep answers a question from then on, and gaps lists those without an answer', async () => {
    expect(await run(['knowledge', 'gaps', '--app', appId])).toMatchObject({ code: 0, stdout: '' });
    expect((await run(['knowledge', 'keep', '--app', appId, 'Do you sell zeppelins?'])).code).toBe(2);
    const mail = await run([
      'knowledge',
      'keep',
      '--app',
      appId,
      'Do you sell zeppelins?',
      '--reply',
      'Ask a@b.example',
    ]);
    expect([mail.code, mail.stderr]).toEqual([
      2,
      '--reply may name a person (a@b.example): remove that, or add --reviewed.\n',
    ]);
    const kept = await run([
      'knowledge',
      'keep',
      '--app',
      appId,
      'Do you sell zeppelins?',
      '--reply',
      'Yes, in red.',
    ]);
    expect([kept.code, kept.stdout]).toEqual([0, expect.stringContaining('Kept.')]);
    expect((await run(['knowledge', 'ask', '--app', appId, 'do you sell zeppelins'])).stdout).toContain(
      'Yes, in red.',
    );
  });

  it('ask shows the answer, its source and its passages', async () => {
    const { code, stdout } = await run(['knowledge', 'ask', '--app', appId, 'How long does a refund take?']);
    expect(code).toBe(0);
    expect(stdout).toContain('A refund takes fourteen days.');
    expect(stdout).toMatch(/^Source: +Refunds/m);
    expect(stdout).toMatch(/^The first passage answers: +\d+ %/m);
    const given = await json<{ answered: boolean; sources: { title: string }[] }>([
      'knowledge',
      'ask',
      '--app',
      appId,
      'Which zeppelin do you fly?',
    ]);
    expect(given).toMatchObject({ answered: false, sources: [] });
  });

  it('synonyms come from a file of lines, or of JSON', async () => {
    const file = join(folder, 'synonyms.txt');
    await writeFile(file, '# what people say\nrefund, money back , cash return # yes\n\r\n退款,退钱\n');
    const wanted = [
      ['refund', 'money back', 'cash return'],
      ['退款', '退钱'],
    ];
    expect(await json(['knowledge', 'synonyms', '--app', appId, '--set', file])).toEqual({
      synonyms: wanted,
    });
    expect((await run(['knowledge', 'synonyms', '--app', appId])).stdout).toBe(
      'refund, money back, cash return\n退款, 退钱\n',
    );
    await writeFile(file, JSON.stringify({ synonyms: wanted.slice(0, 1) }));
    expect(await json(['knowledge', 'synonyms', '--app', appId, '--set', file])).toEqual({
      synonyms: wanted.slice(0, 1),
    });
    for (const [text, line] of [
      ['lonely', /Line 1 of .* only one word/],
      ['[1, 2', /can't be read as JSON/],
      ['[["a", 1]]', /a group of synonyms must be a list of words/],
    ] as const) {
      await writeFile(file, text);
      expect((await run(['knowledge', 'synonyms', '--app', appId, '--set', file])).stderr).toMatch(line);
    }
    expect((await run(['knowledge', 'synonyms', '--app', appId, '--set', '/no/file'])).stderr).toBe(
      'There is no file /no/file.\n',
    );
  });
});

describe('knowledge add of a site', () => {
  let server: Server;
  let base: string;
  let pages: Record<string, string>;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const page = pages[request.url ?? ''];
      if (page === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  it('adds its pages, updates them, and prunes those that no longer exist', async () => {
    pages = {
      '/': '<title>Home</title><p>Welcome.<a href=/a>a</a><a href=/b>b</a><a href=/missing>m</a>',
      '/a': '<title>A</title><main><h1>A</h1><h2 id=k>Keys</h2><p>The wombat keeps the keys.</main>',
      '/b': '<title>B</title><p>About B.',
    };
    const site = (...more: string[]): string[] => [
      'knowledge',
      'add',
      `${base}/`,
      '--app',
      appId,
      '--allow-private',
      '--delay',
      '1',
      ...more,
    ];
    expect(changes(await json<Added>(site()))).toEqual({
      [`${base}/`]: 'added',
      [`${base}/a`]: 'added',
      [`${base}/b`]: 'added',
      [`${base}/missing`]: 'skipped',
    });
    const found = await json<{ passages: { url: string; heading: string }[] }>([
      'knowledge',
      'search',
      '--app',
      appId,
      'wombat keys',
    ]);
    expect(found.passages[0]).toMatchObject({ url: `${base}/a#k`, heading: 'Keys' });
    pages = { '/': '<title>Home</title><p>Welcome.', '/a': '<title>A</title><p>New.' };
    const second = await json<Added>(site('--prune'));
    expect(changes(second)).toEqual({
      [`${base}/`]: 'updated',
      [`${base}/a`]: 'updated',
      [`${base}/b`]: 'removed',
    });
    expect(changes(await json<Added>(site()))).toEqual({ [`${base}/`]: 'unchanged' });
    // What is known is read beside as many pages as were asked for.
    pages = {
      '/': '<p>Home.<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>',
      '/a': 'a',
      '/b': 'b',
      '/c': 'c',
    };
    expect((await run(site('--prune', '--max-pages', '1'))).stderr).toBe(
      'Stopped at 3 pages; at least 1 more was found. Read more with --max-pages N.\n',
    );
  });

  it('says when there is more than it was allowed to read, and fails by a wrong address', async () => {
    pages = { '/': '<p>Home.<a href=/a>a</a><a href=/b>b</a>', '/a': 'a', '/b': 'b' };
    const short = await run([
      'knowledge',
      'add',
      base,
      '--app',
      appId,
      '--allow-private',
      '--delay',
      '1',
      '--max-pages',
      '2',
    ]);
    expect([short.code, short.stderr]).toEqual([
      0,
      'Stopped at 2 pages; at least 1 more was found. Read more with --max-pages N.\n',
    ]);
    const wrong = await run(['knowledge', 'add', `${base}/nowhere`, '--app', appId, '--allow-private']);
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('the server answered 404')]);
  });

  it('keeps away from private addresses unless it is told otherwise', async () => {
    pages = { '/': 'CANARY' };
    const { code, stdout } = await run(['knowledge', 'add', base, '--app', appId]);
    expect(code).toBe(1);
    expect(stdout).toContain('private or local address');
  });
});

describe('PDF and DOCX', () => {
  it('are documents with their headings, and a broken one is named beside the others', async () => {
    await writeFile(
      join(docs, 'terms.pdf'),
      buildPdf([pdfLine('Warranty of wombats', 24, 780) + pdfLine('Every wombat has two years.', 12, 740)]),
    );
    await writeFile(
      join(docs, 'care.docx'),
      buildDocx(paragraph('Care', 'Heading1') + paragraph('Brush a wombat weekly.')),
    );
    await writeFile(join(docs, 'broken.pdf'), 'hello');
    const { code, stdout } = await run([...add(), '--json']);
    expect(code).toBe(1);
    const added = JSON.parse(stdout) as Added;
    expect(changes(added)).toMatchObject({
      [name('terms.pdf')]: 'added',
      [name('care.docx')]: 'added',
      [name('broken.pdf')]: 'failed',
    });
    expect(added.items.find(({ change }) => change === 'failed')?.problem).toBe(
      'it is no PDF file, or damaged',
    );
    const found = await json(['knowledge', 'search', '--app', appId, 'How long is the warranty?']);
    const first = { title: 'Warranty of wombats', text: 'Every wombat has two years.' };
    expect(found).toMatchObject({ passages: { 0: first } });
    // The same bytes are the same document.
    expect(changes(JSON.parse((await run([...add(), '--json'])).stdout) as Added)).toMatchObject({
      [name('terms.pdf')]: 'unchanged',
    });
  });
});

describe('knowledge test', () => {
  const file = async (text: string): Promise<string> => {
    const path = join(folder, `questions-${names}.yaml`);
    await writeFile(path, text);
    return path;
  };
  const test = async (...more: string[]) => run(['knowledge', 'test', '--app', appId, ...more]);

  it("asks the owner's questions, and fails below the bar with what was expected and what came", async () => {
    await json(add());
    const path = await file(`
- question: How long does a refund take?
  source: ${name('faq/refunds.md')}
- question: Do you ship to Norway?
  source: Shipping # a title
- question: Which quantum telescope tastes of strawberries?
  refused: true
- question: How long does a refund really take?
  source: ${name('note.txt')}
`);
    const failed = await test(path);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('Only 3 of 4 are right') });
    expect(failed.stdout).toMatch(/✗\s+How long does a refund really.*note\.txt.*Refunds/);
    expect(failed.stdout).not.toContain('Norway');
    expect((await test(path, '--min', '0.75')).code).toBe(0);
    // Times a hundred that is no whole number of tenths any more.
    expect((await test(path, '--min', '0.771')).stderr).toContain('--min asks for 77.1 %.');
    expect(await json(['knowledge', 'test', '--app', appId, path, '--min', '0.7'])).toMatchObject({
      right: 3,
      total: 4,
      share: 0.75,
      min: 0.7,
      items: [{ passed: true }, { passed: true }, { passed: true, got: 'refused' }, { passed: false }],
    });
  });

  it('takes JSON, and says what is wrong with a file', async () => {
    await json(add());
    const path = await file(JSON.stringify([{ question: 'Do you ship to Norway?', source: 'shipping' }]));
    expect((await test(path)).code).toBe(0);
    for (const [text, problem] of [
      ['- question: a\n  source: b\n- question: c', 'entry 2: write a list'],
      ['- question: [', "can't be read as YAML or JSON"],
      ['question: a', 'write a list'],
      ['- question: a\n  source: b\n  refused: true', 'entry 1'],
      ['- &a [x]\n- *a', "can't be read"],
    ] as const)
      expect(await test(await file(text)), text).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(problem),
      });
    expect(await test()).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') });
    expect((await test(path, '--min', '90')).code).toBe(2);
    expect((await test(path, '--since', 'yesterday')).code).toBe(2);
  });

  it('asks again what visitors asked, and shows what they would no longer get', async () => {
    await json(add());
    const { key } = await json<{ key: string }>(['key', 'create', '--app', appId]);
    const server = await serve(data);
    const ask = (question: string) =>
      request(
        server.url,
        'POST',
        '/api/v1/ai/answer',
        { authorization: `Bearer ${key}`, 'x-app-id': appId, 'x-visitor-id': randomUUID() },
        { question },
      );
    try {
      for (const question of [
        'Do you ship to Norway?',
        'Do you ship to Norway?',
        'How long does a refund take?',
        'Which quantum telescope tastes of strawberries?',
      ])
        expect((await ask(question)).status).toBe(200);
    } finally {
      await server.stop();
    }
    expect((await test('--since', '1h')).stdout).toContain('3 of 3 right');

    await rm(join(docs, 'page.HTML'));
    await json(add('--prune'));
    const after = await test('--since', '1h');
    expect(after).toMatchObject({ code: 1, stderr: expect.stringContaining('Only 2 of 3') });
    expect(after.stdout).toMatch(/Do you ship to Norway\?\s+answered: Shipping\s+refused/);
  });
});
